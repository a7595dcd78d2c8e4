// SPDX-License-Identifier: Apache-2.0
/* Owns the table of a rollout's steps and the rules around it: when it goes on, when back, who gets an order.
 * Must not know where the view comes from, nor what becomes of the decision. */
#include "decide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/near.h"

#define CLUSTERS_MAX (DIRECTIVE_CLUSTERS_MAX + 2) /* and those that canaries and controls come from */
#define BIT(x)       (1u << (x))
#define ANY          (~0u)
#define MEASURED     BIT(EVIDENCE_MEASURED)
#define HEALTH       BIT(EVIDENCE_HEALTH)
#define KERNEL       BIT(FACTOR_KERNEL)
#define PRESET       BIT(FACTOR_PRESET)
#define CANARY       BIT(ROLE_CANARY)
#define CONTROL      BIT(ROLE_CONTROL)
#define WAVE         BIT(ROLE_WAVE)
#define OUTSIDE      BIT(31) /* controls that are in no wave */

static const char *const state_names[ROLLOUT_STATE_COUNT] = {
    [ROLLOUT_APPROVED] = "APPROVED",
    [ROLLOUT_CANARY] = "CANARY",
    [ROLLOUT_JUDGING] = "JUDGING",
    [ROLLOUT_PROVING] = "PROVING",
    [ROLLOUT_WAVE] = "WAVE",
    [ROLLOUT_DONE] = "DONE",
    [ROLLOUT_HOLD] = "HOLD",
    [ROLLOUT_ROLLING_BACK] = "ROLLING_BACK",
    [ROLLOUT_ROLLED_BACK] = "ROLLED_BACK",
    [ROLLOUT_ABORTED] = "ABORTED",
};

const char *rollout_state_name(enum rollout_state s)
{
	return (unsigned)s < ROLLOUT_STATE_COUNT ? state_names[s] : "?";
}

