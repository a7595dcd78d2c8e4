// SPDX-License-Identifier: Apache-2.0
/* Owns the use of libcurl by the operator's command line, and what its failures mean to a person.
 * Must not know what is asked, what an answer means, or where its settings come from. */
#include "client.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/fleet/form.h"

#define CONNECT_MS_MAX 10000
#define URL_BYTES_MAX  1024
#define REASON_MAX     400 /* bytes of the controller's line that a message repeats */

struct client {
	struct client_target target;
	CURL *curl;
	char detail[CURL_ERROR_SIZE]; /* what libcurl has to say of a failure */
};

/* Where a reply goes while it comes in. */
struct sink {
	struct buf body;
	bool too_large;
	struct err error;
};

static size_t take(char *data, size_t size, size_t n, void *user)
{
	struct sink *s = user;
	int r = buf_add(&s->body, data, size * n, &s->error);

	if (r < 0) {
		s->too_large = r == -EFBIG;
		return 0; /* libcurl ends the transfer with CURLE_WRITE_ERROR */
	}
	return size * n;
}

/* libcurl says "problem with the local SSL certificate" for each of these; a name and a reason are better. */
static int check_file(const char *what, const char *path, struct err *e)
{
	_cleanup_(fs_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "cannot read %s %s (its path is in [controller] of kpcp.conf)", what, path);
	return 0;
}

static int set_up(struct client *c, struct err *e)
{
	const struct client_target *t = &c->target;
	CURLcode bad = CURLE_OK;
#define SET(option, value)                                              \
	do {                                                            \
		if (bad == CURLE_OK)                                    \
			bad = curl_easy_setopt(c->curl, option, value); \
	} while (0)
	SET(CURLOPT_ERRORBUFFER, c->detail);
	SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "https");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	/* The controller is one's own machine: what the environment says of the way to the Internet is not for it. */
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_CAINFO, t->ca);
	SET(CURLOPT_CAPATH, NULL); /* this authority alone, not the system's as well */
	SET(CURLOPT_SSLCERT, t->cert);
	SET(CURLOPT_SSLKEY, t->key);
	SET(CURLOPT_USERAGENT, "kpcp/" KPCP_VERSION);
	SET(CURLOPT_TIMEOUT_MS, (long)t->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(t->timeout_ms < CONNECT_MS_MAX ? t->timeout_ms : CONNECT_MS_MAX));
	SET(CURLOPT_WRITEFUNCTION, take);
#undef SET
	return bad == CURLE_OK ? 0 : err_set(e, EIO, "libcurl cannot be set up: %s", curl_easy_strerror(bad));
}

int client_open(const struct client_target *t, struct client **ret, struct err *e)
{
	int r = check_file("the authority's certificate", t->ca, e);

	if (r == 0)
		r = check_file("the operator's certificate", t->cert, e);
	if (r == 0)
		r = check_file("the operator's key", t->key, e);
	if (r < 0)
		return r;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, EIO, "libcurl cannot be set up");
	_cleanup_(client_close) struct client *c = calloc(1, sizeof(*c));
	if (!c)
		return err_sys(e, ENOMEM, "cannot talk to %s", t->url);
	c->target = *t;
	c->curl = curl_easy_init();
	if (!c->curl)
		return err_sys(e, ENOMEM, "cannot talk to %s", t->url);
	r = set_up(c, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(c);
	return 0;
}

void client_close(struct client **c)
{
	if (!*c)
		return;
	curl_easy_cleanup((*c)->curl);
	free(*c);
	*c = NULL;
}

/* Whether OpenSSL speaks of an alert by which a server turns a client's certificate down. */
static bool certificate_refused(const char *detail)
{
	return strstr(detail, "certificate") || strstr(detail, "unknown ca") || strstr(detail, "handshake failure");
}

/* The connection broke. A server that wants a certificate and gets none, or one of another authority, ends it before
 * any answer: often the alert is lost and only the end is seen. */
static int explain_broken(const struct client *c, struct err *e)
{
	const struct client_target *t = &c->target;

	return err_set(e, EAGAIN,
		       "%s %s the connection (%s). A controller does that to a client whose certificate is missing, "
		       "expired, not for clients or of another authority: check that %s came from the same 'kpcp "
		       "init' as the controller's ca.pem, and is still valid; otherwise see the controller's log",
		       t->url,
		       certificate_refused(c->detail) ? "refused this client's certificate and closed" : "closed",
		       c->detail, t->cert);
}

static int explain_unverified(const struct client *c, struct err *e)
{
	const struct client_target *t = &c->target;

	if (strstr(c->detail, "subject name")) /* the chain is right, but it is another's certificate */
		return err_set(
		    e, EKEYREJECTED,
		    "the certificate of the server at %s is for other names (%s): use one in url that was given to "
		    "'kpcp init --server'",
		    t->url, c->detail);
	return err_set(
	    e, EKEYREJECTED,
	    "the server at %s does not prove to be the controller (%s): is url in [controller] right, and %s "
	    "that controller's ca.pem?",
	    t->url, c->detail, t->ca);
}

