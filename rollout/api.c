// SPDX-License-Identifier: Apache-2.0
/* Owns the table of routes, who may call each, and which status an error has.
 * Must not know what any route does. */
#include "api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "api_call.h"

#define ANYBODY       TRUST_NOBODY
#define ENROLMENT_MAX (16u << 10)               /* a request of 8 KiB, its line feeds escaped */
#define DIRECTIVE_MAX (4 * DIRECTIVE_BYTES_MAX) /* the same */
#define TOKEN_MAX     (4u << 10)
#define RETRY_S       5

struct route {
	const char *method;
	const char *path; /* each '*' stands for one part */
	enum trust_role role;
	size_t body_max;
	int (*fn)(struct api_call *c, struct err *e);
};

static const struct route routes[] = {
    {"POST", "/v1/enrol", ANYBODY, ENROLMENT_MAX, api_enrol},
    {"POST", "/v1/poll", TRUST_HOST, MESSAGE_BYTES_MAX, api_poll},
    {"PUT", "/v1/recordings/*/*", TRUST_HOST, MESSAGE_RECORDING_MAX, api_recording},
    {"POST", "/v1/plans", TRUST_OPERATOR, DIRECTIVE_BYTES_MAX, api_plan},
    {"POST", "/v1/rollouts", TRUST_OPERATOR, DIRECTIVE_MAX, api_rollout_add},
    {"GET", "/v1/rollouts", TRUST_OPERATOR, 0, api_rollouts},
    {"GET", "/v1/rollouts/*", TRUST_OPERATOR, 0, api_rollout},
    {"POST", "/v1/rollouts/*/start", TRUST_OPERATOR, 0, api_start},
    {"POST", "/v1/rollouts/*/pause", TRUST_OPERATOR, 0, api_pause},
    {"POST", "/v1/rollouts/*/resume", TRUST_OPERATOR, 0, api_resume},
    {"POST", "/v1/rollouts/*/abort", TRUST_OPERATOR, 0, api_abort},
    {"GET", "/v1/hosts", TRUST_OPERATOR, 0, api_hosts},
    {"GET", "/v1/hosts/*", TRUST_OPERATOR, 0, api_host},
    {"POST", "/v1/hosts/*/retire", TRUST_OPERATOR, 0, api_retire},
    {"GET", "/v1/history", TRUST_OPERATOR, 0, api_history},
    {"POST", "/v1/tokens", TRUST_OPERATOR, TOKEN_MAX, api_token},
};

/* Whether path has the pattern's form; then part has what its stars stand for. */
static bool fits(const char *pattern, const char *path, char part[2][API_PART_MAX])
{
	unsigned n = 0;

	while (*pattern) {
		if (*pattern != '*') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		size_t len = strcspn(path, "/");
		if (len == 0 || len >= API_PART_MAX || n == 2)
			return false;
		memcpy(part[n], path, len);
		part[n++][len] = 0;
		path += len;
		pattern++;
	}
	return !*path;
}

/* The route, or NULL; then *others says whether the path exists with other methods. */
static const struct route *find(const struct http_request *q, char part[2][API_PART_MAX], bool *others)
{
	*others = false;
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!fits(routes[i].path, q->path, part))
			continue;
		if (strcmp(routes[i].method, q->method) == 0)
			return &routes[i];
		*others = true;
	}
	return NULL;
}

static const char *who_text(const struct trust_subject *who, char *ret, size_t cap)
{
	if (who->role == TRUST_NOBODY)
		snprintf(ret, cap, "a client without a certificate");
	else
		snprintf(ret, cap, "%s %s", trust_role_name(who->role), who->name);
	return ret;
}

/* What agents and strangers are refused can come in any number: one line a minute. */
static void log_refusal(struct api *a, const struct http_request *q, const struct http_reply *r)
{
	char who[128], text[512], line[640];
	int len = r->body.len > 0 ? (int)r->body.len - 1 : 0;

	snprintf(text, sizeof(text), "refused %s %.80s from %s at %s: %u %.*s", q->method, q->path,
		 who_text(q->who, who, sizeof(who)), q->peer, r->status, len, r->body.data ? r->body.data : "");
	struct quiet *kind = r->status >= 500 ? &a->failures : &a->refusals;
	if (quiet_line(kind, (uint64_t)time(NULL) * 1000u, text, line, sizeof(line)))
		a->log(r->status >= 500 ? LOG_ERR : LOG_NOTICE, line);
}

/* Whether this client may call the route; otherwise the reply says which certificate is needed. */
static bool allowed(const struct route *r, const struct http_request *q, struct http_reply *ret)
{
	char who[128];

	if (r->role == ANYBODY || r->role == q->who->role)
		return true;
	http_reply_line(ret, 403, "%s %s needs a certificate of the role %s (%s), and this is %s", q->method, q->path,
			trust_role_name(r->role),
			r->role == TRUST_HOST ? "a host gets it by enrolling with a token of 'kpcp token'"
					      : "'kpcp init' makes one",
			who_text(q->who, who, sizeof(who)));
	return false;
}