int rollout_state_parse(const char *word, enum rollout_state *ret, struct err *e)
{
	for (unsigned i = 0; i < ROLLOUT_STATE_COUNT; i++) {
		if (strcmp(word, state_names[i]) == 0) {
			*ret = (enum rollout_state)i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "\"%s\" is no state of a rollout; did you mean %s?", word,
		       near_find(word, state_names, ROLLOUT_STATE_COUNT));
}

bool rollout_state_final(enum rollout_state s)
{
	return s == ROLLOUT_DONE || s == ROLLOUT_ROLLED_BACK || s == ROLLOUT_ABORTED;
}

const char *role_name(enum role r)
{
	static const char *const names[] = {"none", "canary", "control", "wave"};

	return (unsigned)r < ARRAY_SIZE(names) ? names[r] : "?";
}

/* ---- the steps ---- */

static bool staged(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->staged;
}
static bool tried(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->tried;
}
static bool proved(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->proved;
}
static bool applied(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->applied;
}
static bool measured_old(const struct decide_host *h, const struct directive *d)
{
	return h->measured_old >= d->judge.boots;
}
static bool measured_new(const struct decide_host *h, const struct directive *d)
{
	return h->measured_new >= d->judge.boots;
}
/* What soaks is what was tried, proved or applied: the step before saw to it. */
static bool soaked(const struct decide_host *h, const struct directive *d)
{
	return h->soaked_s >= d->soak_s && (h->state == HOST_SOAK || h->state == HOST_APPLIED);
}
static bool reverted(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->reverted;
}
/* Who has committed has no next step at all. */
static bool committed(const struct decide_host *h, const struct directive *d)
{
	(void)d;
	return h->committed;
}

/* In the order of the rows, a host does the first that applies to it and is not done. */
static const struct step {
	enum rollout_state phase;
	unsigned factors, evidences, roles; /* whom it applies to */
	bool together;                      /* begins when nobody is left in a row of the phase that is not together */
	bool wait;                          /* nothing to order: time has to pass */
	enum verb verb;
	enum arm arm;
	bool (*done)(const struct decide_host *h, const struct directive *d);
} steps[] = {
    {ROLLOUT_CANARY, KERNEL, ANY, CANARY, false, false, VERB_STAGE, ARM_OLD, staged},
    {ROLLOUT_CANARY, ANY, MEASURED, CANARY | CONTROL, false, false, VERB_MEASURE, ARM_OLD, measured_old},
    {ROLLOUT_CANARY, PRESET, ANY, CANARY, true, false, VERB_APPLY, ARM_OLD, applied},
    {ROLLOUT_CANARY, KERNEL, HEALTH, CANARY, true, false, VERB_TRIAL, ARM_OLD, tried},
    {ROLLOUT_CANARY, ANY, MEASURED, CANARY | CONTROL, true, false, VERB_MEASURE, ARM_NEW, measured_new},

    {ROLLOUT_PROVING, KERNEL, MEASURED, OUTSIDE, false, false, VERB_REVERT, ARM_OLD, reverted},
    {ROLLOUT_PROVING, KERNEL, ANY, CANARY, false, false, VERB_PROVE, ARM_OLD, proved},
    {ROLLOUT_PROVING, ANY, ANY, CANARY, false, true, VERB_COMMIT, ARM_OLD, soaked},
    {ROLLOUT_PROVING, ANY, ANY, CANARY, false, false, VERB_COMMIT, ARM_OLD, committed},

    {ROLLOUT_WAVE, KERNEL, ANY, CONTROL | WAVE, false, false, VERB_STAGE, ARM_OLD, staged},
    {ROLLOUT_WAVE, KERNEL, ANY, CONTROL | WAVE, false, false, VERB_TRIAL, ARM_OLD, tried},
    {ROLLOUT_WAVE, PRESET, ANY, CONTROL | WAVE, false, false, VERB_APPLY, ARM_OLD, applied},
    {ROLLOUT_WAVE, ANY, ANY, CONTROL | WAVE, false, true, VERB_COMMIT, ARM_OLD, soaked},
    {ROLLOUT_WAVE, ANY, ANY, CONTROL | WAVE, false, false, VERB_COMMIT, ARM_OLD, committed},
};

/* What one call works on: the view, what it becomes, and who is away in each cluster. */
struct work {
	const struct decide_view *v;
	const struct directive *d;
	struct decision out;
	uint32_t n_clusters;
	struct {
		const char *name;
		uint32_t away;
	} cluster[CLUSTERS_MAX];
};

static bool unseen(const struct work *w, const struct decide_host *h)
{
	return h->seen_age_s > w->d->order_timeout_s;
}

static bool timed_out(const struct work *w, const struct decide_host *h)
{
	return h->busy && h->order_age_s > w->d->order_timeout_s;
}

/* Whatever made it reboot, it is away for its users. Of a failed one nobody knows when it is home: its way back tells.
 */
static bool reboots(const struct decide_host *h)
{
	return h->state == HOST_INTENT || h->state == HOST_LOADED || h->state == HOST_PROBATION ||
	       h->state == HOST_COLD_PROOF || (h->state == HOST_FAILED && !h->reverted);
}

static bool away(const struct work *w, const struct decide_host *h)
{
	return !h->retired && ((h->busy && h->verb != VERB_COMMIT) || unseen(w, h) || reboots(h));
}

static bool astray(const struct decide_host *h)
{
	return h->state == HOST_FOREIGN || h->state == HOST_HELD;
}

static bool applies(const struct work *w, const struct step *s, const struct decide_host *h)
{
	unsigned roles = BIT(h->role) | (h->role == ROLE_CONTROL && h->wave == 0 ? OUTSIDE : 0);

	return s->phase == w->out.state && (s->factors & BIT(w->d->factor)) && (s->evidences & BIT(w->d->evidence)) &&
	       (s->roles & roles) && (s->phase != ROLLOUT_WAVE || h->wave == w->out.wave);
}

/* NULL: the host has nothing (more) to do in this phase. */
static const struct step *next_step(const struct work *w, const struct decide_host *h)
{
	for (size_t i = 0; !h->retired && !h->committed && i < ARRAY_SIZE(steps); i++)
		if (applies(w, &steps[i], h) && !steps[i].done(h, w->d))
			return &steps[i];
	return NULL;
}

static bool phase_complete(const struct work *w)
{
	for (uint32_t i = 0; i < w->v->n; i++)
		if (next_step(w, &w->v->host[i]) || (w->v->host[i].busy && !w->v->host[i].retired))
			return false;
	return true;
}

/* The first row that somebody in the phase has still to do, or is doing; an array's end when nobody has. */
static const struct step *slowest(const struct work *w)
{
	const struct step *first = steps + ARRAY_SIZE(steps);

	for (uint32_t i = 0; i < w->v->n; i++) {
		const struct step *s = next_step(w, &w->v->host[i]);

		if (s && s < first)
			first = s;
	}
	return first;
}

uint32_t decide_blocks(const struct decide_view *v)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < v->n; i++) {
		const struct decide_host *h = &v->host[i];
		bool roster = h->role == ROLE_CANARY || h->role == ROLE_CONTROL;

		if (roster && !h->retired && h->measured_new < least)
			least = h->measured_new;
	}
	return v->directive->evidence == EVIDENCE_MEASURED && least < UINT32_MAX ? least : 0;
}

