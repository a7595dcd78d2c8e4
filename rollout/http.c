// SPDX-License-Identifier: Apache-2.0
/* Owns connections, TLS and time limits, on libevent's buffered sockets (which no other file sees).
 * Must not know which paths exist or what they do. */
#include "http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "http_head.h"
#include "http_listen.h"
#include "http_reply.h"
#include "http_tls.h"
#include "quiet.h"

/* libevent's evhttp is not used: up to 2.1 it has no place between head and body where a body could be refused, it
 * reads on without bound while a client leaves its reply unread, it serves plain HTTP when a TLS socket cannot be made,
 * and it ends the process in a state that it did not expect. */

#define FIRST_S    15           /* from the connection to the end of the first request's head */
#define DRAIN_S    2            /* for the client to take the last reply of a connection */
#define STOP_S     3            /* for replies under way when the server ends */
#define BODIES_MAX (256u << 20) /* bytes of all bodies that are being read */
#define BODY_SMALL (128u << 10) /* up to here a body may go past it, to twice as much: hosts poll on */
#define PROGRESS_S 10           /* in this time so much of a larger body has to come: */
#define PROGRESS   (64u << 10)
#define MS         (uint64_t)1000 /* of a second */

enum state {
	HANDSHAKE, /* TLS */
	HEAD,      /* waiting for a request's head */
	BODY,
	REPLY, /* writing; nothing is read meanwhile */
	DRAIN, /* everything is written; what still comes is thrown away until the client hangs up */
};

struct conn {
	TAILQ_ENTRY(conn) next; /* in the server's strangers or known */
	struct http *server;
	struct bufferevent *bev;
	enum state state;
	bool known;    /* has a verified certificate */
	bool last;     /* the connection ends after this reply */
	bool headless; /* the request was a HEAD: no body goes back */
	uint64_t deadline_ms;
	struct http_head head;
	char peer[INET6_ADDRSTRLEN + 18]; /* with an interface's name */
	struct trust_subject who;
	char fingerprint[65];
	time_t not_after;
	size_t reserved; /* of the server's bodies */
	size_t seen;     /* of a larger body, when it was last looked at; it is next at look_ms */
	uint64_t look_ms;
};
TAILQ_HEAD(conn_list, conn);

struct http {
	struct http_config config;
	struct http_service service;
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *own[3]; /* the second, SIGTERM, SIGINT */
	SSL_CTX *tls;
	struct conn_list strangers, known; /* each oldest first */
	uint32_t n, max;
	size_t bodies; /* bytes, announced by requests that are being read */
	bool paused;   /* no new connections are taken */
	bool stopping;
	uint16_t port;
	struct quiet handshakes, crowds, files, events;
};

static struct http *logger; /* libevent's log has no place for a pointer */

/* ---- the log ---- */

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * MS + (uint64_t)t.tv_nsec / 1000000u;
}

static void say(struct http *h, struct quiet *kind, int priority, const char *text)
{
	char line[512];

	if (quiet_line(kind, now_ms(), text, line, sizeof(line)))
		h->service.log(h->service.user, priority, line);
}

static void on_event_log(int severity, const char *text)
{
	if (logger)
		say(logger, &logger->events, severity >= EVENT_LOG_ERR ? LOG_ERR : LOG_WARNING, text);
}

static void say_handshake(struct conn *c)
{
	char text[256];
	unsigned long code, found = 0;

	while ((code = bufferevent_get_openssl_error(c->bev)) != 0) {
		if (ERR_GET_LIB(code) != 0 && ERR_GET_REASON(code) != 0)
			found = code;
	}
	const char *reason = found ? ERR_reason_error_string(found) : NULL;
	if (found) {
		snprintf(text, sizeof(text), "no TLS connection with %s: %s", c->peer,
			 reason ? reason : "no reason known");
		say(c->server, &c->server->handshakes, LOG_NOTICE, text);
	}
}

/* ---- connections ---- */

static void pause_listening(struct http *h)
{
	if (!h->paused)
		evconnlistener_disable(h->listener);
	h->paused = true;
}

static void resume_listening(struct http *h)
{
	if (h->paused && !h->stopping && h->n < h->max && evconnlistener_enable(h->listener) == 0)
		h->paused = false;
}

static struct conn_list *list_of(struct conn *c)
{
	return c->known ? &c->server->known : &c->server->strangers;
}

static void release_body(struct conn *c)
{
	c->server->bodies -= c->reserved;
	c->reserved = 0;
}

