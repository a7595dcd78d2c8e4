// SPDX-License-Identifier: Apache-2.0
/* Owns what agents bring to the store and take from it: reports in, the end of orders, orders out.
 * Must not know what is decided from it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "store_impl.h"

/* An agent that knows a newer order than the database: the database was put back from a copy. */
#define RESTORED "the host has seen a newer order: was the database put back from an older copy?"
/* So many orders an older copy may lack. What is further ahead nobody granted; each of its steps would be one taken
 * from all that there are. */
#define EPOCH_AHEAD_MAX (1u << 21) /* agents take 1 << 20 (VERIFY_STEP_MAX) */

/* Of one host in one rollout. More than any rollout needs; who boots on has something wrong with it. */
#define BOOTS_KEPT 256

/* What one report changes. */
struct news {
	bool any, boot, ends;
	enum outcome outcome;
	char reason[MESSAGE_TEXT_MAX];
	uint64_t epoch;
};

static int believed(struct store *s, const char *host, struct store_mem **ret, struct err *e)
{
	struct store_mem *h = store_find(s, host);

	if (!h || h->pub.retired)
		return err_set(e, EACCES, "%.64s %s; enrol it with a new token: kpcp token", host,
			       h ? "was retired" : "is not enrolled here");
	*ret = h;
	return 0;
}

static int count_row(void *target, const struct db_row *r, struct err *e)
{
	(void)e;
	*(int64_t *)target = db_int(r, 0);
	return 0;
}

/* Heartbeats without news differ in their figures only. */
static bool same(const struct host_report *a, const struct host_report *b)
{
	return a->state == b->state && a->epoch == b->epoch && a->outcome == b->outcome &&
	       strcmp(a->reason, b->reason) == 0 && strcmp(a->rollout, b->rollout) == 0 &&
	       strcmp(a->release, b->release) == 0 && strcmp(a->build_id, b->build_id) == 0 &&
	       strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->default_entry, b->default_entry) == 0 &&
	       strcmp(a->model, b->model) == 0 && a->kexec_booted == b->kexec_booted &&
	       a->pcp_batch_scale_max == b->pcp_batch_scale_max && a->attempts == b->attempts &&
	       a->serial == b->serial && strcmp(a->agent, b->agent) == 0;
}

struct claim_row {
	bool there;
	struct claim_before before;
	char recorded[37]; /* the boot that its recording is of; "": none */
};

static int claim_row(void *target, const struct db_row *r, struct err *e)
{
	struct claim_row *c = target;
	struct claim_before *b = &c->before;
	int x = db_copy(r, 0, b->boot_id, sizeof(b->boot_id), e);

	c->there = true;
	b->begun = db_int(r, 4);
	b->applied = db_int(r, 5);
	b->pcp_batch_scale_max = (int32_t)db_int(r, 6);
	if (x == 0)
		x = db_copy(r, 1, b->release, sizeof(b->release), e);
	if (x == 0)
		x = db_copy(r, 2, b->build_id, sizeof(b->build_id), e);
	if (x == 0)
		x = db_copy(r, 3, b->default_entry, sizeof(b->default_entry), e);
	return x < 0 ? x : db_copy(r, 7, c->recorded, sizeof(c->recorded), e);
}

/* The host says that its order is done: then the rest of what it says has to fit. */
static int check_claim(struct store *s, const struct store_mem *h, const struct host_report *report, struct news *news,
		       struct err *e)
{
	const struct order *o = &h->order.order;
	struct claim_row c = {0};
	struct directive d;
	int r = DB_QUERY(s->db, claim_row, &c, NULL, e,
			 "SELECT o.boot_before, m.release_before, m.build_id_before, m.default_before, "
			 "m.staged + m.measured_old + m.measured_new > 0, m.applied, m.scale_before, c.boot_id "
			 "FROM orders o JOIN members m ON m.rollout = o.rollout AND m.host = o.host "
			 "LEFT JOIN recordings c ON c.rollout = o.rollout AND c.host = o.host AND c.epoch = o.epoch "
			 "WHERE o.host = $1 AND o.epoch = $2",
			 DB_T(h->pub.name), DB_I(o->epoch));

	if (r == 0 && !c.there)
		return err_set(e, EBADMSG, "the database: an order to %s, which is no member", h->pub.name);
	if (r == 0)
		r = store_directive(s, o->rollout, &d, e);
	/* Its recording was looked at when it came; power may be lost between that and this report. */
	if (r < 0 || (o->verb == VERB_MEASURE && strcmp(c.recorded, report->boot_id) != 0))
		return r;
	enum claim claim = claim_check(&d, o, &c.before, report, news->reason);
	if (claim == CLAIM_FALSE)
		news->outcome = OUTCOME_FAILED;
	news->ends = claim != CLAIM_LATER;
	return 0;
}

