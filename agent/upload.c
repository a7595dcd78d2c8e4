// SPDX-License-Identifier: Apache-2.0
/* Owns the use of libcurl by the agent, and what its failures mean to a person.
 * Must not know what is asked or answered, nor when to ask again. */
#include "upload.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_S       20
#define HEADERS_MAX     (64u << 10) /* of one answer, interim ones included: libcurl has no bound of its own for these */
#define SLOW_BYTES      256         /* a second, over SLOW_S: given up */
#define SLOW_S          60
#define IDLE_S          900 /* a connection that idled longer is not used again */
#define WATCH_MS        500
#define URL_MAX         512
#define RETRY_AFTER_MAX 3600 /* a controller may not send its agents away for longer */

struct upload {
	struct upload_where where;
	CURL *easy;
	CURLM *multi;
	char detail[CURL_ERROR_SIZE];
};

/* What libcurl's callbacks get: where the answer goes, and whether it became too large. */
struct transfer {
	struct buf answer;
	bool too_large;
	size_t headers; /* bytes */
	const char *body;
	size_t left;
};

static size_t on_data(char *data, size_t size, size_t n, void *user)
{
	struct transfer *t = user;
	int r = buf_add(&t->answer, data, size * n, NULL);

	if (r == 0)
		return size * n;
	t->too_large = r == -EFBIG;
	return 0; /* ends the transfer */
}

/* Headers are not looked at, only counted. */
static size_t on_header(char *data, size_t size, size_t n, void *user)
{
	struct transfer *t = user;

	(void)data;
	t->headers += size * n;
	if (t->headers <= HEADERS_MAX)
		return size * n;
	t->too_large = true;
	return 0;
}

static size_t on_body(char *to, size_t size, size_t n, void *user)
{
	struct transfer *t = user;
	size_t len = size * n < t->left ? size * n : t->left;

	if (len > 0)
		memcpy(to, t->body, len);
	t->body += len;
	t->left -= len;
	return len;
}

int upload_open(const struct upload_where *where, struct upload **ret, struct err *e)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, EIO, "libcurl cannot be set up");
	_cleanup_(upload_close) struct upload *u = calloc(1, sizeof(*u));
	if (!u)
		return err_sys(e, ENOMEM, "cannot talk to %s", where->url);
	u->where = *where;
	u->easy = curl_easy_init();
	u->multi = curl_multi_init();
	if (!u->easy || !u->multi)
		return err_sys(e, ENOMEM, "cannot talk to %s", where->url);
	*ret = steal_ptr(u);
	return 0;
}

void upload_close(struct upload **u)
{
	if (!*u)
		return;
	curl_easy_cleanup((*u)->easy);
	if ((*u)->multi)
		curl_multi_cleanup((*u)->multi);
	free(*u);
	*u = NULL;
}

void upload_reconnect(struct upload *u)
{
	CURLM *fresh = curl_multi_init();

	/* The connections belong to the multi handle. Without memory for another the old ones stay: they work. */
	if (!fresh)
		return;
	curl_multi_cleanup(u->multi);
	u->multi = fresh;
}

#define SET(option, value)                                              \
	do {                                                            \
		if (bad == CURLE_OK)                                    \
			bad = curl_easy_setopt(u->easy, option, value); \
	} while (0)

static CURLcode set_trust(struct upload *u, const struct upload_request *q)
{
	CURLcode bad = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "https");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, ""); /* whatever the environment says: nobody stands between agent and controller */
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_CAINFO, u->where.ca);
	SET(CURLOPT_CAPATH, NULL); /* none of the system's authorities */
	if (!q->anonymous) {
		SET(CURLOPT_SSLCERT, u->where.cert);
		SET(CURLOPT_SSLKEY, u->where.key);
	}
	return bad;
}

