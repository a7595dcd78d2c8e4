// SPDX-License-Identifier: Apache-2.0
/* Owns the terms on which the controller speaks TLS, and who a client is by its certificate.
 * Must not know sockets, HTTP, or what a client may do. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "lib/base/err.h"
#include "lib/trust/trust.h"

struct ssl_ctx_st;
struct ssl_st;

/* TLS 1.2 or 1.3 with the server's certificate; clients may show one, which must then be of the authority in ca and
 * made for clients. The messages name the file that cannot be used. */
int must_check http_tls_open(const char *ca, const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *e);

/* Whether the client of this finished handshake showed a certificate of ours; then who it is, which one it is (the
 * SHA-256 of its DER form), and until when. */
bool http_tls_peer(struct ssl_st *ssl, struct trust_subject *ret, char ret_fingerprint[65], time_t *ret_not_after);
/* The same of a certificate in PEM form. */
int must_check http_tls_fingerprint(const char *pem, size_t len, char ret[65], struct err *e);

/* The name that a certificate request (PEM) asks for: its only CN. -EINVAL where it has none, or one that no
 * certificate of ours has. Nothing else of the request is looked at: trust_issue() does that. */
int must_check http_tls_asked_name(const char *pem, size_t len, char ret[TRUST_NAME_MAX], struct err *e);
