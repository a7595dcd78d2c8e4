// SPDX-License-Identifier: Apache-2.0
/* Owns the distributions and the two comparisons that the judge stands on: Welch's bounds and the randomisation test.
 * Must not know endpoints, hosts, margins or verdicts. */
#include "stats.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENUMERATED_MAX 200000u /* assignments that are all tried */
#define DRAWN          20000u  /* assignments that are drawn where there are more */

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

/* The continued fraction of the incomplete beta function I_x(a, b), without its factor x^a (1-x)^b / (a B(a, b)):
 * Abramowitz and Stegun 26.5.8 (NIST DLMF 8.17.22), summed by Lentz's method. For x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = DBL_MIN * 1e16;
	double d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double c = 1, f = d;
	for (int m = 1; m <= 20000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change = 1;
		for (int half = 0; half < 2; half++) {
			double k = half ? odd : even;
			d = 1 + k * d;
			c = 1 + k / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			change = c * d;
			f *= change;
		}
		if (fabs(change - 1) < DBL_EPSILON)
			break;
	}
	return f;
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
		*ret_tail = 0.5 * front / a * beta_fraction(x, a, 0.5);
		*ret_centre = 0.5 - *ret_tail;
	} else {
		*ret_centre = front * beta_fraction(y * y, 0.5, a);
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

static int check_samples(const double *a, size_t na, const double *b, size_t nb, double sd_floor, struct err *e)
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
	int r = check_samples(a, na, b, nb, sd_floor, e);
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

/* ---- randomisation ---- */

/* C(n, k), or limit + 1 where it is larger. */
static uint64_t choose_up_to(size_t n, size_t k, uint64_t limit)
{
	uint64_t c = 1;
	if (k > n - k)
		k = n - k;
	for (size_t i = 1; i <= k; i++) {
		/* Exact: c is C(n - k + i - 1, i - 1) here; below 2^18 * 2^10 before the division. */
		c = c * (n - k + i) / i;
		if (c > limit)
			return limit + 1;
	}
	return c;
}

double stats_randomisation_min_p(size_t na, size_t nb)
{
	uint64_t c = choose_up_to(na + nb, na, ENUMERATED_MAX);
	return c > ENUMERATED_MAX ? 1.0 / (DRAWN + 1) : 1.0 / (double)c;
}

struct pool {
	size_t n, na;
	double floor;
	double sum, square; /* of all values; the sum is what rounding left */
	/* What pool_t_of_sums would divide by, for b and for a: 1 / n, 1 / (n (n-1)), floor^2 / n. */
	double per_n[2], per_se2[2], floor_se2[2];
	double v[2 * STATS_GROUP_MAX];  /* first a, then b, each sorted, the mean of all taken off */
	bool in_a[2 * STATS_GROUP_MAX]; /* the assignment looked at */
};

