// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the brake: its arithmetic by hand, harm, late regressions, bad data and plans out of range.
 * Must not know invented campaigns. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/brake.h"

/* cmocka's own compares as float, which has seven digits. */
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static struct brake start(uint32_t metrics, uint32_t horizon)
{
	struct brake_plan p = brake_plan_default;
	struct brake b;
	p.metrics = metrics;
	p.horizon = horizon;
	assert_int_equal(brake_start(&p, &b, NULL), 0);
	return b;
}

static struct brake_x at(double ratio)
{
	return (struct brake_x){.x = log(ratio), .k = 4, .m = 8};
}

/* s2 = .04 (1/4 + 1/8) = .015, lambda = ln(4/3) / .015; at a ratio of 2 each block adds ln(4/3)^2 / (2 s2). */
static double step(void)
{
	return log(4.0 / 3) * log(4.0 / 3) / 0.015 / 2;
}

static void test_by_hand(void **state)
{
	(void)state;
	struct brake plain = start(1, 0), b = start(1, 100);
	struct brake_x x = at(2);
	assert_int_equal(brake_look(&plain, &x, 0), BRAKE_GO_ON);
	assert_near(plain.ln_e, step(), 1e-12);
	/* Nine tenths from the first block on, one tenth over 100 first blocks, of which 99 and 98 are to come. */
	brake_look(&b, &x, 0);
	assert_near(b.ln_e, log(.9 * exp(step()) + .1 * (exp(step()) + 99) / 100), 1e-12);
	brake_look(&b, &x, 0);
	assert_near(b.ln_e, log(.9 * exp(2 * step()) + .1 * (exp(2 * step()) + exp(step()) + 98) / 100), 1e-12);
	assert_int_equal(brake_look(&b, &x, 0), BRAKE_FIRED);
	assert_int_equal(b.fired_at, 3);
	x = at(.01);
	for (int i = 0; i < 50; i++)
		assert_int_equal(brake_look(&b, &x, 0), BRAKE_FIRED);
	assert_int_equal(b.fired_at, 3);
}

/* Fewer hosts in a block widen its spread: K 2, M 4 doubles s2. */
static void test_missing_hosts(void **state)
{
	(void)state;
	struct brake b = start(1, 0);
	struct brake_x x = {.x = log(2), .k = 2, .m = 4};
	brake_look(&b, &x, 0);
	assert_near(b.ln_e, step() / 2, 1e-12);
}

static void test_average(void **state)
{
	(void)state;
	struct brake b = start(4, 0);
	const struct brake_x x[4] = {at(2), at(1), at(.5), {.x = NAN}};
	double gap = log(4.0 / 3), lambda = gap / 0.015;
	double one = exp(lambda * (0 - log(1.5)) - lambda * gap / 2);
	double half = exp(lambda * (log(.5) - log(1.5)) - lambda * gap / 2);
	brake_look(&b, x, 0);
	assert_near(b.ln_e, log((exp(step()) + one + half + 1) / 4), 1e-12);
	int n = 1;
	while (brake_look(&b, x, 0) != BRAKE_FIRED)
		assert_true(++n < 6);
}

static void test_harm(void **state)
{
	(void)state;
	struct brake b = start(1, 1440);
	const struct brake_x none = {.x = NAN};
	assert_int_equal(brake_look(&b, &none, 0), BRAKE_BLIND);
	assert_int_equal(brake_look(&b, &none, 1), BRAKE_CRASHED);
	assert_int_equal(b.fired_at, 2);
	struct brake_x fine = at(1);
	assert_int_equal(brake_look(&b, &fine, 0), BRAKE_CRASHED);
	/* A crash in the block that would fire is called a crash. */
	b = start(1, 0);
	struct brake_x x = at(2);
	brake_look(&b, &x, 0);
	brake_look(&b, &x, 0);
	assert_int_equal(brake_look(&b, &x, 2), BRAKE_CRASHED);
}

