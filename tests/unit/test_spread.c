// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what A/A campaigns tell: spreads put in are found again, splits raise no false alarms.
 * Must not know files. */
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
#include "lib/core/special.h"
#include "lib/core/spread.h"

#define SEED 0x73707264u

static const struct spread_blocks no_blocks[ENDPOINT_COUNT];

static struct spread spread_of(size_t n)
{
	struct spread s;
	struct err e = {0};
	if (spread_estimate(hosts, n, no_blocks, "victim-4k-active/1", &s, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

/* Two hosts by hand: boots 1 and 3 in each slot of the first, 2 and 2 in the second's. */
static void test_by_hand(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(1, 1, 2);
	fill(&p, 0, 0, ones);
	const double y[2][4] = {{1, 3, 2, 4}, {2, 2, 5, 5}};
	for (int i = 0; i < 2; i++)
		for (int b = 0; b < 4; b++)
			(b < 2 ? hosts[i].old_boot : hosts[i].new_boot)[b % 2].y[ENDPOINT_P99] = y[i][b];
	struct spread s = spread_of(2);
	const struct spread_endpoint *e = &s.endpoint[ENDPOINT_P99];
	/* Squares about the means: 2 + 2 + 0 + 0 on 4 degrees of freedom; D: 1 and 3. */
	assert_true(fabs(e->boot_sd - 1) < 1e-12);
	assert_true(fabs(e->boot_sd_upper - sqrt(4 / special_chi2_quantile(.05, 4))) < 1e-12);
	assert_true(fabs(e->difference_sd - sqrt(2)) < 1e-12);
	assert_true(fabs(e->host_sd - 1) < 1e-12);
	assert_true(fabs(spread_difference_sd(e, 4) - sqrt(1 + 2.0 / 4)) < 1e-12);
	assert_true(isnan(e->block_sd) && s.hosts == 2 && s.boots == 2);
}

static void test_found_again(void **state)
{
	(void)state;
	rng_state = SEED;
	struct judge_plan p = plan_of(150, 150, 4);
	struct spread s = spread_of(fill(&p, 0.07, 0.03, ones));
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		const struct spread_endpoint *e = &s.endpoint[x];
		assert_true(fabs(e->boot_sd / 0.07 - 1) < 0.08 && e->boot_sd_upper > e->boot_sd);
		assert_true(fabs(e->host_sd / 0.03 - 1) < 0.45);
		assert_true(e->difference_sd_upper > e->difference_sd &&
			    e->difference_sd_upper < 1.2 * e->difference_sd);
	}
	/* One boot a slot: nobody can tell boots from hosts, and the two together are right. */
	p = plan_of(150, 150, 1);
	s = spread_of(fill(&p, 0.07, 0.03, ones));
	assert_true(s.endpoint[0].host_sd == 0);
	assert_true(fabs(spread_difference_sd(&s.endpoint[0], 1) / s.endpoint[0].difference_sd - 1) < 1e-12);
}

static void test_blocks(void **state)
{
	(void)state;
	struct spread_blocks b[ENDPOINT_COUNT] = {{0}};
	struct summary_blocks one = {.n = 1, .square = 0}, two = {.n = 5, .mean = 3, .square = 0.36};
	spread_add_blocks(&b[0], &one);
	assert_true(b[0].nu == 0);
	spread_add_blocks(&b[0], &two);
	spread_add_blocks(&b[0], &two);
	struct judge_plan p = plan_of(2, 2, 1);
	size_t n = fill(&p, 0.01, 0.01, ones);
	struct spread s;
	assert_int_equal(spread_estimate(hosts, n, b, "x", &s, NULL), 0);
	assert_true(fabs(s.endpoint[0].block_sd - 0.3) < 1e-12 && s.endpoint[0].block_sd_upper > 0.3);
	assert_true(isnan(s.endpoint[1].block_sd_upper));
}

static void test_refusals(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(2, 2, 2);
	size_t n = fill(&p, 0, 0, ones);
	struct spread s = {.hosts = 77};
	struct err e = {0};
	assert_int_equal(spread_estimate(hosts, 1, no_blocks, "x", &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "at least 2"));
	assert_int_equal(spread_estimate(hosts, 0, no_blocks, "x", &s, &e), -EINVAL);
	hosts[1].n_new = 0;
	assert_int_equal(spread_estimate(hosts, n, no_blocks, "x", &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "can-1"));
	assert_int_equal(s.hosts, 77);
	/* What is no number is not known; no NaN comes of it where there is more. */
	fill(&p, 0.01, 0, ones);
	for (size_t i = 0; i < n; i++)
		hosts[i].new_boot[0].y[ENDPOINT_EXIT] = hosts[i].new_boot[1].y[ENDPOINT_EXIT] = NAN;
	hosts[0].old_boot[0].y[ENDPOINT_P99] = INFINITY;
	s = spread_of(n);
	assert_true(isnan(s.endpoint[ENDPOINT_EXIT].boot_sd) && isfinite(s.endpoint[ENDPOINT_P99].boot_sd));
}

static void test_apply(void **state)
{
	(void)state;
	struct judge_plan p = judge_plan_default;
	struct spread s = {.endpoint = {{.boot_sd = 0.07, .host_sd = 0.02},
					{.boot_sd = NAN, .host_sd = NAN},
					{.boot_sd = 9, .host_sd = 9}}};
	p.boots = 4;
	spread_apply(&s, &p);
	assert_true(fabs(judge_floor(&p, ENDPOINT_P99) - sqrt(.0004 + .0049 / 2)) < 1e-15);
	assert_true(judge_floor(&p, ENDPOINT_P999) == p.sd_floor);
	assert_true(p.sd_history[ENDPOINT_EXIT] == 10);
	/* Never lower. */
	p.sd_history[ENDPOINT_P99] = 0.5;
	spread_apply(&s, &p);
	assert_true(p.sd_history[ENDPOINT_P99] == 0.5);
}

static void test_splits(void **state)
{
	(void)state;
	rng_state = SEED + 1;
	struct judge_plan p = plan_of(6, 6, 4);
	size_t n = fill(&p, 0.03, 0.01, ones);
	struct spread_splits a, b;
	assert_int_equal(spread_split(&p, hosts, n, 100, 1, &a, NULL), 0);
	assert_int_equal(spread_split(&p, hosts, n, 100, 1, &b, NULL), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	print_message("%u PROMOTE, %u ROLLBACK, %u HOLD\n", a.verdict[VERDICT_PROMOTE], a.verdict[VERDICT_ROLLBACK],
		      a.verdict[VERDICT_HOLD]);
	assert_true(a.n == 100 && a.verdict[VERDICT_PROMOTE] > 80 && a.verdict[VERDICT_ROLLBACK] <= 5);
	/* An odd host goes to the controls; half of the hosts are canaries, whichever. */
	assert_int_equal(spread_split(&p, hosts, n - 1, 3, 1, &a, NULL), 0);
	unsigned canaries = 0;
	for (size_t i = 0; i < n - 1; i++)
		canaries += !hosts[i].control;
	assert_int_equal(canaries, 5);
}

int main(void)
{
	printf("seed 0x%x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_found_again), cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_refusals), cmocka_unit_test(test_apply),       cmocka_unit_test(test_splits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
