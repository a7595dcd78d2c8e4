// SPDX-License-Identifier: Apache-2.0
/* Owns the histogram's arithmetic: which bucket a value belongs to, exact merging, quantiles, self-consistency.
 * Must not know where values come from or how histograms are stored. */
#include "hist.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* HIST_MIN_NS is 1 << MIN_BIT; a bucket of octave o is 1 << (o + MIN_BIT - HIST_SUB_BITS) ns wide. */
#define MIN_BIT 6
_Static_assert(HIST_MIN_NS == 1u << MIN_BIT, "octaves start at a power of two");

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min_ns = UINT64_MAX;
}

unsigned hist_index(uint64_t ns)
{
	unsigned octave = 63u - (unsigned)__builtin_clzll(ns) - MIN_BIT;
	unsigned sub = (unsigned)(ns >> (octave + MIN_BIT - HIST_SUB_BITS)) & (HIST_SUB - 1);
	return octave * HIST_SUB + sub;
}

uint64_t hist_lower_ns(unsigned i)
{
	unsigned octave = i / HIST_SUB;
	uint64_t mantissa = HIST_SUB + i % HIST_SUB;
	return mantissa << (octave + MIN_BIT - HIST_SUB_BITS);
}

void hist_add(struct hist *h, uint64_t ns)
{
	if (ns < HIST_MIN_NS)
		h->under++;
	else if (ns >= HIST_MAX_NS)
		h->over++;
	else
		h->bucket[hist_index(ns)]++;
	h->count++;
	h->sum_ns = add_saturating(h->sum_ns, ns);
	if (ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->under += from->under;
	into->over += from->over;
	into->count += from->count;
	/* Saturating addition is associative for values >= 0, so the order of merges cannot show. */
	into->sum_ns = add_saturating(into->sum_ns, from->sum_ns);
	if (from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
}

/* ceil(p * count), with the product's rounding taken out: .07 * 100 is 7.000000000000001 in binary. */
static uint64_t rank_of(double p, uint64_t count)
{
	double rank = ceil(p * (double)count * (1 - 2 * DBL_EPSILON));
	if (rank < 1)
		return 1;
	return rank >= (double)count ? count : (uint64_t)rank;
}

int hist_quantile(const struct hist *h, double p, double *ret_ns, struct err *e)
{
	if (!(p > 0 && p < 1))
		return err_set(e, EINVAL, "quantile %g: must lie between 0 and 1, both excluded", p);
	if (h->count == 0)
		return err_set(e, ENODATA, "quantile %g of an empty histogram: nothing was measured", p);
	uint64_t rank = rank_of(p, h->count);
	if (rank <= h->under)
		return err_set(e, ERANGE,
			       "quantile %g lies below the histogram's range: %" PRIu64 " of %" PRIu64
			       " values are under %u ns",
			       p, h->under, h->count, HIST_MIN_NS);
	uint64_t before = h->under;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		uint64_t n = h->bucket[i];
		if (rank - before > n) {
			before += n;
			continue;
		}
		/* The k-th of n values stands in the middle of the k-th n-th of the bucket. */
		double lower = (double)hist_lower_ns(i);
		double width = (double)hist_lower_ns(i + 1) - lower;
		double ns = lower + width * (((double)(rank - before) - 0.5) / (double)n);
		*ret_ns = fmin(fmax(ns, (double)h->min_ns), (double)h->max_ns);
		return 0;
	}
	return err_set(e, ERANGE,
		       "quantile %g lies above the histogram's range: %" PRIu64 " of %" PRIu64
		       " values are %llu ns or more",
		       p, h->over, h->count, (unsigned long long)HIST_MAX_NS);
}

/* Whether the extremes stand in the first and the last part of the histogram that holds anything. */
static int validate_extremes(const struct hist *h, unsigned first, unsigned last, struct err *e)
{
	if (h->min_ns > h->max_ns)
		return err_set(e, EBADMSG, "histogram: min %" PRIu64 " ns is above max %" PRIu64 " ns", h->min_ns,
			       h->max_ns);
	/* first and last are HIST_BUCKETS while no bucket holds anything. */
	bool min_fits = h->under ? h->min_ns < HIST_MIN_NS
			: first < HIST_BUCKETS
			    ? h->min_ns >= hist_lower_ns(first) && h->min_ns < hist_lower_ns(first + 1)
			    : h->min_ns >= HIST_MAX_NS;
	if (!min_fits)
		return err_set(e, EBADMSG, "histogram: min %" PRIu64 " ns is not in the first part that holds values",
			       h->min_ns);
	bool max_fits = h->over               ? h->max_ns >= HIST_MAX_NS
			: last < HIST_BUCKETS ? h->max_ns >= hist_lower_ns(last) && h->max_ns < hist_lower_ns(last + 1)
					      : h->max_ns < HIST_MIN_NS;
	if (!max_fits)
		return err_set(e, EBADMSG, "histogram: max %" PRIu64 " ns is not in the last part that holds values",
			       h->max_ns);
	if (h->count == 1 && h->min_ns != h->max_ns)
		return err_set(e, EBADMSG, "histogram: one value, but min %" PRIu64 " ns and max %" PRIu64 " ns differ",
			       h->min_ns, h->max_ns);
	return 0;
}

/* Whether the sum can come from values in these buckets. */
static int validate_sum(const struct hist *h, struct err *e)
{
	typedef unsigned __int128 u128;
	u128 lo = (u128)h->under * h->min_ns + (u128)h->over * HIST_MAX_NS;
	u128 hi = (u128)h->under * (HIST_MIN_NS - 1) + (u128)h->over * h->max_ns;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		lo += (u128)h->bucket[i] * hist_lower_ns(i);
		hi += (u128)h->bucket[i] * (hist_lower_ns(i + 1) - 1);
	}
	/* A saturated sum stands for everything from UINT64_MAX up. */
	if (lo > UINT64_MAX)
		lo = UINT64_MAX;
	if (h->sum_ns < lo || h->sum_ns > hi)
		return err_set(e, EBADMSG, "histogram: its sum, %" PRIu64 " ns, cannot come from its buckets",
			       h->sum_ns);
	return 0;
}

int hist_validate(const struct hist *h, struct err *e)
{
	uint64_t total = 0;
	bool overflow = __builtin_add_overflow(h->under, h->over, &total);
	unsigned first = HIST_BUCKETS, last = HIST_BUCKETS;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		overflow |= __builtin_add_overflow(total, h->bucket[i], &total);
		last = i;
		if (first == HIST_BUCKETS)
			first = i;
	}
	if (overflow || total != h->count)
		return err_set(e, EBADMSG, "histogram: its buckets hold %s%" PRIu64 " values, its count says %" PRIu64,
			       overflow ? "2^64 and " : "", total, h->count);
	if (h->count == 0) {
		if (h->min_ns != UINT64_MAX || h->max_ns != 0 || h->sum_ns != 0)
			return err_set(e, EBADMSG, "histogram: empty, but min, max or sum are set");
		return 0;
	}
	int r = validate_extremes(h, first, last, e);
	return r < 0 ? r : validate_sum(h, e);
}