/* Nothing that is missing or broken is evidence, and one host's outlier never is. */
static void test_bad_data(void **state)
{
	(void)state;
	const struct brake_plan p = brake_plan_default;
	struct brake b = start(1, 1440);
	const double nothing[4] = {NAN, INFINITY, -INFINITY, NAN}, one[4] = {5, NAN, NAN, NAN}, calm[8] = {0};
	struct brake_x x = brake_difference(&p, nothing, 4, calm, 8);
	assert_true(isnan(x.x) && x.k == 0 && x.m == 8);
	assert_int_equal(brake_look(&b, &x, 0), BRAKE_BLIND);
	x = brake_difference(&p, one, 4, calm, 8);
	assert_true(isnan(x.x) && x.k == 1);
	assert_int_equal(brake_look(&b, &x, 0), BRAKE_BLIND);
	x = brake_difference(&p, one, 1, NULL, 0);
	assert_int_equal(brake_look(&b, &x, 0), BRAKE_BLIND);
	assert_true(b.blind == 3 && b.ln_e < 1e-9 && b.ln_e > -1e-9);
	/* One of four canaries, or one control, at e^50 for an hour. */
	const double far[4] = {50, 0, 0, 0}, slow[8] = {-50, 0, 0, 0, 0, 0, 0, 0}, still[4] = {0};
	for (int i = 0; i < 60; i++) {
		x = brake_difference(&p, far, 4, calm, 8);
		assert_int_equal(x.capped, 1);
		assert_int_equal(brake_look(&b, &x, 0), BRAKE_GO_ON);
		x = brake_difference(&p, still, 4, slow, 8);
		assert_int_equal(x.capped, 1);
		assert_int_equal(brake_look(&b, &x, 0), BRAKE_GO_ON);
	}
}

/* After a healthy day's half the first block's sum is hopeless; what was set aside fires. */
static void test_late(void **state)
{
	(void)state;
	struct brake b = start(1, 1440), plain = start(1, 0);
	struct brake_x calm = at(1), bad = at(2);
	for (int i = 0; i < 720; i++) {
		assert_int_equal(brake_look(&b, &calm, 0), BRAKE_GO_ON);
		brake_look(&plain, &calm, 0);
	}
	int n = 1;
	while (brake_look(&b, &bad, 0) != BRAKE_FIRED)
		assert_true(++n <= 10);
	for (int i = 0; i < 100; i++)
		assert_int_equal(brake_look(&plain, &bad, 0), BRAKE_GO_ON);
}

static void test_plan(void **state)
{
	(void)state;
	struct brake kept = start(1, 1440), b = kept;
	struct brake_plan bad[12];
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = brake_plan_default;
	bad[0].metrics = 0;
	bad[1].metrics = BRAKE_METRICS_MAX + 1;
	bad[2].block_sd = 0;
	bad[3].block_sd = NAN;
	bad[4].block_sd = INFINITY;
	bad[5].tolerated = 2;
	bad[6].tolerated = 0.5;
	bad[7].aim = NAN;
	bad[8].alpha = 0;
	bad[9].alpha = NAN;
	bad[10].canaries = 1;
	bad[11].controls = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {0};
		assert_int_equal(brake_start(&bad[i], &b, &e), -EINVAL);
		assert_memory_equal(&b, &kept, sizeof(b));
		assert_non_null(strstr(e.text, "brake"));
	}
}

/* The forecast against what 20,000 simulated campaigns did: 3 blocks by the median, 7 by the 90th percentile. */
static void test_forecast(void **state)
{
	(void)state;
	const struct brake_plan p = brake_plan_default;
	assert_in_range((uint64_t)brake_blocks_needed(&p, 2, .5), 2, 4);
	assert_in_range((uint64_t)brake_blocks_needed(&p, 2, .9), 5, 8);
	assert_true(isinf(brake_blocks_needed(&p, 1.5, .9)));
	assert_true(isnan(brake_blocks_needed(&p, 2, 1)));
	assert_near(brake_caught_within(&p, 2, 0), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_by_hand), cmocka_unit_test(test_missing_hosts), cmocka_unit_test(test_average),
	    cmocka_unit_test(test_harm),    cmocka_unit_test(test_bad_data),      cmocka_unit_test(test_late),
	    cmocka_unit_test(test_plan),    cmocka_unit_test(test_forecast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
