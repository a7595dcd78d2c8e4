// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the boundaries: published values, quantiles of a histogram, arguments out of range.
 * Must not know hosts or verdicts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/bounds.h"
#include "lib/core/draw.h"

#define SEED 5u

/* cmocka's own compares as float, which has seven digits. */
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

/* Published to seven digits: off by less than half of the last one. */
static void test_published(void **state)
{
	(void)state;
	/* Published as .08204769, which spends .0500015 of the .05: its search for the constant stopped a little early
	 * (its own test allows 1e-5). The exact one, by grids over eta and bisection of C in another program: */
	assert_near(bounds_lil(1000, .05, 100, .85), .0820477877, 5e-11);
	assert_near(bounds_lil(1000, .05, 100, .85), .08204769, 1.5e-7);
	assert_near(bounds_double_stitching(.9, 1000, .05, 100), 43.72119, 5e-6);
	assert_near(bounds_double_stitching(.5, 1000, .05, 100), 68.62803, 5e-6);
	assert_near(bounds_double_stitching(.1, 1000, .05, 100), 59.96521, 5e-6);
	assert_near(bounds_beta_binomial(100, .05, 100, .2, .8), 28.41238, 5e-6);
	assert_near(bounds_normal_mixture(100, .05, 100), 30.35209, 5e-6);
}

/* By hand, from the formulas. */
static void test_ranks(void **state)
{
	(void)state;
	double l = (1.4 * log(log(2.1 * 1000)) + log(200)) / 1000;
	assert_near(bounds_rank(BOUNDS_FIXED_P, .99, 1000, .05), 1.5 * sqrt(.0099 * l) + .8 * l, 1e-12);
	assert_near(bounds_rank(BOUNDS_ALL_P, .99, 1000, .05),
		    .85 * sqrt((log(log(exp(1) * 1000)) + .8 * log(1612 / .05)) / 1000), 1e-12);
	assert_near(bounds_rank(BOUNDS_DKW, .99, 1000, .05), sqrt(log(40) / 2000), 1e-12);
}

static void test_out_of_range(void **state)
{
	(void)state;
	const double bad[] = {0, -1, NAN};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(isnan(bounds_normal_mixture(100, bad[i], 100)));
		assert_true(isnan(bounds_normal_mixture(100, .05, bad[i])));
		assert_true(isnan(bounds_beta_binomial(100, .05, 100, bad[i], .8)));
		assert_true(isnan(bounds_double_stitching(bad[i], 1000, .05, 100)));
		assert_true(isnan(bounds_lil(1000, .05, bad[i], .85)));
		assert_true(isnan(bounds_rank(BOUNDS_FIXED_P, .99, 1000, bad[i])));
		assert_true(isnan(bounds_rank(BOUNDS_FIXED_P, .99, bad[i], .05)));
	}
	assert_true(isinf(bounds_lil(99, .05, 100, .85)));
}

static void test_quantile(void **state)
{
	(void)state;
	static struct hist h;
	struct bounds_interval r, kept = {.p_lower = -7};
	r = kept;
	assert_int_equal(bounds_of_quantile(&h, BOUNDS_DKW, .99, .05, &r, NULL), -ENODATA);
	assert_memory_equal(&r, &kept, sizeof(r));
	for (uint64_t i = 1; i <= 100000; i++)
		hist_add(&h, i);
	for (int kind = BOUNDS_FIXED_P; kind <= BOUNDS_DKW; kind++) {
		assert_int_equal(bounds_of_quantile(&h, (enum bounds_quantile)kind, .9, .05, &r, NULL), 0);
		assert_true(r.p_lower < .9 && r.p_upper > .9 && r.p_lower > .85 && r.p_upper < .95);
		assert_true(r.lower_ns <= 100000 * r.p_lower && r.lower_ns > 80000);
		assert_true(r.upper_ns >= 100000 * r.p_upper && r.upper_ns < 98000);
	}
	/* So few operations know nothing of p99 from above: they are no evidence that it is low. */
	memset(&h, 0, sizeof(h));
	for (uint64_t i = 0; i < 50; i++)
		hist_add(&h, 1000);
	assert_int_equal(bounds_of_quantile(&h, BOUNDS_FIXED_P, .99, .05, &r, NULL), 0);
	assert_true(isinf(r.upper_ns));
	r = kept;
	assert_int_equal(bounds_of_quantile(&h, BOUNDS_DKW, 1.5, .05, &r, NULL), -EINVAL);
	assert_int_equal(bounds_of_quantile(&h, BOUNDS_DKW, .5, NAN, &r, NULL), -EINVAL);
	assert_memory_equal(&r, &kept, sizeof(r));
}

/* Looked at from 20 to 2,000 operations, the interval for a fixed p misses in fewer than alpha of the series. */
static void test_coverage(void **state)
{
	(void)state;
	unsigned missed = 0;
	for (uint64_t series = 0; series < 1000; series++) {
		struct draw d = draw_start(SEED, series);
		unsigned below = 0;
		bool out = false;
		for (int t = 1; t <= 2000; t++) {
			below += draw_uniform(&d) < .9;
			/* Q(u) is above the true quantile exactly where the share below it is at most u. */
			double share = (double)below / t;
			if (t >= 20)
				out |= share - .9 > bounds_rank(BOUNDS_FIXED_P, .9, t, .1) ||
				       .9 - share > bounds_rank(BOUNDS_FIXED_P, .1, t, .1);
		}
		missed += out;
	}
	print_message("missed in %u of 1000 series, at most 100 promised\n", missed);
	assert_true(missed <= 100);
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published), cmocka_unit_test(test_ranks),    cmocka_unit_test(test_out_of_range),
	    cmocka_unit_test(test_quantile),  cmocka_unit_test(test_coverage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