static CURLcode set_bounds(struct upload *u, const struct upload_request *q)
{
	CURLcode bad = CURLE_OK;

	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	SET(CURLOPT_TIMEOUT, (long)q->timeout_s);
	SET(CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	SET(CURLOPT_LOW_SPEED_TIME, (long)SLOW_S);
	SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)q->answer_max);
	SET(CURLOPT_MAXAGE_CONN, (long)IDLE_S);
	SET(CURLOPT_MAXCONNECTS, 1L);
	SET(CURLOPT_TCP_NODELAY, 1L);
	return bad;
}

static int set_up(struct upload *u, const struct upload_request *q, struct transfer *t, struct curl_slist *headers,
		  struct err *e)
{
	char url[URL_MAX];
	int n = snprintf(url, sizeof(url), "%s%s", u->where.url, q->path);

	if (n < 0 || (size_t)n >= sizeof(url))
		return err_sys(e, ENAMETOOLONG, "cannot ask %s", u->where.url);
	curl_easy_reset(u->easy);
	CURLcode bad = set_trust(u, q);
	if (bad == CURLE_OK)
		bad = set_bounds(u, q);
	u->detail[0] = 0;
	SET(CURLOPT_ERRORBUFFER, u->detail);
	SET(CURLOPT_URL, url);
	SET(CURLOPT_USERAGENT, "kpcp-agent/" KPCP_VERSION);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_data);
	SET(CURLOPT_WRITEDATA, t);
	if (q->put) {
		SET(CURLOPT_UPLOAD, 1L);
		SET(CURLOPT_READFUNCTION, on_body);
		SET(CURLOPT_READDATA, t);
		SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->len);
	} else {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDS, q->body);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
	}
	return bad == CURLE_OK ? 0 : err_set(e, EIO, "libcurl cannot be set up: %s", curl_easy_strerror(bad));
}
#undef SET

/* Until the transfer is over; *ret is how it ended. */
static int drive(struct upload *u, const struct upload_request *q, CURLcode *ret, struct err *e)
{
	for (;;) {
		int running = 0, pending;
		CURLMcode m = curl_multi_perform(u->multi, &running);
		CURLMsg *done = curl_multi_info_read(u->multi, &pending);

		if (done && done->msg == CURLMSG_DONE) {
			*ret = done->data.result;
			return 0;
		}
		if (m == CURLM_OK && !running)
			return err_set(e, EIO, "libcurl lost a request to %s", u->where.url);
		struct curl_waitfd watch = {.fd = q->watch_fd, .events = CURL_WAIT_POLLIN};
		if (m == CURLM_OK)
			m = curl_multi_poll(u->multi, &watch, q->watch ? 1 : 0, WATCH_MS, NULL);
		if (m != CURLM_OK)
			return err_set(e, EIO, "libcurl failed: %s", curl_multi_strerror(m));
		int r = q->watch ? q->watch(q->target, e) : 0;
		if (r < 0)
			return r;
	}
}

static int explain_files(const struct upload *u, const struct upload_request *q, struct err *e)
{
	if (access(u->where.ca, R_OK) < 0)
		return err_sys(e, errno,
			       "cannot read the authority's certificate %s; copy ca.pem from the controller "
			       "there, readable by all",
			       u->where.ca);
	if (!q->anonymous && (access(u->where.cert, R_OK) < 0 || access(u->where.key, R_OK) < 0))
		return err_sys(e, errno, "cannot read this host's certificate %s or its key %s", u->where.cert,
			       u->where.key);
	return err_set(e, EPROTO,
		       "this host's certificate %s, its key, or the authority's certificate %s cannot be "
		       "used (%s); enrol again with a new token",
		       u->where.cert, u->where.ca, u->detail);
}

/* A controller that does not accept a client's certificate often only closes the connection. */
static int explain_closed(const struct upload *u, const struct upload_request *q, const char *what, struct err *e)
{
	return err_set(e, EPROTO, "%s closed the connection (%s)%s", u->where.url, what,
		       q->anonymous
			   ? ""
			   : "; if it goes on, this host's certificate may be missing on the controller's side, "
			     "expired or revoked: see the controller's log, and enrol again with a new token");
}

