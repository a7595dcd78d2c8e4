// SPDX-License-Identifier: Apache-2.0
/* Owns the rollout that runs as one view out of the tables, and the writing of what was decided about it.
 * Must not know why it was decided so. */
#include "store_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_impl.h"

static uint64_t since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0; /* a clock that was set back makes nothing time out */
}

static int role_parse(const char *word, enum role *ret, struct err *e)
{
	for (enum role r = ROLE_NONE; r <= ROLE_WAVE; r++) {
		if (strcmp(word, role_name(r)) != 0)
			continue;
		*ret = r;
		return 0;
	}
	return err_set(e, EBADMSG, "the database: \"%.20s\" is no role", word);
}

/* ---- from the tables ---- */

struct loading {
	struct store *s;
	uint64_t now;
	const char *rollout;
	struct store_list hosts;
};

/* What memory knows of it: the time of its last poll is nowhere else. */
static int add_memory(const struct loading *l, struct decide_host *h, struct err *e)
{
	const struct store_mem *m = store_find(l->s, h->name);

	if (!m)
		return err_set(e, EBADMSG, "the database: member %s is no host", h->name);
	const struct host_report *r = &m->pub.report;
	bool astray = r->state == HOST_FOREIGN || r->state == HOST_HELD;

	h->retired = m->pub.retired;
	h->seen_age_s = m->pub.reported ? since(m->pub.seen_unix_s, l->now) : UINT64_MAX;
	h->state = m->pub.reported && (astray || strcmp(r->rollout, l->rollout) == 0) ? r->state : HOST_IDLE;
	return 0;
}

static int add_order(const struct loading *l, struct decide_host *h, const struct db_row *r, struct err *e)
{
	int x = verb_parse(db_text(r, 15, NULL), &h->verb, e);

	if (x == 0)
		x = outcome_parse(db_text(r, 16, NULL), &h->outcome, e);
	if (x == 0)
		x = db_copy(r, 17, h->reason, sizeof(h->reason), e);
	h->ordered = true;
	h->order_age_s = since((uint64_t)db_int(r, 18), l->now);
	h->busy = db_int(r, 19) == 0;
	return x;
}

static int member_row(void *target, const struct db_row *r, struct err *e)
{
	struct loading *l = target;
	struct decide_host *h = store_list_add(&l->hosts);

	if (!h)
		return err_sys(e, ENOMEM, "loading a rollout");
	uint64_t soak_since = (uint64_t)db_int(r, 13);
	h->wave = (uint32_t)db_int(r, 3);
	h->staged = db_int(r, 4);
	h->tried = db_int(r, 5);
	h->proved = db_int(r, 6);
	h->applied = db_int(r, 7);
	h->committed = db_int(r, 8);
	h->reverted = db_int(r, 9);
	h->failed_reverts = (uint32_t)db_int(r, 10);
	h->measured_old = (uint32_t)db_int(r, 11);
	h->measured_new = (uint32_t)db_int(r, 12);
	h->soaked_s = soak_since ? since(soak_since, l->now) : 0;
	int x = db_copy(r, 0, h->name, sizeof(h->name), e);
	if (x == 0)
		x = db_copy(r, 1, h->cluster, sizeof(h->cluster), e);
	if (x == 0)
		x = role_parse(db_text(r, 2, NULL), &h->role, e);
	if (x == 0 && db_int(r, 14) != 0)
		x = add_order(l, h, r, e);
	return x < 0 ? x : add_memory(l, h, e);
}

