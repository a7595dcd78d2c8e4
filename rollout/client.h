// SPDX-License-Identifier: Apache-2.0
/* Owns one HTTPS connection to the controller with the operator's certificate: requests out, bounded replies in, and
 * errors that say what to do. Must not know what is asked, what an answer means, or where its settings come from. */
#pragma once

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define CLIENT_REPLY_MAX (16u << 20) /* bytes of any reply */

/* The texts stay the caller's and outlive the client. */
struct client_target {
	const char *url;  /* "https://NAME:PORT" */
	const char *ca;   /* what the controller's certificate must chain to */
	const char *cert; /* the operator's */
	const char *key;
	uint64_t timeout_ms; /* for one whole exchange */
};

struct client;

/* Opens no connection yet, but finds files that cannot be read. */
int must_check client_open(const struct client_target *t, struct client **ret, struct err *e);
void client_close(struct client **c); /* for _cleanup_; NULL is empty */

/* One exchange; body NULL: none. Appends the reply of a 2xx status to ret, which is untouched otherwise. No proxy, no
 * redirect. Errors: -EAGAIN when the same request may work later (no connection, time-out, status 5xx or 429); -EACCES
 * for 401 and 403; -ENOENT for 404; -EEXIST for 409; -EINVAL for other 4xx; -EPROTO for anything that is not ours;
 * others for what is wrong on this side. The message has the controller's own line of text, where it sent one. */
int must_check client_call(struct client *c, const char *method, const char *path, const void *body, size_t len,
			   struct buf *ret, struct err *e);
