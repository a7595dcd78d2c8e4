// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what a plan may ask beyond a roster: models, passive evidence, history, a first reference, analysis
 * of covariance; and of the brake's word. Must not know how the judge estimates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/trial.h"

#define SEED 29u

static struct judge_host h[96];
static struct verdict v;

static struct trial campaign(double ratio)
{
	struct trial t = trial_default;
	t.boot_sd = 0.02;
	t.ratio = ratio;
	t.seed = SEED;
	trial_hosts(&t, 0, h);
	return t;
}

static void verdict_is(const struct judge_plan *p, size_t n, enum verdict_kind kind, const char *word)
{
	struct err e = {0};
	bool said = !word;
	if (judge(p, h, n, &v, &e) < 0)
		fail_msg("%s", e.text);
	for (uint32_t i = 0; i < v.n_reasons && !said; i++)
		said = strstr(v.reason[i], word) != NULL;
	if (v.kind != kind || !said)
		fail_msg("%s: %s", verdict_name(v.kind), v.reason[0]);
}

static void test_models(void **state)
{
	(void)state;
	struct trial t = campaign(1);
	struct judge_plan p = trial_plan(&t);
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
	p.n_models = 2;
	snprintf(p.model[0], JUDGE_MODEL_MAX, "%s", "256cpu");
	snprintf(p.model[1], JUDGE_MODEL_MAX, "%s", "64cpu");
	verdict_is(&p, 16, VERDICT_HOLD, "model 256cpu");
	for (int i = 0; i < 16; i++)
		snprintf(h[i].model, JUDGE_MODEL_MAX, "%s", i % 2 ? "256cpu" : "64cpu");
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
	/* A kind that only controls have. */
	for (int i = 0; i < 8; i++)
		snprintf(h[i].model, JUDGE_MODEL_MAX, "%s", "64cpu");
	verdict_is(&p, 16, VERDICT_HOLD, "No canary of model 256cpu");
	/* A kind that the plan does not name is welcome. */
	snprintf(h[1].model, JUDGE_MODEL_MAX, "%s", "256cpu");
	snprintf(h[2].model, JUDGE_MODEL_MAX, "%s", "8cpu");
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
}

static void test_passive(void **state)
{
	(void)state;
	struct trial t = campaign(1);
	struct judge_plan p = trial_plan(&t);
	h[3].new_boot[2].probing = PROBING_PASSIVE;
	verdict_is(&p, 16, VERDICT_HOLD, "never mixed");
	for (int i = 0; i < 16; i++)
		for (uint32_t b = 0; b < t.boots; b++)
			h[i].old_boot[b].probing = h[i].new_boot[b].probing = PROBING_PASSIVE;
	verdict_is(&p, 16, VERDICT_HOLD, "never mixed");
	/* As many samples as of active evidence are not enough. */
	p.probing = PROBING_PASSIVE;
	verdict_is(&p, 16, VERDICT_HOLD, "samples");
	for (int i = 0; i < 16; i++)
		for (uint32_t b = 0; b < t.boots; b++)
			h[i].old_boot[b].samples[ENDPOINT_P99] = h[i].new_boot[b].samples[ENDPOINT_P99] =
			    p.min_passive_samples[ENDPOINT_P99];
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
}

/* Hosts that happen to agree are taken to differ by what the fleet has shown. */
static void test_history(void **state)
{
	(void)state;
	struct trial t = campaign(1);
	struct judge_plan p = trial_plan(&t);
	p.sd_history[ENDPOINT_P99] = 0.2;
	verdict_is(&p, 16, VERDICT_HOLD, "hosts on each side are needed");
	assert_true(v.endpoint[ENDPOINT_P99].floored_canaries && v.endpoint[ENDPOINT_P99].floored_controls);
	assert_true(judge_floor(&p, ENDPOINT_P99) == 0.2);
	assert_true(judge_floor(&p, ENDPOINT_EXIT) == p.sd_floor);
	struct err e = {0};
	const double bad[] = {-1, NAN, INFINITY};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		p.sd_history[ENDPOINT_P99] = bad[i];
		assert_true(judge(&p, h, 16, &v, &e) < 0);
	}
}

