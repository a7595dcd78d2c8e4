// SPDX-License-Identifier: Apache-2.0
/* Owns histograms that others have published: lines of lowest value, highest value, count. They are coarse, and nothing
 * in them tells hosts, boots or storms. Must not know how they are judged or shown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

#define PUBLISHED_FILE_MAX    (1u << 20)
#define PUBLISHED_BUCKETS_MAX 1024
#define PUBLISHED_NOTE_MAX    320

struct published {
	char note[PUBLISHED_NOTE_MAX];   /* the first comment: what was measured, in its authors' words */
	char source[PUBLISHED_NOTE_MAX]; /* the comment "source: ..."; "" without one */
	bool totalled;                   /* a comment "published: avg_ns A total_ns T count N" was there */
	uint64_t avg_ns, total_ns, total_count;
	uint64_t count;
	uint32_t n;
	struct published_bucket {
		uint64_t low_ns, high_ns; /* both in it */
		uint64_t count;
	} bucket[PUBLISHED_BUCKETS_MAX];
};

/* Lines "LOW HIGH COUNT", nanoseconds, rising and without gaps; comments begin with '#'. -EINVAL naming line and fault
 * for anything else (a bucket that ends before it begins, overlaps, a gap, a count or sum above 2^53, no values at
 * all). *ret untouched on failure. Some published totals count differently from their own histogram: that is no error
 * here. */
int must_check published_parse(const char *name, const char *text, size_t len, struct published *ret, struct err *e);
int must_check published_read(const char *path, struct published *ret, struct err *e);

/* Where the p-quantile lies: somewhere in one bucket. */
struct published_bucket published_quantile(const struct published *h, double p);
