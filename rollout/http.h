// SPDX-License-Identifier: Apache-2.0
/* Owns the controller's HTTPS server and its event loop: TLS, connections, time and size limits, one thread.
 * Must not know which paths exist or what they do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/trust/trust.h"

#define HTTP_REPLY_MAX (16u << 20) /* bytes of any reply's body */

/* Everything in it lives until the callback returns. */
struct http_request {
	const char *method;              /* capital letters */
	const char *path;                /* as http_head.h promises */
	const char *query;               /* "" without */
	const char *peer;                /* the client's numeric address */
	const struct trust_subject *who; /* of its verified certificate; TRUST_NOBODY without one */
	const char *fingerprint;         /* of that certificate, SHA-256; "" without one */
	const char *body;                /* body_len bytes and a 0 after them; NULL in admit() */
	size_t body_len;                 /* in admit(): as announced */
};

struct http_reply {
	unsigned status;        /* 0: not decided yet */
	const char *type;       /* of the body; static text */
	uint32_t retry_after_s; /* 0: not sent */
	struct buf body;
};

/* Makes the reply one line of text. */
void http_reply_line(struct http_reply *r, unsigned status, const char *fmt, ...) printf_like(3, 4);

/* What the server asks of its user; none of them may block for long. */
struct http_service {
	void *user;
	/* The head of a request is in. True: *ret_max is how many bytes its body may have, and it is read. False: the
	 * reply is filled in, and the body is not read. */
	bool (*admit)(void *user, const struct http_request *q, size_t *ret_max, struct http_reply *ret);
	/* The whole request is in. */
	void (*answer)(void *user, const struct http_request *q, struct http_reply *ret);
	void (*second)(void *user); /* about once a second */
	/* priority: as in syslog.h. What strangers can cause comes at most once a minute of each kind. */
	void (*log)(void *user, int priority, const char *text);
};

struct http_config {
	const char *address; /* numeric */
	uint16_t port;       /* 0: a free one */
	const char *ca;      /* client certificates must be of this authority */
	const char *cert;
	const char *key;
	uint32_t connections_max; /* lowered to what the process's limit of files allows. Past it, the oldest client
				   * without a certificate has to go */
	uint32_t request_s;       /* from the end of a request's head to the end of its answer */
	uint32_t idle_s;          /* from one answer to the end of the next request's head */
};

struct http;

/* Binds and listens; nothing is answered before http_run(). The service is copied. */
int must_check http_open(const struct http_config *config, const struct http_service *service, struct http **ret,
			 struct err *e);
uint16_t http_port(const struct http *h);
/* Serves until SIGTERM or SIGINT, then ends what is being answered, within 3 seconds. */
int must_check http_run(struct http *h, struct err *e);
void http_close(struct http **h); /* for _cleanup_; NULL is empty */
