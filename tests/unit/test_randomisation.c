// SPDX-License-Identifier: Apache-2.0
/* Owns the check of the randomisation test against the plainest way to count: every subset, every t from scratch.
 * Must not know how lib/core/randomisation.c enumerates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "lib/core/draw.h"
#include "lib/core/stats.h"

#define SEED 11u

static double variance(const double *x, size_t n, double floor)
{
	return pow(fmax(stats_sd(x, n), floor), 2) / (double)n;
}

static double welch_t(const double *a, size_t na, const double *b, size_t nb, double floor)
{
	return (stats_mean(a, na) - stats_mean(b, nb)) / sqrt(variance(a, na, floor) + variance(b, nb, floor));
}

static uint64_t count(const double *pool, size_t n, size_t na, double floor, uint64_t *ret_all)
{
	double observed = welch_t(pool, na, pool + na, n - na, floor);
	uint64_t hits = 0;
	*ret_all = 0;
	for (uint32_t set = 0; set < 1u << n; set++) {
		double a[16], b[16];
		size_t k = 0, m = 0;
		if ((size_t)__builtin_popcount(set) != na)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (set >> i & 1)
				a[k++] = pool[i];
			else
				b[m++] = pool[i];
		}
		hits += welch_t(a, k, b, m, floor) <= observed + 1e-9 * fmax(1, fabs(observed));
		++*ret_all;
	}
	return hits;
}

/* Groups of unlike sizes and spreads, far apart and on top of each other, with a floor that binds and without. */
static void test_every_subset(void **state)
{
	(void)state;
	static const struct {
		size_t na, nb;
		double shift, sd_a, floor;
	} set[] = {{4, 7, -0.3, 1, 0}, {7, 4, 0.4, 3, 0}, {3, 8, -2, 0.2, 0.5}, {5, 5, 0, 1, 0.9},
		   {2, 9, 1, 4, 0},    {9, 2, -1, 1, 2},  {4, 6, -50, 1, 0},    {4, 6, 1e4, 1, 0.1}};
	for (size_t s = 0; s < sizeof(set) / sizeof(set[0]); s++) {
		struct draw d = draw_start(SEED, s);
		for (int i = 0; i < 20; i++) {
			double pool[16], p;
			uint64_t all, assignments;
			struct err e = {0};
			for (size_t k = 0; k < set[s].na + set[s].nb; k++)
				pool[k] = draw_normal(&d) * (k < set[s].na ? set[s].sd_a : 1) +
					  (k < set[s].na ? set[s].shift : 0);
			uint64_t hits = count(pool, set[s].na + set[s].nb, set[s].na, set[s].floor, &all);
			assert_int_equal(stats_randomisation(pool, set[s].na, pool + set[s].na, set[s].nb, set[s].floor,
							     1, &p, &assignments, &e),
					 0);
			assert_int_equal(assignments, all);
			if (fabs(p - (double)hits / (double)all) > 1e-12)
				fail_msg("set %zu, round %d: p = %.6f, counted %.6f", s, i, p,
					 (double)hits / (double)all);
		}
	}
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_subset)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