static int what_is_new(struct store *s, const struct store_mem *h, const struct host_report *report, struct news *ret,
		       struct err *e)
{
	const struct host_report *before = &h->pub.report;
	const struct order *o = &h->order.order;
	int64_t there = 1;
	int r = 0;

	*ret = (struct news){.any = !h->pub.reported || !same(before, report),
			     .boot = !h->pub.reported || strcmp(before->boot_id, report->boot_id) != 0,
			     .outcome = report->outcome,
			     .epoch = report->epoch > h->pub.epoch ? report->epoch : h->pub.epoch};
	memcpy(ret->reason, report->reason, sizeof(ret->reason));
	if (!h->out)
		return 0;
	if (report->epoch > o->epoch) {
		ret->any = ret->ends = true;
		ret->outcome = OUTCOME_FAILED;
		snprintf(ret->reason, sizeof(ret->reason), "%s", RESTORED);
		return 0;
	}
	if (report->epoch != o->epoch || report->outcome < OUTCOME_DONE)
		return 0;
	/* A measurement that is done is nothing until its recording is in: the same order goes out again. */
	if (o->verb == VERB_MEASURE && report->outcome == OUTCOME_DONE)
		r = DB_QUERY(s->db, count_row, &there, NULL, e,
			     "SELECT COUNT(*) FROM recordings WHERE rollout = $1 AND host = $2 AND epoch = $3",
			     DB_T(o->rollout), DB_T(h->pub.name), DB_I(o->epoch));
	ret->ends = there > 0;
	if (r == 0 && ret->ends && report->outcome == OUTCOME_DONE)
		r = check_claim(s, h, report, ret, e);
	ret->any |= ret->ends;
	return r;
}

/* As a member of the rollout that runs: where it is now, and which boot this is. Its soak begins when it comes to where
 * it soaks, and again with each boot there. */
static int note_membership(struct store *s, const struct store_mem *h, const struct host_report *report,
			   const struct news *news, uint64_t now, struct err *e)
{
	bool soaks = report->state == HOST_SOAK || report->state == HOST_APPLIED;
	bool begins = soaks && (news->boot || report->state != h->pub.report.state);
	int r =
	    DB_RUN(s->db, NULL, e,
		   "UPDATE members SET release_after = $3, default_after = $4, soak_since = CASE WHEN $5 = 1 THEN $6 "
		   "ELSE soak_since END WHERE rollout = $1 AND host = $2",
		   DB_T(s->running), DB_T(h->pub.name), DB_T(report->release), DB_T(report->default_entry),
		   DB_I(begins), DB_I(now));

	if (r == 0 && news->boot) {
		int64_t added = 0;

		r = DB_RUN(s->db, &added, e,
			   "INSERT INTO boots (rollout, host, boot_id, number) SELECT $1, $2, $3, n + 1 FROM (SELECT "
			   "COUNT(*) AS n FROM boots WHERE rollout = $1 AND host = $2) AS c WHERE n < $4 ON CONFLICT "
			   "(rollout, host, boot_id) DO NOTHING",
			   DB_T(s->running), DB_T(h->pub.name), DB_T(report->boot_id), DB_I(BOOTS_KEPT));
		if (r == 0 && added > 0 && h->pub.reported)
			r = store_say(s, s->running, h->pub.name, now, e, "came up in %s%s", report->release,
				      report->kexec_booted ? ", by kexec" : "");
	}
	return r;
}

static int write_news(struct store *s, const struct store_mem *h, const struct host_report *report,
		      const struct news *news, uint64_t now, struct err *e)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT(MESSAGE_BYTES_MAX);
	enum host_state was = h->pub.reported ? h->pub.report.state : HOST_IDLE;
	bool member = s->running[0] && strcmp(h->pub.rollout, s->running) == 0;
	int r = message_report_write(report, &json, e);

	if (r == 0)
		r = DB_RUN(s->db, NULL, e, "UPDATE hosts SET seen = $2, report = $3, epoch = $4 WHERE name = $1",
			   DB_T(h->pub.name), DB_I(now), DB_T(json.data), DB_I(news->epoch));
	if (r == 0 && h->out && report->epoch == h->order.order.epoch && !news->ends)
		r = DB_RUN(s->db, NULL, e,
			   "UPDATE orders SET outcome = $3 WHERE host = $1 AND epoch = $2 AND ended = 0",
			   DB_T(h->pub.name), DB_I(report->epoch), DB_T(outcome_name(report->outcome)));
	if (r == 0 && member)
		r = note_membership(s, h, report, news, now, e);
	if (r == 0 && report->state != was && report->state >= HOST_FAILED)
		r = store_say(s, report->rollout, h->pub.name, now, e, "is %s now%s%s", host_state_name(report->state),
			      report->reason[0] ? ": " : "", report->reason);
	if (r == 0 && news->ends)
		r = store_order_end(s, h, news->outcome, news->reason, now, e);
	return r;
}

