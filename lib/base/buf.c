// SPDX-License-Identifier: Apache-2.0
/* Owns the growth of byte buffers and the zero byte after their end.
 * Must not know what the bytes mean. */
#include "buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256

void buf_free(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->max);
}

int buf_reserve(struct buf *b, size_t len, char **ret, struct err *e)
{
	if (b->len > b->max || len > b->max - b->len)
		return err_set(e, EFBIG, "%zu bytes and %zu more exceed the bound of %zu bytes", b->len, len, b->max);
	size_t end = b->len + len;
	if (end == SIZE_MAX)
		return err_sys(e, ENOMEM, "cannot hold %zu bytes", end);

	if (end + 1 > b->cap) {
		size_t cap = b->cap <= SIZE_MAX / 2 ? b->cap * 2 : SIZE_MAX;
		if (cap < FIRST_CAP)
			cap = FIRST_CAP;
		if (cap > b->max && b->max < SIZE_MAX)
			cap = b->max + 1;
		if (cap < end + 1)
			cap = end + 1;
		char *data = realloc(b->data, cap);
		if (!data)
			return err_sys(e, ENOMEM, "cannot hold %zu bytes", end);
		b->data = data;
		b->cap = cap;
	}
	/* Whatever part of the room the caller fills, a zero byte comes after it. */
	memset(b->data + b->len, 0, len + 1);
	*ret = b->data + b->len;
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len, struct err *e)
{
	char *at;
	int r = buf_reserve(b, len, &at, e);
	if (r < 0)
		return r;
	if (len > 0)
		memcpy(at, data, len);
	b->len += len;
	return 0;
}

int buf_addf(struct buf *b, struct err *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_sys(e, errno, "cannot format text");

	char *at;
	int r = buf_reserve(b, (size_t)n, &at, e);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}
