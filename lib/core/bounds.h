// SPDX-License-Identifier: Apache-2.0
/* Owns boundaries that hold at every look at once: of sums, of empirical distribution functions, of quantiles in one
 * histogram. Must not know hosts, plans or verdicts. */
#pragma once

#include "hist.h"

/* Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
 * Statistics 49 (2021), and Howard and Ramdas, "Sequential estimation of quantiles with applications to A/B testing and
 * best-arm identification", Bernoulli 28 (2022). v: the sum's intrinsic variance; alpha: the probability that the
 * boundary is ever crossed; v_opt, t_opt: where it is tightest. Arguments out of range give NaN. */

/* Two-sided boundary of a sub-Gaussian sum. */
double bounds_normal_mixture(double v, double alpha, double v_opt);
/* One-sided boundary of a sum of steps within [-g, h] (sub-binomial). */
double bounds_beta_binomial(double v, double alpha, double v_opt, double g, double h);
/* t (F_t - p) at the p-quantile, for every p and t at once, tightest near p = 1/2; delta 1/2, s 1.4, eta 2. */
double bounds_double_stitching(double p, double t, double alpha, double t_opt);
/* sup |F_t - F| for all t >= t_min: a sqrt((ln(1 + ln(t / t_min)) + C) / t), C the least that alpha allows; infinite
 * below t_min. a above sqrt(1/2). */
double bounds_lil(double t, double alpha, double t_min, double a);

/* Within one host: how far the p-quantile of what was sampled can be from the true one, as if operations were
 * independent. They are not: this guards against reading too much out of few operations, and promotes nothing. */
enum bounds_quantile {
	BOUNDS_FIXED_P, /* one p, any time: f = 1.5 sqrt(p (1-p) l) + .8 l, l = (1.4 ln ln(2.1 t) + ln(10 / alpha)) / t
			 */
	BOUNDS_ALL_P,   /* all p, any time: .85 sqrt((ln ln(e t) + .8 ln(1612 / alpha)) / t) */
	BOUNDS_DKW,     /* all p, one look: sqrt(ln(2 / alpha) / 2t) */
};

/* How much below and above p the ranks can lie after t operations; NaN for arguments out of range. */
double bounds_rank(enum bounds_quantile kind, double p, double t, double alpha);

/* From the histogram: the whole bucket counts, so that what it hides widens the interval. upper_ns is infinite, or
 * lower_ns 0, where the histogram does not reach far enough. -ENODATA for an empty histogram, -EINVAL for p or alpha.
 */
struct bounds_interval {
	double p_lower, p_upper; /* ranks between 0 and 1 */
	double lower_ns, upper_ns;
};
int must_check bounds_of_quantile(const struct hist *h, enum bounds_quantile kind, double p, double alpha,
				  struct bounds_interval *ret, struct err *e);