/* ---- when it goes back ---- */

/* On the new kernel or preset, as far as orders go. */
static bool changed(const struct decide_host *h)
{
	return h->tried || h->proved || h->applied || h->committed || (h->role == ROLE_CANARY && h->measured_new > 0);
}

/* Why this host alone takes the rollout back, as a sentence in ret; false: it does not. */
static bool host_failed(const struct work *w, const struct decide_host *h, char ret[MESSAGE_TEXT_MAX])
{
	static const char *const how[] = {
	    [OUTCOME_REFUSED] = "refused", [OUTCOME_FAILED] = "failed in", [OUTCOME_HELD] = "stopped half way in"};
	bool roster = w->out.state == ROLLOUT_CANARY && (h->role == ROLE_CANARY || h->role == ROLE_CONTROL);
	/* The names take 64 characters at most; the reason is what is cut. */
	const char *reason = h->reason[0] ? h->reason : "no reason given";

	if (h->retired && !h->committed && (h->ordered || roster))
		snprintf(ret, MESSAGE_TEXT_MAX, "%s was retired in the middle of it", h->name);
	else if (h->retired || !h->ordered)
		return false;
	else if (!h->busy && h->outcome >= OUTCOME_REFUSED)
		snprintf(ret, MESSAGE_TEXT_MAX, "%s %s %s: %.160s", h->name, how[h->outcome], verb_name(h->verb),
			 reason);
	else if (timed_out(w, h))
		snprintf(ret, MESSAGE_TEXT_MAX, "%s has not ended %s within %llu s (order-timeout)", h->name,
			 verb_name(h->verb), (unsigned long long)w->d->order_timeout_s);
	else if (astray(h))
		snprintf(ret, MESSAGE_TEXT_MAX, "%s is %s: %.160s", h->name, host_state_name(h->state), reason);
	else if (!h->busy && changed(h) && (h->state == HOST_FAILED || h->state == HOST_ROLLED_BACK))
		snprintf(ret, MESSAGE_TEXT_MAX, "%s went back by itself (%s): %.160s", h->name,
			 host_state_name(h->state), reason);
	else
		return false;
	return true;
}

