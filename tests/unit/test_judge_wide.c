// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what a plan may ask beyond hosts and boots: models, passive evidence, baselines, a reference, A/A
 * history, the brake, very many hosts. Must not know how the judge decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "judge_campaign.h"
#include "lib/core/stats.h"

#define SEED 0x77696465u

static void test_models(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(3, 3, 1);
	p.n_models = 2;
	memcpy(p.model[0], "256cpu-1024G", 13);
	memcpy(p.model[1], "64cpu-256G", 11);
	size_t n = fill(&p, 0, 0, ones);
	for (size_t i = 0; i < n; i++)
		memcpy(hosts[i].model, i % 3 ? "256cpu-1024G" : "64cpu-256G", i % 3 ? 13 : 11);
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	/* Covered among the controls only. */
	memcpy(hosts[0].model, "96cpu-384G", 11);
	run(&p, n);
	expect(VERDICT_HOLD, "No canary of model 64cpu-256G, which the plan names");
	assert_true(said("96cpu-384G"));
	memset(hosts[3].model, 0, sizeof(hosts[3].model));
	run(&p, n);
	assert_true(said("No control of model 64cpu-256G"));
	/* Without such a wish any hosts will do. */
	p.n_models = 0;
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	struct err e = {0};
	p.n_models = JUDGE_MODELS_MAX + 1;
	assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL);
	p.n_models = 3;
	assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL);
	memset(hosts[0].model, 'x', sizeof(hosts[0].model));
	p.n_models = 2;
	assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL);
}

static void test_passive_minimum(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(3, 3, 1);
	p.probing = PROBING_PASSIVE;
	size_t n = fill(&p, 0, 0, ones);
	for (size_t i = 0; i < n; i++) {
		hosts[i].old_boot[0].probing = hosts[i].new_boot[0].probing = PROBING_PASSIVE;
		for (int x = 0; x < ENDPOINT_COUNT; x++)
			hosts[i].old_boot[0].samples[x] = hosts[i].new_boot[0].samples[x] = p.min_passive_samples[x];
		/* More exits than planned are welcome where they are only watched. */
		hosts[i].new_boot[0].storms += (uint32_t)i;
	}
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	/* What would do for active evidence is too little here. */
	hosts[2].new_boot[0].samples[ENDPOINT_P99] = p.min_samples[ENDPOINT_P99];
	run(&p, n);
	expect(VERDICT_HOLD, "p99 stands on 1000 samples of 10000 needed: watch for longer.");
	hosts[2].new_boot[0].samples[ENDPOINT_P99] = p.min_passive_samples[ENDPOINT_P99];
	hosts[4].old_boot[0].storms = p.storms - 1;
	run(&p, n);
	expect(VERDICT_HOLD, "29 exits watched, the plan has at least 30");
}

/* ---- covariance ---- */

static void add_levels(size_t n, double level_sd, double canaries_above)
{
	for (size_t i = 0; i < n; i++) {
		double level = level_sd * normal() + (hosts[i].control ? 0 : canaries_above);
		for (uint32_t b = 0; b < hosts[i].n_old; b++)
			for (int x = 0; x < ENDPOINT_COUNT; x++)
				hosts[i].old_boot[b].y[x] += level, hosts[i].new_boot[b].y[x] += level;
	}
}

static void test_covariance_by_hand(void **state)
{
	(void)state;
	const double pre_a[] = {1, 2, 3}, post_a[] = {2, 2, 5}, pre_b[] = {0, 2, 4, 2}, post_b[] = {1, 1, 3, 3};
	/* Products 3 and 4, squares 2 and 8. */
	struct stats_slope s = stats_slope(pre_a, post_a, 3, pre_b, post_b, 4);
	assert_true(fabs(s.theta - 0.7) < 1e-14 && fabs(s.pre_square - 10) < 1e-14 && s.pre_difference == 0);
	assert_true(fabs(s.pre_se - sqrt(1.0 / 3 + 8.0 / 12)) < 1e-14);
	struct stats_welch w = {.se = 1, .nu = 5, .sd_a = 1, .sd_b = 2};
	s.pre_difference = 2;
	stats_slope_widen(&s, 3, 4, &w);
	assert_true(fabs(w.se - sqrt(5.0 / 4 * (1 + 14.0 / 5 * 4 / 10))) < 1e-14 && w.nu == 4);
	/* No spread before: the plain difference. */
	const double flat[] = {1, 1, 1, 1};
	assert_true(stats_slope(flat, post_a, 3, flat, post_b, 4).theta == 1);
}

