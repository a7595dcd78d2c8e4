// SPDX-License-Identifier: Apache-2.0
/* Owns the one door to the machine: its files under a root prefix, its clocks, its randomness.
 * Must not know what any file means. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* One canned file of sys_null. */
struct sys_file {
	const char *path;
	const char *text;
	size_t len; /* 0: strlen(text) */
};

struct sys {
	const char *root; /* goes before every path: "" on a real machine, a directory of fixtures in tests */
	/* As fs_read: appends the file to ret, bounded by ret->max; -ENOENT where it is not there. */
	int (*read)(const struct sys *s, const char *path, struct buf *ret, struct err *e);
	uint64_t (*now_ns)(const struct sys *s); /* CLOCK_MONOTONIC */
	uint64_t (*unix_s)(const struct sys *s);
	/* Sleeps until now_ns() has reached ns; 0, or -EINTR when a signal came first. */
	int (*sleep_until)(const struct sys *s, uint64_t ns);
	uint64_t (*random)(const struct sys *s);
	/* sys_null only */
	const struct sys_file *files;
	size_t n_files;
	uint64_t *clock_ns;
};

/* The machine that this runs on. root must outlive it. */
struct sys sys_linux(const char *root);

/* No machine at all: the files given, a clock that moves only by sleep_until, 2024-01-01, always the same random
 * number. The arrays and *clock_ns stay the caller's. */
struct sys sys_null(const struct sys_file *files, size_t n_files, uint64_t *clock_ns);

/* The whole file without its final line feeds as a C string in ret[0..cap); -EFBIG when it does not fit, and
 * -EINVAL when it has a NUL byte inside. */
int must_check sys_read_text(const struct sys *s, const char *path, char *ret, size_t cap, struct err *e);