static bool goes_back(const struct work *w, char ret[MESSAGE_TEXT_MAX])
{
	bool judged_later =
	    w->out.state == ROLLOUT_CANARY || w->out.state == ROLLOUT_JUDGING || w->out.state == ROLLOUT_HOLD;

	if (w->v->abort_wanted) {
		snprintf(ret, MESSAGE_TEXT_MAX, "an operator aborted it");
		return true;
	}
	for (uint32_t i = 0; i < w->v->n; i++)
		if (host_failed(w, &w->v->host[i], ret))
			return true;
	if (w->out.state == ROLLOUT_CANARY && w->v->has_verdict && w->v->verdict == VERDICT_ROLLBACK) {
		snprintf(ret, MESSAGE_TEXT_MAX, "the verdict is ROLLBACK: %.200s", w->v->verdict_reason);
		return true;
	}
	if (judged_later && w->v->age_s > w->d->deadline_s) {
		snprintf(ret, MESSAGE_TEXT_MAX, "nothing was promoted within %llu s of its start (deadline)",
			 (unsigned long long)w->d->deadline_s);
		return true;
	}
	return false;
}

static bool went_back(const struct work *w)
{
	for (uint32_t i = 0; i < w->v->n; i++) {
		const struct decide_host *h = &w->v->host[i];

		if (h->ordered && !h->retired && (h->busy || !h->reverted))
			return false;
	}
	return true;
}

/* ---- from state to state ---- */

static bool enter(struct work *w, enum rollout_state s, const char *why)
{
	w->out.state = s;
	snprintf(w->out.reason, sizeof(w->out.reason), "%s", why);
	return true;
}

static bool enter_wave(struct work *w, uint32_t wave)
{
	char why[64];

	if (wave > w->d->n_waves)
		return enter(w, ROLLOUT_DONE, "all of its hosts have committed");
	snprintf(why, sizeof(why), "wave %u of %u follows", wave, w->d->n_waves);
	w->out.wave = wave;
	return enter(w, ROLLOUT_WAVE, why);
}

static bool judged(struct work *w)
{
	char why[MESSAGE_TEXT_MAX];
	const char *reason = w->v->verdict_reason;

	if (!w->v->has_verdict)
		return false;
	snprintf(why, sizeof(why), "the verdict is %s%s%.200s", verdict_name(w->v->verdict), reason[0] ? ": " : "",
		 reason);
	return enter(w,
		     w->v->verdict == VERDICT_PROMOTE    ? ROLLOUT_PROVING
		     : w->v->verdict == VERDICT_ROLLBACK ? ROLLOUT_ROLLING_BACK
							 : ROLLOUT_HOLD,
		     why);
}

/* One step to another state; false: it stays. */
static bool transition(struct work *w)
{
	char why[MESSAGE_TEXT_MAX];

	switch (w->out.state) {
	case ROLLOUT_APPROVED:
		return w->v->abort_wanted && enter(w, ROLLOUT_ABORTED, "an operator aborted it before its start");
	case ROLLOUT_ROLLING_BACK:
		return went_back(w) && enter(w, w->v->abort_wanted ? ROLLOUT_ABORTED : ROLLOUT_ROLLED_BACK,
					     "every host that had orders is back");
	case ROLLOUT_CANARY:
	case ROLLOUT_JUDGING:
	case ROLLOUT_PROVING:
	case ROLLOUT_WAVE:
	case ROLLOUT_HOLD:
		if (goes_back(w, why))
			return enter(w, ROLLOUT_ROLLING_BACK, why);
		break;
	default:
		return false;
	}
	if (w->out.state == ROLLOUT_JUDGING)
		return judged(w);
	if (w->out.state == ROLLOUT_HOLD || !phase_complete(w))
		return false;
	if (w->out.state == ROLLOUT_PROVING)
		return enter_wave(w, 1);
	if (w->out.state == ROLLOUT_WAVE)
		return enter_wave(w, w->out.wave + 1);
	return w->d->evidence == EVIDENCE_HEALTH
		   ? enter(w, ROLLOUT_PROVING, "the canaries came up in it healthy (evidence = health)")
		   : enter(w, ROLLOUT_JUDGING, "all recordings are in");
}

/* ---- orders ---- */