static void test_covariance_from_20(void **state)
{
	(void)state;
	rng_state = SEED;
	struct judge_plan p = plan_of(20, 20, 2);
	size_t n = fill(&p, 0.15, 0.03, ones);
	add_levels(n, 0.1, 0);
	run(&p, n);
	const struct verdict_endpoint *ve = &v.endpoint[ENDPOINT_P99];
	assert_true(ve->adjusted && ve->theta > 0 && ve->theta < 1);
	double se = ve->se;
	p.ancova_from = 21;
	run(&p, n);
	assert_true(!ve->adjusted && ve->theta == 1 && ve->se > se);
	p.ancova_from = 0;
	run(&p, n);
	assert_false(ve->adjusted);
	p.ancova_from = 20;
	p.welch_alone = true;
	run(&p, n);
	assert_false(ve->adjusted);
	/* Canaries that were much slower before, or much faster: whichever way says worse, and theirs would be that
	 * they have become faster, of which nothing is true. */
	p.welch_alone = false;
	for (int sign = 1; sign >= -1; sign -= 2) {
		p.ancova_from = 0;
		add_levels(n, 0, sign > 0 ? 0.5 : -1);
		run(&p, n);
		double upper = ve->upper, lower = ve->lower;
		p.ancova_from = 20;
		run(&p, n);
		assert_true(ve->upper >= upper && ve->lower <= lower);
		assert_int_equal(ve->adjusted, sign > 0);
	}
}

/* Welch's bounds on one campaign of 24 and 24: with what was before taken off, and plainly. Without the judge, whose
 * second opinion would take minutes here. */
struct bounds {
	double upper, lower;
};

static struct bounds bounds_of(const double pre[2][24], const double post[2][24], const struct stats_slope *s)
{
	double d[2][24], theta = s ? s->theta : 1;
	struct stats_welch w;
	for (int g = 0; g < 2; g++)
		for (int i = 0; i < 24; i++)
			d[g][i] = post[g][i] - theta * pre[g][i];
	assert_int_equal(stats_welch(d[0], 24, d[1], 24, 0.008, &w, NULL), 0);
	if (s)
		stats_slope_widen(s, 24, 24, &w);
	return (struct bounds){.upper = w.delta + stats_t_quantile(.95, w.nu) * w.se,
			       .lower = w.delta - stats_t_quantile(.99, w.nu) * w.se};
}

/* Both ways where the arms were apart before, as the judge has it. */
static struct bounds chosen(const double pre[2][24], const double post[2][24])
{
	struct stats_slope s = stats_slope(pre[0], post[0], 24, pre[1], post[1], 24);
	struct bounds b = bounds_of(pre, post, &s), plain = bounds_of(pre, post, NULL);
	if (fabs(s.pre_difference) <= 2 * s.pre_se)
		return b;
	return (struct bounds){.upper = fmax(b.upper, plain.upper), .lower = fmin(b.lower, plain.lower)};
}

/* At the margin no more than 5% are promoted, whether hosts are all alike or far apart; and it finds more than plain
 * differences do. Boots 15%, of which 4 are averaged; hosts x kernel 3%. */
