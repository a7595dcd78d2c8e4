// SPDX-License-Identifier: Apache-2.0
/* Owns the one door to the machine: its files under a root prefix, its clocks, its randomness, and, for who acts, its
 * hands. Must not know what any file or program means. */
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

struct run_command;
struct run_result;
struct sys;

/* What changes the machine. Only the agent's process with rights has hands. Paths are under sys.root, programs are
 * not. All return 0 or a negative errno. */
struct sys_hands {
	/* As fs_write_atomic. */
	int (*write)(const struct sys *s, const char *path, const void *data, size_t len, unsigned mode, struct err *e);
	/* Writes text into a file of /proc or /sys, in place and in one write. */
	int (*set)(const struct sys *s, const char *path, const char *text, struct err *e);
	/* Gone on disk when it returns; a file that is not there is no error. */
	int (*remove)(const struct sys *s, const char *path, struct err *e);
	/* A folder of that mode, whose parent exists; no error where it is there already. */
	int (*make_dir)(const struct sys *s, const char *path, unsigned mode, struct err *e);
	/* Appends the names in a folder, sorted, each with a line feed behind it; -ENOENT, -EFBIG past ret->max. Names
	 * that have a line feed or another control character are left out. */
	int (*list)(const struct sys *s, const char *path, struct buf *ret, struct err *e);
	int (*size)(const struct sys *s, const char *path, uint64_t *ret, struct err *e);       /* of a regular file */
	int (*free_bytes)(const struct sys *s, const char *path, uint64_t *ret, struct err *e); /* of its file system */
	/* SHA-256 of a regular file's content, by one descriptor; at most max bytes. */
	int (*sha256)(const struct sys *s, const char *path, uint64_t max, char ret[65], struct err *e);
	/* run.h */
	int (*run)(const struct sys *s, const struct run_command *c, struct run_result *ret, struct err *e);
	/* kexec_file_load(2); initrd may be NULL. -ENOSYS where the kernel has no such call. */
	int (*kexec_load)(const struct sys *s, const char *kernel, const char *initrd, const char *command_line,
			  struct err *e);
	int (*kexec_unload)(const struct sys *s, struct err *e); /* nothing loaded: no error */
	/* Appends what the kernel itself has said since it booted, a line each: what is still in its ring. */
	int (*kernel_log)(const struct sys *s, struct buf *ret, struct err *e);
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
	const struct sys_hands *hands; /* NULL: this door only looks */
	void *self;                    /* of whoever made it */
};

extern const struct sys_hands sys_hands_linux;

/* The machine that this runs on. root must outlive it. */
struct sys sys_linux(const char *root);

/* No machine at all: the files given, a clock that moves only by sleep_until, 2024-01-01, always the same random
 * number. The arrays and *clock_ns stay the caller's. */
struct sys sys_null(const struct sys_file *files, size_t n_files, uint64_t *clock_ns);

/* The whole file without its final line feeds as a C string in ret[0..cap); -EFBIG when it does not fit, and
 * -EINVAL when it has a NUL byte inside. */
int must_check sys_read_text(const struct sys *s, const char *path, char *ret, size_t cap, struct err *e);
