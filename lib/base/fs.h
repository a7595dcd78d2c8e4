// SPDX-License-Identifier: Apache-2.0
/* Owns reading and writing whole files safely.
 * Must not know what is in them, nor where the project keeps them. */
#pragma once

#include <stddef.h>

#include "buf.h"
#include "err.h"

void fs_close(int *fd); /* for _cleanup_; -1 is empty */

/* Opens for reading and never waits for somebody at the other end: a named pipe or a block device is EINVAL. What the
 * caller's own shell holds open (/dev/stdin as a pipe or terminal, <(...)) may be read as it comes. more: further flags
 * of open(2), as O_NOFOLLOW. The descriptor, or a negative errno. */
int must_check fs_open(const char *path, int more, struct err *e);

/* Appends the whole file to ret (bounded by ret->max: EFBIG names the bound), opened by fs_open. Works for /proc files,
 * whose size reads as 0. The message names the path. ret keeps its old length on failure. */
int must_check fs_read(const char *path, struct buf *ret, struct err *e);

/* As fs_read, and cuts one final line feed: for one-line files of /proc and /sys. */
int must_check fs_read_line(const char *path, struct buf *ret, struct err *e);

/* Replaces path in one step: temporary file in the same directory, write, fsync, rename, fsync of the
 * directory. On failure the old file is as it was and no temporary file is left; only where the last step fails,
 * the new one stands already, and the message says so. A symbolic link is replaced, not followed. mode: as for
 * open(2), the umask applies. */
int must_check fs_write_atomic(const char *path, const void *data, size_t len, unsigned mode, struct err *e);

/* Writes all of data at fd's position, over short writes and EINTR. */
int must_check fs_write_all(int fd, const void *data, size_t len, struct err *e);
