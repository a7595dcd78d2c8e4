// SPDX-License-Identifier: Apache-2.0
/* Owns the usual judges, to compare ours with.
 * Must not know how fleets are simulated. */
#include "usual.h"

#include <math.h>

#include "lib/core/stats.h"

#define CONFIDENCE 0.98
#define TOLERANCE  0.25
#define POOL_ALPHA 0.05

/* The k-th smallest (from 0): C. A. R. Hoare, "Algorithm 65: find", CACM 4 (1961). Orders x on the way. */
static double find(double *x, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;
	while (lo < hi) {
		double pivot = x[k];
		size_t i = lo, j = hi;
		for (;;) {
			while (x[i] < pivot)
				i++;
			while (pivot < x[j])
				j--;
			if (i <= j) {
				double swapped = x[i];
				x[i] = x[j];
				x[j] = swapped;
				i++;
				if (j == 0)
					break;
				j--;
			}
			if (i > j)
				break;
		}
		if (j < k)
			lo = i;
		if (k < i)
			hi = j;
	}
	return x[k];
}

bool usual_mann_whitney(const double *canary, size_t n, const double *control, size_t m)
{
	static double difference[USUAL_MINUTES_MAX * USUAL_MINUTES_MAX];
	size_t pairs = n * m;
	if (n < 2 || m < 2)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			difference[i * m + j] = canary[i] - control[j];
	double z = stats_normal_quantile(0.5 + CONFIDENCE / 2);
	double rank = (double)pairs / 2 - z * sqrt((double)n * (double)m * (double)(n + m + 1) / 12);
	/* So few values that no bound exists. */
	if (rank < 1)
		return false;
	double lower = find(difference, pairs, (size_t)rank - 1);
	/* The estimate is not below its lower bound, so that this alone settles most passes. */
	if (lower <= 0)
		return false;
	return lower > TOLERANCE * fabs(find(difference, pairs, pairs / 2));
}

bool usual_pooled(uint64_t canary_slow, uint64_t canary_all, uint64_t control_slow, uint64_t control_all)
{
	double n = (double)canary_all, m = (double)control_all;
	double share = (double)(canary_slow + control_slow) / (n + m);
	double se = sqrt(share * (1 - share) * (1 / n + 1 / m));
	double difference = (double)canary_slow / n - (double)control_slow / m;
	return difference > stats_normal_quantile(1 - POOL_ALPHA) * se;
}

bool usual_threshold(double canary_p99, double control_p99, double limit)
{
	return canary_p99 > limit * control_p99;
}
