// SPDX-License-Identifier: Apache-2.0
/* Owns the rules by which an order is accepted or refused.
 * Must not know files, keys, clocks or how an order is carried out. */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void refuse(struct verify_answer *ret, const char *fmt, ...) printf_like(2, 3);

static void refuse(struct verify_answer *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret->reason, sizeof(ret->reason), fmt, ap);
	va_end(ap);
	ret->verdict = VERIFY_REFUSED;
}

bool verify_settled(enum host_state s)
{
	return s == HOST_IDLE || s == HOST_ROLLED_BACK || s == HOST_COMMITTED;
}

/* A verb of the other factor is in no row. */
static bool event_of(enum verb verb, enum factor factor, enum event *ret)
{
	static const struct {
		enum verb verb;
		enum factor factor;
		enum event event;
	} rows[] = {
	    {VERB_STAGE, FACTOR_KERNEL, EVENT_STAGE},   {VERB_MEASURE, FACTOR_KERNEL, EVENT_MEASURE},
	    {VERB_TRIAL, FACTOR_KERNEL, EVENT_TRIAL},   {VERB_PROVE, FACTOR_KERNEL, EVENT_PROVE},
	    {VERB_COMMIT, FACTOR_KERNEL, EVENT_COMMIT}, {VERB_REVERT, FACTOR_KERNEL, EVENT_REVERT},
	    {VERB_APPLY, FACTOR_PRESET, EVENT_APPLY},   {VERB_MEASURE, FACTOR_PRESET, EVENT_MEASURE_HERE},
	    {VERB_COMMIT, FACTOR_PRESET, EVENT_KEEP},   {VERB_REVERT, FACTOR_PRESET, EVENT_RESTORE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].verb == verb && rows[i].factor == factor) {
			*ret = rows[i].event;
			return true;
		}
	}
	return false;
}

static bool same_rollout(const struct verify *v)
{
	return v->j->rollout[0] && strcmp(v->j->rollout, v->directive->name) == 0;
}

/* Whether the order brings the host onto the new kernel or preset, or leaves it there. */
static bool goes_forward(const struct order *o)
{
	return o->verb != VERB_REVERT && (o->verb != VERB_MEASURE || o->target_new);
}

/* A plan is approved for clusters; which one a host is of may not be left to the controller, where the host itself
 * knows. Controls that stay as they are may come from a cluster of their own. */
static bool for_cluster(const struct verify *v)
{
	const struct directive *d = v->directive;

	if (!v->cluster || !v->cluster[0])
		return true;
	for (uint32_t i = 0; i < d->n_clusters; i++)
		if (strcmp(d->cluster[i], v->cluster) == 0)
			return true;
	return strcmp(d->canaries_from, v->cluster) == 0 ||
	       (!goes_forward(v->order) && strcmp(d->controls_from, v->cluster) == 0);
}

/* 0: go on; otherwise ret is the answer. What holds for every order, a way back too. */
static bool by_directive(const struct verify *v, struct verify_answer *ret)
{
	const struct directive *d = v->directive;
	const struct order *o = v->order;

	if (!d) {
		refuse(ret, "%s", v->problem);
		ret->verdict = VERIFY_UNSIGNED;
	} else if (strcmp(d->name, o->rollout) != 0) {
		refuse(ret, "the order is of rollout %s, its directive of %s: the controller mixes them up", o->rollout,
		       d->name);
	} else if (!event_of(o->verb, d->factor, &ret->event)) {
		refuse(ret, "%s is no order for a rollout of a %s", verb_name(o->verb),
		       d->factor == FACTOR_KERNEL ? "kernel" : "preset");
	} else if (same_rollout(v) && d->factor != v->j->factor) {
		refuse(ret,
		       "rollout %s began here as one of a %s, which this directive is not: give it a name of its own",
		       d->name, v->j->factor == FACTOR_KERNEL ? "kernel" : "preset");
	} else if (!same_rollout(v) && v->j->rollout[0] && !verify_settled(v->j->state)) {
		refuse(ret, "this host is in rollout %s, in state %s: end that one first", v->j->rollout,
		       host_state_name(v->j->state));
	} else if (o->verb == VERB_REVERT && !same_rollout(v) && v->j->state == HOST_HELD) {
		refuse(ret, "this host does not remember rollout %s: a person must look at it, then kpcp-agent lift",
		       d->name);
	} else if (o->verb == VERB_REVERT && !same_rollout(v)) {
		ret->verdict = VERIFY_NOTHING;
	} else {
		return true;
	}
	return false;
}

