// SPDX-License-Identifier: Apache-2.0
/* Owns the boundaries' formulas and the search for the constants in them.
 * Must not know hosts, plans or verdicts. */
#include "bounds.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "special.h"

#define ALPHA_OPT 0.05 /* that a mixture is tuned for, whatever alpha it is then asked for */

static bool is_alpha(double alpha)
{
	return alpha > 0 && alpha < 1;
}

/* The mixture's variance that makes the boundary about tightest at v (the paper's (3.6), one step of its fixed point).
 */
static double best_rho(double v, double alpha)
{
	double l = 2 * log(1 / alpha);
	return v / (l + log1p(l));
}

double bounds_normal_mixture(double v, double alpha, double v_opt)
{
	if (!(v > 0) || !(v_opt > 0) || !is_alpha(alpha))
		return NAN;
	double rho = best_rho(v_opt, ALPHA_OPT);
	return sqrt((v + rho) * (log1p(v / rho) - 2 * log(alpha)));
}

/* Of the mixture of sub-binomial supermartingales over a truncated beta distribution, as a function of the sum s. */
struct beta_mixture {
	double v, g, h, r, normalizer, x;
};

static double ln_beta_mixture(const struct beta_mixture *m, double s)
{
	double gh = m->g + m->h;
	double below = (m->v - m->g * s) / (m->g * gh), above = (m->v + m->h * s) / (m->h * gh);
	double a = m->r / (m->g * gh) + below, b = m->r / (m->h * gh) + above;
	return m->v / (m->g * m->h) * log(gh) - above * log(m->g) - below * log(m->h) +
	       special_ln_beta_inc(m->x, a, b) + special_ln_beta(a, b) - m->normalizer;
}

double bounds_beta_binomial(double v, double alpha, double v_opt, double g, double h)
{
	if (!(v > 0) || !(v_opt > 0) || !(g > 0) || !(h > 0) || !is_alpha(alpha))
		return NAN;
	/* One-sided: half of the two-sided mixture's error is spent. */
	double r = fmax(best_rho(v_opt, 2 * ALPHA_OPT) - g * h, 1e-3 * g * h);
	struct beta_mixture m = {.v = v, .g = g, .h = h, .r = r, .x = h / (g + h)};
	double a = r / (g * (g + h)), b = r / (h * (g + h));
	m.normalizer = special_ln_beta_inc(m.x, a, b) + special_ln_beta(a, b);
	/* No sum is above v / g; the mixture rises with s. */
	double lo = 0, hi = v / g, want = -log(alpha);
	if (ln_beta_mixture(&m, hi) < want)
		return hi;
	for (int i = 0; i < 200 && hi - lo > 1e-14 * hi; i++) {
		double s = (lo + hi) / 2;
		if (ln_beta_mixture(&m, s) < want)
			lo = s;
		else
			hi = s;
	}
	return (lo + hi) / 2;
}

double bounds_double_stitching(double p, double t, double alpha, double t_opt)
{
	const double delta = 0.5, s = 1.4, eta = 2;
	if (!(p > 0 && p < 1) || !(t >= 1) || !(t_opt >= 1) || !is_alpha(alpha))
		return NAN;
	double epochs = fmax(t, t_opt) / t_opt, t_max = fmax(t, t_opt);
	double odds = log(p / (1 - p));
	double r = p >= 0.5 ? p : fmin(0.5, 1 / (1 + exp(-odds - 2 * delta * sqrt(eta / epochs))));
	double variance = r * (1 - r), zeta = special_zeta(s);
	double j = sqrt(epochs) * fabs(odds) / (2 * delta) + 1;
	double l =
	    s * log(log(eta * epochs)) + s * log(j) + log(2 * zeta * (2 * zeta + 1)) - log(alpha) - s * log(log(eta));
	double k1 = (pow(eta, 0.25) + pow(eta, -0.25)) / M_SQRT2, k2 = (sqrt(eta) + 1) / 2;
	double skew = k2 * (1 - 2 * p) / 3 * l;
	return delta * sqrt(eta * epochs * variance) + sqrt(k1 * k1 * variance * t_max * l + skew * skew) + skew;
}

/* ---- the law of the iterated logarithm ---- */

/* ln of the crossing probability's bound for a constant c and epochs that grow by eta; infinite where it says nothing.
 */
static double ln_lil_error(double a, double c, double eta)
{
	double root = a - sqrt(2 * (eta - 1) / c);
	double gamma2 = 2 / eta * root * root;
	if (!(root > 0) || gamma2 <= 1)
		return INFINITY;
	return log(4) - gamma2 * c + log1p(1 / ((gamma2 - 1) * log(eta)));
}

