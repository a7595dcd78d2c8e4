// SPDX-License-Identifier: Apache-2.0
/* Owns the talker's loop: the channel is served always, the network when something is due.
 * Must not know what orders mean, how requests are made (upload.h) or when they are due (pace.h). */
#include "talker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "enrol.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "lib/fleet/form.h"
#include "lib/fleet/message.h"
#include "lib/trust/trust.h"
#include "pace.h"
#include "say.h"
#include "sys.h"
#include "upload.h"

#define WAKE_MS        2000 /* a signal between two looks at the stop flag is seen after this */
#define ASK_S          60   /* for a poll or an enrolment */
#define UPLOAD_S       600
#define ANSWER_MAX     (4u << 10)
#define FIRST_S        3 /* polls after a start are spread over this */
#define ORDER_NAME_MAX (DIRECTIVE_NAME_MAX + 21)

/* One kind of request that is repeated until it succeeds. */
struct due {
	uint64_t at_ns;
	uint32_t failures; /* in a row */
	struct say_memory said;
};

struct talker {
	const struct agent_conf *conf;
	struct sys sys;
	int channel;
	const volatile int *stop;
	struct enrol_files files;
	struct upload *up;
	struct buf report; /* the newest, as it came */
	struct host_report newest, sent;
	bool has_report, has_sent;
	struct due join, poll, put;
	uint64_t polled_ns;
	char put_order[ORDER_NAME_MAX]; /* "ROLLOUT/EPOCH"; "": nothing to upload */
	uint64_t order_epoch;           /* the newest that went to the actor */
	uint64_t order_ns;
	int broken;             /* negative: the channel's end, seen during a request */
	struct say_memory said; /* of what is missing */
	bool told_expiry;
};

static uint64_t now(const struct talker *t)
{
	return t->sys.now_ns(&t->sys);
}

static uint64_t dice(const struct talker *t)
{
	return t->sys.random(&t->sys);
}

/* Says what failed, once, and puts off the next attempt. */
static void put_off(struct talker *t, struct due *d, uint64_t retry_after_s, const struct err *why)
{
	d->failures++;
	d->at_ns = now(t) + pace_backoff_ns(d->failures, retry_after_s, dice(t));
	say_change(&d->said, now(t), SAY_WARNING, why->text);
}

/* The first line of an answer that is an error, for a message: it goes to logs and terminals, whoever wrote it. */
static const char *first_line(const struct buf *b)
{
	static char line[MESSAGE_TEXT_MAX - 64];
	char raw[sizeof(line)];
	size_t n = 0;

	while (n < b->len && n < sizeof(raw) - 1 && b->data[n] && b->data[n] != '\n' && b->data[n] != '\r') {
		raw[n] = b->data[n];
		n++;
	}
	raw[n] = 0;
	form_clean(raw, line, sizeof(line));
	return n > 0 ? line : "no reason was given";
}

/* ---- the channel ---- */

static bool changed(const struct host_report *a, const struct host_report *b)
{
	return a->state != b->state || a->epoch != b->epoch || a->outcome != b->outcome ||
	       strcmp(a->boot_id, b->boot_id) != 0;
}

static int take_report(struct talker *t, struct buf *frame, struct err *e)
{
	struct host_report r;
	struct buf old = t->report;

	if (message_report_read(frame->data, frame->len, &r, e) < 0) {
		e->code = EBADMSG;
		return err_context(e, "the actor's report");
	}
	t->report = *frame;
	*frame = old;
	t->newest = r;
	t->has_report = true;
	/* News go out at once, unless the controller is being waited for; not more than one poll a second. */
	if (t->poll.failures == 0 && t->has_sent && changed(&r, &t->sent)) {
		uint64_t soon = t->polled_ns + PACE_SECOND_NS + dice(t) % PACE_SECOND_NS;
		if (soon < t->poll.at_ns)
			t->poll.at_ns = soon;
	}
	return 0;
}

