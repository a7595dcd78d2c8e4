// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of seeded random numbers: each shape against its closed distribution, the memory of a series.
 * Must not know what is simulated with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/draw.h"
#include "lib/core/stats.h"

#define SEED  7u
#define COUNT 200000

static double normal_cdf(double x)
{
	return stats_normal_cdf(x);
}

static double t3_cdf(double x)
{
	return stats_t_cdf(x * sqrt(3), 3);
}

static double lognormal_cdf(double x)
{
	double e = exp(1), z = x * sqrt(e * (e - 1)) + sqrt(e);
	return z > 0 ? stats_normal_cdf(log(z)) : 0;
}

/* Scaled wrongly by 2% a distribution is seen: 5 standard errors of the share are below half of what that moves. */
static void test_shapes(void **state)
{
	(void)state;
	double (*const cdf[])(double) = {normal_cdf, t3_cdf, lognormal_cdf, normal_cdf};
	const double points[] = {-2.5, -1.2, -0.7, -0.3, 0, 0.4, 0.9, 1.5, 3, 6};

	for (int s = 0; s < DRAW_SHAPES; s++) {
		struct draw d = draw_start(SEED, (uint64_t)s);
		int below[ARRAY_SIZE(points)] = {0};
		for (int i = 0; i < COUNT; i++) {
			double x = draw_value(&d, (enum draw_shape)s);
			assert_true(isfinite(x));
			for (size_t p = 0; p < ARRAY_SIZE(points); p++)
				below[p] += x < points[p];
		}
		for (size_t p = 0; p < ARRAY_SIZE(points); p++) {
			double want = cdf[s](points[p]), share = (double)below[p] / COUNT;
			double tolerance = 5 * sqrt(want * (1 - want) / COUNT) + 1e-9;
			if (!(fabs(share - want) <= tolerance))
				fail_msg("%s: %.5f below %g instead of %.5f", draw_shape_name((enum draw_shape)s),
					 share, points[p], want);
		}
	}
}

static void test_uniform(void **state)
{
	(void)state;
	struct draw d = draw_start(SEED, 0);
	double sum = 0, square = 0;
	for (int i = 0; i < COUNT; i++) {
		double u = draw_uniform(&d);
		assert_true(u > 0 && u < 1);
		sum += u;
		square += u * u;
	}
	assert_true(fabs(sum / COUNT - 0.5) < 5 * sqrt(1.0 / 12 / COUNT));
	assert_true(fabs(square / COUNT - 1.0 / 3) < 5 * sqrt(4.0 / 45 / COUNT));
}

/* Over many short series: every position has variance 1, neighbours correlate by phi, those two apart by phi^2. */
static void series_(enum draw_shape shape, double phi, double want1, double want2, int line)
{
	enum { LENGTH = 5, SERIES = 40000 };
	struct draw d = draw_start(SEED, 9);
	double square[LENGTH] = {0}, lag1 = 0, lag2 = 0;
	for (int i = 0; i < SERIES; i++) {
		struct draw_series s = {.shape = shape, .phi = phi};
		double x[LENGTH];
		for (int k = 0; k < LENGTH; k++) {
			x[k] = draw_next(&d, &s);
			square[k] += x[k] * x[k];
		}
		lag1 += x[0] * x[1];
		lag2 += x[2] * x[4];
	}
	double tolerance = 5 * sqrt(2.0 / SERIES);
	for (int k = 0; k < LENGTH; k++)
		if (fabs(square[k] / SERIES - 1) > tolerance)
			fail_msg("line %d: variance %g at %d", line, square[k] / SERIES, k);
	if (fabs(lag1 / SERIES - want1) > tolerance || fabs(lag2 / SERIES - want2) > tolerance)
		fail_msg("line %d: correlations %g and %g", line, lag1 / SERIES, lag2 / SERIES);
}
#define series(...) series_(__VA_ARGS__, __LINE__)

static void test_series(void **state)
{
	(void)state;
	series(DRAW_AR1, 0.5, 0.5, 0.25);
	series(DRAW_AR1, -0.8, -0.8, 0.64);
	series(DRAW_AR1, 0, 0, 0);
	/* Only one shape has a memory. */
	series(DRAW_NORMAL, 0.5, 0, 0);
}

static void test_sequences(void **state)
{
	(void)state;
	struct draw a = draw_start(SEED, 3), b = draw_start(SEED, 3), copy;
	for (int i = 0; i < 100; i++)
		assert_true(draw_normal(&a) == draw_normal(&b));
	draw_normal(&a);
	copy = a;
	assert_true(draw_normal(&a) == draw_normal(&copy));
	assert_int_equal(draw_u64(&a), draw_u64(&copy));
	/* Neighbours in seed and number share no value among their first thousand. */
	static uint64_t first[4][1000];
	const uint64_t start[4][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};
	for (int s = 0; s < 4; s++) {
		a = draw_start(start[s][0], start[s][1]);
		for (int i = 0; i < 1000; i++)
			first[s][i] = draw_u64(&a);
	}
	for (int i = 0; i < 4000; i++)
		for (int k = i + 1; k < 4000; k++)
			assert_true(first[i / 1000][i % 1000] != first[k / 1000][k % 1000]);
}

/* The numbers themselves: simulations are compared across machines and releases by their seeds. */
static void test_golden(void **state)
{
	(void)state;
	struct draw d = draw_start(1, 0);
	assert_true(draw_u64(&d) == 0x25069ce7843ac923ull);
	assert_true(draw_u64(&d) == 0xe4c791231d8d965full);
	assert_null(draw_shape_name(DRAW_SHAPES));
	assert_string_equal(draw_shape_name(DRAW_LOGNORMAL), "lognormal");
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shapes),    cmocka_unit_test(test_uniform), cmocka_unit_test(test_series),
	    cmocka_unit_test(test_sequences), cmocka_unit_test(test_golden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
