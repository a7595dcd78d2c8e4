// SPDX-License-Identifier: Apache-2.0
/* Owns the start of a rollout: whether it may, and the roster that is drawn and fixed then.
 * Must not know how hosts are drawn (roster.h), nor what they are ordered. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roster.h"
#include "store_impl.h"

#define NAMED_MAX 5 /* hosts that a refusal names */

static struct roster_host *candidates(const struct store *s, uint32_t *n, struct err *e)
{
	struct roster_host *list = calloc(s->n ? s->n : 1, sizeof(*list));

	*n = 0;
	if (!list) {
		err_sys(e, ENOMEM, "drawing from %zu hosts", s->n);
		return NULL;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct store_host *h = &s->host[i].pub;

		if (h->retired)
			continue;
		memcpy(list[*n].name, h->name, sizeof(list->name));
		memcpy(list[*n].cluster, h->cluster, sizeof(list->cluster));
		++*n;
	}
	return list;
}

static bool is_measured(const struct roster_host *x, const struct directive *d)
{
	return d->evidence == EVIDENCE_MEASURED && (x->role == ROLE_CANARY || x->role == ROLE_CONTROL);
}

/* Why a rollout must not begin on this host; NULL: it may. first: one that is measured, too, or NULL. */
static const char *unfit(const struct store_mem *h, const struct roster_host *drawn, const struct store_mem *first,
			 const struct directive *d, uint64_t now)
{
	const struct host_report *r = &h->pub.report;
	bool measured = drawn->role == ROLE_CANARY || drawn->role == ROLE_CONTROL;

	if (!h->pub.reported)
		return "has never reported";
	if (now > h->pub.seen_unix_s + d->order_timeout_s)
		return "was not seen for longer than order-timeout";
	if (r->state == HOST_FOREIGN || r->state == HOST_HELD)
		return host_state_name(r->state);
	if (h->out)
		return "has an order out";
	if (measured && d->factor == FACTOR_KERNEL && strcmp(r->build_id, d->kernel.build_id) == 0)
		return "runs this kernel already, so nothing can be compared";
	if (first && is_measured(drawn, d) && first->pub.reported && !roster_alike(r, &first->pub.report))
		return "has another kernel or vm.pcp_batch_scale_max than the first of canaries and controls, so they "
		       "cannot be compared; bring all of them to the same first";
	return NULL;
}

static int check_fit(struct store *s, const struct roster_host *list, uint32_t n, const struct directive *d,
		     uint64_t now, struct err *e)
{
	char names[NAMED_MAX * 256] = "";
	uint32_t bad = 0;
	const struct store_mem *first = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct store_mem *h = list[i].role == ROLE_NONE ? NULL : store_find(s, list[i].name);
		const char *why = h ? unfit(h, &list[i], first, d, now) : NULL;
		size_t at = strlen(names);

		if (!first && h && is_measured(&list[i], d))
			first = h;

		if (why && bad++ < NAMED_MAX)
			snprintf(names + at, sizeof(names) - at, "%s%s: %s", at ? "; " : "", list[i].name, why);
	}
	if (bad == 0)
		return 0;
	return err_set(e, ESTALE, "%u of its hosts are not fit to begin with (%s%s): see to them, or retire them", bad,
		       names, bad > NAMED_MAX ? "; ..." : "");
}

static int add_member(struct store *s, const struct roster_host *x, const char *rollout, struct err *e)
{
	const struct host_report *r = &store_find(s, x->name)->pub.report;
	int q = DB_RUN(s->db, NULL, e,
		       "INSERT INTO members (rollout, host, cluster, role, wave, last_epoch, staged, tried, proved, "
		       "applied, committed, reverted, failed_reverts, measured_old, measured_new, soak_since, "
		       "release_before, build_id_before, default_before, release_after, default_after, started, ended) "
		       "VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $6, $7, $8, $6, $8, 0, 0)",
		       DB_T(rollout), DB_T(x->name), DB_T(x->cluster), DB_T(role_name(x->role)), DB_I(x->wave),
		       DB_T(r->release), DB_T(r->build_id), DB_T(r->default_entry));

	if (q == 0)
		q = DB_RUN(s->db, NULL, e, "INSERT INTO boots (rollout, host, boot_id, number) VALUES ($1, $2, $3, 1)",
			   DB_T(rollout), DB_T(x->name), DB_T(r->boot_id));
	return q < 0 ? q
		     : DB_RUN(s->db, NULL, e, "UPDATE hosts SET rollout = $2 WHERE name = $1", DB_T(x->name),
			      DB_T(rollout));
}

static int write_start(struct store *s, const struct roster_host *list, uint32_t n, const char *name, uint64_t now,
		       struct err *e)
{
	uint32_t count[ROLE_WAVE + 1] = {0};
	int r = DB_RUN(s->db, NULL, e, "UPDATE rollouts SET state = $2, started = $3 WHERE name = $1", DB_T(name),
		       DB_T(rollout_state_name(ROLLOUT_CANARY)), DB_I(now));

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		count[list[i].role]++;
		if (list[i].role != ROLE_NONE)
			r = add_member(s, &list[i], name, e);
	}
	return r < 0 ? r
		     : store_say(s, name, "", now, e, "started: %u canaries, %u controls, %u hosts in waves",
				 count[ROLE_CANARY], count[ROLE_CONTROL], count[ROLE_WAVE]);
}

static int may_start(const struct store *s, const struct store_rollout *x, const struct directive *d, uint64_t now,
		     struct err *e)
{
	if (x->state != ROLLOUT_APPROVED)
		return err_set(e, ESTALE, "%s is %s: %s", x->name, rollout_state_name(x->state),
			       rollout_state_final(x->state) ? "it has ended; approve the plan anew, under another name"
							     : "it was started before; see how it goes: kpcp status");
	if (s->running[0])
		return err_set(e, EBUSY, "%s still runs, and one rollout runs at a time; wait for its end, or abort it",
			       s->running);
	if (now > d->expires_unix_s)
		return err_set(e, ESTALE, "the approval of %s expired %llu s ago; approve the plan again", x->name,
			       (unsigned long long)(now - d->expires_unix_s));
	return 0;
}

static int draw_and_write(struct store *s, struct roster_host *list, uint32_t n, const struct directive *d,
			  uint64_t now, struct err *e)
{
	int r = roster_draw(d, list, n, e);

	if (r < 0) {
		/* A plan that is well formed and does not fit this fleet now. */
		if (e && r == -EINVAL)
			e->code = ESTALE;
		return r == -EINVAL ? -ESTALE : r;
	}
	r = check_fit(s, list, n, d, now, e);
	if (r < 0 || (r = db_begin(s->db, true, e)) < 0)
		return r;
	return store_end(s, write_start(s, list, n, d->name, now, e), e);
}

int store_rollout_start(struct store *s, const char *name, uint64_t now, struct err *e)
{
	struct store_rollout x;
	struct directive d;
	uint32_t n;
	int r = store_rollout_get(s, name, &x, e);

	if (r == 0)
		r = store_directive(s, name, &d, e);
	if (r == 0)
		r = may_start(s, &x, &d, now, e);
	if (r < 0)
		return r;
	struct roster_host *list = candidates(s, &n, e);
	if (!list)
		return -ENOMEM;
	r = draw_and_write(s, list, n, &d, now, e);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (list[i].role != ROLE_NONE)
			memcpy(store_find(s, list[i].name)->pub.rollout, d.name, sizeof(d.name));
	if (r == 0)
		memcpy(s->running, d.name, sizeof(d.name));
	free(list);
	return r < 0 ? err_context(e, "%s was not started", name) : 0;
}
