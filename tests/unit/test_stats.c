// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the statistics: published values, closed forms, recurrences, tests counted by hand.
 * Must not know endpoints, hosts or verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/stats.h"
#include "rng.h"

#define SEED 0x73746174u

#define TOLERANCE               1e-10
#define assert_close(got, want) assert_close_((got), (want), TOLERANCE, __LINE__)
static void assert_close_(double got, double want, double tolerance, int line)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("line %d: %.17g instead of %.17g", line, got, want);
}

/* Quantiles to 10 digits as printed tables have them to 3 (t: 2.015, 12.706, 2.228, 1.697, 2.358, 5.841, 5.408). */
static void test_published(void **state)
{
	(void)state;
	assert_close(stats_t_quantile(.95, 5), 2.015048373333024);
	assert_close(stats_t_quantile(.975, 1), 12.70620473617469);
	assert_close(stats_t_quantile(.975, 10), 2.228138851986274);
	assert_close(stats_t_quantile(.95, 30), 1.697260886593957);
	assert_close(stats_t_quantile(.99, 120), 2.357824612648755);
	assert_close(stats_t_quantile(.995, 3), 5.840909309733355);
	assert_close(stats_t_quantile(.9995, 7), 5.407882520861828);
	/* Not whole, as Welch's are. */
	assert_close(stats_t_quantile(.95, 2.5), 2.558218614135935);
	assert_close(stats_t_quantile(.9966666666666667, 9.3), 3.473905404367512);
	assert_close(stats_t_quantile(.99, 6.5), 3.063365510660112);
	assert_close(stats_t_quantile(.975, 1000), 1.962339080826408);
	assert_close(stats_t_quantile(.95, 2e6), 1.644854388836401);
	assert_close(stats_t_quantile(.999999999, 4), 234.0276120609079);
	assert_close(stats_normal_quantile(.95), 1.644853626951472);
	assert_close(stats_normal_quantile(.975), 1.959963984540054);
	assert_close(stats_normal_quantile(.995), 2.575829303548901);
	assert_close(stats_normal_quantile(.8), 0.8416212335729142);
	assert_close(stats_normal_quantile(1e-10), -6.361340902404056);
	assert_close(stats_normal_quantile(.6), 0.2533471031357997);
	assert_close(stats_normal_cdf(-1.96), 0.02499789514822044);
	assert_close(stats_normal_cdf(-3), 0.001349898031630095);
	assert_close(stats_normal_cdf(2.5), 0.9937903346742239);
	assert_close(stats_normal_cdf(-6), 9.865876450376981e-10);
}

/* nu = 1: Cauchy. nu = 2 and 4: W. T. Shaw, "Sampling Student's T distribution", J. Comp. Finance 9 (2006). */
static void test_closed_forms(void **state)
{
	(void)state;
	for (int i = 1; i < 2000; i++) {
		double p = i / 2000.0;
		if (i == 1000)
			continue;
		double a = 4 * p * (1 - p);
		assert_close(stats_t_quantile(p, 1), tan(M_PI * (p - 0.5)));
		assert_close(stats_t_quantile(p, 2), (2 * p - 1) * sqrt(2 / a));
		/* Near 1/2 the closed form for 4 itself loses digits. */
		if (fabs(p - 0.5) > 0.02) {
			double q = cos(acos(sqrt(a)) / 3) / sqrt(a);
			assert_close(stats_t_quantile(p, 4), copysign(2 * sqrt(q - 1), p - 0.5));
		}
	}
	for (double t = -40; t < 40; t += 0.37) {
		assert_close_(stats_t_cdf(t, 1), 0.5 + atan(t) / M_PI, 1e-10, __LINE__);
		double x = t / sqrt(3);
		assert_close_(stats_t_cdf(t, 3), 0.5 + (x / (1 + x * x) + atan(x)) / M_PI, 1e-9, __LINE__);
	}
}

