// SPDX-License-Identifier: Apache-2.0
/* Owns the random walk of decide(): simulated fleets that obey, fail, refuse or vanish, and what must hold throughout.
 * Must not know how decide() reaches a decision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decide_fleet.h"
#include "rng.h"

#define SEED    0x77616c6bu
#define WALKS   1200u
#define TICK_S  60u
#define STILL_S (6u * DEADLINE) /* so long without any change is for ever */

/* How a fleet behaves: chances in a million, of each order or each tick. */
struct temper {
	const char *name;
	uint32_t refuses, fails, vanishes, returns, loses_power, goes_astray, aborts, pauses;
};
static const struct temper tempers[] = {
    {.name = "obeys"},
    {.name = "fails now and then", .refuses = 5000, .fails = 20000},
    {.name = "fails often", .refuses = 100000, .fails = 200000},
    {.name = "vanishes and comes back", .vanishes = 3000, .returns = 20000, .loses_power = 10000},
    {.name = "vanishes for good", .vanishes = 2000},
    {.name = "everything",
     .refuses = 5000,
     .fails = 10000,
     .vanishes = 1000,
     .returns = 20000,
     .goes_astray = 200,
     .aborts = 2000,
     .pauses = 3000},
};

static const struct temper *temper;
static uint64_t now;
static struct walk_host {
	bool gone;
	uint64_t granted, seen, soak_from, ends; /* ends: of the order that is out */
	struct order order;
} body[FLEET_MAX];
static unsigned seen_final[ROLLOUT_STATE_COUNT], seen_waiting;

static bool chance(uint32_t per_million)
{
	return rng() % 1000000 < per_million;
}

static void end_order(uint32_t i, enum outcome outcome)
{
	struct decide_host *h = &f.host[i];
	bool done = outcome == OUTCOME_DONE;

	h->busy = false;
	h->outcome = outcome;
	snprintf(h->reason, sizeof(h->reason), "%s", done ? "" : "by chance");
	switch (h->verb) {
	case VERB_STAGE:
		h->staged |= done;
		break;
	case VERB_MEASURE:
		*(body[i].order.arm == ARM_NEW ? &h->measured_new : &h->measured_old) += done;
		break;
	case VERB_TRIAL:
	case VERB_PROVE:
	case VERB_APPLY:
		*(h->verb == VERB_TRIAL ? &h->tried : h->verb == VERB_PROVE ? &h->proved : &h->applied) |= done;
		body[i].soak_from = done ? now : body[i].soak_from;
		break;
	case VERB_COMMIT:
		h->committed |= done;
		break;
	default:
		h->reverted |= done;
		h->failed_reverts += !done;
	}
	static const enum host_state after[VERB_COUNT] = {
	    [VERB_STAGE] = HOST_VERIFIED,    [VERB_MEASURE] = HOST_MEASURE, [VERB_TRIAL] = HOST_SOAK,
	    [VERB_PROVE] = HOST_SOAK,        [VERB_APPLY] = HOST_APPLIED,   [VERB_COMMIT] = HOST_COMMITTED,
	    [VERB_REVERT] = HOST_ROLLED_BACK};
	if (!done)
		h->state = HOST_FAILED;
	else if (h->verb != VERB_MEASURE || f.d.factor == FACTOR_KERNEL)
		h->state = after[h->verb];
}

static void host_lives(uint32_t i)
{
	struct decide_host *h = &f.host[i];

	if (body[i].gone ? !chance(temper->returns) : chance(temper->vanishes)) {
		body[i].gone = true;
		return;
	}
	body[i].gone = false;
	body[i].seen = now;
	/* Power lost in the soak, and back in it after a while: away, without an order. */
	if (h->state == HOST_SOAK && !h->busy && chance(temper->loses_power))
		h->state = HOST_INTENT;
	else if (h->state == HOST_INTENT && chance(300000)) {
		h->state = HOST_SOAK;
		body[i].soak_from = now;
	}
	if (h->ordered && !h->reverted && chance(temper->goes_astray))
		h->state = chance(500000) ? HOST_FOREIGN : HOST_HELD;
	if (!h->busy)
		return;
	if (h->outcome == OUTCOME_NONE && chance(temper->refuses))
		end_order(i, OUTCOME_REFUSED);
	else if (now >= body[i].ends)
		end_order(i, chance(temper->fails) ? OUTCOME_FAILED : OUTCOME_DONE);
	else
		h->outcome = OUTCOME_RUNNING;
}

static void refresh(void)
{
	for (uint32_t i = 0; i < f.v.n; i++) {
		f.host[i].order_age_s = now - body[i].granted;
		f.host[i].seen_age_s = now - body[i].seen;
		f.host[i].soaked_s = body[i].soak_from ? now - body[i].soak_from : 0;
	}
	f.v.age_s = now;
}

static uint32_t away_in(const char *cluster)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f.v.n; i++)
		n += strcmp(f.host[i].cluster, cluster) == 0 && f.host[i].busy && f.host[i].verb != VERB_COMMIT;
	return n;
}