/* +5%, then +5% again: each below 10%, together not. */
static void test_reference(void **state)
{
	(void)state;
	struct trial t = campaign(1.05);
	struct judge_plan p = trial_plan(&t);
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
	p.reference[ENDPOINT_P99] = (struct judge_reference){true, log(1.05), 0.005};
	verdict_is(&p, 16, v.endpoint[ENDPOINT_P99].lower > 1 ? VERDICT_ROLLBACK : VERDICT_HOLD, "first reference");
	assert_true(v.endpoint[ENDPOINT_P99].reference_upper > 1.1);
	p.reference[ENDPOINT_P99].delta = log(0.9);
	verdict_is(&p, 16, VERDICT_PROMOTE, "first reference");
	/* The margin to the old kernel stays what it was, however good the reference was. */
	campaign(1.3);
	verdict_is(&p, 16, VERDICT_ROLLBACK, NULL);
}

/* Where slow boots mean slow hosts for a day, y before explains y after only in part: covariance must narrow the
 * bounds, and keep its promise at the margin. */
static void test_covariance(void **state)
{
	(void)state;
	struct trial t = trial_default;
	unsigned promoted[2] = {0, 0}, adjusted = 0, apart = 0;
	double se[2] = {0, 0};
	t.canaries = t.controls = 24;
	t.boots = 1;
	t.boot_sd = 0.15;
	t.second_opinion = true;
	t.ratio = 1 + t.margin;
	t.seed = SEED;
	for (uint64_t i = 0; i < 600; i++) {
		trial_hosts(&t, i, h);
		for (int with = 0; with < 2; with++) {
			struct judge_plan p = trial_plan(&t);
			struct verdict_endpoint *x = &v.endpoint[ENDPOINT_P99];
			p.welch_alone = false;
			p.ancova_from = with ? 20 : 0;
			p.seed = i;
			assert_int_equal(judge(&p, h, 48, &v, NULL), 0);
			promoted[with] += v.kind == VERDICT_PROMOTE;
			se[with] += x->se;
			adjusted += x->adjusted;
			apart += with && !x->adjusted && x->promotes;
			assert_true(with || !x->adjusted);
		}
	}
	print_message("at the margin: %u of 600 without, %u with; mean SE %.4f and %.4f; adjusted in %u\n", promoted[0],
		      promoted[1], se[0] / 600, se[1] / 600, adjusted);
	assert_true(adjusted > 500);
	/* Arms that were apart before are no better reason to promote than others. */
	assert_true(apart <= 5);
	assert_true(se[1] < 0.85 * se[0]);
	assert_true(promoted[1] <= 30 + 3 * sqrt(30 * .95)); /* 5% and three standard errors */
	/* Fewer hosts than asked for: plain differences. */
	t.canaries = t.controls = 19;
	struct judge_plan p = trial_plan(&t);
	p.welch_alone = false;
	trial_hosts(&t, 0, h);
	assert_int_equal(judge(&p, h, 38, &v, NULL), 0);
	assert_false(v.endpoint[ENDPOINT_P99].adjusted);
	assert_true(v.endpoint[ENDPOINT_P99].theta == 1);
}

static void test_brake(void **state)
{
	(void)state;
	struct trial t = campaign(1);
	struct judge_plan p = trial_plan(&t);
	struct brake b;
	const struct brake_x good = {.x = 0, .k = 4, .m = 8}, bad = {.x = 2, .k = 4, .m = 8}, none = {.x = NAN};
	verdict_is(&p, 16, VERDICT_PROMOTE, NULL);
	assert_int_equal(brake_start(&brake_plan_default, &b, NULL), 0);
	brake_look(&b, &good, 0);
	struct verdict kept = v;
	judge_brake(&v, &b);
	assert_memory_equal(&v, &kept, sizeof(v));
	brake_look(&b, &none, 0);
	judge_brake(&v, &b);
	assert_int_equal(v.kind, VERDICT_HOLD);
	assert_non_null(strstr(v.reason[0], "blind"));
	v = kept;
	while (brake_look(&b, &bad, 0) != BRAKE_FIRED)
		;
	judge_brake(&v, &b);
	assert_int_equal(v.kind, VERDICT_ROLLBACK);
	assert_non_null(strstr(v.reason[0], "brake fired"));
	assert_string_equal(v.reason[1], kept.reason[0]);
	v = kept;
	v.n_reasons = JUDGE_REASONS_MAX;
	assert_int_equal(brake_start(&brake_plan_default, &b, NULL), 0);
	brake_look(&b, &good, 1);
	judge_brake(&v, &b);
	assert_int_equal(v.kind, VERDICT_ROLLBACK);
	assert_int_equal(v.n_reasons, JUDGE_REASONS_MAX);
	assert_non_null(strstr(v.reason[0], "1 crash"));
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_models),    cmocka_unit_test(test_passive),    cmocka_unit_test(test_history),
	    cmocka_unit_test(test_reference), cmocka_unit_test(test_covariance), cmocka_unit_test(test_brake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
