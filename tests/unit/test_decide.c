// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of decide(), cell by cell: every state by every kind of event, and every step.
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

static const enum rollout_state running[] = {ROLLOUT_CANARY, ROLLOUT_JUDGING, ROLLOUT_PROVING, ROLLOUT_WAVE,
					     ROLLOUT_HOLD};

static void test_names(void **state)
{
	(void)state;
	struct err e = {0};
	enum rollout_state s = ROLLOUT_HOLD;

	for (unsigned i = 0; i < ROLLOUT_STATE_COUNT; i++) {
		assert_int_equal(rollout_state_parse(rollout_state_name((enum rollout_state)i), &s, &e), 0);
		assert_int_equal(s, i);
		assert_int_equal(rollout_state_final(s),
				 i == ROLLOUT_DONE || i == ROLLOUT_ROLLED_BACK || i == ROLLOUT_ABORTED);
	}
	assert_int_equal(rollout_state_parse("CANARYS", &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "did you mean CANARY?"));
	assert_string_equal(rollout_state_name(ROLLOUT_STATE_COUNT), "?");
	assert_string_equal(role_name(ROLE_CONTROL), "control");
}

/* ---- going forward ---- */

static void test_kernel_step_by_step(void **state)
{
	(void)state;
	fleet_make(&f, FACTOR_KERNEL, EVIDENCE_MEASURED);
	f.d.budget = 4;
	expect(ROLLOUT_CANARY, "canary1 stage, canary2 stage, control1 measure old 0, control2 measure old 0");
	all(ROLE_CANARY, s_staged);
	expect(ROLLOUT_CANARY,
	       "canary1 measure old 0, canary2 measure old 0, control1 measure old 0, control2 measure old 0");
	fleet_find(&f, "canary1")->measured_old = 1;
	fleet_find(&f, "control1")->measured_old = 2;
	expect(ROLLOUT_CANARY, "canary2 measure old 0, control2 measure old 0, canary1 measure old 1");
	all(ROLE_CANARY, s_old);
	fleet_find(&f, "control2")->measured_old = 1;
	expect(ROLLOUT_CANARY, "control2 measure old 1"); /* nobody begins the new arm before it */
	out(fleet_find(&f, "control2"), VERB_MEASURE);
	expect(ROLLOUT_CANARY, "");
	fleet_find(&f, "control2")->busy = false;
	all(ROLE_CONTROL, s_old);
	expect(ROLLOUT_CANARY,
	       "canary1 measure new* 0, canary2 measure new* 0, control1 measure new 0, control2 measure new 0");
	all(ROLE_CANARY, s_new);
	all(ROLE_CONTROL, s_new);
	fleet_find(&f, "control2")->measured_new = 1;
	expect(ROLLOUT_CANARY, "control2 measure new 1");
	fleet_find(&f, "control2")->measured_new = 2;
	expect(ROLLOUT_JUDGING, "");
	f.v.state = ROLLOUT_JUDGING;
	expect(ROLLOUT_JUDGING, "");
	promoted();
	expect(ROLLOUT_PROVING, "canary1 prove, canary2 prove");
	f.v.state = ROLLOUT_PROVING;
	all(ROLE_CANARY, s_proved);
	expect(ROLLOUT_PROVING, "");
	fleet_find(&f, "canary2")->soaked_s = SOAK - 1;
	fleet_find(&f, "canary1")->soaked_s = SOAK;
	expect(ROLLOUT_PROVING, "canary1 commit");
	all(ROLE_CANARY, s_committed);
	expect(ROLLOUT_WAVE, "wave1a stage, wave1b stage, control1 stage, control2 stage");
	assert_int_equal(got.wave, 1);
}

static void test_kernel_waves(void **state)
{
	(void)state;
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	all(ROLE_CONTROL, s_committed);
	s_staged(fleet_find(&f, "wave1a"));
	s_tried(fleet_find(&f, "wave1b"));
	expect(ROLLOUT_WAVE, "wave1a trial");
	s_tried(fleet_find(&f, "wave1a"));
	s_soaked(fleet_find(&f, "wave1b"));
	expect(ROLLOUT_WAVE, "wave1b commit");
	s_committed(fleet_find(&f, "wave1a"));
	out(fleet_find(&f, "wave1b"), VERB_COMMIT);
	expect(ROLLOUT_WAVE, "");
	fleet_find(&f, "wave1b")->busy = false;
	s_committed(fleet_find(&f, "wave1b"));
	expect(ROLLOUT_WAVE, "wave2a stage, wave2b stage");
	assert_int_equal(got.wave, 2);
	assert_string_equal(got.reason, "wave 2 of 2 follows");
	f.v.wave = 2;
	s_committed(fleet_find(&f, "wave2a"));
	expect(ROLLOUT_WAVE, "wave2b stage");
	s_committed(fleet_find(&f, "wave2b"));
	expect(ROLLOUT_DONE, "");
	f.v.state = ROLLOUT_DONE;
	expect(ROLLOUT_DONE, "");
}

