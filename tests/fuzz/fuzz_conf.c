// SPDX-License-Identifier: Apache-2.0
/* Owns the search for configurations that conf_parse takes wrongly or refuses without naming the place.
 * Must not know inih. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/conf.h"
#include "lib/base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct settings {
	unsigned calls[4];
	uint64_t number;
	_Bool flag;
};

static void require(int condition)
{
	if (!condition)
		abort();
}

static int set_number(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls[0]++;
	return num_u64(value, 1, 1000, &s->number, e);
}

static int set_flag(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls[1]++;
	return num_bool(value, &s->flag, e);
}

static int set_text(void *target, const char *value, struct err *e)
{
	(void)e;
	struct settings *s = target;
	s->calls[2]++;
	require(strlen(value) <= 190);
	require(!strpbrk(value, "\n\r\033"));
	return 0;
}

static int set_top(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls[3]++;
	return *value ? 0 : err_set(e, ENODATA, "empty");
}

static const struct conf_key keys[] = {
    {"a", "number", set_number, true},
    {"a", "flag", set_flag, false},
    {"bee", "text", set_text, false},
    {"", "top", set_top, false},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings s = {0};
	struct err e = {0};
	/* Exactly as long as the text and without a final 0: conf_parse may not rely on one. */
	char *text = size > 0 ? malloc(size) : NULL;
	if (size > 0) {
		require(text != NULL);
		memcpy(text, data, size);
	}
	int r = conf_parse("fuzz.conf", text, size, keys, ARRAY_SIZE(keys), &s, &e);
	free(text);

	for (size_t i = 0; i < ARRAY_SIZE(s.calls); i++)
		require(s.calls[i] <= 1);
	if (r == 0) {
		require(s.calls[0] == 1 && s.number >= 1 && s.number <= 1000);
		require(size == 0 || !memchr(data, 0, size));
		return 0;
	}
	require(r == -EINVAL || r == -ERANGE || r == -EFBIG || r == -ENODATA);
	require(e.code == -r);
	require(strncmp(e.text, "fuzz.conf:", strlen("fuzz.conf:")) == 0 && !strpbrk(e.text, "\n\r\033"));
	return 0;
}