static void conn_free(struct conn *c)
{
	struct http *h = c->server;

	release_body(c);
	TAILQ_REMOVE(list_of(c), c, next);
	h->n--;
	bufferevent_free(c->bev);
	free(c);
	resume_listening(h);
	if (h->stopping && h->n == 0)
		event_base_loopbreak(h->base);
}

static void set_deadline(struct conn *c, uint32_t seconds)
{
	c->deadline_ms = now_ms() + seconds * MS;
}

/* The last reply is out. The client is told so and may hang up first: closing on unread data would make the kernel take
 * the reply back. */
static void begin_drain(struct conn *c)
{
	SSL_shutdown(bufferevent_openssl_get_ssl(c->bev));
	ERR_clear_error();
	shutdown(bufferevent_getfd(c->bev), SHUT_WR);
	c->state = DRAIN;
	set_deadline(c, DRAIN_S);
	bufferevent_enable(c->bev, EV_READ);
}

/* ---- replies ---- */

static void free_body(const void *data, size_t len, void *arg)
{
	(void)len, (void)arg;
	free((void *)(uintptr_t)data);
}

static int write_reply(struct conn *c, struct http_reply *r)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	_cleanup_(buf_free) struct buf head = BUF_INIT(HTTP_HEAD_MAX);

	if (http_reply_head(r, c->last, time(NULL), &head, NULL) < 0 || evbuffer_add(out, head.data, head.len) < 0)
		return -ENOMEM;
	if (r->body.len == 0 || r->status == 204 || c->headless)
		return 0;
	if (evbuffer_add_reference(out, r->body.data, r->body.len, free_body, NULL) < 0)
		return -ENOMEM;
	r->body = BUF_INIT(0); /* the output has it now */
	return 0;
}

/* Takes r's body. From here on nothing is read until all is written: requests that came early wait in their order. */
static void reply(struct conn *c, struct http_reply *r)
{
	release_body(c);
	if (c->server->stopping)
		c->last = true;
	c->state = REPLY;
	bufferevent_disable(c->bev, EV_READ);
	if (write_reply(c, r) < 0)
		c->deadline_ms = 0; /* the next second ends it */
	buf_free(&r->body);
}

static void refuse(struct conn *c, unsigned status, const char *text)
{
	struct http_reply r = {.body = BUF_INIT(HTTP_REPLY_MAX)};

	c->last = true;
	http_reply_line(&r, status, "%s", text);
	reply(c, &r);
}

/* ---- requests ---- */

static struct http_request request_of(const struct conn *c)
{
	return (struct http_request){
	    .method = c->head.method,
	    .path = c->head.path,
	    .query = c->head.query,
	    .peer = c->peer,
	    .who = &c->who,
	    .fingerprint = c->fingerprint,
	    .body_len = (size_t)c->head.body_len,
	};
}

/* One larger body of each certificate: whoever sends another one has given up the one before. */
static void forget_others(const struct conn *c)
{
	for (struct conn *x = TAILQ_FIRST(&c->server->known), *after; x; x = after) {
		after = TAILQ_NEXT(x, next);
		if (x != c && x->state == BODY && x->reserved > BODY_SMALL &&
		    strcmp(x->fingerprint, c->fingerprint) == 0)
			conn_free(x);
	}
}

/* Whether the request goes on to its body. */
static bool admit(struct conn *c)
{
	struct http *h = c->server;
	struct http_reply r = {.body = BUF_INIT(HTTP_REPLY_MAX)};
	struct http_request q = request_of(c);
	size_t max = 0;

	if (c->known && time(NULL) > c->not_after) {
		http_reply_line(&r, 403, "the certificate of %s has expired; enrol again with a new token",
				c->who.name);
	} else if (h->service.admit(h->service.user, &q, &max, &r)) {
		if (c->known && q.body_len > BODY_SMALL && q.body_len <= max)
			forget_others(c);
		if (c->head.body_len > max) {
			http_reply_line(&r, 413, "the body has %llu bytes; at most %zu are taken here",
					(unsigned long long)c->head.body_len, max);
		} else if (h->bodies + q.body_len > (q.body_len > BODY_SMALL ? 1 : 2) * BODIES_MAX) {
			r.retry_after_s = 5;
			http_reply_line(&r, 503, "too much is being received; send it again later");
		} else {
			c->reserved = q.body_len;
			h->bodies += q.body_len;
			c->seen = 0;
			c->look_ms = now_ms() + PROGRESS_S * MS;
			return true;
		}
	}
	c->last |= c->head.body_len > 0;
	reply(c, &r);
	return false;
}