int api_ours(int r, struct err *e)
{
	if (r < 0 && e)
		e->code = EIO;
	return r < 0 ? -EIO : r;
}

int api_check(const struct api_config *c, struct err *e)
{
	const struct trust_subject subject = {.role = TRUST_HOST, .name = "check", .cluster = "check"};
	_cleanup_(buf_free) struct buf request = BUF_INIT(TRUST_PEM_MAX), cert = BUF_INIT(TRUST_PEM_MAX);
	int r = trust_csr_make(c->ca_key, subject.name, &request, e);

	if (r == 0)
		r = trust_issue(c->ca_key, c->ca, request.data, request.len, &subject, NULL, c->days, &cert, e);
	if (r < 0)
		return err_context(e, "hosts could not be enrolled");
	/* No signature at all: a key that can be read says so. */
	r = trust_verify(c->approver, "", 0, "", e);
	return r == -EBADMSG ? 0 : err_context(e, "no plan could be approved");
}

static unsigned status_of(int failed)
{
	switch (-failed) {
	case EINVAL:
		return 400;
	case EACCES:
		return 403;
	case ENOENT:
		return 404;
	case EEXIST:
	case EBUSY:
	case ESTALE:
		return 409;
	case EFBIG:
		return 413;
	case EAGAIN:
		return 429;
	default:
		return 503;
	}
}

/* A certificate outlives what the store knows of its host: it may be retired, or moved by another token. */
static int check_host(struct api_call *c, struct err *e)
{
	const struct trust_subject *who = c->q->who;
	struct store_host h;
	int r = store_host_get(c->api->store, who->name, &h, e);

	if (r == -ENOENT)
		return err_set(e, EACCES, "the controller knows no host %s; enrol it with a token of 'kpcp token'",
			       who->name);
	if (r < 0)
		return r;
	if (h.retired)
		return err_set(e, EACCES, "the host %s was retired; to take it back, enrol it with a new token",
			       who->name);
	/* Whoever has an older one may have stolen it: its enrolment anew may have been for that. */
	if (h.fingerprint[0] && strcmp(h.fingerprint, c->q->fingerprint) != 0)
		return err_set(e, EACCES,
			       "%s was enrolled anew since this certificate was made; take the newer one, or enrol it "
			       "again with a token of 'kpcp token'",
			       who->name);
	if (strcmp(h.cluster, who->cluster) != 0)
		return err_set(e, EACCES,
			       "the certificate puts %s into cluster %s, but it was enrolled into %s since; take that "
			       "certificate",
			       who->name, who->cluster, h.cluster);
	return 0;
}

static void fail(struct api *a, const struct http_request *q, int r, const struct err *e, struct http_reply *ret)
{
	http_reply_line(ret, status_of(r), "%s", e->text);
	if (ret->status == 429 || ret->status == 503)
		ret->retry_after_s = RETRY_S;
	log_refusal(a, q, ret);
}

bool api_admit(struct api *a, const struct http_request *q, size_t *ret_max, struct http_reply *ret)
{
	struct api_call c = {.api = a, .q = q, .now = (uint64_t)time(NULL), .ret = ret};
	struct err e = {0};
	bool others;
	const struct route *r = find(q, c.part, &others);

	if (!r && others)
		http_reply_line(ret, 405, "%s is not possible with the method %s", q->path, q->method);
	else if (!r)
		http_reply_line(ret, 404, "there is no %s here", q->path);
	else if (allowed(r, q, ret)) {
		/* Large bodies only from hosts that are to send one. */
		int bad = r->role == TRUST_HOST ? check_host(&c, &e) : 0;

		if (bad == 0 && r->fn == api_recording)
			bad = api_recording_wanted(&c, &e);
		*ret_max = r->body_max;
		if (bad < 0)
			fail(a, q, bad, &e, ret);
		return bad == 0;
	}
	log_refusal(a, q, ret);
	return false;
}

void api_answer(struct api *a, const struct http_request *q, struct http_reply *ret)
{
	struct api_call c = {.api = a, .q = q, .now = (uint64_t)time(NULL), .ret = ret};
	struct err e = {0};
	bool others;
	const struct route *route = find(q, c.part, &others);

	if (!route || !allowed(route, q, ret)) /* admitted, so it cannot be; and never must */
		return http_reply_line(ret, 404, "there is no %s here", q->path);
	int r = route->role == TRUST_HOST ? check_host(&c, &e) : 0;
	store_by(a->store, route->role == TRUST_OPERATOR ? q->who->name : "");
	if (r == 0)
		r = route->fn(&c, &e);
	store_by(a->store, "");
	/* Agents ask for nothing by name, so what is missing, or there twice, is ours. */
	if ((r == -ENOENT || r == -EEXIST) && route->role != TRUST_OPERATOR)
		r = api_ours(r, &e);
	if (r == 0)
		return;
	fail(a, q, r, &e, ret);
}
