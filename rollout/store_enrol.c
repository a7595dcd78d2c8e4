// SPDX-License-Identifier: Apache-2.0
/* Owns tokens, the enrolment of hosts, the list of hosts, and their retirement.
 * Must not know certificates beyond their bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/form.h"
#include "lib/trust/trust.h"
#include "store_impl.h"

#define TTL_MIN     60u
#define TTL_MAX     (7u * 86400)
#define TOKEN_BYTES 32u

struct token {
	bool there;
	char host[STORE_NAME_MAX];
	char cluster[DIRECTIVE_NAME_MAX];
	uint64_t expires;
	uint64_t used;
	char request[65];
	struct buf *certificate;
};

/* One way in at a time: a newer token, or a retirement, ends those that nobody has used. Inside a transaction. */
static int void_tokens(struct store *s, const char *host, uint64_t now, struct err *e)
{
	return DB_RUN(s->db, NULL, e, "UPDATE tokens SET expires = $2 WHERE host = $1 AND used = 0 AND expires > $2",
		      DB_T(host), DB_I(now - 1));
}

int store_token_make(struct store *s, const char *host, const char *cluster, uint64_t ttl_s, uint64_t now,
		     char ret_token[65], uint64_t *ret_expires_unix_s, struct err *e)
{
	char token[65], hash[65];
	int r = form_check(&form_host, host, e);

	if (r == 0)
		r = form_check(&form_name, cluster, e);
	if (r < 0)
		return r;
	if (ttl_s < TTL_MIN || ttl_s > TTL_MAX)
		return err_set(e, EINVAL, "a token lives for %u s to %u s (7 days), not for %llu s", TTL_MIN, TTL_MAX,
			       (unsigned long long)ttl_s);
	if ((r = trust_random_hex(TOKEN_BYTES, token, e)) < 0)
		return r;
	trust_sha256(token, strlen(token), hash);
	if ((r = db_begin(s->db, true, e)) < 0)
		return r;
	r = void_tokens(s, host, now, e);
	if (r == 0)
		r = DB_RUN(
		    s->db, NULL, e,
		    "INSERT INTO tokens (hash, host, cluster, expires, used, request, certificate) VALUES ($1, $2, $3, "
		    "$4, 0, '', '')",
		    DB_T(hash), DB_T(host), DB_T(cluster), DB_I(now + ttl_s));
	if (r == 0)
		r = store_say(s, "", host, now, e, "a token to enrol it into %s was made, for %llu s", cluster,
			      (unsigned long long)ttl_s);
	r = store_end(s, r, e);
	if (r < 0)
		return err_context(e, "making a token for %s", host);
	memcpy(ret_token, token, sizeof(token));
	*ret_expires_unix_s = now + ttl_s;
	return 0;
}

static int token_row(void *target, const struct db_row *r, struct err *e)
{
	struct token *t = target;
	size_t len;
	const char *certificate = db_text(r, 5, &len);
	int x = db_copy(r, 0, t->host, sizeof(t->host), e);

	if (x == 0)
		x = db_copy(r, 1, t->cluster, sizeof(t->cluster), e);
	if (x == 0)
		x = db_copy(r, 4, t->request, sizeof(t->request), e);
	t->expires = (uint64_t)db_int(r, 2);
	t->used = (uint64_t)db_int(r, 3);
	t->there = true;
	return x < 0 || !t->certificate ? x : buf_add(t->certificate, certificate, len, e);
}

/* 0: may be used; 1: this very request used it. certificate may be NULL. */
static int look_up(struct store *s, const struct enrolment *x, uint64_t now, struct token *ret, struct buf *certificate,
		   struct err *e)
{
	char hash[65], request[65];
	const char *again = "ask an operator for a new one: kpcp token";

	trust_sha256(x->token, strlen(x->token), hash);
	trust_sha256(x->csr, strlen(x->csr), request);
	*ret = (struct token){.certificate = certificate};
	int r = DB_QUERY(s->db, token_row, ret, NULL, e,
			 "SELECT host, cluster, expires, used, request, certificate FROM tokens WHERE hash = $1",
			 DB_T(hash));
	if (r < 0)
		return r;
	if (!ret->there)
		return err_set(e, EACCES, "this token was never made here; %s", again);
	if (strcmp(ret->host, x->host) != 0)
		return err_set(e, EACCES, "this token is for another host than %.64s; %s", x->host, again);
	if (ret->used && strcmp(ret->request, request) == 0 && now <= ret->expires)
		return 1;
	if (ret->used)
		return err_set(e, EACCES, "the token for %s was used before, %llu s ago, by another request; %s",
			       ret->host, (unsigned long long)(now > ret->used ? now - ret->used : 0), again);
	if (now > ret->expires)
		return err_set(
		    e, EACCES,
		    "the token for %s expired %llu s ago, on the controller's clock, or another took its place; %s",
		    ret->host, (unsigned long long)(now - ret->expires), again);
	return 0;
}

int store_enrol_begin(struct store *s, const struct enrolment *x, uint64_t now, char *ret_cluster, struct buf *ret_cert,
		      struct err *e)
{
	_cleanup_(buf_free) struct buf certificate = BUF_INIT(TRUST_PEM_MAX);
	struct token t;
	int r = look_up(s, x, now, &t, &certificate, e);