/* Reads a head, if a whole one is there. True: the state is another one. */
static bool take_head(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	size_t len = evbuffer_get_length(in);
	unsigned status;
	struct err e = {0};

	if (len > HTTP_HEAD_MAX)
		len = HTTP_HEAD_MAX;
	const char *text = len > 0 ? (const char *)evbuffer_pullup(in, (ev_ssize_t)len) : NULL;
	size_t n = text ? http_head_length(text, len) : 0;
	if (n == 0) {
		if (len == HTTP_HEAD_MAX)
			refuse(c, 431, "the request's head is too long");
		return len == HTTP_HEAD_MAX;
	}
	set_deadline(c, c->server->config.request_s);
	if (http_head_parse(text, n, &c->head, &status, &e) < 0) {
		c->headless = false;
		refuse(c, status, e.text);
		return true;
	}
	evbuffer_drain(in, n);
	c->last = !c->head.keep_alive;
	c->headless = strcmp(c->head.method, "HEAD") == 0;
	if (!admit(c))
		return true;
	c->state = BODY;
	if (c->head.expects_continue && c->head.body_len > evbuffer_get_length(in))
		evbuffer_add_printf(bufferevent_get_output(c->bev), "HTTP/1.1 100 Continue\r\n\r\n");
	return true;
}

static bool take_body(struct conn *c)
{
	struct http *h = c->server;
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct http_reply r = {.body = BUF_INIT(HTTP_REPLY_MAX)};
	struct http_request q = request_of(c);

	if (evbuffer_get_length(in) < q.body_len)
		return false;
	char *body = malloc(q.body_len + 1);
	if (!body || evbuffer_remove(in, body, q.body_len) != (int)q.body_len) {
		free(body);
		refuse(c, 503, "the controller is out of memory; try again later");
		return true;
	}
	body[q.body_len] = 0;
	q.body = body;
	h->service.answer(h->service.user, &q, &r);
	free(body);
	reply(c, &r);
	return true;
}

static void step(struct conn *c)
{
	bool more = true;
	while (more)
		more = c->state == HEAD ? take_head(c) : c->state == BODY ? take_body(c) : false;
}

/* ---- libevent's callbacks ---- */

static void on_read(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	if (c->state == DRAIN)
		evbuffer_drain(in, evbuffer_get_length(in));
	else
		step(c);
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;

	if (c->state != REPLY || evbuffer_get_length(bufferevent_get_output(bev)) > 0)
		return;
	if (c->last || c->server->stopping) {
		begin_drain(c);
		return;
	}
	c->state = HEAD;
	set_deadline(c, c->server->config.idle_s);
	bufferevent_enable(bev, EV_READ);
	step(c); /* a request may have come early */
}

/* Who is there, once for each connection: reading certificates is most of a request's cost. */
static void identify(struct conn *c)
{
	c->state = HEAD;
	if (!http_tls_peer(bufferevent_openssl_get_ssl(c->bev), &c->who, c->fingerprint, &c->not_after))
		return;
	TAILQ_REMOVE(list_of(c), c, next);
	c->known = true;
	TAILQ_INSERT_TAIL(list_of(c), c, next);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *c = arg;

	if (what & BEV_EVENT_CONNECTED) {
		identify(c);
		return;
	}
	if (c->state == HANDSHAKE && (what & BEV_EVENT_ERROR)) {
		say_handshake(c);
		/* Time to read the alert that says why, before closing takes it back. */
		c->state = DRAIN;
		shutdown(bufferevent_getfd(bev), SHUT_WR);
		set_deadline(c, DRAIN_S);
		return;
	}
	conn_free(c);
}

