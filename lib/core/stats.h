// SPDX-License-Identifier: Apache-2.0
/* Owns the statistics that the judge stands on: t and normal distributions, Welch's comparison, the studentised
 * randomisation test. Must not know endpoints, hosts or verdicts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define STATS_GROUP_MAX 10000 /* values in one group */

/* P(T <= t) of Student's t by the incomplete beta function's continued fraction (Abramowitz and Stegun 26.7.1, 26.5.8);
 * NaN where nu is not above 0. Tails keep their relative accuracy below 0. */
double stats_t_cdf(double t, double nu);
/* Quantile of Student's t; 0 < p < 1, nu > 0 (infinite: the normal). NaN outside. Accurate to 1e-10 relative
 * (Newton's steps on stats_t_cdf's two parts; beyond nu = 1e5 Cornish and Fisher's expansion, 26.7.5). */
double stats_t_quantile(double p, double nu);
double stats_normal_cdf(double z);      /* by erfc */
double stats_normal_quantile(double p); /* Newton's steps on erfc; NaN unless 0 < p < 1 */

double stats_mean(const double *x, size_t n);
double stats_sd(const double *x, size_t n); /* n - 1 below; NaN for n < 2 */

/* Welch's comparison of two samples (Biometrika 34, 1947) with their standard deviations floored (max(sample, floor)):
 * se^2 = sd_a^2 / na + sd_b^2 / nb, nu = se^4 / ((sd_a^2/na)^2 / (na-1) + (sd_b^2/nb)^2 / (nb-1)). -EINVAL for fewer
 * than 2 or more than STATS_GROUP_MAX values or one that is not finite; -EDOM where floor and spread are both 0. */
struct stats_welch {
	double delta; /* mean a - mean b */
	double se;
	double nu;
	double sd_a, sd_b; /* after the floor */
	_Bool floored_a, floored_b;
};
int must_check stats_welch(const double *a, size_t na, const double *b, size_t nb, double sd_floor,
			   struct stats_welch *ret, struct err *e);

/* -EINVAL and what is wrong for groups or a floor that stats_welch refuses. */
int must_check stats_check_groups(const double *a, size_t na, const double *b, size_t nb, double sd_floor,
				  struct err *e);

/* Analysis of covariance (R. A. Fisher, "Statistical Methods for Research Workers", 4th edition, 1932): how much of
 * what hosts are apart after the change was so before. theta = Cov(post, pre) / Var(pre), both within the groups; 1
 * where pre has no spread, which makes post - theta pre the plain difference. */
struct stats_slope {
	double theta;
	double pre_difference; /* mean of a's pre - mean of b's */
	double pre_se;         /* its standard error, by Welch, without a floor */
	double pre_square;     /* sum of squares of pre within the groups */
};
struct stats_slope stats_slope(const double *pre_a, const double *post_a, size_t na, const double *pre_b,
			       const double *post_b, size_t nb);
/* What the slope's own uncertainty adds to Welch's comparison of post - theta pre: se^2 becomes (n - 2) / (n - 3) (se^2
 * + s^2 pre_difference^2 / pre_square), s^2 pooled, and one degree of freedom is lost. For 4 values and more. */
void stats_slope_widen(const struct stats_slope *s, size_t na, size_t nb, struct stats_welch *w);

/* One-sided studentised randomisation test of mean a < mean b: the share of assignments of the pooled values to the
 * two groups whose Welch t (same floor) is at most the observed one. Every assignment where there are at most
 * 200,000, otherwise 20,000 drawn by a generator seeded with seed and the observed one, 20,001 together; fewer, but
 * not below 2,000, for na above 500. Ties count as at most. Independent of the order of the values. Errors as
 * stats_welch, and -ENOMEM. */
int must_check stats_randomisation(const double *a, size_t na, const double *b, size_t nb, double sd_floor,
				   uint64_t seed, double *ret_p, uint64_t *ret_assignments, struct err *e);
/* The smallest p that na against nb can reach: 1 / C(na + nb, na), or 1 / 20,001 where assignments are drawn (1 over as
 * many as there are for na above 500). */
double stats_randomisation_min_p(size_t na, size_t nb);