int store_view_load(struct store *s, uint64_t now, struct store_view *ret, struct err *e)
{
	struct loading l = {.s = s, .now = now, .rollout = s->running, .hosts = {.item = sizeof(struct decide_host)}};

	if (!s->running[0])
		return 0;
	int r = store_rollout_get(s, s->running, &ret->rollout, e);
	if (r == 0)
		r = store_directive(s, s->running, &ret->directive, e);
	if (r == 0)
		r = DB_QUERY(s->db, member_row, &l, NULL, e,
			     "SELECT m.host, m.cluster, m.role, m.wave, m.staged, m.tried, m.proved, m.applied, "
			     "m.committed, m.reverted, m.failed_reverts, m.measured_old, m.measured_new, m.soak_since, "
			     "m.last_epoch, o.verb, o.outcome, o.reason, o.granted, o.ended FROM members m "
			     "LEFT JOIN orders o ON o.host = m.host AND o.epoch = m.last_epoch WHERE m.rollout = $1 "
			     "ORDER BY m.host",
			     DB_T(s->running));
	if (r < 0) {
		free(l.hosts.data);
		return r;
	}
	const struct store_rollout *x = &ret->rollout;
	ret->view = (struct decide_view){.directive = &ret->directive,
					 .state = x->state,
					 .wave = x->wave,
					 .paused = x->paused,
					 .abort_wanted = x->abort_wanted,
					 .has_verdict = x->has_verdict,
					 .verdict = x->verdict,
					 .age_s = since(x->started_unix_s, now),
					 .host = (struct decide_host *)(void *)l.hosts.data,
					 .n = (uint32_t)l.hosts.n};
	memcpy(ret->view.verdict_reason, x->verdict_reason, sizeof(ret->view.verdict_reason));
	return 1;
}

void store_view_free(struct store_view *v)
{
	free(v->view.host);
	v->view.host = NULL;
	v->view.n = 0;
}

/* ---- back into them ---- */

static int out_row(void *target, const struct db_row *r, struct err *e)
{
	(void)e;
	*(int64_t *)target = db_int(r, 0);
	return 0;
}

/* decide() has counted already; what is written is counted again, where nothing can come in between. */
static int check_budget(struct store *s, const struct store_view *v, const struct decide_host *h, struct err *e)
{
	int64_t out = 0;
	int r = DB_QUERY(s->db, out_row, &out, NULL, e,
			 "SELECT COUNT(*) FROM orders o JOIN members m ON m.rollout = o.rollout AND m.host = o.host "
			 "WHERE o.ended = 0 AND o.verb <> 'commit' AND m.cluster = $1",
			 DB_T(h->cluster));

	if (r == 0 && out > v->directive.budget)
		return err_set(e, EPERM, "an order to %s would take %lld hosts of %s away, and the budget is %u",
			       h->name, (long long)out, h->cluster, v->directive.budget);
	return r;
}

/* What the host has is looked at last before something is done to it: days after the start, a person may have given it
 * another kernel. */
static int note_before(struct store *s, const struct store_mem *m, const struct order *o, struct err *e)
{
	const struct host_report *r = &m->pub.report;
	int x = 0;

	if (!m->pub.reported)
		return 0;
	x = DB_RUN(s->db, NULL, e,
		   "UPDATE members SET release_before = $3, build_id_before = $4, default_before = $5 "
		   "WHERE rollout = $1 AND host = $2 AND last_epoch = 0",
		   DB_T(o->rollout), DB_T(m->pub.name), DB_T(r->release), DB_T(r->build_id), DB_T(r->default_entry));
	if (x == 0 && o->verb == VERB_APPLY)
		x = DB_RUN(s->db, NULL, e,
			   "UPDATE members SET scale_before = $3 WHERE rollout = $1 AND host = $2 AND applied = 0",
			   DB_T(o->rollout), DB_T(m->pub.name), DB_I(r->pcp_batch_scale_max));
	return x;
}