static int explain(const struct client *c, CURLcode code, const struct sink *s, struct err *e)
{
	const struct client_target *t = &c->target;

	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return err_set(e, EAGAIN, "the name in %s is not known here (%s): correct url in [controller]", t->url,
			       c->detail);
	case CURLE_COULDNT_CONNECT:
		return err_set(e, EAGAIN,
			       "nobody answers at %s (%s): is kpcp-rolloutd running, and url in [controller] right?",
			       t->url, c->detail);
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(
		    e, EAGAIN,
		    "%s did not answer in %.3g s (%s): see the controller's log, or give it more by timeout in "
		    "[controller]",
		    t->url, (double)t->timeout_ms / 1e3, c->detail);
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_SSL_CONNECT_ERROR:
		return explain_broken(c, e);
	case CURLE_PEER_FAILED_VERIFICATION:
		return explain_unverified(c, e);
	case CURLE_SSL_CERTPROBLEM:
		return err_set(e, EINVAL,
			       "%s and %s are no certificate and its key (%s): take both from one 'kpcp init'", t->cert,
			       t->key, c->detail);
	case CURLE_SSL_CACERT_BADFILE:
		return err_set(e, EINVAL, "%s is no authority's certificate (%s): take ca.pem of 'kpcp init'", t->ca,
			       c->detail);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return err_set(e, EINVAL, "'%s' is no https address (%s): correct url in [controller]", t->url,
			       c->detail);
	case CURLE_WRITE_ERROR:
		if (s->too_large)
			return err_set(e, EPROTO, "%s answered with more than %u MiB; is that the controller?", t->url,
				       CLIENT_REPLY_MAX >> 20);
		return err_set(e, s->error.code, "%s", s->error.text);
	default:
		return err_set(e, EPROTO, "the exchange with %s failed: %s", t->url,
			       *c->detail ? c->detail : curl_easy_strerror(code));
	}
}

/* The first line of an error's body, without what a terminal would act on. */
static void first_line(const struct buf *body, char ret[REASON_MAX])
{
	char line[REASON_MAX];
	const char *feed = body->len > 0 ? memchr(body->data, '\n', body->len) : NULL;

	snprintf(line, sizeof(line), "%.*s", feed ? (int)(feed - body->data) : (int)body->len,
		 body->len ? body->data : "");
	form_clean(line, ret, REASON_MAX);
}

static int explain_status(const struct client *c, long status, const char *method, const char *path,
			  const struct buf *body, struct err *e)
{
	const struct client_target *t = &c->target;
	char reason[REASON_MAX];
	curl_off_t retry_s = 0;

	first_line(body, reason);
	if (!*reason)
		snprintf(reason, sizeof(reason), "status %ld without a reason", status);
	switch (status) {
	case 401:
	case 403:
		return err_set(e, EACCES, "the controller refuses this: %s. Is %s an operator's certificate?", reason,
			       t->cert);
	case 404:
		return err_set(e, ENOENT, "the controller says: %s", reason);
	case 409:
		return err_set(e, EEXIST, "the controller did not do it: %s", reason);
	default:
		break;
	}
	if (status == 429 || (status >= 500 && status <= 599)) {
		curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_s);
		if (retry_s > 0)
			return err_set(e, EAGAIN, "the controller is busy: %s; try again in %lld s", reason,
				       (long long)retry_s);
		return err_set(e, EAGAIN, "the controller failed at %s %s: %s (status %ld); see its log", method, path,
			       reason, status);
	}
	if (status >= 400 && status <= 499)
		return err_set(e, EINVAL, "the controller refuses this: %s", reason);
	return err_set(e, EPROTO,
		       "%s answered %s %s with status %ld; is that the controller, and its version this one's?", t->url,
		       method, path, status);
}

static CURLcode prepare(struct client *c, const char *method, const char *url, const void *body, size_t len,
			struct sink *s)
{
	CURLcode bad = curl_easy_setopt(c->curl, CURLOPT_URL, url);

	if (bad == CURLE_OK)
		bad = curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, s);
	if (bad == CURLE_OK && !body)
		bad = curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
	if (bad == CURLE_OK && body)
		bad = curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
	if (bad == CURLE_OK && body)
		bad = curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	if (bad == CURLE_OK && body)
		bad = curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	return bad == CURLE_OK ? curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method) : bad;
}

static void free_body(struct sink *s)
{
	buf_free(&s->body);
}

/* libcurl calls each body a form by default, and waits for a "100 Continue" with those over a megabyte. */
static struct curl_slist *make_headers(void)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/octet-stream");
	struct curl_slist *both = list ? curl_slist_append(list, "Expect:") : NULL;

	if (!both)
		curl_slist_free_all(list);
	return both;
}

int client_call(struct client *c, const char *method, const char *path, const void *body, size_t len, struct buf *ret,
		struct err *e)
{
	_cleanup_(free_body) struct sink s = {.body = BUF_INIT(CLIENT_REPLY_MAX)};
	char url[URL_BYTES_MAX];
	long status = 0;

	if ((size_t)snprintf(url, sizeof(url), "%s%s", c->target.url, path) >= sizeof(url))
		return err_set(e, EINVAL, "the address %s%s is too long", c->target.url, path);
	struct curl_slist *headers = make_headers();
	if (!headers)
		return err_sys(e, ENOMEM, "cannot talk to %s", c->target.url);
	*c->detail = 0;
	CURLcode bad = curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	if (bad == CURLE_OK)
		bad = prepare(c, method, url, body, len, &s);
	if (bad == CURLE_OK)
		bad = curl_easy_perform(c->curl);
	curl_slist_free_all(headers);
	if (!*c->detail)
		snprintf(c->detail, sizeof(c->detail), "%s", curl_easy_strerror(bad));
	if (bad != CURLE_OK)
		return explain(c, bad, &s, e);
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299)
		return explain_status(c, status, method, path, &s.body, e);
	return buf_add(ret, s.body.data, s.body.len, e);
}
