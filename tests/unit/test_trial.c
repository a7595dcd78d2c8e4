// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of invented campaigns: what is drawn, what is counted, and the judge's promised shares.
 * Must not know how the judge decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/stats.h"
#include "lib/core/trial.h"

static struct judge_host hosts[JUDGE_HOSTS_MAX];

static double difference(const struct judge_host *h)
{
	double old = 0, new = 0;
	for (uint32_t b = 0; b < h->n_old; b++)
		old += h->old_boot[b].y[ENDPOINT_P99];
	for (uint32_t b = 0; b < h->n_new; b++)
		new += h->new_boot[b].y[ENDPOINT_P99];
	return new / h->n_new - old / h->n_old;
}

static void test_roster(void **state)
{
	(void)state;
	struct trial t = trial_default;
	t.canaries = 3;
	t.controls = 5;
	t.boots = 2;
	struct judge_plan p = trial_plan(&t);
	assert_int_equal(trial_hosts(&t, 0, hosts), 0);
	for (uint32_t h = 0; h < 8; h++) {
		assert_int_equal(hosts[h].control, h >= 3);
		assert_int_equal(hosts[h].n_old, 2);
		assert_int_equal(hosts[h].n_new, 2);
		assert_int_equal(hosts[h].old_boot[1].storms, p.storms);
		assert_int_equal(hosts[h].new_boot[1].samples[ENDPOINT_P99], p.min_samples[ENDPOINT_P99]);
		for (uint32_t k = 0; k < h; k++)
			assert_string_not_equal(hosts[h].name, hosts[k].name);
	}
	assert_string_equal(hosts[2].name, "canary-0002");
	assert_string_equal(hosts[7].name, "control-0007");
}

/* Without any spread the difference is the truth. */
static void test_ratio(void **state)
{
	(void)state;
	struct trial t = trial_default;
	t.boot_sd = t.host_sd = 0;
	t.ratio = 1.3;
	trial_hosts(&t, 4, hosts);
	for (uint32_t h = 0; h < 16; h++)
		assert_true(fabs(difference(&hosts[h]) - (h < 8 ? log(1.3) : 0)) < 1e-12);
}

/* Var D = s_hk^2 + 2 s_b^2 / B, canaries and controls alike; a host's level takes no part in it. */
static void test_spread(void **state)
{
	(void)state;
	for (enum draw_shape shape = DRAW_NORMAL; shape <= DRAW_LOGNORMAL; shape++) {
		struct trial t = trial_default;
		double square = 0;
		size_t n = 0;
		t.boot_sd = 0.15;
		t.host_sd = 0.05;
		t.level_sd = 1;
		t.ratio = 1.2;
		t.errors = shape;
		for (uint64_t i = 0; i < 4000; i++) {
			trial_hosts(&t, i, hosts);
			for (uint32_t h = 0; h < 16; h++, n++) {
				double d = difference(&hosts[h]) - (h < 8 ? log(1.2) : 0);
				square += d * d;
			}
		}
		double want = 0.05 * 0.05 + 2 * 0.15 * 0.15 / 4;
		/* Student's t with 3 degrees of freedom has no fourth moment: its sample variance settles slowly. */
		if (!(fabs(square / (double)n / want - 1) < (shape == DRAW_T3 ? 0.05 : 0.03)))
			fail_msg("%s: variance %g, want %g", draw_shape_name(shape), square / (double)n, want);
	}
}

static void test_same_seed(void **state)
{
	(void)state;
	static struct judge_host again[16];
	struct trial t = trial_default;
	t.errors = DRAW_AR1;
	trial_hosts(&t, 7, hosts);
	trial_hosts(&t, 7, again);
	for (int h = 0; h < 16; h++)
		assert_memory_equal(hosts[h].new_boot, again[h].new_boot, 4 * sizeof(hosts[h].new_boot[0]));
	trial_hosts(&t, 8, again);
	assert_true(difference(&hosts[0]) != difference(&again[0]));
	t.seed++;
	trial_hosts(&t, 7, again);
	assert_true(difference(&hosts[0]) != difference(&again[0]));
}

