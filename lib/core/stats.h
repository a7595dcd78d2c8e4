// SPDX-License-Identifier: Apache-2.0
/* Owns the statistics that the judge stands on: t and normal distributions, Welch's comparison, the studentised
 * randomisation test. Must not know endpoints, hosts or verdicts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

double stats_t_cdf(double t, double nu);
/* Quantile of Student's t; 0 < p < 1, nu > 0 (infinite: the normal). NaN outside. Accurate to 1e-10 relative. */
double stats_t_quantile(double p, double nu);
double stats_normal_cdf(double z);
double stats_normal_quantile(double p);

double stats_mean(const double *x, size_t n);
double stats_sd(const double *x, size_t n); /* n - 1 below; NaN for n < 2 */

/* Two samples with their standard deviations floored (max(sample, floor)). */
struct stats_welch {
	double delta; /* mean a - mean b */
	double se;
	double nu;         /* Welch-Satterthwaite */
	double sd_a, sd_b; /* after the floor */
	_Bool floored_a, floored_b;
};
int must_check stats_welch(const double *a, size_t na, const double *b, size_t nb, double sd_floor,
			   struct stats_welch *ret, struct err *e);

/* One-sided studentised randomisation test of mean a < mean b: the share of assignments of the pooled values to the
 * two groups whose Welch t (same floor) is at most the observed one. Every assignment where there are at most
 * 200,000, otherwise 20,000 drawn by a generator seeded with seed, the observed one counted in. */
int must_check stats_randomisation(const double *a, size_t na, const double *b, size_t nb, double sd_floor,
				   uint64_t seed, double *ret_p, uint64_t *ret_assignments, struct err *e);
/* The smallest p that na against nb can reach: 1 / C(na + nb, na). */
double stats_randomisation_min_p(size_t na, size_t nb);
