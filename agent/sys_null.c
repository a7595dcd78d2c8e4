// SPDX-License-Identifier: Apache-2.0
/* Owns the door to no machine: canned files and a clock that stands still, so that tests need no machine.
 * Must not know what any file means. */
#include "sys.h"

#include <errno.h>
#include <string.h>

static int null_read(const struct sys *s, const char *path, struct buf *ret, struct err *e)
{
	for (size_t i = 0; i < s->n_files; i++) {
		const struct sys_file *f = &s->files[i];

		if (strcmp(f->path, path) == 0)
			return buf_add(ret, f->text, f->len ? f->len : strlen(f->text), e);
	}
	return err_sys(e, ENOENT, "%s", path);
}

static uint64_t null_now_ns(const struct sys *s)
{
	return *s->clock_ns;
}

static uint64_t null_unix_s(const struct sys *s)
{
	return 1704067200u + *s->clock_ns / 1000000000u;
}

static int null_sleep_until(const struct sys *s, uint64_t ns)
{
	if (*s->clock_ns < ns)
		*s->clock_ns = ns;
	return 0;
}

static uint64_t null_random(const struct sys *s)
{
	(void)s;
	return 0x9e3779b97f4a7c15u;
}

struct sys sys_null(const struct sys_file *files, size_t n_files, uint64_t *clock_ns)
{
	return (struct sys){.root = "",
			    .read = null_read,
			    .now_ns = null_now_ns,
			    .unix_s = null_unix_s,
			    .sleep_until = null_sleep_until,
			    .random = null_random,
			    .files = files,
			    .n_files = n_files,
			    .clock_ns = clock_ns};
}