static void test_symmetry_and_inverse(void **state)
{
	(void)state;
	const double nus[] = {0.6, 1, 1.7, 2, 3, 4.4, 7, 11.3, 30, 63.9, 64.1, 200, 1e4, 9.9e4, 1.1e5, 1e9, INFINITY};
	rng_state = SEED;
	for (size_t i = 0; i < sizeof(nus) / sizeof(nus[0]); i++) {
		double last = -INFINITY;
		for (double p = 0.001; p < 0.9995; p += 0.0173) {
			double t = stats_t_quantile(p, nus[i]);
			assert_true(t > last);
			last = t;
			assert_close_(stats_t_cdf(t, nus[i]), p, 1e-11, __LINE__);
			assert_close_(stats_t_quantile(1 - p, nus[i]), -t, 1e-9, __LINE__);
		}
		assert_true(stats_t_quantile(0.5, nus[i]) == 0);
		assert_true(stats_t_cdf(0, nus[i]) == 0.5);
		/* Far tails, where 1 - p has no digits left. */
		for (double p = 1e-3; p > 1e-30; p *= 1e-3)
			assert_close_(stats_t_cdf(stats_t_quantile(p, nus[i]), nus[i]), p, 1e-9, __LINE__);
	}
	for (int i = 0; i < 2000; i++) {
		double p = uniform();
		assert_close(stats_normal_cdf(stats_normal_quantile(p)), p);
	}
	/* Without a limit on nu it is the normal. */
	assert_true(stats_t_quantile(.95, INFINITY) == stats_normal_quantile(.95));
}

/* I_x(a + 1, b) = I_x(a, b) - x^a (1-x)^b / (a B(a, b)) (Abramowitz and Stegun 26.5.16) with b = 1/2, a = nu / 2. */
static void test_recurrence(void **state)
{
	(void)state;
	for (double nu = 0.5; nu < 60; nu += 1.3) {
		for (double x = 0.02; x < 1; x += 0.0437) {
			double a = nu / 2;
			double t0 = -sqrt(nu * (1 - x) / x), t2 = -sqrt((nu + 2) * (1 - x) / x);
			double ln_b = lgamma(a) + lgamma(0.5) - lgamma(a + 0.5);
			double step = exp(a * log(x) + 0.5 * log1p(-x) - ln_b) / a;
			double sum = 2 * stats_t_cdf(t2, nu + 2) + step;
			assert_close_(2 * stats_t_cdf(t0, nu), sum, 1e-10, __LINE__);
		}
	}
}

static void test_out_of_range(void **state)
{
	(void)state;
	const double bad[] = {0, 1, -0.1, 1.1, NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(isnan(stats_t_quantile(bad[i], 5)));
		assert_true(isnan(stats_normal_quantile(bad[i])));
	}
	assert_true(isnan(stats_t_quantile(0.9, 0)) && isnan(stats_t_quantile(0.9, -1)));
	assert_true(isnan(stats_t_quantile(0.9, NAN)) && isnan(stats_t_cdf(1, NAN)) && isnan(stats_t_cdf(NAN, 3)));
	assert_true(stats_t_cdf(INFINITY, 3) == 1 && stats_t_cdf(-INFINITY, 3) == 0);
	assert_true(isnan(stats_mean(NULL, 0)) && isnan(stats_sd(&bad[0], 1)));
}

static void test_welch_by_hand(void **state)
{
	(void)state;
	/* a: mean 3, variance 2.5; b: mean 6, variance 8/3. */
	const double a[] = {1, 2, 3, 4, 5}, b[] = {4, 6, 8, 6};
	double vb = (4.0 + 0 + 4 + 0) / 3 / 4;
	struct stats_welch w;
	assert_int_equal(stats_welch(a, 5, b, 4, 0.001, &w, NULL), 0);
	assert_close(w.delta, -3);
	assert_close(w.sd_a, sqrt(2.5));
	assert_close(w.se, sqrt(0.5 + vb));
	assert_close(w.nu, (0.5 + vb) * (0.5 + vb) / (0.25 / 4 + vb * vb / 3));
	assert_true(!w.floored_a && !w.floored_b);
}