static uint32_t cluster_of(const struct work *w, const char *name)
{
	uint32_t i = 0;

	while (i < w->n_clusters && strcmp(w->cluster[i].name, name) != 0)
		i++;
	return i;
}

static bool room_for(const struct work *w, const struct decide_host *h, enum verb verb)
{
	uint32_t others = w->cluster[cluster_of(w, h->cluster)].away - away(w, h);

	return verb == VERB_COMMIT || others < w->d->budget;
}

static void grant(struct work *w, uint32_t host, const struct step *s)
{
	const struct decide_host *h = &w->v->host[host];
	struct decide_order *o = &w->out.order[w->out.n_orders++];

	*o = (struct decide_order){.host = host, .replaces = h->busy, .order.verb = s ? s->verb : VERB_REVERT};
	if (o->order.verb == VERB_MEASURE) {
		o->order.arm = s->arm;
		o->order.boot = s->arm == ARM_NEW ? h->measured_new : h->measured_old;
		o->order.target_new = s->arm == ARM_NEW && h->role == ROLE_CANARY;
	}
	if (!away(w, h) && o->order.verb != VERB_COMMIT)
		w->cluster[cluster_of(w, h->cluster)].away++;
}

/* Who has been measured least goes first, so that both arms of all hosts fall into the same hours. */
static void grant_forward(struct work *w)
{
	const struct step *begun = slowest(w);

	for (uint32_t boots = 0; boots <= 2 * w->d->judge.boots; boots++) {
		for (uint32_t i = 0; i < w->v->n; i++) {
			const struct decide_host *h = &w->v->host[i];
			const struct step *s = next_step(w, h);

			if (h->measured_old + h->measured_new != boots || !s || s->wait || h->busy || unseen(w, h) ||
			    astray(h) || (s->together && !begun->together) || !room_for(w, h, s->verb))
				continue;
			grant(w, i, s);
		}
	}
}

static void grant_back(struct work *w)
{
	for (uint32_t i = 0; i < w->v->n; i++) {
		const struct decide_host *h = &w->v->host[i];
		bool again = h->failed_reverts > 0;

		if (!h->ordered || h->retired)
			continue;
		bool wanted = h->busy ? h->verb != VERB_REVERT && timed_out(w, h)
				      : !h->reverted && (!again || (h->failed_reverts < DECIDE_REVERT_TRIES &&
								    h->order_age_s >= DECIDE_REVERT_PAUSE_S));
		/* One order in the place of another needs no more room; only a commit had none. */
		if (wanted && ((h->busy && h->verb != VERB_COMMIT) || room_for(w, h, VERB_REVERT)))
			grant(w, i, NULL);
	}
}

/* ---- what a person has to see to ---- */

static bool host_waits(const struct work *w, const struct decide_host *h, char ret[MESSAGE_TEXT_MAX])
{
	bool back = w->out.state == ROLLOUT_ROLLING_BACK;

	if (h->retired)
		return false;
	if (unseen(w, h))
		snprintf(ret, MESSAGE_TEXT_MAX,
			 "%s was not seen for longer than order-timeout and uses up the budget of %s: bring it back, "
			 "or retire it",
			 h->name, h->cluster);
	else if (back && h->ordered && !h->busy && !h->reverted && h->failed_reverts >= DECIDE_REVERT_TRIES)
		snprintf(ret, MESSAGE_TEXT_MAX,
			 "%s could not go back (%.100s): see to it, then resume the rollout, or retire the host",
			 h->name, h->reason);
	else if (back && timed_out(w, h) && h->verb == VERB_REVERT)
		snprintf(ret, MESSAGE_TEXT_MAX, "%s has been going back for longer than order-timeout: see to it",
			 h->name);
	else if (!h->busy && h->ordered && reboots(h) && h->state != HOST_FAILED)
		snprintf(ret, MESSAGE_TEXT_MAX,
			 "%s is %s without an order: it reboots by itself; see to it if that lasts", h->name,
			 host_state_name(h->state));
	else if (!back && astray(h))
		snprintf(ret, MESSAGE_TEXT_MAX, "%s is %s and gets no orders: see to it, or retire it", h->name,
			 host_state_name(h->state));
	else
		return false;
	return true;
}

