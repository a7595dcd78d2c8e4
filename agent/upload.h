// SPDX-License-Identifier: Apache-2.0
/* Owns requests to the controller: HTTPS only, mutual TLS, one pinned authority, no redirects, bounded in size and
 * time. Must not know what is asked or answered, nor when to ask again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

struct upload; /* one connection, kept open between requests */

struct upload_where {
	const char *url;  /* https://NAME:PORT */
	const char *ca;   /* the only authority that is believed */
	const char *cert; /* shown to the controller, with its key; both PEM files */
	const char *key;
};

struct upload_request {
	const char *path; /* "/v1/poll" */
	bool put;         /* PUT instead of POST */
	bool anonymous;   /* without the certificate: enrolment */
	const void *body;
	size_t len;
	const char *type;  /* Content-Type */
	size_t answer_max; /* bytes */
	uint32_t timeout_s;
	/* Looked at while the request is under way: called when watch_fd can be read, and at least twice a second. A
	 * negative result ends the request with that result. */
	int watch_fd;
	int (*watch)(void *target, struct err *e);
	void *target;
};

struct upload_answer {
	long status;            /* HTTP */
	uint64_t retry_after_s; /* 0: not said */
	struct buf body;        /* the caller's to free */
};

/* where's texts must outlive it. Files are read at each new connection, so a new certificate needs upload_reconnect. */
int must_check upload_open(const struct upload_where *where, struct upload **ret, struct err *e);
void upload_close(struct upload **u); /* also for _cleanup_ */
void upload_reconnect(struct upload *u);

/* 0: there is an answer, whatever its status. Negative: none came (-ETIMEDOUT, -EHOSTUNREACH or what connect said,
 * -EPROTO for TLS, -EFBIG, -EIO), with a message that says what to look at; or watch's result. */
int must_check upload_run(struct upload *u, const struct upload_request *q, struct upload_answer *ret, struct err *e);