static void check_order(const struct decide_order *o)
{
	const struct decide_host *h = &f.host[o->host];
	bool forward = got.state != ROLLOUT_ROLLING_BACK;

	assert_int_equal(o->order.verb == VERB_REVERT, !forward);
	assert_false(h->retired);
	assert_int_equal(o->replaces, h->busy);
	if (h->busy) /* only the way back, and only in place of what timed out */
		assert_true(!forward && h->order_age_s > ORDER_TIMEOUT && h->verb != VERB_REVERT);
	if (forward) {
		assert_true(h->seen_age_s <= ORDER_TIMEOUT && !f.v.paused && !f.v.abort_wanted);
		assert_true(h->state != HOST_FOREIGN && h->state != HOST_HELD && !h->committed);
	}
	if (o->order.verb == VERB_COMMIT) {
		assert_true(f.d.evidence == EVIDENCE_HEALTH || (f.v.has_verdict && f.v.verdict == VERDICT_PROMOTE));
		assert_true((h->tried || h->proved || h->applied) && h->soaked_s >= SOAK);
		assert_int_equal(h->state, f.d.factor == FACTOR_KERNEL ? HOST_SOAK : HOST_APPLIED);
	}
	if (o->order.verb == VERB_MEASURE && o->order.arm == ARM_NEW)
		for (uint32_t i = 0; i < f.v.n; i++)
			if (f.host[i].role == ROLE_CANARY || f.host[i].role == ROLE_CONTROL)
				assert_int_equal(f.host[i].measured_old, f.d.judge.boots);
}

/* Grants as the store would. Returns whether anything changed. */
static bool tick_once(void)
{
	refresh();
	run();
	bool changed = got.n_orders > 0 || got.state != f.v.state || got.wave != f.v.wave;

	for (uint32_t i = 0; i < got.n_orders; i++) {
		const struct decide_order *o = &got.order[i];
		struct decide_host *h = &f.host[o->host];

		check_order(o);
		out(h, o->order.verb);
		h->outcome = OUTCOME_NONE;
		body[o->host].order = o->order;
		body[o->host].granted = now;
		body[o->host].ends = now + 60 + rng() % 600;
	}
	for (uint32_t c = 0; c < f.d.n_clusters; c++)
		assert_true(away_in(f.d.cluster[c]) <= f.d.budget);
	f.v.state = got.state;
	f.v.wave = got.wave;
	if (got.state == ROLLOUT_JUDGING && !f.v.has_verdict) {
		f.v.has_verdict = true;
		f.v.verdict = (enum verdict_kind)(rng() % 3);
	}
	return changed;
}

static void walk(void)
{
	uint64_t changed = 0;

	fleet_make(&f, rng() % 2 ? FACTOR_KERNEL : FACTOR_PRESET, rng() % 3 ? EVIDENCE_MEASURED : EVIDENCE_HEALTH);
	f.d.budget = 1 + (uint32_t)(rng() % 4);
	memset(body, 0, sizeof(body));
	for (now = 0; !rollout_state_final(f.v.state) && now - changed < STILL_S; now += TICK_S) {
		assert_true(now < 1000u * STILL_S);
		for (uint32_t i = 0; i < f.v.n; i++)
			host_lives(i);
		f.v.abort_wanted |= chance(temper->aborts);
		if (chance(temper->pauses))
			f.v.paused = !f.v.paused;
		if (tick_once())
			changed = now;
		if (now - changed > DEADLINE && f.v.paused) /* somebody comes to work in the morning */
			f.v.paused = false;
	}
	/* It ends, or says what a person has to see to. */
	if (!rollout_state_final(f.v.state)) {
		if (!got.waiting[0])
			fail_msg("%s stands still and says nothing", rollout_state_name(f.v.state));
		seen_waiting++;
	}
	seen_final[f.v.state]++;
	if (f.v.state == ROLLOUT_DONE)
		for (uint32_t i = 0; i < f.v.n; i++)
			assert_true(f.host[i].committed && !f.host[i].busy);
	if (f.v.state == ROLLOUT_ROLLED_BACK || f.v.state == ROLLOUT_ABORTED)
		for (uint32_t i = 0; i < f.v.n; i++)
			assert_true(!f.host[i].ordered || (f.host[i].reverted && !f.host[i].busy));
}

static void test_walks(void **state)
{
	(void)state;
	rng_state = SEED;
	for (unsigned i = 0; i < WALKS; i++) {
		temper = &tempers[i % ARRAY_SIZE(tempers)];
		walk();
	}
	print_message("# seed %x, %u walks:", SEED, WALKS);
	for (unsigned s = 0; s < ROLLOUT_STATE_COUNT; s++)
		if (seen_final[s])
			print_message(" %s %u", rollout_state_name((enum rollout_state)s), seen_final[s]);
	print_message(", waiting for a person %u\n", seen_waiting);
	/* The walk must have been everywhere. */
	assert_true(seen_final[ROLLOUT_DONE] > 100 && seen_final[ROLLOUT_ROLLED_BACK] > 100);
	assert_true(seen_final[ROLLOUT_ABORTED] > 10 && seen_waiting > 10);
}

static int tidy(void **state)
{
	(void)state;
	decision_free(&got);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks)};

	return cmocka_run_group_tests(tests, NULL, tidy);
}
