// SPDX-License-Identifier: Apache-2.0
/* Owns the special functions: each by a series where that converges fast, by a continued fraction elsewhere.
 * Must not know what is computed with them. */
#include "special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "stats.h"

#define TERMS_MAX 20000
#define TINY      (DBL_MIN * 1e16) /* what Lentz's method puts in the place of a zero */

static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* Summed by Lentz's method: W. J. Lentz, Applied Optics 15 (1976). */
double special_beta_fraction(double x, double a, double b)
{
	double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
	double c = 1, f = d;
	for (int m = 1; m <= TERMS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change = 1;
		for (int half = 0; half < 2; half++) {
			double k = half ? odd : even;
			d = 1 / not_zero(1 + k * d);
			c = not_zero(1 + k / c);
			change = c * d;
			f *= change;
		}
		if (fabs(change - 1) < DBL_EPSILON)
			break;
	}
	return f;
}

double special_ln_beta(double a, double b)
{
	return lgamma(a) + lgamma(b) - lgamma(a + b);
}

double special_ln_beta_inc(double x, double a, double b)
{
	if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1))
		return NAN;
	if (x == 0)
		return -INFINITY;
	if (x == 1)
		return 0;
	double front = a * log(x) + b * log1p(-x) - special_ln_beta(a, b);
	if (x < (a + 1) / (a + b + 2))
		return front - log(a) + log(special_beta_fraction(x, a, b));
	return log1p(-exp(front - log(b)) * special_beta_fraction(1 - x, b, a));
}

/* x^a e^-x / Gamma(a), in a form that does not lose its digits where x is close to a and both are large: there
 * a ln x - x - ln Gamma(a) is the small difference of large numbers. Stirling's series for Gamma (NIST DLMF 5.11.1). */
static double gamma_front(double a, double x)
{
	if (a < 20)
		return exp(a * log(x) - x - lgamma(a));
	double d = (x - a) / a, r = 1 / (a * a);
	/* a (ln(1+d) - d): by log1p, or by its series where d is small. */
	double excess = fabs(d) < 0.01 ? 0 : log1p(d) - d;
	if (excess == 0) {
		double power = d;
		for (int k = 2; k < 12; k++) {
			power *= -d;
			excess += power / k;
		}
	}
	double stirling = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r / 1680))) / a;
	return sqrt(a / (2 * M_PI)) * exp(a * excess - stirling);
}

/* P(a, x) by its series, for x < a + 1. */
static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;
	for (int n = 1; n <= TERMS_MAX && term > sum * DBL_EPSILON / 4; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * gamma_front(a, x);
}

/* Q(a, x) by its continued fraction, for x >= a + 1. */
static double gamma_fraction(double a, double x)
{
	double b = x + 1 - a;
	double c = 1 / TINY, d = 1 / not_zero(b), f = d;
	for (int n = 1; n <= TERMS_MAX; n++) {
		double k = n * (a - n);
		b += 2;
		d = 1 / not_zero(k * d + b);
		c = not_zero(b + k / c);
		f *= c * d;
		if (fabs(c * d - 1) < DBL_EPSILON)
			break;
	}
	return f * gamma_front(a, x);
}

double special_gamma_p(double a, double x)
{
	if (!(a > 0) || !(x >= 0))
		return NAN;
	if (x == 0)
		return 0;
	if (isinf(x))
		return 1;
	return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double special_gamma_q(double a, double x)
{
	if (!(a > 0) || !(x >= 0))
		return NAN;
	if (x == 0)
		return 1;
	if (isinf(x))
		return 0;
	return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* Euler and Maclaurin (NIST DLMF 25.2.9): the terms up to N, the integral of the rest, and its corrections. */
double special_zeta(double s)
{
	/* B_2k / (2k)! */
	static const double factor[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160};
	const int n = 20;
	double sum = 0;
	if (!(s > 1))
		return NAN;
	for (int k = n - 1; k >= 1; k--)
		sum += pow(k, -s);
	sum += pow(n, 1 - s) / (s - 1) + 0.5 * pow(n, -s);
	double rising = s * pow(n, -s - 1);
	for (size_t k = 0; k < sizeof(factor) / sizeof(factor[0]); k++) {
		sum += factor[k] * rising;
		rising *= (s + 2.0 * (double)k + 1) * (s + 2.0 * (double)k + 2) / (n * n);
	}
	return sum;
}

/* Newton on ln(tail) over ln x, on the tail that is smaller, inside a bracket that bisection shrinks. Start: Wilson and
 * Hilferty (Abramowitz and Stegun 26.4.17). */
double special_chi2_quantile(double p, double nu)
{
	if (!(p > 0 && p < 1) || !(nu > 0) || isinf(nu))
		return NAN;
	double a = nu / 2, h = 2 / (9 * nu);
	double start = 1 - h + stats_normal_quantile(p) * sqrt(h);
	bool lower = p < 0.5;
	double want = lower ? p : 1 - p;
	double lo = log(DBL_MIN), hi = log(DBL_MAX);
	double s = start > 0.05 ? log(a * start * start * start) : (log(p) + lgamma(a + 1)) / a;
	for (int i = 0; i < 300; i++) {
		double x = exp(s);
		double have = lower ? special_gamma_p(a, x) : special_gamma_q(a, x);
		if ((have < want) == lower)
			lo = s;
		else
			hi = s;
		/* d ln P / d ln x = x times the density over P; the density times x is gamma_front. */
		double step = log(want / have) * have / gamma_front(a, x);
		double next = s + (lower ? step : -step);
		if (!(next > lo && next < hi))
			next = (lo + hi) / 2;
		if (fabs(next - s) < 1e-15 * fmax(1, fabs(s)) || hi - lo < 1e-15)
			return 2 * exp(next);
		s = next;
	}
	return 2 * exp(s);
}