static void test_covariance_keeps_its_level(void **state)
{
	(void)state;
	enum { RUNS = 20000 };
	const double levels[] = {0, 0.1, 0.5};
	rng_state = SEED;
	for (int k = 0; k < 3; k++) {
		double at_margin = 0, at_one = 0, plain = 0, alarms = 0;
		for (int run = 0; run < RUNS; run++) {
			double pre[2][24], post[2][24];
			for (int g = 0; g < 2; g++)
				for (int i = 0; i < 24; i++) {
					double level = levels[k] * normal();
					pre[g][i] = level + 0.075 * normal();
					post[g][i] = level + 0.075 * normal() + 0.03 * normal();
				}
			struct bounds b = chosen(pre, post);
			/* A ratio only moves both bounds. */
			at_margin += b.upper < 0;
			at_one += b.upper < log(1.1);
			alarms += b.lower > 0;
			plain += bounds_of(pre, post, NULL).upper < log(1.1);
		}
		print_message(
		    "hosts %.0f%% apart: promoted at the margin %.4f, at 1 %.3f (plain %.3f), taken back at 1 "
		    "%.4f\n",
		    levels[k] * 100, at_margin / RUNS, at_one / RUNS, plain / RUNS, alarms / RUNS);
		assert_true(at_margin / RUNS <= 0.053 && alarms / RUNS <= 0.012);
		assert_true(at_one >= 0.98 * plain);
	}
}

/* ---- the first reference ---- */

static void test_reference(void **state)
{
	(void)state;
	rng_state = SEED;
	struct judge_plan p = plan_of(6, 6, 2);
	double step[ENDPOINT_COUNT] = {1.05, 1, 1};
	size_t n = fill(&p, 0.002, 0.002, step);
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	assert_true(isnan(v.endpoint[0].reference_upper));
	/* The same step after one of +9%: 1.05 x 1.09 is more than 1.10. */
	p.reference[ENDPOINT_P99] = (struct judge_reference){.given = true, .delta = log(1.09), .se = 0.01};
	run(&p, n);
	expect(VERDICT_ROLLBACK, "with the steps before it is at most 1.1");
	assert_true(v.endpoint[0].upper < 1.1 && v.endpoint[0].reference_upper > 1.1);
	/* Not proven worse, not proven good enough either: no slowdown now, little room left. */
	n = fill(&p, 0.002, 0.002, ones);
	p.reference[ENDPOINT_P99].se = 0.02;
	run(&p, n);
	expect(VERDICT_HOLD, "small steps have used the margin up");
	/* A reference that leaves room is told of, and promoted. */
	p.reference[ENDPOINT_P99] = (struct judge_reference){.given = true, .delta = log(0.95), .se = 0.01};
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	assert_true(said("p99 with the steps before: ratio 0.9"));
	/* delta + delta_ref + t sqrt(se^2 + se_ref^2) */
	const struct verdict_endpoint *ve = &v.endpoint[0];
	double want = log(0.95) + ve->delta + stats_t_quantile(.95, ve->nu) * hypot(ve->se, 0.01);
	assert_true(fabs(log(ve->reference_upper) - want) < 1e-12);
	struct err e = {0};
	p.reference[ENDPOINT_P99].se = NAN;
	assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL);
}

/* Ten steps of +9% do not pass one by one: the second is the last. */
static void test_ten_small_steps(void **state)
{
	(void)state;
	rng_state = SEED;
	struct judge_plan p = plan_of(10, 10, 4);
	double step[ENDPOINT_COUNT] = {1.09, 1, 1};
	struct judge_reference total = {.given = true};
	int passed = 0;
	for (int i = 0; i < 10; i++) {
		p.reference[ENDPOINT_P99] = total;
		run(&p, fill(&p, 0.002, 0.001, step));
		passed += v.kind == VERDICT_PROMOTE;
		if (v.kind != VERDICT_PROMOTE)
			break;
		total.delta += v.endpoint[0].delta;
		total.se = hypot(total.se, v.endpoint[0].se);
	}
	assert_int_equal(passed, 1);
}