/* It becomes a part of a path on the controller: nothing but a rollout's name and a number. */
static int check_order_name(const char *text, size_t len, struct err *e)
{
	char copy[ORDER_NAME_MAX];
	uint64_t epoch;

	if (len == 0 || len >= sizeof(copy) || memchr(text, 0, len))
		return err_set(e, EBADMSG, "the actor's upload: no order's name");
	memcpy(copy, text, len);
	copy[len] = 0;
	size_t name = strspn(copy, "abcdefghijklmnopqrstuvwxyz0123456789.-");
	if (name == 0 || name >= DIRECTIVE_NAME_MAX || *copy == '.' || copy[name] != '/' ||
	    num_u64(copy + name + 1, 1, UINT64_MAX, &epoch, NULL) < 0)
		return err_set(e, EBADMSG, "the actor's upload: '%s' is no order's name", copy);
	return 0;
}

static int take_upload(struct talker *t, const struct buf *frame, struct err *e)
{
	int r = check_order_name(frame->data, frame->len, e);

	if (r < 0)
		return r;
	memcpy(t->put_order, frame->data, frame->len);
	t->put_order[frame->len] = 0;
	t->put = (struct due){.at_ns = now(t)};
	return 0;
}

/* Takes all frames that are there, after waiting timeout_ms for the first. */
static int serve_channel(struct talker *t, int timeout_ms, struct err *e)
{
	_cleanup_(buf_free) struct buf frame = BUF_INIT(CHANNEL_BODY_MAX);
	enum channel_kind kind;
	int r;

	while ((r = channel_receive(t->channel, timeout_ms, &kind, &frame, e)) > 0) {
		if (kind == CHANNEL_REPORT)
			r = take_report(t, &frame, e);
		else if (kind == CHANNEL_UPLOAD)
			r = take_upload(t, &frame, e);
		else
			r = err_set(e, EBADMSG, "the actor sent a frame of kind %d, which is the talker's", (int)kind);
		if (r < 0)
			return r;
		timeout_ms = 0;
	}
	return r;
}

/* During a request. */
static int on_watch(void *target, struct err *e)
{
	struct talker *t = target;

	if (*t->stop)
		t->broken = err_set(e, ECANCELED, "stopped");
	else
		t->broken = serve_channel(t, 0, e);
	return t->broken;
}

static struct upload_request request(struct talker *t, const char *path, const struct buf *body)
{
	return (struct upload_request){.path = path,
				       .body = body->data,
				       .len = body->len,
				       .type = "application/json",
				       .answer_max = ANSWER_MAX,
				       .timeout_s = ASK_S,
				       .watch_fd = t->channel,
				       .watch = on_watch,
				       .target = t};
}

static void free_answer(struct upload_answer *a)
{
	buf_free(&a->body);
}

/* ---- enrolment ---- */

static void enrolment_refused(struct talker *t, const struct upload_answer *a)
{
	struct err why = {0};
	bool has_cert = enrol_has_cert(&t->files);

	err_set(&why, EACCES,
		"%s refused this host's enrolment as %s: %s; make a new token with 'kpcp token', put it "
		"into %s and restart kpcp-agent%s",
		t->conf->url, t->conf->name, first_line(&a->body), t->conf->token_file,
		has_cert ? "; going on with the certificate that is there" : "");
	put_off(t, &t->join, a->retry_after_s, &why);
	enrol_forget_token(&t->files);
}

static int enrol(struct talker *t, struct err *e)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT(MESSAGE_BYTES_MAX);
	_cleanup_(free_answer) struct upload_answer a = {0};
	struct err why = {0};
	int r = enrol_request(&t->files, t->conf->name, &body, &why);

	if (r == 0) {
		struct upload_request q = request(t, "/v1/enrol", &body);
		q.anonymous = true;
		q.answer_max = TRUST_PEM_MAX;
		r = upload_run(t->up, &q, &a, &why);
		/* It holds the token. */
		explicit_bzero(body.data, body.cap);
	}
	if (t->broken < 0)
		return err_set(e, -t->broken, "%s", why.text);
	if (r == 0 && enrol_token_refused(a.status, &a.body)) {
		enrolment_refused(t, &a);
		return 0;
	}
	if (r == 0 && a.status != 200)
		r = err_set(&why, EIO, "%s answered the enrolment with status %ld: %s", t->conf->url, a.status,
			    first_line(&a.body));
	if (r == 0)
		r = enrol_finish(&t->files, t->conf->name, &a.body, &why);
	if (r < 0) {
		put_off(t, &t->join, a.retry_after_s, &why);
		return 0;
	}
	say(SAY_NOTICE, "enrolled at %s as %s", t->conf->url, t->conf->name);
	upload_reconnect(t->up);
	t->join = (struct due){.at_ns = now(t)};
	t->poll = (struct due){.at_ns = now(t)};
	return 0;
}