static struct trial_counts gate(const struct trial *t, uint64_t n)
{
	struct trial_counts c = {0};
	struct err e = {0};
	if (trial_gate(t, 0, n, hosts, &c, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(c.campaigns, n);
	assert_int_equal(c.verdict[VERDICT_HOLD] + c.verdict[VERDICT_PROMOTE] + c.verdict[VERDICT_ROLLBACK], n);
	assert_int_equal(c.verdict[VERDICT_PROMOTE], c.promote);
	assert_int_equal(c.verdict[VERDICT_HOLD], c.hold);
	return c;
}

/* One boot of 128 that was never measured makes the campaign a HOLD, and neither condition counts. */
static void test_missing(void **state)
{
	(void)state;
	struct trial t = trial_default;
	t.second_opinion = false;
	t.missing = 0.01;
	struct trial_counts c = {0};
	struct err e = {0};
	uint64_t complete = 0;
	for (uint64_t i = 0; i < 500; i++)
		complete += trial_hosts(&t, i, hosts) == 0;
	/* .99^128 = .276 */
	assert_in_range(complete, 100, 180);
	assert_int_equal(trial_gate(&t, 0, 500, hosts, &c, &e), 0);
	assert_true(c.promote > complete / 2 && c.promote <= complete);
	assert_true(c.hold >= 500 - complete);
	/* What is plain to see in the boots that are there is evidence, no condition. */
	t.ratio = 3;
	assert_int_equal(gate(&t, 500).rollback, complete);
	t.missing = 1;
	c = gate(&t, 20);
	assert_int_equal(c.hold, 20);
	assert_int_equal(c.rollback, 0);
}

/* Where a slowdown is real but surely below the margin, both conditions hold; the verdict is PROMOTE. */
static void test_both(void **state)
{
	(void)state;
	struct trial t = trial_default;
	t.boot_sd = t.host_sd = 0.01;
	t.ratio = 1.05;
	struct trial_counts c = gate(&t, 50);
	assert_int_equal(c.promote, 50);
	assert_int_equal(c.rollback, 50);
	assert_int_equal(c.hold, 0);
	assert_int_equal(c.verdict[VERDICT_ROLLBACK], 0);
}

/* Too few hosts for any proof, and plans that the judge refuses. */
static void test_no_proof(void **state)
{
	(void)state;
	struct trial t = trial_default;
	struct trial_counts c = {0};
	struct err e = {0};
	t.canaries = 1;
	assert_int_equal(gate(&t, 20).hold, 20);
	t.canaries = 8;
	t.controls = 0;
	assert_int_equal(gate(&t, 20).hold, 20);
	t.controls = 8;
	t.margin = 0;
	assert_int_equal(trial_gate(&t, 0, 1, hosts, &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "margin"));
}

static void test_share(void **state)
{
	(void)state;
	assert_true(trial_share(1, 4) == 0.25);
	assert_true(fabs(trial_share_se(1, 4) - sqrt(.25 * .75 / 4)) < 1e-15);
	assert_true(trial_share_se(0, 100) > 0 && trial_share_se(0, 100) < 0.011);
	assert_true(trial_share_se(100, 100) == trial_share_se(0, 100));
	assert_true(isnan(trial_share(0, 0)) && isnan(trial_share_se(0, 0)));
}

/* What was promised (20,000 campaigns each, Welch alone): with fewer here, so four standard errors more. */
static void test_table(void **state)
{
	(void)state;
	static const struct {
		uint32_t canaries, controls, boots;
		double boot_sd, host_sd, promote_1, promote_110, rollback_1, rollback_120;
	} row[] = {
	    {4, 8, 1, .07, .02, .38, .051, .011, .47},  {4, 8, 4, .07, .02, .81, .048, .010, .93},
	    {6, 6, 4, .07, .02, .88, .047, .009, .996}, {8, 8, 4, .07, .02, .96, .048, .009, 1.00},
	    {8, 8, 4, .15, .03, .49, .050, .009, .73},  {24, 24, 4, .15, .03, .90, .050, .010, 1.00},
	};
	const uint64_t n = 1500;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct trial t = trial_default;
		t.canaries = row[i].canaries;
		t.controls = row[i].controls;
		t.boots = row[i].boots;
		t.boot_sd = row[i].boot_sd;
		t.host_sd = row[i].host_sd;
		t.second_opinion = false;
		struct trial_counts one = gate(&t, n);
		t.ratio = 1.10;
		struct trial_counts margin = gate(&t, n);
		t.ratio = 1.20;
		struct trial_counts worse = gate(&t, n);
		const double got[] = {trial_share(one.promote, n), trial_share(margin.promote, n),
				      trial_share(one.rollback, n), trial_share(worse.rollback, n)};
		const double want[] = {row[i].promote_1, row[i].promote_110, row[i].rollback_1, row[i].rollback_120};
		for (int k = 0; k < 4; k++) {
			double tolerance = 0.005 + 4 * sqrt(fmax(want[k] * (1 - want[k]), 0.001) / (double)n);
			if (!(fabs(got[k] - want[k]) < tolerance))
				fail_msg("row %zu, column %d: %.4f, want %.3f +- %.3f", i, k, got[k], want[k],
					 tolerance);
		}
	}
}

int main(void)
{
	print_message("seed %d\n", (int)trial_default.seed);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_roster),    cmocka_unit_test(test_ratio),   cmocka_unit_test(test_spread),
	    cmocka_unit_test(test_same_seed), cmocka_unit_test(test_missing), cmocka_unit_test(test_both),
	    cmocka_unit_test(test_no_proof),  cmocka_unit_test(test_share),   cmocka_unit_test(test_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