	if (r < 0)
		return r;
	if (r == 1) {
		r = buf_add(ret_cert, certificate.data, certificate.len, e);
		return r < 0 ? r : 1;
	}
	if (!store_find(s, x->host) && (r = store_mem_reserve(s, e)) < 0)
		return r;
	memcpy(ret_cluster, t.cluster, sizeof(t.cluster));
	return 0;
}

/* A host that is enrolled anew keeps its epoch: an order from before must never look new to it. */
static int write_host(struct store *s, const struct token *t, const struct enrolment *x, const char *cert, size_t len,
		      const char *fingerprint, uint64_t now, struct err *e)
{
	char hash[65], request[65];

	trust_sha256(x->token, strlen(x->token), hash);
	trust_sha256(x->csr, strlen(x->csr), request);
	int r = DB_RUN(s->db, NULL, e,
		       "UPDATE tokens SET used = $2, request = $3, certificate = $4 WHERE hash = $1 AND used = 0",
		       DB_T(hash), DB_I(now), DB_T(request), ((struct db_value){DB_TEXT, 0, cert, len}));
	if (r == 0)
		r = DB_RUN(
		    s->db, NULL, e,
		    "INSERT INTO hosts (name, cluster, enrolled, retired, epoch, rollout, seen, report, "
		    "fingerprint) VALUES ($1, $2, $3, 0, 0, '', 0, '', $4) "
		    "ON CONFLICT (name) DO UPDATE SET cluster = $2, enrolled = $3, retired = 0, fingerprint = $4",
		    DB_T(t->host), DB_T(t->cluster), DB_I(now), DB_T(fingerprint));
	return r < 0 ? r : store_say(s, "", t->host, now, e, "enrolled into %s", t->cluster);
}

int store_enrol_finish(struct store *s, const struct enrolment *x, const char *cert, size_t len,
		       const char *fingerprint, uint64_t now, struct err *e)
{
	struct token t;
	int r = look_up(s, x, now, &t, NULL, e);

	if (r != 0)
		return r < 0 ? r : 0;
	if (len > TRUST_PEM_MAX)
		return err_set(e, EINVAL, "a certificate of %zu bytes is longer than %u", len, TRUST_PEM_MAX);
	struct store_mem *h = store_find(s, t.host);
	if (!h && (r = store_mem_reserve(s, e)) < 0)
		return r;
	if ((r = db_begin(s->db, true, e)) < 0)
		return r;
	r = store_end(s, write_host(s, &t, x, cert, len, fingerprint, now, e), e);
	if (r < 0)
		return err_context(e, "enrolling %s", t.host);
	if (h) {
		memcpy(h->pub.cluster, t.cluster, sizeof(h->pub.cluster));
		snprintf(h->pub.fingerprint, sizeof(h->pub.fingerprint), "%s", fingerprint);
		h->pub.enrolled_unix_s = now;
		h->pub.retired = false;
		return 0;
	}
	struct store_host fresh = {.enrolled_unix_s = now};
	snprintf(fresh.fingerprint, sizeof(fresh.fingerprint), "%s", fingerprint);
	memcpy(fresh.name, t.host, sizeof(fresh.name));
	memcpy(fresh.cluster, t.cluster, sizeof(fresh.cluster));
	return store_mem_add(s, &fresh, e); /* room was made above */
}

/* ---- hosts ---- */

int store_hosts(struct store *s, struct store_host **ret, size_t *n, struct err *e)
{
	struct store_host *list = calloc(s->n ? s->n : 1, sizeof(*list));

	if (!list)
		return err_sys(e, ENOMEM, "listing %zu hosts", s->n);
	for (size_t i = 0; i < s->n; i++)
		list[i] = s->host[i].pub;
	*ret = list;
	*n = s->n;
	return 0;
}

int store_host_get(struct store *s, const char *name, struct store_host *ret, struct err *e)
{
	struct store_mem *h;
	int r = store_known(s, name, &h, e);

	if (r == 0)
		*ret = h->pub;
	return r;
}

int store_host_retire(struct store *s, const char *name, uint64_t now, struct err *e)
{
	struct store_mem *h;
	int r = store_known(s, name, &h, e);

	if (r < 0)
		return r;
	if (h->pub.retired)
		return err_set(e, ESTALE, "%s is retired already; it comes back by being enrolled again: kpcp token",
			       name);
	if ((r = db_begin(s->db, true, e)) < 0)
		return r;
	r = DB_RUN(s->db, NULL, e, "UPDATE hosts SET retired = 1 WHERE name = $1", DB_T(name));
	if (r == 0)
		r = void_tokens(s, name, now, e);
	if (r == 0 && h->out)
		r = store_order_end(s, h, OUTCOME_HELD, "the host was retired", now, e);
	if (r == 0)
		r = store_say(s, h->pub.rollout, name, now, e, "retired: written off by a person");
	r = store_end(s, r, e);
	if (r < 0)
		return err_context(e, "retiring %s", name);
	h->pub.retired = true;
	h->out = false;
	return 0;
}
