// SPDX-License-Identifier: Apache-2.0
/* Owns growing byte buffers, each with an upper bound that its creator declares.
 * Must not know what the bytes mean. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* data[len] is always 0 once anything was added, so text can be used as a C string.
 * A zeroed struct with max set is a valid empty buffer. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max; /* bytes; growing past it fails with EFBIG and changes nothing */
};

#define BUF_INIT(bound) ((struct buf){.max = (bound)})

void buf_free(struct buf *b); /* also for _cleanup_; leaves an empty buffer with the same bound */
/* data may be NULL when len is 0, and does not point into b. */
int must_check buf_add(struct buf *b, const void *data, size_t len, struct err *e);
int must_check buf_addf(struct buf *b, struct err *e, const char *fmt, ...) printf_like(3, 4);
/* Makes room for len more bytes, zeroed, and returns where they start in *ret; the caller adds to b->len what it has
 * filled. */
int must_check buf_reserve(struct buf *b, size_t len, char **ret, struct err *e);
