// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of how decide() takes a rollout back, and of the budget in both directions.
 * Must not know the store: views are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "decide_fleet.h"

/* ---- going back ---- */

static void test_rolling_back(void **state)
{
	(void)state;
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	f.d.budget = 20;
	f.v.state = ROLLOUT_ROLLING_BACK;
	out(fleet_find(&f, "control1"), VERB_TRIAL);
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert, canary2 revert, control2 revert");
	out(fleet_find(&f, "canary1"), VERB_REVERT);
	fleet_find(&f, "canary1")->order_age_s = 10 * ORDER_TIMEOUT; /* waited for without end */
	all(ROLE_CONTROL, s_reverted);
	fleet_find(&f, "control1")->busy = false;
	s_reverted(fleet_find(&f, "canary2"));
	expect(ROLLOUT_ROLLING_BACK, "");
	assert_non_null(strstr(got.waiting, "canary1 has been going back"));
	fleet_find(&f, "canary1")->busy = false;
	s_reverted(fleet_find(&f, "canary1"));
	expect(ROLLOUT_ROLLED_BACK, "");
	f.v.abort_wanted = true;
	expect(ROLLOUT_ABORTED, "");
}

static void test_reverts_are_tried_again_and_capped(void **state)
{
	(void)state;
	in_state(ROLLOUT_JUDGING, FACTOR_KERNEL);
	f.v.state = ROLLOUT_ROLLING_BACK;
	all(ROLE_CONTROL, s_reverted);
	s_reverted(fleet_find(&f, "canary2"));
	struct decide_host *h = fleet_find(&f, "canary1");
	h->verb = VERB_REVERT;
	h->outcome = OUTCOME_FAILED;
	snprintf(h->reason, sizeof(h->reason), "no boot loader");
	h->failed_reverts = 1;
	h->order_age_s = DECIDE_REVERT_PAUSE_S - 1;
	expect(ROLLOUT_ROLLING_BACK, "");
	h->order_age_s = DECIDE_REVERT_PAUSE_S;
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
	h->failed_reverts = DECIDE_REVERT_TRIES;
	h->order_age_s = 100000;
	expect(ROLLOUT_ROLLING_BACK, "");
	assert_string_equal(got.waiting, "canary1 could not go back (no boot loader): see to it, then resume the "
					 "rollout, or retire the host");
	h->failed_reverts = 0; /* resumed */
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
	h->retired = true;
	expect(ROLLOUT_ROLLED_BACK, "");
}

/* ---- the budget ---- */

static void test_budget(void **state)
{
	(void)state;
	fleet_make(&f, FACTOR_KERNEL, EVIDENCE_MEASURED);
	f.d.budget = 1;
	expect(ROLLOUT_CANARY, "canary1 stage");
	out(fleet_find(&f, "control2"), VERB_MEASURE);
	expect(ROLLOUT_CANARY, "");
	f.d.budget = 2;
	expect(ROLLOUT_CANARY, "canary1 stage");

	/* Each cluster has its own, and a commit needs none. */
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	f.d.budget = 1;
	s_tried(fleet_find(&f, "control1"));
	s_soaked(fleet_find(&f, "control1"));
	expect(ROLLOUT_WAVE, "wave1a stage, wave1b stage, control1 commit");
	out(fleet_find(&f, "control1"), VERB_COMMIT);
	expect(ROLLOUT_WAVE, "wave1a stage, wave1b stage");

	/* The way back is budgeted, too. */
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	f.d.budget = 1;
	f.v.state = ROLLOUT_ROLLING_BACK;
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
	out(fleet_find(&f, "control2"), VERB_MEASURE);
	expect(ROLLOUT_ROLLING_BACK, "");
	fleet_find(&f, "control2")->order_age_s = ORDER_TIMEOUT + 1;
	expect(ROLLOUT_ROLLING_BACK, "control2! revert");
	/* One whose commit is out was not away: it needs a place before it goes back. */
	out(fleet_find(&f, "control2"), VERB_COMMIT);
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
}

