// SPDX-License-Identifier: Apache-2.0
/* Owns the door to the real machine, and what both doors share.
 * Must not know what any file means. */
#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/base/fs.h"

static int linux_read(const struct sys *s, const char *path, struct buf *ret, struct err *e)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s", s->root, path);

	if (n < 0 || (size_t)n >= sizeof(full))
		return err_set(e, ENAMETOOLONG, "%s%s: the path is too long", s->root, path);
	return fs_read(full, ret, e);
}

static uint64_t clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t linux_now_ns(const struct sys *s)
{
	(void)s;
	return clock_read(CLOCK_MONOTONIC);
}

static uint64_t linux_unix_s(const struct sys *s)
{
	(void)s;
	return clock_read(CLOCK_REALTIME) / 1000000000u;
}

static int linux_sleep_until(const struct sys *s, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	(void)s;
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static uint64_t linux_random(const struct sys *s)
{
	uint64_t value = 0;

	/* Without the kernel's generator the clock is random enough: this only seeds jitter, and is recorded. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value))
		value = linux_now_ns(s);
	return value;
}

struct sys sys_linux(const char *root)
{
	return (struct sys){.root = root,
			    .read = linux_read,
			    .now_ns = linux_now_ns,
			    .unix_s = linux_unix_s,
			    .sleep_until = linux_sleep_until,
			    .random = linux_random};
}

int sys_read_text(const struct sys *s, const char *path, char *ret, size_t cap, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	int r = s->read(s, path, &b, e);

	if (r < 0)
		return r;
	while (b.len > 0 && b.data[b.len - 1] == '\n')
		b.len--;
	if (b.len >= cap)
		return err_set(e, EFBIG, "%s%s: %zu bytes where at most %zu belong", s->root, path, b.len, cap - 1);
	if (b.len > 0 && memchr(b.data, 0, b.len))
		return err_set(e, EINVAL, "%s%s: has a NUL byte inside", s->root, path);
	if (b.len > 0)
		memcpy(ret, b.data, b.len);
	ret[b.len] = 0;
	return 0;
}