static int add_conn(struct http *h, evutil_socket_t fd, const struct sockaddr *address, socklen_t len)
{
	struct conn *c = calloc(1, sizeof(*c));
	SSL *ssl = c ? SSL_new(h->tls) : NULL;

	if (ssl) /* frees ssl when it fails */
		c->bev =
		    bufferevent_openssl_socket_new(h->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->bev) {
		free(c);
		return -ENOMEM;
	}
	c->server = h;
	if (getnameinfo(address, len, c->peer, sizeof(c->peer), NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(c->peer, sizeof(c->peer), "an unknown address");
	TAILQ_INSERT_TAIL(&h->strangers, c, next);
	h->n++;
	set_deadline(c, FIRST_S < h->config.request_s ? FIRST_S : h->config.request_s);
	bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	return 0;
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *address, int len, void *arg)
{
	struct http *h = arg;
	(void)l;

	if (h->n >= h->max) {
		say(h, &h->crowds, LOG_WARNING, "all connections are in use; clients without a certificate have to go");
		if (!TAILQ_EMPTY(&h->strangers))
			conn_free(TAILQ_FIRST(&h->strangers));
	}
	if (h->n >= h->max || add_conn(h, fd, address, (socklen_t)len) < 0) {
		evutil_closesocket(fd);
		pause_listening(h);
	}
}

/* Out of files or memory: trying at once again would only spin. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	struct http *h = arg;
	(void)l;

	say(h, &h->files, LOG_ERR, "no new connections for a second: the process is out of files or memory");
	pause_listening(h);
}

/* A larger body that does not come any more keeps the place of another host's. */
static bool stands_still(struct conn *c, uint64_t now)
{
	if (c->state != BODY || c->reserved <= BODY_SMALL || now < c->look_ms)
		return false;
	size_t len = evbuffer_get_length(bufferevent_get_input(c->bev));
	bool still = len < c->seen + PROGRESS;

	c->seen = len;
	c->look_ms = now + PROGRESS_S * MS;
	return still;
}

/* Ends what is past its time, or whatever is not in the middle of an answer. */
static void sweep(struct conn_list *list, uint64_t now, bool idle_too)
{
	for (struct conn *c = TAILQ_FIRST(list), *after; c; c = after) {
		after = TAILQ_NEXT(c, next);
		if (now >= c->deadline_ms || stands_still(c, now) ||
		    (idle_too && c->state != REPLY && c->state != BODY))
			conn_free(c);
	}
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	uint64_t now = now_ms();
	(void)fd, (void)what;

	sweep(&h->strangers, now, false);
	sweep(&h->known, now, false);
	resume_listening(h);
	h->service.second(h->service.user);
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	struct timeval limit = {.tv_sec = STOP_S};
	(void)fd, (void)what;

	pause_listening(h);
	h->stopping = true;
	event_base_loopexit(h->base, &limit);
	sweep(&h->strangers, 0, true);
	sweep(&h->known, 0, true);
	if (h->n == 0)
		event_base_loopbreak(h->base);
}

/* ---- opening ---- */

static int open_listener(struct http *h, struct err *e)
{
	int fd = -1, r = http_listen(h->config.address, h->config.port, &fd, &h->port, e);

	if (r < 0)
		return r;
	h->listener =
	    evconnlistener_new(h->base, on_accept, h, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1024, fd);
	if (!h->listener) {
		r = err_sys(e, errno, "cannot listen on %s port %u", h->config.address, h->config.port);
		close(fd);
		return r;
	}
	evconnlistener_set_error_cb(h->listener, on_accept_error);
	return 0;
}

static int open_events(struct http *h, struct err *e)
{
	struct timeval second = {.tv_sec = 1};

	h->base = event_base_new();
	if (h->base) {
		h->own[0] = event_new(h->base, -1, EV_PERSIST, on_second, h);
		h->own[1] = evsignal_new(h->base, SIGTERM, on_signal, h);
		h->own[2] = evsignal_new(h->base, SIGINT, on_signal, h);
	}
	for (size_t i = 0; i < ARRAY_SIZE(h->own); i++) {
		if (!h->own[i] || event_add(h->own[i], i == 0 ? &second : NULL) < 0)
			return err_set(e, ENOMEM, "libevent cannot be used");
	}
	logger = h;
	event_set_log_callback(on_event_log);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int http_open(const struct http_config *config, const struct http_service *service, struct http **ret, struct err *e)
{
	_cleanup_(http_close) struct http *h = calloc(1, sizeof(*h));
	if (!h)
		return err_sys(e, ENOMEM, "cannot make a server");
	h->config = *config;
	h->service = *service;
	TAILQ_INIT(&h->strangers);
	TAILQ_INIT(&h->known);
	h->max = http_listen_files(h->config.connections_max);
	int r = http_tls_open(config->ca, config->cert, config->key, &h->tls, e);
	if (r == 0)
		r = open_events(h, e);
	if (r == 0)
		r = open_listener(h, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(h);
	return 0;
}

uint16_t http_port(const struct http *h)
{
	return h->port;
}

int http_run(struct http *h, struct err *e)
{
	if (event_base_dispatch(h->base) < 0)
		return err_set(e, EIO, "the event loop failed");
	return 0;
}

void http_close(struct http **h)
{
	struct http *s = *h;

	if (!s)
		return;
	s->stopping = true;
	sweep(&s->strangers, UINT64_MAX, true);
	sweep(&s->known, UINT64_MAX, true);
	if (s->listener)
		evconnlistener_free(s->listener);
	for (size_t i = 0; i < ARRAY_SIZE(s->own); i++) {
		if (s->own[i])
			event_free(s->own[i]);
	}
	if (s->base)
		event_base_free(s->base);
	SSL_CTX_free(s->tls);
	if (logger == s)
		logger = NULL;
	free(s);
	*h = NULL;
}