static void say_what_waits(struct work *w)
{
	enum rollout_state s = w->out.state;

	if (s == ROLLOUT_APPROVED || rollout_state_final(s))
		return;
	for (uint32_t i = 0; i < w->v->n; i++)
		if (host_waits(w, &w->v->host[i], w->out.waiting))
			return;
	if (s == ROLLOUT_HOLD)
		snprintf(w->out.waiting, sizeof(w->out.waiting),
			 "a person may abort it now; past its deadline it goes back by itself");
	else if (w->v->paused && s != ROLLOUT_ROLLING_BACK)
		snprintf(w->out.waiting, sizeof(w->out.waiting), "it is paused: resume it, or abort it");
}

/* ---- all of it ---- */

static int add_cluster(struct work *w, const char *name)
{
	if (cluster_of(w, name) == w->n_clusters)
		w->cluster[w->n_clusters++].name = name;
	return 0;
}

static int check(struct work *w, struct err *e)
{
	const struct decide_view *v = w->v;
	bool past = v->state == ROLLOUT_PROVING || v->state == ROLLOUT_WAVE || v->state == ROLLOUT_DONE;

	if (v->n > DECIDE_HOSTS_MAX || (unsigned)v->state >= ROLLOUT_STATE_COUNT ||
	    w->d->n_clusters > DIRECTIVE_CLUSTERS_MAX || w->d->judge.boots > JUDGE_BOOTS_MAX)
		return err_set(e, EINVAL, "rollout %s: a view of %u hosts in state %u is out of range", w->d->name,
			       v->n, (unsigned)v->state);
	if (v->state == ROLLOUT_WAVE && (v->wave == 0 || v->wave > w->d->n_waves))
		return err_set(e, EINVAL, "rollout %s: wave %u of %u is out of range", w->d->name, v->wave,
			       w->d->n_waves);
	if (past && w->d->evidence == EVIDENCE_MEASURED && !(v->has_verdict && v->verdict == VERDICT_PROMOTE))
		return err_set(e, EINVAL, "rollout %s is %s, but no verdict promoted it", w->d->name,
			       rollout_state_name(v->state));
	for (uint32_t i = 0; i < w->d->n_clusters; i++)
		add_cluster(w, w->d->cluster[i]);
	add_cluster(w, w->d->canaries_from);
	add_cluster(w, w->d->controls_from);
	for (uint32_t i = 0; i < v->n; i++) {
		const struct decide_host *h = &v->host[i];
		uint32_t c = cluster_of(w, h->cluster);

		if (c == w->n_clusters)
			return err_set(e, EINVAL, "rollout %s: host %s is in cluster %s, which it does not name",
				       w->d->name, h->name, h->cluster);
		w->cluster[c].away += away(w, h);
	}
	return 0;
}

int decide(const struct decide_view *v, struct decision *ret, struct err *e)
{
	struct work w = {.v = v, .d = v->directive, .out = {.state = v->state, .wave = v->wave}};
	int r = check(&w, e);

	if (r < 0)
		return r;
	w.out.order = calloc(v->n ? v->n : 1, sizeof(*w.out.order));
	if (!w.out.order)
		return err_sys(e, ENOMEM, "deciding about %u hosts", v->n);
	while (transition(&w))
		;
	if (w.out.state == ROLLOUT_ROLLING_BACK)
		grant_back(&w);
	else if (!v->paused && w.out.state != ROLLOUT_APPROVED && !rollout_state_final(w.out.state))
		grant_forward(&w);
	say_what_waits(&w);
	*ret = w.out;
	return 0;
}

void decision_free(struct decision *d)
{
	free(d->order);
	d->order = NULL;
	d->n_orders = 0;
}
