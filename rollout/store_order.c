// SPDX-License-Identifier: Apache-2.0
/* Owns orders as rows: read, listed, ended; and what the end of one means for its host's membership.
 * Must not know who grants them, nor why. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_impl.h"

int store_order_row(const struct db_row *r, struct store_order *ret, struct err *e)
{
	struct store_order o = {.order.epoch = (uint64_t)db_int(r, 1),
				.order.boot = (uint32_t)db_int(r, 5),
				.order.target_new = db_int(r, 6),
				.granted_unix_s = (uint64_t)db_int(r, 9),
				.ended_unix_s = (uint64_t)db_int(r, 10)};
	int x = db_copy(r, 0, o.host, sizeof(o.host), e);

	if (x == 0)
		x = db_copy(r, 2, o.order.rollout, sizeof(o.order.rollout), e);
	if (x == 0)
		x = verb_parse(db_text(r, 3, NULL), &o.order.verb, e);
	if (x == 0)
		x = arm_parse(db_text(r, 4, NULL), &o.order.arm, e);
	if (x == 0)
		x = outcome_parse(db_text(r, 7, NULL), &o.outcome, e);
	if (x == 0)
		x = db_copy(r, 8, o.reason, sizeof(o.reason), e);
	if (x == 0)
		*ret = o;
	return x;
}

const char *store_order_text(const struct order *o, char ret[64])
{
	if (o->verb == VERB_MEASURE)
		snprintf(ret, 64, "%s %s %u", verb_name(o->verb), arm_name(o->arm), o->boot);
	else
		snprintf(ret, 64, "%s", verb_name(o->verb));
	return ret;
}

static int list_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_order *o = store_list_add(target);

	return o ? store_order_row(r, o, e) : err_sys(e, ENOMEM, "listing orders");
}

int store_orders(struct store *s, const char *host, uint32_t limit, struct store_order **ret, size_t *n, struct err *e)
{
	struct store_list l = {.item = sizeof(struct store_order)};
	int r = DB_QUERY(s->db, list_row, &l, NULL, e,
			 "SELECT " STORE_ORDER_COLUMNS " FROM orders WHERE host = $1 ORDER BY epoch DESC LIMIT $2",
			 DB_T(host), DB_I(limit < STORE_ORDERS_MAX ? limit : STORE_ORDERS_MAX));

	if (r < 0) {
		free(l.data);
		return r;
	}
	*ret = (struct store_order *)(void *)l.data;
	*n = l.n;
	return 0;
}

/* What the end of each verb means is in one statement, so that no half of it can be there. */
static int note_done(struct store *s, const char *host, const struct order *o, uint64_t now, struct err *e)
{
	return DB_RUN(
	    s->db, NULL, e,
	    "UPDATE members SET "
	    "staged = CASE WHEN $3 = 'stage' THEN 1 ELSE staged END, "
	    "tried = CASE WHEN $3 = 'trial' THEN 1 ELSE tried END, "
	    "proved = CASE WHEN $3 = 'prove' THEN 1 ELSE proved END, "
	    "applied = CASE WHEN $3 = 'apply' THEN 1 ELSE applied END, "
	    "committed = CASE WHEN $3 = 'commit' THEN 1 ELSE committed END, "
	    "reverted = CASE WHEN $3 = 'revert' THEN 1 ELSE reverted END, "
	    "soak_since = CASE WHEN $3 IN ('trial', 'prove', 'apply') THEN $4 ELSE soak_since END, "
	    "ended = CASE WHEN $3 IN ('commit', 'revert') THEN $4 ELSE ended END, "
	    "measured_old = (SELECT COUNT(*) FROM recordings WHERE rollout = $1 AND host = $2 AND arm = 'old'), "
	    "measured_new = (SELECT COUNT(*) FROM recordings WHERE rollout = $1 AND host = $2 AND arm = 'new') "
	    "WHERE rollout = $1 AND host = $2",
	    DB_T(o->rollout), DB_T(host), DB_T(verb_name(o->verb)), DB_I(now));
}

int store_order_end(struct store *s, const struct store_mem *h, enum outcome outcome, const char *reason, uint64_t now,
		    struct err *e)
{
	const struct order *o = &h->order.order;
	char text[64];
	int64_t changed = 0;
	int r = DB_RUN(s->db, &changed, e,
		       "UPDATE orders SET outcome = $3, reason = $4, ended = $5 WHERE host = $1 AND epoch = $2 AND "
		       "ended = 0",
		       DB_T(h->pub.name), DB_I(o->epoch), DB_T(outcome_name(outcome)), DB_T(reason), DB_I(now));

	if (r == 0 && changed != 1)
		return err_set(e, EIO, "the database: order %llu to %s is not out any more",
			       (unsigned long long)o->epoch, h->pub.name);
	if (r == 0 && outcome == OUTCOME_DONE)
		r = note_done(s, h->pub.name, o, now, e);
	else if (r == 0 && o->verb == VERB_REVERT)
		r = DB_RUN(s->db, NULL, e,
			   "UPDATE members SET failed_reverts = failed_reverts + 1 WHERE rollout = $1 AND host = $2",
			   DB_T(o->rollout), DB_T(h->pub.name));
	return r < 0 ? r
		     : store_say(s, o->rollout, h->pub.name, now, e, "%s: %s%s%s", store_order_text(o, text),
				 outcome_name(outcome), reason[0] ? ": " : "", reason);
}
