// SPDX-License-Identifier: Apache-2.0
/* Owns the small fleets that the tests of decide() are made on, and the showing of what was decided.
 * Must not know any rule: it fills in views. Included after cmocka.h. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "rollout/decide.h"

#define FLEET_MAX     24
#define ORDER_TIMEOUT 1800u
#define DEADLINE      14400u
#define SOAK          600u

struct fleet {
	struct directive d;
	struct decide_host host[FLEET_MAX];
	struct decide_view v;
};

static inline struct decide_host *fleet_add(struct fleet *f, const char *name, const char *cluster, enum role role,
					    uint32_t wave)
{
	struct decide_host *h = &f->host[f->v.n++];

	*h = (struct decide_host){.role = role, .wave = wave};
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->cluster, sizeof(h->cluster), "%s", cluster);
	return h;
}

/* Clusters a and b; two canaries and two controls of a, two wave hosts of each: waves 1 (with the controls) and 2. Two
 * boots an arm, a budget of 2. */
static inline void fleet_make(struct fleet *f, enum factor factor, enum evidence evidence)
{
	*f = (struct fleet){
	    .d = {.name = "r1",
		  .n_clusters = 2,
		  .cluster = {"a", "b"},
		  .evidence = evidence,
		  .deadline_s = DEADLINE,
		  .order_timeout_s = ORDER_TIMEOUT,
		  .factor = factor,
		  .canaries_from = "a",
		  .controls_from = "a",
		  .judge = {.canaries = 2, .controls = evidence == EVIDENCE_MEASURED ? 2 : 0, .boots = 2},
		  .n_waves = 2,
		  .wave_percent = {50, 100},
		  .soak_s = SOAK,
		  .budget = 2}};
	f->v = (struct decide_view){.directive = &f->d, .state = ROLLOUT_CANARY, .host = f->host};
	fleet_add(f, "canary1", "a", ROLE_CANARY, 0);
	fleet_add(f, "canary2", "a", ROLE_CANARY, 0);
	if (evidence == EVIDENCE_MEASURED) {
		fleet_add(f, "control1", "a", ROLE_CONTROL, 1);
		fleet_add(f, "control2", "a", ROLE_CONTROL, 1);
	}
	fleet_add(f, "wave1a", "a", ROLE_WAVE, 1);
	fleet_add(f, "wave1b", "b", ROLE_WAVE, 1);
	fleet_add(f, "wave2a", "a", ROLE_WAVE, 2);
	fleet_add(f, "wave2b", "b", ROLE_WAVE, 2);
}

static inline struct decide_host *fleet_find(struct fleet *f, const char *name)
{
	for (uint32_t i = 0; i < f->v.n; i++)
		if (strcmp(f->host[i].name, name) == 0)
			return &f->host[i];
	fail_msg("no host %s in this fleet", name);
	return f->host;
}

/* ---- one fleet, and what was decided about it ---- */

static struct fleet f;
static struct decision got;
static char orders[2048]; /* of the last run(): "canary1 stage, control1 measure old 0" */

static inline void run(void)
{
	struct err e = {0};

	decision_free(&got);
	assert_int_equal(decide(&f.v, &got, &e), 0);
	orders[0] = 0;
	for (uint32_t i = 0; i < got.n_orders; i++) {
		const struct decide_order *o = &got.order[i];
		size_t at = strlen(orders);

		at += (size_t)snprintf(orders + at, sizeof(orders) - at, "%s%s%s %s", i ? ", " : "",
				       f.host[o->host].name, o->replaces ? "!" : "", verb_name(o->order.verb));
		if (o->order.verb == VERB_MEASURE)
			snprintf(orders + at, sizeof(orders) - at, " %s%s %u", o->order.arm == ARM_NEW ? "new" : "old",
				 o->order.target_new ? "*" : "", o->order.boot);
	}
}

static inline void expect(enum rollout_state s, const char *expected)
{
	run();
	if (got.state != s || strcmp(orders, expected) != 0)
		fail_msg("%s: \"%s\" (%s; %s) instead of %s: \"%s\"", rollout_state_name(got.state), orders, got.reason,
			 got.waiting, rollout_state_name(s), expected);
	assert_int_equal(got.reason[0] != 0, s != f.v.state || got.wave != f.v.wave);
}

static inline void all(enum role role, void (*set)(struct decide_host *h))
{
	for (uint32_t i = 0; i < f.v.n; i++)
		if (role == ROLE_NONE || f.host[i].role == role)
			set(&f.host[i]);
}

static inline void s_staged(struct decide_host *h)
{
	h->ordered = h->staged = true;
	h->verb = VERB_STAGE;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_VERIFIED;
}
static inline void s_old(struct decide_host *h)
{
	h->ordered = true;
	h->verb = VERB_MEASURE;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_MEASURE;
	h->measured_old = 2;
}
static inline void s_new(struct decide_host *h)
{
	s_old(h);
	h->measured_new = 2;
}
static inline void s_applied(struct decide_host *h)
{
	h->ordered = h->applied = true;
	h->verb = VERB_APPLY;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_APPLIED;
}
static inline void s_tried(struct decide_host *h)
{
	s_staged(h);
	h->tried = true;
	h->verb = VERB_TRIAL;
	h->state = HOST_SOAK;
}
static inline void s_proved(struct decide_host *h)
{
	h->ordered = h->proved = true;
	h->verb = VERB_PROVE;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_SOAK;
}
static inline void s_soaked(struct decide_host *h)
{
	h->soaked_s = SOAK;
}
static inline void s_committed(struct decide_host *h)
{
	h->ordered = h->committed = true;
	h->verb = VERB_COMMIT;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_COMMITTED;
}
static inline void s_reverted(struct decide_host *h)
{
	h->ordered = h->reverted = true;
	h->verb = VERB_REVERT;
	h->outcome = OUTCOME_DONE;
	h->state = HOST_ROLLED_BACK;
}
static inline void out(struct decide_host *h, enum verb verb)
{
	h->ordered = h->busy = true;
	h->verb = verb;
	h->outcome = OUTCOME_RUNNING;
}

static inline void promoted(void)
{
	f.v.has_verdict = true;
	f.v.verdict = VERDICT_PROMOTE;
}

/* A fleet in a state, with everything done that leads there. */
static inline void in_state(enum rollout_state s, enum factor factor)
{
	fleet_make(&f, factor, EVIDENCE_MEASURED);
	f.v.state = s;
	if (s == ROLLOUT_APPROVED)
		return;
	if (factor == FACTOR_KERNEL)
		all(ROLE_CANARY, s_staged);
	if (s == ROLLOUT_CANARY)
		return;
	if (factor == FACTOR_PRESET)
		all(ROLE_CANARY, s_applied);
	all(ROLE_CANARY, s_new);
	all(ROLE_CONTROL, s_new);
	if (s == ROLLOUT_PROVING || s == ROLLOUT_WAVE || s == ROLLOUT_DONE)
		promoted();
	if (s == ROLLOUT_HOLD)
		f.v.has_verdict = true;
	if (s == ROLLOUT_WAVE || s == ROLLOUT_DONE) {
		all(ROLE_CANARY, s_committed);
		f.v.wave = 1;
	}
}
