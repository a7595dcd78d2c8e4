// SPDX-License-Identifier: Apache-2.0
/* Owns the one error convention: functions return 0 or a negative errno and describe the failure in a
 * struct err that the caller owns. Must not know where messages go: libraries never log, mains log once. */
#pragma once

#include "attr.h"

#define ERR_TEXT_MAX 1024

/* code: positive errno, 0 while nothing failed. text: one line without a line feed, always terminated. */
struct err {
	int code;
	char text[ERR_TEXT_MAX];
};

/* Sets code (a positive errno; 0 and below become EIO) and text, cutting what does not fit. Control characters in
 * the text become blanks. Returns -code. e may be NULL: then only the code is returned. */
int err_set(struct err *e, int code, const char *fmt, ...) printf_like(3, 4);

/* Like err_set with ": <strerror(code)>" appended, for which room is kept. */
int err_sys(struct err *e, int code, const char *fmt, ...) printf_like(3, 4);

/* Puts "context: " before the text that is there, on the way up. Returns -code, so that
 * `return err_context(e, "reading %s", path);` works. -EIO where e is NULL or has no code. */
int err_context(struct err *e, const char *fmt, ...) printf_like(2, 3);