/* The best eta lies where the bound says something, an interval that begins at 1: golden sections (Kiefer, 1953). */
static double least_lil_error(double a, double c)
{
	const double golden = 0.6180339887498949;
	double lo = 1, hi = 2 * a * a;
	for (int i = 0; i < 100; i++) {
		double mid = (lo + hi) / 2;
		if (sqrt(mid / 2) + sqrt(2 * (mid - 1) / c) < a)
			lo = mid;
		else
			hi = mid;
	}
	double from = 1, to = lo;
	double x = to - golden * (to - from), y = from + golden * (to - from);
	double fx = ln_lil_error(a, c, x), fy = ln_lil_error(a, c, y);
	for (int i = 0; i < 100; i++) {
		if (fx < fy || (isinf(fx) && isinf(fy))) {
			to = y;
			y = x;
			fy = fx;
			x = to - golden * (to - from);
			fx = ln_lil_error(a, c, x);
		} else {
			from = x;
			x = y;
			fx = fy;
			y = from + golden * (to - from);
			fy = ln_lil_error(a, c, y);
		}
	}
	return fmin(fx, fy);
}

double bounds_lil(double t, double alpha, double t_min, double a)
{
	if (!(t > 0) || !(t_min >= 1) || !(a > M_SQRT1_2) || !isfinite(a) || !is_alpha(alpha))
		return NAN;
	if (t < t_min)
		return INFINITY;
	double lo = 1e-3, hi = 1;
	while (least_lil_error(a, hi) > log(alpha)) {
		lo = hi;
		hi *= 2;
		if (hi > 1e9)
			return NAN;
	}
	for (int i = 0; i < 100; i++) {
		double c = (lo + hi) / 2;
		if (least_lil_error(a, c) > log(alpha))
			lo = c;
		else
			hi = c;
	}
	return a * sqrt((log1p(log(t / t_min)) + hi) / t);
}

/* ---- quantiles of one histogram ---- */

double bounds_rank(enum bounds_quantile kind, double p, double t, double alpha)
{
	if (!(p > 0 && p < 1) || !(t >= 1) || !is_alpha(alpha))
		return NAN;
	switch (kind) {
	case BOUNDS_FIXED_P: {
		/* ln ln(2.1 t) is below 0 for t = 1 only, and then ln(10 / alpha) is larger. */
		double l = (1.4 * log(log(2.1 * t)) + log(10 / alpha)) / t;
		return 1.5 * sqrt(p * (1 - p) * l) + 0.8 * l;
	}
	case BOUNDS_ALL_P:
		return 0.85 * sqrt((log(1 + log(t)) + 0.8 * log(1612 / alpha)) / t);
	case BOUNDS_DKW:
		/* Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 18, 1990). */
		return sqrt(log(2 / alpha) / (2 * t));
	}
	return NAN;
}

/* The lower edge of the bucket of rank k (from 1), or its upper edge; the extremes are known exactly. */
static double edge(const struct hist *h, double k, bool upper)
{
	if (k < 1)
		return 0;
	if (k > (double)h->count)
		return INFINITY;
	double seen = (double)h->under;
	if (k <= seen)
		return upper ? HIST_MIN_NS : fmin((double)h->min_ns, HIST_MIN_NS);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += (double)h->bucket[i];
		if (k <= seen)
			return upper ? fmin((double)hist_lower_ns(i + 1), (double)h->max_ns)
				     : fmax((double)hist_lower_ns(i), (double)h->min_ns);
	}
	return upper ? (double)h->max_ns : (double)HIST_MAX_NS;
}

int bounds_of_quantile(const struct hist *h, enum bounds_quantile kind, double p, double alpha,
		       struct bounds_interval *ret, struct err *e)
{
	if (!(p > 0 && p < 1) || !is_alpha(alpha))
		return err_set(e, EINVAL, "quantile %g at alpha %g: both must lie between 0 and 1", p, alpha);
	if (h->count == 0)
		return err_set(e, ENODATA, "quantile %g of an empty histogram: nothing was measured", p);
	double n = (double)h->count, f = bounds_rank(kind, p, n, alpha);
	struct bounds_interval b = {.p_lower = fmax(0, p - f), .p_upper = fmin(1, p + f)};
	/* Q(x) is the value of rank ceil(x n) from below and floor(x n) + 1 from above; beyond either end nothing is
	 * known. */
	b.lower_ns = p - f <= 0 ? 0 : edge(h, ceil(b.p_lower * n), false);
	b.upper_ns = p + f >= 1 ? INFINITY : edge(h, floor(b.p_upper * n) + 1, true);
	*ret = b;
	return 0;
}