/* A wave that nobody is in is passed over at once. */
static void test_empty_wave(void **state)
{
	(void)state;
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	for (uint32_t i = 0; i < f.v.n; i++)
		if (f.host[i].wave == 1)
			f.host[i].wave = 2;
	expect(ROLLOUT_WAVE, "wave1a stage, wave1b stage, wave2a stage, wave2b stage");
}

static void test_preset_step_by_step(void **state)
{
	(void)state;
	fleet_make(&f, FACTOR_PRESET, EVIDENCE_MEASURED);
	f.d.budget = 4;
	expect(ROLLOUT_CANARY,
	       "canary1 measure old 0, canary2 measure old 0, control1 measure old 0, control2 measure old 0");
	all(ROLE_CANARY, s_old);
	expect(ROLLOUT_CANARY, "control1 measure old 0, control2 measure old 0");
	all(ROLE_CONTROL, s_old);
	expect(ROLLOUT_CANARY, "canary1 apply, canary2 apply, control1 measure new 0, control2 measure new 0");
	s_applied(fleet_find(&f, "canary1"));
	out(fleet_find(&f, "canary2"), VERB_APPLY);
	expect(ROLLOUT_CANARY, "canary1 measure new* 0, control1 measure new 0, control2 measure new 0");
	all(ROLE_CANARY, s_new);
	all(ROLE_CONTROL, s_new);
	all(ROLE_CANARY, s_applied);
	fleet_find(&f, "canary2")->busy = false;
	f.v.has_verdict = true;
	expect(ROLLOUT_HOLD, "");
	promoted();
	expect(ROLLOUT_PROVING, "");
	all(ROLE_CANARY, s_soaked);
	expect(ROLLOUT_PROVING, "canary1 commit, canary2 commit");
	all(ROLE_CANARY, s_committed);
	expect(ROLLOUT_WAVE, "wave1a apply, wave1b apply, control1 apply, control2 apply");
	f.v.state = ROLLOUT_WAVE;
	f.v.wave = 1;
	all(ROLE_CONTROL, s_committed);
	s_applied(fleet_find(&f, "wave1a"));
	s_committed(fleet_find(&f, "wave1b"));
	expect(ROLLOUT_WAVE, ""); /* it soaks */
	s_soaked(fleet_find(&f, "wave1a"));
	expect(ROLLOUT_WAVE, "wave1a commit");
}

static void test_health_judges_nobody(void **state)
{
	(void)state;
	fleet_make(&f, FACTOR_KERNEL, EVIDENCE_HEALTH);
	expect(ROLLOUT_CANARY, "canary1 stage, canary2 stage");
	all(ROLE_CANARY, s_staged);
	expect(ROLLOUT_CANARY, "canary1 trial, canary2 trial");
	all(ROLE_CANARY, s_tried);
	expect(ROLLOUT_PROVING, "canary1 prove, canary2 prove");
	fleet_make(&f, FACTOR_PRESET, EVIDENCE_HEALTH);
	expect(ROLLOUT_CANARY, "canary1 apply, canary2 apply");
	all(ROLE_CANARY, s_applied);
	expect(ROLLOUT_PROVING, "");
	all(ROLE_CANARY, s_soaked);
	expect(ROLLOUT_PROVING, "canary1 commit, canary2 commit");
}

/* ---- every state by every event ---- */

static void test_approved_and_final_states_rest(void **state)
{
	(void)state;
	static const enum rollout_state rest[] = {ROLLOUT_APPROVED, ROLLOUT_DONE, ROLLOUT_ROLLED_BACK, ROLLOUT_ABORTED};

	for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
		in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
		f.v.state = rest[i];
		f.v.age_s = DEADLINE + 1;
		f.host[0].outcome = OUTCOME_FAILED;
		f.host[1].state = HOST_FOREIGN;
		expect(rest[i], "");
		assert_string_equal(got.waiting, "");
		f.v.abort_wanted = true;
		expect(rest[i] == ROLLOUT_APPROVED ? ROLLOUT_ABORTED : rest[i], "");
	}
}