static int grant(struct store *s, const struct store_view *v, const struct decide_order *o, struct store_order *ret,
		 uint64_t now, struct err *e)
{
	const struct decide_host *h = &v->view.host[o->host];
	const struct store_mem *m = store_find(s, h->name);
	char text[64];
	int r = 0;

	if (m->pub.epoch >= MESSAGE_EPOCH_MAX)
		return err_set(e, ERANGE, "%s has used up all numbers of orders; retire it", h->name);
	*ret = (struct store_order){.order = o->order, .granted_unix_s = now};
	ret->order.epoch = m->pub.epoch + 1;
	memcpy(ret->host, h->name, sizeof(ret->host));
	memcpy(ret->order.rollout, v->rollout.name, sizeof(ret->order.rollout));
	if (o->replaces)
		r = store_order_end(s, m, OUTCOME_FAILED, "timed out; the way back takes its place", now, e);
	/* The table's own index refuses a second one that is out. */
	if (r == 0)
		r = DB_RUN(
		    s->db, NULL, e,
		    "INSERT INTO orders (host, epoch, rollout, verb, arm, boot, target_new, outcome, reason, granted, "
		    "ended, boot_before) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9, 0, $10)",
		    DB_T(h->name), DB_I(ret->order.epoch), DB_T(ret->order.rollout), DB_T(verb_name(ret->order.verb)),
		    DB_T(arm_name(ret->order.arm)), DB_I(ret->order.boot), DB_I(ret->order.target_new),
		    DB_T(outcome_name(OUTCOME_NONE)), DB_I(now), DB_T(m->pub.reported ? m->pub.report.boot_id : ""));
	if (r == 0)
		r = note_before(s, m, &ret->order, e);
	if (r == 0 && ret->order.verb != VERB_COMMIT)
		r = check_budget(s, v, h, e);
	if (r == 0)
		r = DB_RUN(s->db, NULL, e, "UPDATE hosts SET epoch = $2 WHERE name = $1", DB_T(h->name),
			   DB_I(ret->order.epoch));
	if (r == 0)
		r = DB_RUN(
		    s->db, NULL, e,
		    "UPDATE members SET last_epoch = $3, started = CASE WHEN started = 0 THEN $4 ELSE started END "
		    "WHERE rollout = $1 AND host = $2",
		    DB_T(ret->order.rollout), DB_T(h->name), DB_I(ret->order.epoch), DB_I(now));
	return r < 0 ? r
		     : store_say(s, ret->order.rollout, h->name, now, e, "order %llu: %s",
				 (unsigned long long)ret->order.epoch, store_order_text(&ret->order, text));
}

static int write_state(struct store *s, const struct store_view *v, const struct decision *d, uint64_t now,
		       struct err *e)
{
	const struct store_rollout *x = &v->rollout;
	bool final = rollout_state_final(d->state);
	bool moved = d->state != x->state || d->wave != x->wave;
	const char *waiting = final ? "" : d->waiting;
	int r =
	    DB_RUN(s->db, NULL, e,
		   "UPDATE rollouts SET state = $2, wave = $3, reason = $4, waiting = $5, ended = $6 WHERE name = $1",
		   DB_T(x->name), DB_T(rollout_state_name(d->state)), DB_I(d->wave),
		   DB_T(d->reason[0] ? d->reason : x->reason), DB_T(waiting), DB_I(final ? now : 0));

	if (r == 0 && moved)
		r = store_say(s, x->name, "", now, e, "%s: %s", rollout_state_name(d->state), d->reason);
	if (r == 0 && waiting[0] && strcmp(waiting, x->waiting) != 0)
		r = store_say(s, x->name, "", now, e, "waiting: %s", waiting);
	return r;
}

/* What is wrong with one host alone: the others must not wait for it. */
static bool only_this_host(int r)
{
	return r == -EEXIST || r == -ERANGE;
}

/* One try at everything that is not skipped. ret_failed: the order that it failed at; d->n_orders for none of them. */
static int write_all(struct store *s, const struct store_view *v, const struct decision *d, const bool *skip,
		     struct store_order *granted, uint32_t *ret_failed, uint64_t now, struct err *e)
{
	int r = db_begin(s->db, true, e);

	*ret_failed = d->n_orders;
	if (r < 0)
		return r;
	r = write_state(s, v, d, now, e);
	for (uint32_t i = 0; r == 0 && i < d->n_orders; i++) {
		if (skip[i])
			continue;
		r = grant(s, v, &d->order[i], &granted[i], now, e);
		if (r < 0)
			*ret_failed = i;
	}
	return store_end(s, r, e);
}

