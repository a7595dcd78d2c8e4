// SPDX-License-Identifier: Apache-2.0
/* Owns how a failure's code and text are put together and cut to their bound.
 * Must not know any source of failures, nor where messages are shown. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes the beginning of a UTF-8 sequence whose rest was cut off: readers of JSON refuse half a character. */
static void cut_half_character(char *s)
{
	size_t len = strlen(s);
	size_t at = len;
	while (at > 0 && len - at < 3 && ((unsigned char)s[at - 1] & 0xc0) == 0x80)
		at--;
	if (at == 0)
		return;
	unsigned char lead = (unsigned char)s[at - 1];
	size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (len - (at - 1) < wanted)
		s[at - 1] = 0;
}

static void format(char *out, size_t size, const char *fmt, va_list ap) printf_like(3, 0);
static void format(char *out, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(out, size, fmt, ap);
	if (n < 0)
		snprintf(out, size, "failed, and the message could not be formatted");
	else if ((size_t)n >= size)
		cut_half_character(out);
	/* Texts quote input: a line feed or a terminal's escape in it must not reach a log or a screen. */
	for (char *p = out; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c < 0x20 || c == 0x7f)
			*p = ' ';
	}
}

static int normal(int code)
{
	return code > 0 ? code : EIO;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	code = normal(code);
	if (!e)
		return -code;
	/* Not straight into e->text: it may be among the arguments. */
	char text[ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->code = code;
	memcpy(e->text, text, strlen(text) + 1);
	return -code;
}

int err_sys(struct err *e, int code, const char *fmt, ...)
{
	code = normal(code);
	if (!e)
		return -code;
	char reason[128];
	const char *why = strerror_r(code, reason, sizeof(reason));
	size_t tail = strlen(why) + 2;

	/* A long path must not push the reason out of the text. */
	char text[ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	format(text, tail < sizeof(text) ? sizeof(text) - tail : 1, fmt, ap);
	va_end(ap);
	return err_set(e, code, "%s: %s", text, why);
}

int err_context(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EIO;
	char text[ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, e->code, "%s: %s", text, e->text);
}