static void test_each_failure_takes_each_state_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(running); i++) {
		for (int x = 0; x < 10; x++) {
			in_state(running[i], FACTOR_KERNEL);
			struct decide_host *h = fleet_find(&f, x % 2 ? "canary2" : "canary1");
			const char *word = NULL;

			snprintf(h->reason, sizeof(h->reason), "the moon was full");
			if (x < 3) {
				h->outcome = x == 0 ? OUTCOME_REFUSED : x == 1 ? OUTCOME_FAILED : OUTCOME_HELD;
				word = "the moon was full";
			} else if (x == 3) {
				out(h, VERB_MEASURE);
				h->order_age_s = ORDER_TIMEOUT + 1;
				word = "has not ended measure within 1800 s";
			} else if (x < 6) {
				h->state = x == 4 ? HOST_FOREIGN : HOST_HELD;
				word = x == 4 ? "is FOREIGN" : "is HELD";
			} else if (x == 6) {
				h->retired = true;
				h->committed = false;
				word = "was retired";
			} else if (x < 9) {
				h->tried = true;
				h->state = x == 7 ? HOST_FAILED : HOST_ROLLED_BACK;
				word = "went back by itself";
			} else {
				f.v.abort_wanted = true;
				word = "aborted";
			}
			run();
			if (got.state != ROLLOUT_ROLLING_BACK || !strstr(got.reason, word))
				fail_msg("event %d in %s: %s, %s", x, rollout_state_name(running[i]),
					 rollout_state_name(got.state), got.reason);
			assert_true(x == 9 || strstr(got.reason, h->name));
			for (uint32_t o = 0; o < got.n_orders; o++)
				assert_int_equal(got.order[o].order.verb, VERB_REVERT);
		}
	}
}

/* What looks alike, and is no failure. */
static void test_what_is_no_failure(void **state)
{
	(void)state;
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	struct decide_host *h = fleet_find(&f, "canary1");
	out(h, VERB_MEASURE);
	h->order_age_s = ORDER_TIMEOUT; /* not past it */
	run();
	assert_int_equal(got.state, ROLLOUT_CANARY);
	h->outcome = OUTCOME_FAILED; /* not ended: the store ends it first */
	h->state = HOST_FAILED;
	run();
	assert_int_equal(got.state, ROLLOUT_CANARY);

	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	fleet_find(&f, "control1")->state = HOST_ROLLED_BACK; /* of an earlier life */
	fleet_find(&f, "wave1a")->state = HOST_FAILED;
	fleet_find(&f, "wave2a")->retired = true; /* before its first order */
	fleet_find(&f, "wave1b")->state = HOST_FOREIGN;
	run();
	assert_int_equal(got.state, ROLLOUT_CANARY);
	assert_string_equal(got.waiting, "wave1b is FOREIGN and gets no orders: see to it, or retire it");

	in_state(ROLLOUT_WAVE, FACTOR_KERNEL); /* committed, then retired: nothing to take back */
	fleet_find(&f, "canary1")->retired = true;
	fleet_find(&f, "wave1a")->retired = true;
	all(ROLE_CONTROL, s_committed);
	expect(ROLLOUT_WAVE, "wave1b stage");
	s_committed(fleet_find(&f, "wave1b"));
	expect(ROLLOUT_WAVE, "wave2a stage, wave2b stage");

	in_state(ROLLOUT_CANARY, FACTOR_KERNEL); /* a roster with a hole is never whole */
	*fleet_find(&f, "control2") =
	    (struct decide_host){.name = "control2", .cluster = "a", .role = ROLE_CONTROL, .wave = 1, .retired = true};
	run();
	assert_int_equal(got.state, ROLLOUT_ROLLING_BACK);
}

static void test_deadline(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(running); i++) {
		bool late = running[i] != ROLLOUT_PROVING && running[i] != ROLLOUT_WAVE;

		in_state(running[i], FACTOR_KERNEL);
		f.v.age_s = DEADLINE;
		run();
		assert_int_equal(got.state, running[i]);
		f.v.age_s = DEADLINE + 1;
		run();
		assert_int_equal(got.state, late ? ROLLOUT_ROLLING_BACK : running[i]);
		assert_int_equal(strstr(got.reason, "deadline") != NULL, late);
	}
}

