// SPDX-License-Identifier: Apache-2.0
/* Owns the choice of what a recording runs where: victims' CPUs, the storm's CPUs and size, the memory of both.
 * Must not know processes or system calls: facts and wishes in, layout or an error with figures out. */
#pragma once

#include "host.h"

#define LAYOUT_VICTIMS_MAX   512u
#define LAYOUT_PROCESSES_MAX 4096u
#define LAYOUT_SLOTS_MAX     1000000u
#define LAYOUT_DRAIN_MAX     65536u /* pages; a list left over can hold more only on the very first warm-up */

/* What was asked for; 0 (n == 0 for CPUs): choose by the host. */
struct layout_want {
	struct host_cpus victims;
	struct host_cpus storm;
	uint32_t processes;
	uint64_t process_bytes;
	uint32_t burst_pages;
	uint64_t period_ns;
	uint64_t window_ns;
	uint64_t lead_ns;    /* 0: ten periods */
	double memory_share; /* of the available memory, for the storm and the victims together */
};

struct layout {
	uint32_t n_victims;
	unsigned victim[LAYOUT_VICTIMS_MAX]; /* CPU of each */
	struct host_cpus storm;              /* the main process and the victims' clean-up live here, too */
	uint32_t processes;
	uint64_t process_pages;
	uint32_t burst_pages;
	uint64_t period_ns;
	uint64_t window_ns;
	uint64_t lead_ns;
	uint32_t drain_bursts; /* as fast as possible, to empty the CPU's list */
	uint32_t lead_slots;   /* paced, before SIGKILL */
	uint32_t window_slots;
	uint32_t spare_slots;  /* for a SIGKILL that comes late */
	uint64_t region_pages; /* of one victim: all bursts of one storm */
	uint64_t page_bytes;
};

/* One victim per 16 CPUs and at most one in each last-level cache, from allowed (the CPUs that this process may use);
 * the storm gets all other allowed CPUs. Only ret->victim, n_victims and storm are filled. */
int must_check layout_cpus(const struct layout_want *w, const struct host *h, const struct host_cpus *allowed,
			   struct layout *ret, struct err *e);

/* The rest. -ENOMEM with the figures when the share does not hold it. */
int must_check layout_memory(const struct layout_want *w, const struct host *h, const struct host_pcp *pcp,
			     uint64_t page_bytes, struct layout *ret, struct err *e);