/* libcurl's own words hold the time that an attempt took, and would be a new message each time. */
static int explain_unreachable(const struct upload *u, struct err *e)
{
	long code = 0;

	if (curl_easy_getinfo(u->easy, CURLINFO_OS_ERRNO, &code) != CURLE_OK || code <= 0)
		code = EHOSTUNREACH;
	return err_sys(e, (int)code, "%s cannot be reached", u->where.url);
}

static int explain(const struct upload *u, const struct upload_request *q, CURLcode code, const struct transfer *t,
		   struct err *e)
{
	const char *what = *u->detail ? u->detail : curl_easy_strerror(code);

	if (t->too_large || code == CURLE_FILESIZE_EXCEEDED)
		return err_set(e, EFBIG, "%s answered with more than the %zu bytes that are taken", u->where.url,
			       q->answer_max);
	switch (code) {
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return explain_files(u, q, e);
	case CURLE_PEER_FAILED_VERIFICATION:
		return err_set(e, EPROTO,
			       "%s is not the controller that %s vouches for (%s); check the address in "
			       "[controller] url, the authority's certificate, and this host's clock",
			       u->where.url, u->where.ca, what);
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
		return explain_closed(u, q, what, e);
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(e, ETIMEDOUT, "%s did not answer in time", u->where.url);
	case CURLE_COULDNT_RESOLVE_HOST:
		return err_set(e, EHOSTUNREACH, "%s cannot be reached: its name is not known", u->where.url);
	case CURLE_COULDNT_CONNECT:
		return explain_unreachable(u, e);
	case CURLE_OUT_OF_MEMORY:
		return err_sys(e, ENOMEM, "cannot ask %s", u->where.url);
	default:
		return err_set(e, EIO, "asking %s failed (%s)", u->where.url, what);
	}
}

static void free_headers(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

/* "Expect:" empty: a body goes out at once, without asking first. */
static int make_headers(const char *type, struct curl_slist **ret, struct err *e)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "Content-Type: %s", type);

	if (n < 0 || (size_t)n >= sizeof(text))
		return err_sys(e, ENAMETOOLONG, "content type %s", type);
	*ret = curl_slist_append(NULL, text);
	struct curl_slist *longer = *ret ? curl_slist_append(*ret, "Expect:") : NULL;
	return longer ? 0 : err_sys(e, ENOMEM, "cannot ask the controller");
}

static void free_transfer(struct transfer *t)
{
	buf_free(&t->answer);
}

int upload_run(struct upload *u, const struct upload_request *q, struct upload_answer *ret, struct err *e)
{
	_cleanup_(free_transfer) struct transfer t = {
	    .answer = BUF_INIT(q->answer_max), .body = q->body, .left = q->len};
	_cleanup_(free_headers) struct curl_slist *headers = NULL;
	CURLcode code = CURLE_OK;
	curl_off_t retry = 0;
	int r = make_headers(q->type, &headers, e);

	if (r == 0)
		r = set_up(u, q, &t, headers, e);
	if (r < 0)
		return r;
	if (curl_multi_add_handle(u->multi, u->easy) != CURLM_OK)
		return err_set(e, EIO, "libcurl does not take a request to %s", u->where.url);
	r = drive(u, q, &code, e);
	curl_multi_remove_handle(u->multi, u->easy);
	if (r < 0)
		return r;
	if (code != CURLE_OK)
		return explain(u, q, code, &t, e);

	struct upload_answer a = {.status = 0};
	if (curl_easy_getinfo(u->easy, CURLINFO_RESPONSE_CODE, &a.status) != CURLE_OK)
		return err_set(e, EIO, "libcurl knows no status of an answer of %s", u->where.url);
	if (curl_easy_getinfo(u->easy, CURLINFO_RETRY_AFTER, &retry) == CURLE_OK && retry > 0)
		a.retry_after_s = retry < RETRY_AFTER_MAX ? (uint64_t)retry : RETRY_AFTER_MAX;
	a.body = t.answer;
	t.answer = BUF_INIT(0);
	*ret = a;
	return 0;
}