/* Nobody knows what a host does that was not seen: it may be in the middle of its reboot. */
static void test_suspects_use_the_budget(void **state)
{
	(void)state;
	fleet_make(&f, FACTOR_KERNEL, EVIDENCE_MEASURED);
	f.d.budget = 1;
	struct decide_host *h = fleet_find(&f, "wave2a");
	h->seen_age_s = ORDER_TIMEOUT + 1;
	expect(ROLLOUT_CANARY, "");
	assert_string_equal(got.waiting, "wave2a was not seen for longer than order-timeout and uses up the budget of "
					 "a: bring it back, or retire it");
	h->retired = true;
	expect(ROLLOUT_CANARY, "canary1 stage");
	/* An order that timed out takes the rollout back, and makes room for nobody. */
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	f.d.budget = 1;
	h = fleet_find(&f, "wave1a");
	out(h, VERB_TRIAL);
	h->order_age_s = h->seen_age_s = ORDER_TIMEOUT + 1;
	expect(ROLLOUT_ROLLING_BACK, "wave1a! revert");
	f.v.state = ROLLOUT_ROLLING_BACK;
	out(h, VERB_REVERT);
	expect(ROLLOUT_ROLLING_BACK, "");
	assert_non_null(strstr(got.waiting, "wave1a was not seen"));
	h->seen_age_s = 0;
	h->busy = false;
	s_reverted(h);
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
	/* It is not ordered forward while it is not seen, even where the budget has room. */
	fleet_make(&f, FACTOR_KERNEL, EVIDENCE_MEASURED);
	f.d.budget = 20;
	fleet_find(&f, "canary1")->seen_age_s = UINT64_MAX;
	expect(ROLLOUT_CANARY, "canary2 stage, control1 measure old 0, control2 measure old 0");
}

/* A reboot that nobody ordered takes a place, too: of a host that lost power, or that goes back from a failure. */
static void test_reboots_of_their_own_use_the_budget(void **state)
{
	(void)state;
	static const enum host_state away[] = {HOST_INTENT, HOST_LOADED, HOST_PROBATION, HOST_COLD_PROOF};

	for (size_t i = 0; i < ARRAY_SIZE(away); i++) {
		in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
		f.d.budget = 1;
		s_tried(fleet_find(&f, "wave1a"));
		s_soaked(fleet_find(&f, "wave1a"));
		fleet_find(&f, "wave1a")->state = away[i];
		expect(ROLLOUT_WAVE, "wave1b stage"); /* of the other cluster; no commit for a host that is away */
		assert_non_null(strstr(got.waiting, "wave1a is "));
		fleet_find(&f, "wave1a")->state = HOST_SOAK;
		expect(ROLLOUT_WAVE, "wave1a commit, wave1b stage, control1 stage");
	}
	/* The failed one goes back first, and makes room when it is home. */
	in_state(ROLLOUT_PROVING, FACTOR_KERNEL);
	f.d.budget = 1;
	struct decide_host *h = fleet_find(&f, "canary2");
	s_proved(h);
	h->outcome = OUTCOME_FAILED;
	h->state = HOST_FAILED;
	expect(ROLLOUT_ROLLING_BACK, "canary2 revert");
	f.v.state = ROLLOUT_ROLLING_BACK;
	s_reverted(h);
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert");
}

/* A control of elsewhere is sent home from its measured boot, and everybody else waits for nothing. */
static void test_controls_from_elsewhere_go_home(void **state)
{
	(void)state;
	in_state(ROLLOUT_PROVING, FACTOR_KERNEL);
	f.d.budget = 20;
	all(ROLE_CANARY, s_proved);
	fleet_find(&f, "control1")->wave = 0;
	expect(ROLLOUT_PROVING, "control1 revert");
	s_reverted(fleet_find(&f, "control1"));
	expect(ROLLOUT_PROVING, "");
	all(ROLE_CANARY, s_committed);
	expect(ROLLOUT_WAVE, "wave1a stage, wave1b stage, control2 stage");
	in_state(ROLLOUT_PROVING, FACTOR_PRESET);
	fleet_find(&f, "control1")->wave = 0;
	expect(ROLLOUT_PROVING, "");
}

static int tidy(void **state)
{
	(void)state;
	decision_free(&got);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rolling_back),
	    cmocka_unit_test(test_reverts_are_tried_again_and_capped),
	    cmocka_unit_test(test_budget),
	    cmocka_unit_test(test_suspects_use_the_budget),
	    cmocka_unit_test(test_reboots_of_their_own_use_the_budget),
	    cmocka_unit_test(test_controls_from_elsewhere_go_home),
	};
	return cmocka_run_group_tests(tests, NULL, tidy);
}