/* ---- polls ---- */

static int hand_over(struct talker *t, const struct buf *json, uint64_t epoch, struct err *e)
{
	const struct pace_seen seen = {.epoch = t->newest.epoch, .outcome = t->newest.outcome};

	if (!pace_hand_over(&seen, epoch, t->order_epoch, now(t) - t->order_ns))
		return 0;
	t->order_epoch = epoch;
	t->order_ns = now(t);
	return channel_send(t->channel, CHANNEL_REPLY, json->data, json->len, e);
}

static void poll_answered(struct talker *t, uint32_t wait_s)
{
	if (t->poll.failures > 0 || !t->has_sent)
		say(SAY_INFO, "%s answers; polling as %s", t->conf->url, t->conf->name);
	if (!t->told_expiry)
		say(SAY_INFO,
		    "the certificate %s is not renewed by itself; before it expires, enrol again with a new "
		    "token in %s",
		    t->files.cert, t->conf->token_file);
	t->told_expiry = true;
	t->poll = (struct due){.at_ns = now(t) + pace_wait_ns(wait_s, dice(t))};
}

static int poll_once(struct talker *t, struct err *e)
{
	_cleanup_(free_answer) struct upload_answer a = {0};
	_cleanup_(buf_free) struct buf body = BUF_INIT(MESSAGE_BYTES_MAX);
	_cleanup_(poll_reply_free) struct poll_reply reply = {0};
	struct host_report sent = t->newest;
	struct err why = {0};
	/* A copy: a newer report may come in during the request. */
	int r = buf_add(&body, t->report.data, t->report.len, &why);

	if (r == 0) {
		struct upload_request q = request(t, "/v1/poll", &body);
		q.answer_max = MESSAGE_BYTES_MAX;
		t->polled_ns = now(t);
		r = upload_run(t->up, &q, &a, &why);
	}
	if (t->broken < 0)
		return err_set(e, -t->broken, "%s", why.text);
	if (r == 0 && a.status != 200)
		r = err_set(&why, EIO, "%s answered a poll with status %ld: %s", t->conf->url, a.status,
			    first_line(&a.body));
	if (r == 0) {
		r = message_reply_read(a.body.len > 0 ? a.body.data : "", a.body.len, &reply, &why);
		if (r < 0)
			err_context(&why, "%s answered a poll with what cannot be used", t->conf->url);
	}
	if (r < 0) {
		put_off(t, &t->poll, a.retry_after_s, &why);
		return 0;
	}
	poll_answered(t, reply.wait_s);
	t->sent = sent;
	t->has_sent = true;
	return reply.has_order ? hand_over(t, &a.body, reply.order.epoch, e) : 0;
}

/* ---- uploads ---- */

/* Tells the actor how an upload ended; refused: NULL for a good end. */
static int uploaded(struct talker *t, const char *order, const char *refused, struct err *e)
{
	char text[ORDER_NAME_MAX + MESSAGE_TEXT_MAX];
	int n = refused ? snprintf(text, sizeof(text), "%s refused %.*s", order, MESSAGE_TEXT_MAX - 16, refused)
			: snprintf(text, sizeof(text), "%s ok", order);

	/* The actor may have asked for another one meanwhile: that one stays. */
	if (strcmp(t->put_order, order) == 0)
		*t->put_order = 0;
	if (refused)
		say(SAY_WARNING, "the recording of %s was not taken: %s", order, refused);
	return channel_send(t->channel, CHANNEL_UPLOADED, text, (size_t)n, e);
}

static int put_recording(struct talker *t, const char *order, struct upload_answer *a, struct err *why)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT(MESSAGE_RECORDING_MAX);
	char file[PATH_MAX], path[64 + ORDER_NAME_MAX];
	int n = snprintf(file, sizeof(file), "%s/spool/recording.kpcp", t->conf->state_dir);

	if (n < 0 || (size_t)n >= sizeof(file))
		return err_sys(why, ENAMETOOLONG, "the spool's file");
	int r = fs_read(file, &body, why);
	if (r < 0)
		return r == -EFBIG || r == -ENOENT ? -ENODATA : r;
	snprintf(path, sizeof(path), "/v1/recordings/%s", order);
	struct upload_request q = request(t, path, &body);
	q.put = true;
	q.type = "application/octet-stream";
	q.timeout_s = UPLOAD_S;
	return upload_run(t->up, &q, a, why);
}

