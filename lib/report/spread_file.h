// SPDX-License-Identifier: Apache-2.0
/* Owns the form of an A/A campaign's result on disk: a small text file with a version, which people can read, too.
 * Must not know how a spread is estimated or used. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/spread.h"

#define SPREAD_FORMAT   "kpcp-spread/1"
#define SPREAD_FILE_MAX 16384u

/* Adds the whole file. What it adds reads back to the same spread, and that adds the same bytes again. */
int must_check spread_file_format(struct buf *out, const struct spread *s, struct err *e);
/* name stands for the path in messages. Every key must be there; -EPROTONOSUPPORT for another version; *ret untouched
 * on failure. */
int must_check spread_file_parse(const char *name, const char *text, size_t len, struct spread *ret, struct err *e);
int must_check spread_file_read(const char *path, struct spread *ret, struct err *e);
/* Replaces path in one step that survives a crash (fs_write_atomic). */
int must_check spread_file_write(const char *path, const struct spread *s, struct err *e);
