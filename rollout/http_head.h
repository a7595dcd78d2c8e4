// SPDX-License-Identifier: Apache-2.0
/* Owns the form of an HTTP/1 request's head: one strict, pure reader of untrusted bytes.
 * Must not know sockets, TLS, or which paths exist. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define HTTP_HEAD_MAX   (16u << 10) /* bytes of request line and headers together */
#define HTTP_PATH_MAX   256         /* with the final 0 */
#define HTTP_QUERY_MAX  256
#define HTTP_FIELDS_MAX 64

struct http_head {
	char method[8];
	char path[HTTP_PATH_MAX];   /* begins with '/'; letters, digits and "-._~/" alone; no empty, "." or ".." part */
	char query[HTTP_QUERY_MAX]; /* what follows '?'; letters, digits and "-._~=&" alone */
	uint64_t body_len;          /* Content-Length; 0 without */
	bool keep_alive;
	bool expects_continue; /* waits for "100 Continue" before it sends the body */
};

/* The length of the head at the start of text, its empty line included, or 0 where that has not come yet. */
size_t http_head_length(const char *text, size_t len);

/* Reads one whole head (RFC 9112). Refused, because nobody of ours sends them and each has been a hole somewhere:
 * escapes and absolute URLs as the target, transfer codings, lengths given twice, folded headers, bare line feeds,
 * bytes that are no text. *ret untouched on failure; *status is then the answer's status (400, 411, 414, 417, 431, 501,
 * 505). */
int must_check http_head_parse(const char *text, size_t len, struct http_head *ret, unsigned *status, struct err *e);