/* Whoever cannot be ordered anything is skipped, and the rollout says so in d->waiting. */
static int write_what_can_be(struct store *s, const struct store_view *v, struct decision *d, bool *skip,
			     struct store_order *granted, bool *ret_changed, uint64_t now, struct err *e)
{
	const struct store_rollout *x = &v->rollout;
	uint32_t left = d->n_orders;

	for (;;) {
		struct err why = {0};
		uint32_t failed;
		bool moved = d->state != x->state || d->wave != x->wave || strcmp(d->waiting, x->waiting) != 0;

		*ret_changed = moved || left > 0;
		if (!*ret_changed)
			return 0;
		int r = write_all(s, v, d, skip, granted, &failed, now, &why);
		if (r == 0 || failed == d->n_orders || !only_this_host(r)) {
			*e = r < 0 ? why : *e;
			return r;
		}
		skip[failed] = true;
		left--;
		snprintf(d->waiting, sizeof(d->waiting), "%s gets no order (%.120s): see to it, or retire it",
			 v->view.host[d->order[failed].host].name, why.text);
	}
}

int store_view_apply(struct store *s, const struct store_view *v, struct decision *d, uint64_t now, bool *ret_changed,
		     struct err *e)
{
	size_t n = d->n_orders ? d->n_orders : 1;
	struct store_order *granted = calloc(n, sizeof(*granted));
	bool *skip = calloc(n, sizeof(*skip));
	bool changed = false;
	int r = granted && skip ? write_what_can_be(s, v, d, skip, granted, &changed, now, e)
				: err_sys(e, ENOMEM, "granting %u orders", d->n_orders);

	for (uint32_t i = 0; r == 0 && i < d->n_orders; i++) {
		struct store_mem *m = skip[i] ? NULL : store_find(s, granted[i].host);

		if (!m)
			continue;
		m->out = true;
		m->order = granted[i];
		m->pub.epoch = granted[i].order.epoch;
	}
	if (r == 0 && rollout_state_final(d->state))
		s->running[0] = 0;
	free(granted);
	free(skip);
	*ret_changed = r == 0 && changed;
	return r < 0 ? err_context(e, "rollout %s: nothing was granted or changed", v->rollout.name) : 0;
}

int store_verdict_set(struct store *s, const char *rollout, const struct store_verdict *v, uint64_t now, struct err *e)
{
	int r = db_begin(s->db, true, e);

	if (r < 0)
		return r;
	r = DB_RUN(
	    s->db, NULL, e,
	    "UPDATE rollouts SET verdict = $2, verdict_reason = $3, comparison_json = $4, comparison_text = $5 WHERE "
	    "name = $1",
	    DB_T(rollout), DB_T(verdict_name(v->kind)), DB_T(v->reason), DB_T(v->json.data ? v->json.data : ""),
	    DB_T(v->text.data ? v->text.data : ""));
	if (r == 0)
		r = store_say(s, rollout, "", now, e, "the verdict is %s: %s", verdict_name(v->kind), v->reason);
	r = store_end(s, r, e);
	return r < 0 ? err_context(e, "keeping the verdict on %s", rollout) : 0;
}

int store_braked_set(struct store *s, const char *rollout, uint32_t blocks, const char *text, uint64_t now,
		     struct err *e)
{
	int r = db_begin(s->db, true, e);

	if (r < 0)
		return r;
	r = DB_RUN(s->db, NULL, e, "UPDATE rollouts SET braked = $2 WHERE name = $1", DB_T(rollout), DB_I(blocks));
	if (r == 0)
		r = store_say(s, rollout, "", now, e, "%s", text);
	r = store_end(s, r, e);
	return r < 0 ? err_context(e, "keeping how far the brake of %s has looked", rollout) : 0;
}