/* What holds for orders that are no way back. Expiry keeps a host from beginning, never from going on. */
static bool by_rollout(const struct verify *v, struct verify_answer *ret)
{
	const struct directive *d = v->directive;
	const struct journal *j = v->j;
	uint64_t signed_s = j->serial / 1000; /* serials are the approval's time in ms: a clock behind it is wrong */
	uint64_t now = v->unix_s > signed_s ? v->unix_s : signed_s;
	bool staged = same_rollout(v) && j->new_build[0];

	if (d->serial < j->serial) {
		refuse(ret, "the directive's serial %llu is below %llu, which this host has seen: it was superseded",
		       (unsigned long long)d->serial, (unsigned long long)j->serial);
	} else if (same_rollout(v) && (j->state == HOST_ROLLED_BACK || j->state == HOST_COMMITTED)) {
		refuse(ret, "rollout %s has ended on this host, which is %s: give a new attempt a name of its own",
		       d->name, host_state_name(j->state));
	} else if (!for_cluster(v)) {
		refuse(ret, "rollout %s is not approved for cluster %s, which this host is of by its agent.conf",
		       d->name, v->cluster);
	} else if (!same_rollout(v) && now > d->expires_unix_s) {
		refuse(ret, "the directive of rollout %s has expired: approve its plan again", d->name);
	} else if (staged && strcmp(j->new_build, d->kernel.build_id) != 0) {
		refuse(ret, "rollout %s named another kernel when it began here: give the new plan a name of its own",
		       d->name);
	} else if (same_rollout(v) && j->plan[0] && strcmp(j->plan, v->plan) != 0) {
		refuse(ret, "rollout %s began here with another plan: give the new plan a name of its own", d->name);
	} else if (d->factor == FACTOR_KERNEL && goes_forward(v->order) && v->denied) {
		refuse(ret, "the kernel with build-id %.40s crashed on this host once: kpcp-agent lift takes that back",
		       d->kernel.build_id);
	} else if (d->factor == FACTOR_KERNEL && goes_forward(v->order) && v->order->verb != VERB_STAGE && !staged) {
		refuse(ret, "%s needs a kernel that is staged, and this host has not staged that of rollout %s",
		       verb_name(v->order->verb), d->name);
	} else {
		return true;
	}
	return false;
}

void verify_order(const struct verify *v, struct verify_answer *ret)
{
	const struct journal *j = v->j;
	struct lifecycle_step step;
	struct err why = {0};

	memset(ret, 0, sizeof(*ret));
	ret->verdict = VERIFY_ACCEPTED;
	if (v->order->epoch <= j->epoch) {
		ret->verdict = v->order->epoch == j->epoch ? VERIFY_KNOWN : VERIFY_OLD;
		return;
	}
	if (v->order->epoch - j->epoch > VERIFY_STEP_MAX) {
		ret->verdict = VERIFY_FAR;
		return;
	}
	/* Whatever is under way keeps its answer: only a right way back may take its place. */
	if (j->act != ACT_REST &&
	    (v->order->verb != VERB_REVERT || !by_directive(v, ret) || ret->verdict != VERIFY_ACCEPTED)) {
		ret->verdict = VERIFY_BUSY;
		return;
	}
	if (!by_directive(v, ret) || (v->order->verb != VERB_REVERT && !by_rollout(v, ret)))
		return;
	if (lifecycle_next(j->state, ret->event, &step, &why) < 0)
		refuse(ret, "%.200s", why.text);
}