/* News is written to the disk before it is answered. A host that does its orders has far less of it. */
#define NEWS_MAX     30u /* at once */
#define NEWS_AGAIN_S 2u  /* and then one in so many seconds */

static int take_news(struct store_mem *h, uint64_t now, struct err *e)
{
	uint64_t back = now > h->spent_unix_s ? (now - h->spent_unix_s) / NEWS_AGAIN_S : 0;

	if (back > 0 || now < h->spent_unix_s) {
		h->spent = back < h->spent && now >= h->spent_unix_s ? h->spent - (uint32_t)back : 0;
		h->spent_unix_s = now;
	}
	if (h->spent >= NEWS_MAX)
		return err_set(e, EAGAIN, "%s reports something new too often; it is heard again in %u s", h->pub.name,
			       NEWS_AGAIN_S);
	h->spent++;
	return 0;
}

static int fill_reply(struct store *s, const struct store_mem *h, struct poll_reply *ret, struct err *e);

int store_poll(struct store *s, const char *host, const struct host_report *report, uint64_t now,
	       struct poll_reply *ret, bool *ret_ended, struct err *e)
{
	struct store_mem *h = NULL;
	struct news news = {0};
	int r = believed(s, host, &h, e);

	if (r == 0 && report->epoch > h->pub.epoch + EPOCH_AHEAD_MAX)
		r = err_set(
		    e, EINVAL,
		    "%s reports order %llu, and the newest that was granted to it is %llu: its agent's state is "
		    "not of this controller; remove that, and enrol it with a new token",
		    host, (unsigned long long)report->epoch, (unsigned long long)h->pub.epoch);
	if (r == 0)
		r = what_is_new(s, h, report, &news, e);
	if (r < 0)
		return r;
	if (news.any) {
		if ((r = take_news(h, now, e)) < 0 || (r = db_begin(s->db, true, e)) < 0)
			return r;
		r = store_end(s, write_news(s, h, report, &news, now, e), e);
		if (r < 0)
			return err_context(e, "taking the report of %s", host);
		if (h->out && report->epoch == h->order.order.epoch)
			h->order.outcome = report->outcome;
		h->pub.epoch = news.epoch;
		h->out = h->out && !news.ends;
	}
	h->pub.report = *report;
	h->pub.reported = true;
	h->pub.seen_unix_s = now;
	h->dirty = !news.any;
	*ret_ended = news.ends;
	return fill_reply(s, h, ret, e);
}

/* ---- the answer ---- */

struct signed_text {
	char *directive, *signature;
};

static char *copy(const struct db_row *r, int column)
{
	size_t len;
	const char *text = db_text(r, column, &len);
	char *c = malloc(len + 1);

	return c ? memcpy(c, text, len + 1) : NULL;
}

static int signed_row(void *target, const struct db_row *r, struct err *e)
{
	struct signed_text *t = target;

	t->directive = copy(r, 0);
	t->signature = copy(r, 1);
	return t->directive && t->signature ? 0 : err_sys(e, ENOMEM, "copying a directive");
}

static int fill_reply(struct store *s, const struct store_mem *h, struct poll_reply *ret, struct err *e)
{
	bool busy = h->out || (s->running[0] && strcmp(h->pub.rollout, s->running) == 0);
	struct poll_reply reply = {.wait_s = busy ? s->waits.busy_s : s->waits.idle_s, .has_order = h->out};
	struct signed_text t = {0};
	int r = 0;

	if (h->out) {
		reply.order = h->order.order;
		r = DB_QUERY(s->db, signed_row, &t, NULL, e,
			     "SELECT directive, signature FROM rollouts WHERE name = $1", DB_T(reply.order.rollout));
		if (r == 0 && !t.directive)
			r = err_set(e, EBADMSG, "the database: an order of rollout %s, which is not there",
				    reply.order.rollout);
	}
	if (r < 0) {
		free(t.directive);
		free(t.signature);
		return r;
	}
	reply.directive = t.directive;
	reply.signature = t.signature;
	*ret = reply;
	return 0;
}

int store_reply(struct store *s, const char *host, struct poll_reply *ret, struct err *e)
{
	struct store_mem *h = NULL;
	int r = believed(s, host, &h, e);

	return r < 0 ? r : fill_reply(s, h, ret, e);
}