static void test_welch_floors(void **state)
{
	(void)state;
	const double same[] = {2, 2, 2}, spread[] = {1, 2, 3, 4};
	struct stats_welch w;
	assert_int_equal(stats_welch(same, 3, spread, 4, 0.008, &w, NULL), 0);
	assert_true(w.floored_a && !w.floored_b && w.sd_a == 0.008);
	assert_int_equal(stats_welch(same, 3, same, 3, 0.008, &w, NULL), 0);
	assert_close(w.nu, 4);
	assert_close(w.se, 0.008 * sqrt(2.0 / 3));
	assert_true(w.delta == 0);
	/* Spreads so small that their fourth powers are 0. */
	assert_int_equal(stats_welch(same, 3, same, 3, 1e-100, &w, NULL), 0);
	assert_close(w.nu, 4);
}

static void test_welch_refuses(void **state)
{
	(void)state;
	double a[] = {1, 2, 3}, p;
	uint64_t n;
	static double many[STATS_GROUP_MAX + 1];
	struct stats_welch w = {.nu = 77};
	struct err e = {0};
	assert_int_equal(stats_welch(a, 1, a, 3, 0.1, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(a, 3, a, 1, 0.1, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(a, 3, a, 0, 0.1, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(a, 3, a, 3, -1, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(a, 3, a, 3, NAN, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(many, STATS_GROUP_MAX + 1, a, 3, 0.1, &w, &e), -EINVAL);
	assert_int_equal(stats_welch(many, 5, many, 5, 0, &w, &e), -EDOM);
	assert_non_null(strstr(e.text, "floor"));
	a[1] = NAN;
	assert_int_equal(stats_welch(a, 3, many, 3, 0.1, &w, &e), -EINVAL);
	assert_non_null(strstr(e.text, "value 1 of the first group"));
	assert_int_equal(stats_randomisation(many, 3, a, 3, 0.1, 1, &p, &n, &e), -EINVAL);
	a[1] = INFINITY;
	assert_int_equal(stats_welch(many, 3, a, 3, 0.1, &w, &e), -EINVAL);
	assert_true(w.nu == 77);
}

/* Few enough to count: which of the C(4, 2) = 6 assignments have a t at most the observed one. */
static void test_randomisation_by_hand(void **state)
{
	(void)state;
	double p;
	uint64_t n;
	const double low[] = {1, 2}, high[] = {3, 5};
	assert_int_equal(stats_randomisation(low, 2, high, 2, 0.01, 1, &p, &n, NULL), 0);
	assert_true(n == 6 && p == 1.0 / 6);
	assert_int_equal(stats_randomisation(high, 2, low, 2, 0.01, 1, &p, &n, NULL), 0);
	assert_true(p == 1);
	/* {1,5} against {2,3}: t = .5 / sqrt(4.25) = .24; above it {3,5}|{1,2} 2.24, {2,5}|{1,3} .83. */
	const double outer[] = {1, 5}, inner[] = {2, 3};
	assert_int_equal(stats_randomisation(outer, 2, inner, 2, 0.01, 1, &p, &n, NULL), 0);
	assert_true(p == 4.0 / 6);
	/* Everything the same: every assignment ties. */
	const double same[] = {1, 1, 1};
	assert_int_equal(stats_randomisation(same, 3, same, 3, 0.01, 1, &p, &n, NULL), 0);
	assert_true(n == 20 && p == 1);
	assert_int_equal(stats_randomisation(same, 3, same, 3, 0, 1, &p, &n, NULL), 0);
	assert_true(p == 1);
	/* Without spread and floor, but apart. */
	const double below[] = {0, 0, 0};
	assert_int_equal(stats_randomisation(below, 3, same, 3, 0, 1, &p, &n, NULL), 0);
	assert_true(p == 1.0 / 20);
}

static void test_randomisation_counts(void **state)
{
	(void)state;
	assert_true(stats_randomisation_min_p(3, 3) == 0.05);
	assert_true(stats_randomisation_min_p(4, 8) == 1.0 / 495);
	assert_true(stats_randomisation_min_p(8, 4) == 1.0 / 495);
	assert_true(stats_randomisation_min_p(2, 2) == 1.0 / 6);
	assert_true(stats_randomisation_min_p(10, 10) == 1.0 / 184756);
	assert_true(stats_randomisation_min_p(11, 10) == 1.0 / 20001);
	assert_true(stats_randomisation_min_p(500, 500) == 1.0 / 20001);
	assert_true(stats_randomisation_min_p(5000, 5000) == 1.0 / 2001);
	assert_true(stats_randomisation_min_p(STATS_GROUP_MAX, 2) == 1.0 / 2000);
	double a[12], b[12], p;
	uint64_t n;
	for (int i = 0; i < 12; i++) {
		a[i] = i * 0.01;
		b[i] = 5 + i * 0.013;
	}
	assert_int_equal(stats_randomisation(a, 4, b, 8, 0.008, 1, &p, &n, NULL), 0);
	assert_true(n == 495 && p == 1.0 / 495);
	assert_int_equal(stats_randomisation(a, 12, b, 12, 0.008, 1, &p, &n, NULL), 0);
	assert_true(n == 20001 && p == 1.0 / 20001);
}

static void test_randomisation_order_and_seed(void **state)
{
	(void)state;
	rng_state = SEED + 1;
	double a[12], b[12], ra[12], rb[12], p, q, r;
	uint64_t n;
	for (int round = 0; round < 3; round++) {
		size_t na = round ? 11 : 5, nb = round ? 12 : 6;
		for (size_t i = 0; i < 12; i++) {
			a[i] = normal();
			b[i] = 0.4 + normal();
		}
		for (size_t i = 0; i < na; i++)
			ra[i] = a[na - 1 - i];
		for (size_t i = 0; i < nb; i++)
			rb[i] = b[nb - 1 - i];
		assert_int_equal(stats_randomisation(a, na, b, nb, 0.008, 5, &p, &n, NULL), 0);
		assert_int_equal(stats_randomisation(ra, na, rb, nb, 0.008, 5, &q, &n, NULL), 0);
		assert_true(p == q);
		/* Another seed: another sample of the same p. */
		assert_int_equal(stats_randomisation(a, na, b, nb, 0.008, 6, &r, &n, NULL), 0);
		assert_true(n == 20001 || r == p);
		assert_true(fabs(r - p) < 0.02);
	}
}

/* Under the null the p-value is at most .05 in 5% of the samples. */
static void test_randomisation_level(void **state)
{
	(void)state;
	rng_state = SEED + 2;
	enum { N = 1500 };
	int hits = 0;
	for (int i = 0; i < N; i++) {
		double a[4], b[6], p;
		uint64_t n;
		for (int k = 0; k < 6; k++)
			b[k] = normal();
		for (int k = 0; k < 4; k++)
			a[k] = normal();
		assert_int_equal(stats_randomisation(a, 4, b, 6, 0.008, 1, &p, &n, NULL), 0);
		hits += p <= 0.05;
	}
	print_message("p <= .05 in %.4f of %d samples under the null\n", (double)hits / N, N);
	/* 10 of 210 assignments are p <= .05: level .0476; four standard errors. */
	assert_true(fabs((double)hits / N - 10.0 / 210) < 4 * sqrt(0.0476 * 0.9524 / N));
}

int main(void)
{
	printf("seed %#x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published),
	    cmocka_unit_test(test_closed_forms),
	    cmocka_unit_test(test_symmetry_and_inverse),
	    cmocka_unit_test(test_recurrence),
	    cmocka_unit_test(test_out_of_range),
	    cmocka_unit_test(test_welch_by_hand),
	    cmocka_unit_test(test_welch_floors),
	    cmocka_unit_test(test_welch_refuses),
	    cmocka_unit_test(test_randomisation_by_hand),
	    cmocka_unit_test(test_randomisation_counts),
	    cmocka_unit_test(test_randomisation_order_and_seed),
	    cmocka_unit_test(test_randomisation_level),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
