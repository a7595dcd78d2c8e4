// SPDX-License-Identifier: Apache-2.0
/* Owns the distributions, Welch's comparison and the slope that baselines are taken off with.
 * Must not know endpoints, hosts, margins or verdicts. */
#include "stats.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "special.h"

/* ---- normal ---- */

double stats_normal_cdf(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

static double normal_density(double z)
{
	return exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

/* z with upper tail q, 0 < q <= 1/2. Start: Abramowitz and Stegun 26.2.23 (error below 4.5e-4); then Newton steps, on
 * the logarithm of the tail where that is small, so that the last digits come from erfc and erf alone. */
static double normal_upper(double q)
{
	double t = sqrt(-2 * log(q));
	double z =
	    t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
	double centre = 0.5 - q;
	for (int i = 0; i < 6; i++) {
		double density = normal_density(z);
		if (q > 0.25) {
			z -= (0.5 * erf(z * M_SQRT1_2) - centre) / density;
			continue;
		}
		double tail = 0.5 * erfc(z * M_SQRT1_2);
		if (!(tail > 0) || !(density > 0))
			break;
		z += log(tail / q) * tail / density;
	}
	return z;
}

double stats_normal_quantile(double p)
{
	if (!(p > 0 && p < 1))
		return NAN;
	return p < 0.5 ? -normal_upper(p) : normal_upper(1 - p);
}

/* ---- Student's t ---- */

/* Gamma(a + 1/2) / Gamma(a): the recurrence up to a >= 32, there the asymptotic series of its logarithm (from
 * Stirling's series, Abramowitz and Stegun 6.1.41). A difference of two lgamma() loses ten digits at large a. */
static double gamma_ratio(double a)
{
	double product = 1;
	for (; a < 32; a++)
		product *= a / (a + 0.5);
	double r = 1 / a, r2 = r * r;
	double ln = 0.5 * log(a) - r * (1.0 / 8 - r2 * (1.0 / 192 - r2 * (1.0 / 640 - r2 * (17.0 / 14336))));
	return product * exp(ln);
}

/* ln(1 + t^2 / nu) for t up to DBL_MAX. */
static double ln1p_t2(double t, double nu)
{
	return t > 1e100 ? 2 * log(t) - log(nu) : log1p(t * t / nu);
}

static double t_density(double t, double nu)
{
	return gamma_ratio(nu / 2) / sqrt(nu * M_PI) * exp(-(nu + 1) / 2 * ln1p_t2(t, nu));
}

/* For t >= 0: the tail above t, and the probability between 0 and t. Each is computed where it is not the difference
 * of two larger numbers: 2 tail = I_x(nu/2, 1/2), 2 centre = I_(1-x)(1/2, nu/2), x = nu / (nu + t^2) (Abramowitz and
 * Stegun 26.7.1). */
static void t_parts(double t, double nu, double *ret_tail, double *ret_centre)
{
	double root = hypot(t, sqrt(nu)), a = nu / 2;
	double x = sqrt(nu) / root, y = t / root;
	x *= x;
	/* x^a y / B(a, 1/2), y = sqrt(1 - x) */
	double front = exp(-a * ln1p_t2(t, nu)) * y * gamma_ratio(a) / sqrt(M_PI);
	if (x < (a + 1) / (a + 2.5)) {
		*ret_tail = 0.5 * front / a * special_beta_fraction(x, a, 0.5);
		*ret_centre = 0.5 - *ret_tail;
	} else {
		*ret_centre = front * special_beta_fraction(y * y, 0.5, a);
		*ret_tail = 0.5 - *ret_centre;
	}
}

/* From here on three terms of the expansions in 1/nu are better than the fraction, which loses digits as x nears 1. */
#define NU_LARGE 1e5

/* Beyond this the expansions no longer converge at NU_LARGE; the tail there is below 1e-80. */
#define T_NEAR 20

/* The z with the same tail as t: the series of Abramowitz and Stegun 26.7.5 turned round. */
static double normal_of_t(double t, double nu)
{
	double t2 = t * t, r = 1 / nu;
	double first = (t2 + 1) / 4;
	double second = ((13 * t2 + 8) * t2 + 3) / 96;
	double third = (((35 * t2 + 19) * t2 + 1) * t2 - 15) / 384;
	return t - t * r * (first - r * (second - r * third));
}

/* Cornish and Fisher: Abramowitz and Stegun 26.7.5. */
static double t_of_normal(double z, double nu)
{
	double z2 = z * z, r = 1 / nu;
	double first = (z2 + 1) / 4;
	double second = ((5 * z2 + 16) * z2 + 3) / 96;
	double third = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
	return z + z * r * (first + r * (second + r * third));
}

double stats_t_cdf(double t, double nu)
{
	if (!(nu > 0) || isnan(t))
		return NAN;
	if (isinf(t))
		return t > 0;
	if (nu > NU_LARGE)
		return stats_normal_cdf(fabs(t) < T_NEAR ? normal_of_t(t, nu) : t);
	double tail, centre;
	t_parts(fabs(t), nu, &tail, &centre);
	if (t == 0)
		return 0.5;
	return t < 0 ? tail : centre < tail ? 0.5 + centre : 1 - tail;
}

/* t with upper tail q, 0 < q < 1/2, nu <= NU_LARGE: Newton on ln(tail) (or ln(centre) near the middle) over s = ln t,
 * where both are close to straight, inside a bracket that bisection shrinks whenever Newton leaves it. */
static double t_upper(double q, double nu)
{
	bool middle = q > 0.25;
	double want = middle ? 0.5 - q : q;
	double lo = log(DBL_MIN), hi = log(DBL_MAX);
	double s = log(normal_upper(q));
	for (int i = 0; i < 300; i++) {
		double t = exp(s), tail, centre;
		t_parts(t, nu, &tail, &centre);
		double have = middle ? centre : tail;
		bool too_far = middle ? have > want : have < want;
		if (too_far)
			hi = s;
		else
			lo = s;
		double slope = t_density(t, nu) * t / have;
		double step = (middle ? -1 : 1) * log(have / want) / slope;
		double next = s + step;
		/* Newton's step may leave the bracket or be no number in the far tail. */
		if (!(next > lo && next < hi))
			next = (lo + hi) / 2;
		if (fabs(next - s) < 1e-15 * fmax(1, fabs(s)) || hi - lo < 1e-15)
			return exp(next);
		s = next;
	}
	return exp(s);
}

double stats_t_quantile(double p, double nu)
{
	if (!(p > 0 && p < 1) || !(nu > 0))
		return NAN;
	if (p == 0.5)
		return 0;
	double q = p < 0.5 ? p : 1 - p, t;
	if (nu > NU_LARGE)
		t = t_of_normal(normal_upper(q), nu);
	else
		t = t_upper(q, nu);
	return p < 0.5 ? -t : t;
}

/* ---- samples ---- */

double stats_mean(const double *x, size_t n)
{
	if (n == 0)
		return NAN;
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

double stats_sd(const double *x, size_t n)
{
	if (n < 2)
		return NAN;
	double mean = stats_mean(x, n), sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum / (double)(n - 1));
}

int stats_check_groups(const double *a, size_t na, const double *b, size_t nb, double sd_floor, struct err *e)
{
	if (na < 2 || nb < 2)
		return err_set(e, EINVAL, "%zu and %zu values: each group needs at least 2, or its spread is not known",
			       na, nb);
	if (na > STATS_GROUP_MAX || nb > STATS_GROUP_MAX)
		return err_set(e, EINVAL, "%zu and %zu values: a group has at most %d", na, nb, STATS_GROUP_MAX);
	if (!(sd_floor >= 0) || !isfinite(sd_floor))
		return err_set(e, EINVAL, "floor of the standard deviation %g: must be 0 or more", sd_floor);
	for (size_t i = 0; i < na + nb; i++) {
		double v = i < na ? a[i] : b[i - na];
		if (!isfinite(v))
			return err_set(e, EINVAL, "value %zu of the %s group is %g: not a number to compute with",
				       i < na ? i : i - na, i < na ? "first" : "second", v);
	}
	return 0;
}

/* B. L. Welch, "The generalization of Student's problem when several different population variances are involved",
 * Biometrika 34 (1947); degrees of freedom after Satterthwaite (1946). */
int stats_welch(const double *a, size_t na, const double *b, size_t nb, double sd_floor, struct stats_welch *ret,
		struct err *e)
{
	int r = stats_check_groups(a, na, b, nb, sd_floor, e);
	if (r < 0)
		return r;
	struct stats_welch w = {.sd_a = stats_sd(a, na), .sd_b = stats_sd(b, nb)};
	w.floored_a = w.sd_a < sd_floor;
	w.floored_b = w.sd_b < sd_floor;
	w.sd_a = fmax(w.sd_a, sd_floor);
	w.sd_b = fmax(w.sd_b, sd_floor);
	double va = w.sd_a * w.sd_a / (double)na, vb = w.sd_b * w.sd_b / (double)nb;
	if (!(va + vb > 0) || !isfinite(va + vb))
		return err_set(e, EDOM,
			       "both groups have no spread (or an immense one) and the floor is %g: give a floor",
			       sd_floor);
	w.delta = stats_mean(a, na) - stats_mean(b, nb);
	w.se = sqrt(va + vb);
	/* By shares: the fourth powers themselves could underflow. */
	double share = va / (va + vb);
	w.nu = 1 / (share * share / (double)(na - 1) + (1 - share) * (1 - share) / (double)(nb - 1));
	*ret = w;
	return 0;
}

/* ---- covariance ---- */

struct stats_slope stats_slope(const double *pre_a, const double *post_a, size_t na, const double *pre_b,
			       const double *post_b, size_t nb)
{
	struct stats_slope s = {.theta = 1};
	double product = 0, mean[2], variance[2];
	for (int g = 0; g < 2; g++) {
		const double *pre = g ? pre_b : pre_a, *post = g ? post_b : post_a;
		size_t n = g ? nb : na;
		double square = 0, mean_post = stats_mean(post, n);
		mean[g] = stats_mean(pre, n);
		for (size_t i = 0; i < n; i++) {
			square += (pre[i] - mean[g]) * (pre[i] - mean[g]);
			product += (pre[i] - mean[g]) * (post[i] - mean_post);
		}
		s.pre_square += square;
		variance[g] = square / (double)(n - 1) / (double)n;
	}
	s.pre_difference = mean[0] - mean[1];
	s.pre_se = sqrt(variance[0] + variance[1]);
	/* Below this it is what rounding leaves of equal values. */
	if (s.pre_square > 1e-18 * (double)(na + nb))
		s.theta = product / s.pre_square;
	return s;
}

void stats_slope_widen(const struct stats_slope *s, size_t na, size_t nb, struct stats_welch *w)
{
	double da = (double)(na - 1), db = (double)(nb - 1);
	double pooled = (da * w->sd_a * w->sd_a + db * w->sd_b * w->sd_b) / (da + db);
	/* The slope was chosen to make what is left small. */
	double lost = (da + db) / (da + db - 1);
	double moved = s->pre_square > 0 ? s->pre_difference * s->pre_difference / s->pre_square : 0;
	w->se = sqrt(lost * (w->se * w->se + pooled * moved));
	w->nu = fmax(1, w->nu - 1);
}