static void test_history_floors(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(4, 4, 2);
	size_t n = fill(&p, 0, 0, ones);
	p.sd_history[ENDPOINT_P99] = 0.08;
	run(&p, n);
	assert_true(fabs(v.endpoint[ENDPOINT_P99].se - 0.08 / sqrt(2)) < 1e-12);
	assert_true(v.endpoint[ENDPOINT_P99].sd_canaries == 0.08 &&
		    v.endpoint[ENDPOINT_EXIT].sd_canaries == p.sd_floor);
	expect(VERDICT_HOLD, "p99 is undecided");
	p.sd_history[ENDPOINT_P99] = 0.001;
	run(&p, n);
	assert_true(judge_floor(&p, ENDPOINT_P99) == p.sd_floor);
	struct err e = {0};
	p.sd_history[ENDPOINT_P99] = NAN;
	assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL);
}

/* ---- the brake goes before the gate ---- */

static struct brake brake_in(enum brake_state s)
{
	return (struct brake){.plan = brake_plan_default, .state = s, .blocks = 12, .crashes = 1, .fired_at = 7};
}

static void test_brake_first(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(3, 3, 1);
	size_t n = fill(&p, 0, 0, ones);
	struct brake b = brake_in(BRAKE_GO_ON);
	run(&p, n);
	judge_brake(&v, &b);
	expect(VERDICT_PROMOTE, "Proven");
	b = brake_in(BRAKE_BLIND);
	judge_brake(&v, &b);
	expect(VERDICT_HOLD, "The brake is blind");
	run(&p, n);
	b = brake_in(BRAKE_FIRED);
	judge_brake(&v, &b);
	expect(VERDICT_ROLLBACK, "The brake fired in block 7");
	/* The gate's own reasons are still there. */
	assert_true(said("Proven no worse"));
	run(&p, n);
	b = brake_in(BRAKE_CRASHED);
	judge_brake(&v, &b);
	expect(VERDICT_ROLLBACK, "1 crash, lock-up or hung host");
	/* Data that is missing does not hold up a crash; a blind brake changes no ROLLBACK. */
	run(&p, n - 1);
	judge_brake(&v, &b);
	expect(VERDICT_ROLLBACK, "1 crash");
	double slow[ENDPOINT_COUNT] = {2, 2, 2};
	run(&p, fill(&p, 0, 0, slow));
	b = brake_in(BRAKE_BLIND);
	judge_brake(&v, &b);
	expect(VERDICT_ROLLBACK, "proven worse");
	/* No room left: the last reason makes way. */
	run(&p, 0);
	while (v.n_reasons < JUDGE_REASONS_MAX)
		memcpy(v.reason[v.n_reasons++], "One more reason.", 17);
	b = brake_in(BRAKE_FIRED);
	judge_brake(&v, &b);
	assert_int_equal(v.n_reasons, JUDGE_REASONS_MAX);
	expect(VERDICT_ROLLBACK, "The brake fired");
}

static void test_ten_thousand_hosts(void **state)
{
	(void)state;
	rng_state = SEED;
	struct judge_plan p = plan_of(JUDGE_HOSTS_MAX / 2, JUDGE_HOSTS_MAX / 2, 1);
	size_t n = fill(&p, 0.07, 0.02, ones);
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	assert_true(v.endpoint[0].adjusted && v.endpoint[0].canaries == JUDGE_HOSTS_MAX / 2);
	run(&p, n - 1);
	expect(VERDICT_HOLD, "4999 controls came, the plan has 5000");
}

int main(void)
{
	printf("seed 0x%x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_models),
	    cmocka_unit_test(test_passive_minimum),
	    cmocka_unit_test(test_covariance_by_hand),
	    cmocka_unit_test(test_covariance_from_20),
	    cmocka_unit_test(test_covariance_keeps_its_level),
	    cmocka_unit_test(test_reference),
	    cmocka_unit_test(test_ten_small_steps),
	    cmocka_unit_test(test_history_floors),
	    cmocka_unit_test(test_brake_first),
	    cmocka_unit_test(test_ten_thousand_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
