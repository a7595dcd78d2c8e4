// SPDX-License-Identifier: Apache-2.0
/* Owns the model of a zone's per-CPU page lists: what a kernel makes of a zone's size, its CPUs and the sysctls.
 * Must not know where these come from, nor how the answer is shown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

#define PCP_SCALE_MAX     6 /* Kconfig's range of PCP_BATCH_SCALE_MAX ends here, and the sysctl's */
#define PCP_SCALE_DEFAULT 5 /* Kconfig's default, and Debian's configurations */

/* What a kernel's lists behave like. Stock is the distribution's, kpcp has the series in kernel/patches. 7.2 and 7.3
 * agree in all that is modelled. */
enum pcp_kernel {
	PCP_6_1,
	PCP_6_1_KPCP,
	PCP_6_1_TUNED, /* kernel/patches/6.1-tuned: auto-tuning brought to 6.1, then the sysctl and the bounds */
	PCP_6_12,
	PCP_6_12_KPCP,
	PCP_7,
	PCP_7_KPCP,
	PCP_KERNEL_COUNT
};
const char *pcp_kernel_name(enum pcp_kernel k); /* "6.1", "6.1-kpcp", "6.1-tuned", ... */
/* One of those names; -EINVAL for all others. */
int must_check pcp_kernel_named(const char *name, enum pcp_kernel *ret, struct err *e);
/* Of a running kernel by its release ("6.12.43+deb13-amd64"). kpcp: it has vm.pcp_batch_scale_max; tuned: its lists
 * have a high_min. -EINVAL for a kernel that no model was made of. */
int must_check pcp_kernel_of(const char *release, bool kpcp, bool tuned, enum pcp_kernel *ret, struct err *e);
bool pcp_has_scale(enum pcp_kernel k);  /* vm.pcp_batch_scale_max exists */
bool pcp_has_tuning(enum pcp_kernel k); /* high moves by itself between high_min and high_max */
bool pcp_takes_fraction(enum pcp_kernel k,
			int64_t fraction); /* a write of it to percpu_pagelist_high_fraction succeeds */

struct pcp_sysctl {
	int32_t scale;    /* vm.pcp_batch_scale_max, or the configuration's where the kernel has none */
	int32_t fraction; /* vm.percpu_pagelist_high_fraction; 0: off */
};

struct pcp_zone {
	uint64_t managed; /* pages */
	uint64_t low;     /* pages, without what watermark boosting has put on top */
	uint32_t cpus;    /* online in the zone's node, or on the machine where the node has none; not 0 */
	uint32_t page_shift;
};

struct pcp_limits {
	uint32_t batch;
	uint64_t high_min; /* the same as high_max where high does not move */
	uint64_t high_max;
};
struct pcp_limits pcp_limits(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z);

/* The ways to zone->lock that carry many pages at once. */
enum pcp_path {
	PCP_FREE,      /* a list is over its high mark */
	PCP_FREE_HIGH, /* a CPU that only frees gives back high-order pages early */
	PCP_DRAIN,     /* drain_pages_zone(): offlining, contiguous allocations, memory pressure */
	PCP_DECAY,     /* an idle CPU's list shrinks */
	PCP_ALLOC,     /* rmqueue_bulk(): an empty list is filled */
	PCP_PATH_COUNT
};
const char *pcp_path_name(enum pcp_path p);

/* The most list entries that one hold of zone->lock moves on this path; 0 where the kernel has no such path. */
uint64_t pcp_hold(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z, enum pcp_path p);
/* The largest of all paths. */
uint64_t pcp_worst_hold(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z);
/* Whether vm.pcp_batch_scale_max has a say in that hold. */
bool pcp_scale_bounds(enum pcp_kernel k, enum pcp_path p);

enum pcp_free_high { PCP_FIRES, PCP_FIRES_AFTER_HUGE, PCP_NEVER_FIRES };
/* Whether a CPU that only frees can reach the count at which free_high fires. */
enum pcp_free_high pcp_free_high(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z);

/* Pages on all of a zone's lists together when every list is at its high mark. */
uint64_t pcp_parked(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z);

struct pcp_watermarks {
	uint64_t min, low, high;
};
/* What a zone's low and high are, above a min that is known, with this vm.watermark_scale_factor. */
struct pcp_watermarks pcp_watermarks_above(uint64_t min, uint64_t managed, uint32_t scale_factor);
