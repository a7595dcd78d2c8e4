// SPDX-License-Identifier: Apache-2.0
/* Owns how a line of the log is written.
 * Must not know what is said. */
#include "say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/journal_stream.h"

#define AGAIN_NS 3600000000000ull

static bool levels; /* stand in front */

void say_open(void)
{
	levels = journal_stream(STDERR_FILENO);
}

void say(enum say_level level, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX], line[ERR_TEXT_MAX + 16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	}
	int n = levels ? snprintf(line, sizeof(line), "<%d>%s\n", (int)level, text)
		       : snprintf(line, sizeof(line), "%s\n", text);
	/* In one write, so that lines of two processes do not mix. A log that is full or gone stops nothing. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void say_change(struct say_memory *m, uint64_t now_ns, enum say_level level, const char *text)
{
	if (strcmp(m->text, text) == 0 && now_ns - m->at_ns < AGAIN_NS)
		return;
	snprintf(m->text, sizeof(m->text), "%s", text);
	m->at_ns = now_ns;
	say(level, "%s", text);
}