static void test_verdicts(void **state)
{
	(void)state;
	in_state(ROLLOUT_JUDGING, FACTOR_KERNEL);
	f.v.has_verdict = true;
	f.v.verdict = VERDICT_ROLLBACK;
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert, canary2 revert");
	assert_non_null(strstr(got.reason, "ROLLBACK"));
	f.v.verdict = VERDICT_HOLD;
	expect(ROLLOUT_HOLD, "");
	assert_non_null(strstr(got.waiting, "abort"));
	/* HOLD does not look at the verdict again. */
	f.v.state = ROLLOUT_HOLD;
	f.v.verdict = VERDICT_PROMOTE;
	expect(ROLLOUT_HOLD, "");
}

/* The brake's: before all boots are measured, and of verdicts none but ROLLBACK moves anything there. */
static void test_brake(void **state)
{
	(void)state;
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	assert_int_equal(decide_blocks(&f.v), 0);
	all(ROLE_CANARY, s_new);
	assert_int_equal(decide_blocks(&f.v), 0);
	all(ROLE_CONTROL, s_new);
	assert_int_equal(decide_blocks(&f.v), fleet_find(&f, "control1")->measured_new);
	fleet_find(&f, "control1")->measured_new = 0;
	assert_int_equal(decide_blocks(&f.v), 0);
	fleet_find(&f, "control1")->retired = true;
	assert_int_not_equal(decide_blocks(&f.v), 0);
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	f.v.has_verdict = true;
	f.v.verdict = VERDICT_HOLD;
	run();
	assert_int_equal(got.state, ROLLOUT_CANARY);
	f.v.verdict = VERDICT_PROMOTE;
	run();
	assert_int_equal(got.state, ROLLOUT_CANARY);
	f.v.verdict = VERDICT_ROLLBACK;
	snprintf(f.v.verdict_reason, sizeof(f.v.verdict_reason), "The brake fired");
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert, canary2 revert");
	assert_string_equal(got.reason, "the verdict is ROLLBACK: The brake fired");
}

static void test_pause(void **state)
{
	(void)state;
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	f.v.paused = true;
	expect(ROLLOUT_CANARY, "");
	assert_non_null(strstr(got.waiting, "paused"));
	all(ROLE_CANARY, s_new);
	all(ROLE_CONTROL, s_new);
	promoted();
	expect(ROLLOUT_PROVING, ""); /* what is known may be drawn conclusions from; nobody is moved */
	f.v.abort_wanted = true;
	expect(ROLLOUT_ROLLING_BACK, "canary1 revert, canary2 revert");
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	f.v.paused = true;
	out(fleet_find(&f, "canary1"), VERB_MEASURE);
	fleet_find(&f, "canary1")->order_age_s = ORDER_TIMEOUT + 1;
	expect(ROLLOUT_ROLLING_BACK, "canary1! revert, canary2 revert");
}

/* ---- not a view ---- */

static void test_views_that_no_caller_may_pass(void **state)
{
	(void)state;
	struct decision d;
	struct err e = {0};

	in_state(ROLLOUT_PROVING, FACTOR_KERNEL);
	f.v.verdict = VERDICT_HOLD;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	assert_string_equal(e.text, "rollout r1 is PROVING, but no verdict promoted it");
	f.v.verdict = VERDICT_PROMOTE;
	f.v.has_verdict = false;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	in_state(ROLLOUT_WAVE, FACTOR_KERNEL);
	f.v.wave = 3;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	f.v.wave = 0;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	snprintf(f.host[3].cluster, sizeof(f.host[3].cluster), "c");
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	assert_non_null(strstr(e.text, "host control2 is in cluster c"));
	in_state(ROLLOUT_CANARY, FACTOR_KERNEL);
	f.v.n = DECIDE_HOSTS_MAX + 1;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
	f.v.n = 0;
	f.v.state = ROLLOUT_STATE_COUNT;
	assert_int_equal(decide(&f.v, &d, &e), -EINVAL);
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
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_kernel_step_by_step),
	    cmocka_unit_test(test_kernel_waves),
	    cmocka_unit_test(test_empty_wave),
	    cmocka_unit_test(test_preset_step_by_step),
	    cmocka_unit_test(test_health_judges_nobody),
	    cmocka_unit_test(test_approved_and_final_states_rest),
	    cmocka_unit_test(test_each_failure_takes_each_state_back),
	    cmocka_unit_test(test_what_is_no_failure),
	    cmocka_unit_test(test_deadline),
	    cmocka_unit_test(test_verdicts),
	    cmocka_unit_test(test_brake),
	    cmocka_unit_test(test_pause),
	    cmocka_unit_test(test_views_that_no_caller_may_pass),
	};
	return cmocka_run_group_tests(tests, NULL, tidy);
}
