// SPDX-License-Identifier: Apache-2.0
/* Owns the arithmetic of planning: sizes and powers of the promotion bound.
 * Must not know recordings, files or how plans are written. */
#include "power.h"

#include <math.h>

#include "stats.h"

#define HOSTS_FAR 1e5
#define STEPS     400 /* of Simpson's rule over the chi distribution: errors below 1e-9 */

double power_difference_sd(const struct power_spread *s, uint32_t boots)
{
	if (boots == 0 || !(s->boot_sd >= 0) || !(s->host_sd >= 0))
		return NAN;
	return sqrt(s->host_sd * s->host_sd + 2 * s->boot_sd * s->boot_sd / boots);
}

static double room(double margin, double ratio)
{
	return log1p(margin) - log(ratio);
}

double power_hosts_normal(double difference_sd, double margin, double ratio, double alpha, double power)
{
	double l = room(margin, ratio);
	double z = stats_normal_quantile(1 - alpha) + stats_normal_quantile(power);
	if (!(difference_sd >= 0) || isnan(l) || isnan(z))
		return NAN;
	if (!(l > 0))
		return INFINITY;
	return fmax(2, ceil(2 * z * z * difference_sd * difference_sd / (l * l) - 1e-9));
}

/* P(T <= t) of the noncentral t distribution: the mean of Phi(t u - shift) over u = sqrt(chi^2 / nu), whose logarithm
 * is 2 (nu/2)^(nu/2) / Gamma(nu/2) u^(nu-1) e^(-nu u^2 / 2); by Simpson's rule over the part that holds all but 1e-12.
 */
static double noncentral_t_cdf(double t, double nu, double shift)
{
	double sd = 1 / sqrt(2 * nu);
	double lo = fmax(1e-9, 1 - 8 * sd), hi = 1 + 9 * sd;
	double ln_c = log(2) + nu / 2 * log(nu / 2) - lgamma(nu / 2);
	double h = (hi - lo) / STEPS, sum = 0;
	for (int i = 0; i <= STEPS; i++) {
		double u = lo + i * h;
		double density = exp(ln_c + (nu - 1) * log(u) - nu * u * u / 2);
		sum += (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * density * stats_normal_cdf(t * u - shift);
	}
	return fmin(1, fmax(0, sum * h / 3));
}

double power_promote(double difference_sd, double canaries, double controls, double margin, double ratio, double alpha)
{
	double l = room(margin, ratio);
	if (!(canaries >= 2) || !(controls >= 2))
		return 0;
	if (!(difference_sd > 0) || isnan(l))
		return NAN;
	double va = 1 / canaries, vb = 1 / controls, share = va / (va + vb);
	double nu = 1 / (share * share / (canaries - 1) + (1 - share) * (1 - share) / (controls - 1));
	double se = difference_sd * sqrt(va + vb);
	/* Promoted where (delta - l) / SE < -t: delta - l has the mean ln(ratio) - ln(1 + margin) = -l. */
	return noncentral_t_cdf(-stats_t_quantile(1 - alpha, nu), nu, -l / se);
}

double power_hosts(double difference_sd, double margin, double ratio, double alpha, double power, uint32_t least)
{
	double n = fmax(2, least), hi = n;
	if (!(difference_sd > 0) || !(power > 0 && power < 1) || !(alpha > 0 && alpha < 1) ||
	    isnan(room(margin, ratio)))
		return NAN;
	while (power_promote(difference_sd, hi, hi, margin, ratio, alpha) < power) {
		n = hi;
		hi *= 2;
		if (hi > HOSTS_FAR)
			return INFINITY;
	}
	if (hi <= fmax(2, least))
		return hi;
	/* The power rises with the hosts: n is too few, hi is enough. */
	while (hi - n > 1) {
		double mid = floor((n + hi) / 2);
		if (power_promote(difference_sd, mid, mid, margin, ratio, alpha) < power)
			n = mid;
		else
			hi = mid;
	}
	return hi;
}
