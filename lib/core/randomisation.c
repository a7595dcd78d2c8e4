// SPDX-License-Identifier: Apache-2.0
/* Owns the randomisation test: every assignment of the values to two groups where they are few, drawn ones elsewhere.
 * Must not know endpoints, hosts, margins or verdicts. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define ENUMERATED_MAX   200000u /* assignments that are all tried */
#define ENUMERATED_N_MAX 640u    /* C(n, 2) is above it from here on */

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

/* Assignments that are drawn where there are too many: fewer for groups so large that drawing them all the same would
 * take seconds. 1,999 still tell p = .05 to within .005. */
static uint64_t drawn(size_t na)
{
	if (na <= 500)
		return 20000;
	uint64_t n = 10000000 / na;
	return n < 1999 ? 1999 : n;
}

double stats_randomisation_min_p(size_t na, size_t nb)
{
	uint64_t c = choose_up_to(na + nb, na, ENUMERATED_MAX);
	return 1.0 / (double)(c > ENUMERATED_MAX ? drawn(na) + 1 : c);
}

struct pool {
	size_t n, na;
	double floor;
	double sum, square; /* of all values; the sum is what rounding left */
	/* What pool_t_of_sums would divide by, for b and for a: 1 / n, 1 / (n (n-1)), floor^2 / n. */
	double per_n[2], per_se2[2], floor_se2[2];
	double *v;     /* first a, then b, each sorted, the mean of all taken off */
	size_t *order; /* room for the drawn assignments */
	bool *in_a;    /* the assignment looked at */
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

static void pool_free(struct pool *p)
{
	free(p->v);
	free(p->order);
	free(p->in_a);
}

static int pool_alloc(struct pool *p, size_t n, struct err *e)
{
	p->v = calloc(n, sizeof(*p->v));
	p->order = calloc(n, sizeof(*p->order));
	p->in_a = calloc(n, sizeof(*p->in_a));
	return p->v && p->order && p->in_a ? 0 : err_sys(e, ENOMEM, "trying assignments of %zu values", n);
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
	size_t pick[ENUMERATED_N_MAX];
	double sum[ENUMERATED_N_MAX + 1] = {0}, square[ENUMERATED_N_MAX + 1] = {0};
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

static uint64_t count_drawn(struct pool *p, double observed, uint64_t draws, uint64_t seed)
{
	size_t *order = p->order;
	for (size_t i = 0; i < p->n; i++)
		order[i] = i;
	uint64_t hits = 0;
	for (uint64_t k = 0; k < draws; k++) {
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
	int r = stats_check_groups(a, na, b, nb, sd_floor, e);
	if (r < 0)
		return r;
	_cleanup_(pool_free) struct pool p = {0};
	if ((r = pool_alloc(&p, na + nb, e)) < 0)
		return r;
	pool_fill(&p, a, na, b, nb, sd_floor);
	double observed = pool_t(&p);
	uint64_t assignments = choose_up_to(na + nb, na, ENUMERATED_MAX), hits;
	if (assignments <= ENUMERATED_MAX) {
		hits = count_all(&p, observed);
	} else {
		assignments = drawn(na) + 1;
		hits = 1 + count_drawn(&p, observed, assignments - 1, seed);
	}
	*ret_p = (double)hits / (double)assignments;
	*ret_assignments = assignments;
	return 0;
}
