// SPDX-License-Identifier: Apache-2.0
/* Owns the latency histogram: log-linear, 32 sub-buckets an octave, 30 octaves from 64 ns to 68.7 s.
 * Must not know where values come from; integer arithmetic only, so that the same code can serve BPF. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Names this layout wherever histograms are stored; two layouts are never merged or compared. */
#define HIST_LAYOUT   "log-linear-32x30-64ns"
#define HIST_SUB_BITS 5
#define HIST_SUB      (1u << HIST_SUB_BITS)
#define HIST_OCTAVES  30u
#define HIST_BUCKETS  (HIST_SUB * HIST_OCTAVES)
#define HIST_MIN_NS   64u
#define HIST_MAX_NS   (64ull << HIST_OCTAVES) /* first value above the range */

/* Half a bucket's width relative to its value, at most: 1/64 = 1.6%; that is how far a bucket's middle can be from any
 * value in it. A quantile, linear inside its bucket, is that close too where values are spread over the bucket or
 * one stands alone in it, and never a whole bucket off (1/32) whatever the values. The judge's floor of 0.8% on a
 * standard deviation is half of that bound, about the uniform distribution's over one bucket (1/32/sqrt(12) = 0.9%). */

/* min_ns is UINT64_MAX and max_ns 0 while count is 0. Values below the range count in `under`, above it in
 * `over`; both are part of count, sum, min and max. sum saturates at UINT64_MAX; counts never get near it (each is one
 * measured operation; what comes from outside is bounded by wire). */
struct hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t under;
	uint64_t over;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *h);
/* The bucket of a value in [HIST_MIN_NS, HIST_MAX_NS). */
unsigned hist_index(uint64_t ns);
/* The smallest value of bucket i, ns; i == HIST_BUCKETS gives HIST_MAX_NS. */
uint64_t hist_lower_ns(unsigned i);
void hist_add(struct hist *h, uint64_t ns);
/* Exact: the same as adding every value of both to one. */
void hist_merge(struct hist *into, const struct hist *from);
/* The p-quantile (0 < p < 1) in ns: the value of rank ceil(p * count) (the inverse of the empirical distribution),
 * linear inside its bucket, clamped to [min_ns, max_ns]. -ENODATA when count is 0; -ERANGE when the rank lies in
 * under or over; -EINVAL for another p. */
int must_check hist_quantile(const struct hist *h, double p, double *ret_ns, struct err *e);
/* Whether the counts agree with each other (sum of buckets, under, over == count; min <= max; ...): for what
 * was decoded from outside. -EBADMSG and what does not fit. */
int must_check hist_validate(const struct hist *h, struct err *e);
