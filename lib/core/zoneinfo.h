// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of /proc/zoneinfo's text: zones, watermarks, and what each CPU's lists are set to.
 * Must not know where the text comes from, nor what a kernel would make of the numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define ZONEINFO_ZONES_MAX 256
#define ZONEINFO_NAME_MAX  16
#define ZONEINFO_NODE_MAX  1023
#define ZONEINFO_PAGES_MAX (UINT64_C(1) << 52) /* so that sums and products of small factors fit */

/* The range over a zone's CPUs: what differs between them shows as low != high. */
struct zoneinfo_range {
	uint64_t from, to;
};

struct zoneinfo_zone {
	uint32_t node;
	char name[ZONEINFO_NAME_MAX];
	uint64_t managed, min, low, high, boost; /* pages */
	uint32_t cpus;                           /* whose lists are shown: those online */
	struct zoneinfo_range pcp_high, pcp_batch;
	bool has_bounds; /* the kernel shows high_min and high_max, of all CPUs */
	struct zoneinfo_range high_min, high_max;
};

/* About 40 KiB: keep it on the heap or static. */
struct zoneinfo {
	size_t n;
	struct zoneinfo_zone zone[ZONEINFO_ZONES_MAX]; /* those with pages */
};

/* -EINVAL, naming the line: a number that is none or out of range, a zone whose header is broken, more zones than fit,
 * a zone with pages but without lists; -ENODATA where no zone has pages. Lines that are not known are passed over, as
 * kernels differ; lines that start with '#' too. ret is untouched on failure. */
int must_check zoneinfo_parse(const char *text, size_t len, struct zoneinfo *ret, struct err *e);