static int upload_once(struct talker *t, struct err *e)
{
	_cleanup_(free_answer) struct upload_answer a = {0};
	char order[ORDER_NAME_MAX];
	struct err why = {0};

	snprintf(order, sizeof(order), "%s", t->put_order);
	int r = put_recording(t, order, &a, &why);
	if (t->broken < 0)
		return err_set(e, -t->broken, "%s", why.text);
	if (r == -ENODATA) /* no recording, or one that no controller takes: the same again would not help */
		return uploaded(t, order, why.text, e);
	if (r == 0 && a.status >= 200 && a.status < 300)
		return uploaded(t, order, NULL, e);
	if (r == 0 && pace_final(a.status))
		return uploaded(t, order, first_line(&a.body), e);
	if (r == 0)
		err_set(&why, EIO, "%s answered the upload of %s with status %ld: %s", t->conf->url, order, a.status,
			first_line(&a.body));
	if (strcmp(t->put_order, order) == 0)
		put_off(t, &t->put, a.retry_after_s, &why);
	return 0;
}

/* ---- the loop ---- */

/* Whether what the network needs is there; says once what is missing. */
static bool ready(struct talker *t)
{
	char text[ERR_TEXT_MAX];

	if (enrol_has_cert(&t->files))
		return t->has_report;
	if (enrol_has_token(&t->files))
		return false;
	snprintf(text, sizeof(text),
		 "this host has no certificate and no token: make one with 'kpcp token', put it into "
		 "%.200s and restart kpcp-agent",
		 t->conf->token_file);
	/* Not over the reason why a token was refused. */
	if (!*t->join.said.text)
		say_change(&t->said, now(t), SAY_WARNING, text);
	return false;
}

static int do_due(struct talker *t, struct err *e)
{
	uint64_t at = now(t);

	/* With a certificate of an earlier enrolment the host goes on, until the new one is there. */
	if (at >= t->join.at_ns && enrol_has_token(&t->files))
		return enrol(t, e);
	if (!ready(t))
		return 0;
	if (*t->put_order && at >= t->put.at_ns)
		return upload_once(t, e);
	return at >= t->poll.at_ns ? poll_once(t, e) : 0;
}

static int wait_ms(const struct talker *t)
{
	uint64_t at = now(t), due = t->poll.at_ns;

	if (*t->put_order && t->put.at_ns < due)
		due = t->put.at_ns;
	if (enrol_has_token(&t->files) && (t->join.at_ns < due || !enrol_has_cert(&t->files)))
		due = t->join.at_ns;
	if (due > at + WAKE_MS * 1000000ull)
		return WAKE_MS;
	/* What is due but cannot be done yet (no report, no certificate) is looked at now and then only. */
	return due > at ? (int)((due - at) / 1000000u) + 1 : WAKE_MS / 4;
}

static int loop(struct talker *t, struct err *e)
{
	while (!*t->stop) {
		int r = do_due(t, e);
		if (r == 0)
			r = serve_channel(t, wait_ms(t), e);
		if (r == -EPIPE || r == -ECANCELED)
			return 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static void free_talker(struct talker **t)
{
	if (!*t)
		return;
	upload_close(&(*t)->up);
	buf_free(&(*t)->report);
	free(*t);
}

int talker_run(const struct agent_conf *c, int channel, const volatile int *stop, struct err *e)
{
	_cleanup_(free_talker) struct talker *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, ENOMEM, "the talker cannot start");
	*t = (struct talker){
	    .conf = c, .sys = sys_linux(""), .channel = channel, .stop = stop, .report = BUF_INIT(CHANNEL_BODY_MAX)};
	int r = enrol_paths(c, &t->files, e);
	if (r < 0)
		return r;
	const struct upload_where where = {.url = c->url, .ca = c->ca, .cert = t->files.cert, .key = t->files.key};
	r = upload_open(&where, &t->up, e);
	if (r < 0)
		return r;
	t->join.at_ns = t->poll.at_ns = now(t) + dice(t) % (FIRST_S * PACE_SECOND_NS);
	return loop(t, e);
}