/* Welch's t of the assignment in p->in_a. */
static double pool_t(const struct pool *p)
{
	double sum[2] = {0, 0}, square[2] = {0, 0};
	double n[2] = {(double)(p->n - p->na), (double)p->na};
	for (size_t i = 0; i < p->n; i++)
		sum[p->in_a[i]] += p->v[i];
	double mean[2] = {sum[0] / n[0], sum[1] / n[1]};
	for (size_t i = 0; i < p->n; i++) {
		double d = p->v[i] - mean[p->in_a[i]];
		square[p->in_a[i]] += d * d;
	}
	double se2 = 0, floor2 = p->floor * p->floor;
	for (int g = 0; g < 2; g++)
		se2 += fmax(square[g] / (n[g] - 1), floor2) / n[g];
	double difference = mean[1] - mean[0];
	if (se2 > 0)
		return difference / sqrt(se2);
	return difference < 0 ? -INFINITY : difference > 0 ? INFINITY : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorted, so that neither sums nor drawn assignments depend on the order that the values came in. */
static void pool_fill(struct pool *p, const double *a, size_t na, const double *b, size_t nb, double sd_floor)
{
	p->n = na + nb;
	p->na = na;
	p->floor = sd_floor;
	p->sum = p->square = 0;
	for (int g = 0; g < 2; g++) {
		double n = (double)(g ? na : nb);
		p->per_n[g] = 1 / n;
		p->per_se2[g] = 1 / (n * (n - 1));
		p->floor_se2[g] = sd_floor * sd_floor / n;
	}
	memcpy(p->v, a, na * sizeof(*a));
	memcpy(p->v + na, b, nb * sizeof(*b));
	qsort(p->v, na, sizeof(p->v[0]), by_value);
	qsort(p->v + na, nb, sizeof(p->v[0]), by_value);
	double mean = stats_mean(p->v, p->n);
	for (size_t i = 0; i < p->n; i++) {
		p->v[i] -= mean;
		p->in_a[i] = i < na;
		p->sum += p->v[i];
		p->square += p->v[i] * p->v[i];
	}
}

/* Assignments whose sums round differently are the same to the test: counting a tie makes p larger, never smaller. */
static bool as_extreme(double t, double observed)
{
	/* The first comparison is for an infinite t: no spread and no floor. */
	return t <= observed || t <= observed + 1e-9 * fmax(1, fabs(observed));
}

/* The same t from the sums of the assignment's first group alone, a few operations instead of two passes. Where most of
 * the digits cancel in a variance, the passes decide. */
static double pool_t_of_sums(const struct pool *p, double sum_a, double square_a)
{
	double sum[2] = {p->sum - sum_a, sum_a}, square[2] = {p->square - square_a, square_a};
	double se2 = 0;
	for (int g = 0; g < 2; g++) {
		double left = square[g] - sum[g] * sum[g] * p->per_n[g];
		if (!(left > 1e-4 * square[g]))
			return NAN;
		se2 += fmax(left * p->per_se2[g], p->floor_se2[g]);
	}
	return (sum[1] * p->per_n[1] - sum[0] * p->per_n[0]) / sqrt(se2);
}

static bool hit(struct pool *p, const size_t *pick, double sum_a, double square_a, double observed)
{
	double t = pool_t_of_sums(p, sum_a, square_a);
	if (isnan(t)) {
		memset(p->in_a, 0, p->n * sizeof(p->in_a[0]));
		for (size_t i = 0; i < p->na; i++)
			p->in_a[pick[i]] = true;
		t = pool_t(p);
	}
	return as_extreme(t, observed);
}

/* Every choice of na out of n, in lexicographic order. sum[i] and square[i] are those of the first i picks: between
 * neighbours in this order mostly the last pick alone differs. */
static uint64_t count_all(struct pool *p, double observed)
{
	size_t pick[2 * STATS_GROUP_MAX];
	double sum[2 * STATS_GROUP_MAX + 1] = {0}, square[2 * STATS_GROUP_MAX + 1] = {0};
	uint64_t hits = 0;
	for (size_t i = 0; i < p->na; i++)
		pick[i] = i;
	for (size_t from = 0;;) {
		for (size_t i = from; i < p->na; i++) {
			double v = p->v[pick[i]];
			sum[i + 1] = sum[i] + v;
			square[i + 1] = square[i] + v * v;
		}
		hits += hit(p, pick, sum[p->na], square[p->na], observed);
		/* The last pick that can still move moves up; those after it follow it closely. */
		size_t i = p->na;
		while (i > 0 && pick[i - 1] == p->n - p->na + i - 1)
			i--;
		if (i == 0)
			return hits;
		from = i - 1;
		pick[i - 1]++;
		for (; i < p->na; i++)
			pick[i] = pick[i - 1] + 1;
	}
}

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Uniform in [0, n): numbers past the last whole multiple of n are drawn again. */
static size_t draw_below(uint64_t *state, size_t n)
{
	uint64_t x, limit = UINT64_MAX - UINT64_MAX % n;
	do
		x = draw(state);
	while (x >= limit);
	return x % n;
}

static uint64_t count_drawn(struct pool *p, double observed, uint64_t seed)
{
	size_t order[2 * STATS_GROUP_MAX];
	for (size_t i = 0; i < p->n; i++)
		order[i] = i;
	uint64_t hits = 0;
	for (unsigned k = 0; k < DRAWN; k++) {
		double sum = 0, square = 0;
		/* The first na steps of a Fisher-Yates shuffle; any starting order will do. */
		for (size_t i = 0; i < p->na; i++) {
			size_t j = i + draw_below(&seed, p->n - i), swapped = order[i];
			order[i] = order[j];
			order[j] = swapped;
			sum += p->v[order[i]];
			square += p->v[order[i]] * p->v[order[i]];
		}
		hits += hit(p, order, sum, square, observed);
	}
	return hits;
}

/* Studentised, so that it stays valid for unequal variances: A. Janssen, "Studentized permutation tests for non-i.i.d.
 * hypotheses and the generalized Behrens-Fisher problem", Statistics and Probability Letters 36 (1997). (1 + hits) /
 * (1 + drawn): Phipson and Smyth (2010), "Permutation p-values should never be zero". */
int stats_randomisation(const double *a, size_t na, const double *b, size_t nb, double sd_floor, uint64_t seed,
			double *ret_p, uint64_t *ret_assignments, struct err *e)
{
	int r = check_samples(a, na, b, nb, sd_floor, e);
	if (r < 0)
		return r;
	struct pool p;
	pool_fill(&p, a, na, b, nb, sd_floor);
	double observed = pool_t(&p);
	uint64_t assignments = choose_up_to(na + nb, na, ENUMERATED_MAX), hits;
	if (assignments <= ENUMERATED_MAX) {
		hits = count_all(&p, observed);
	} else {
		assignments = DRAWN + 1;
		hits = 1 + count_drawn(&p, observed, seed);
	}
	*ret_p = (double)hits / (double)assignments;
	*ret_assignments = assignments;
	return 0;
}
