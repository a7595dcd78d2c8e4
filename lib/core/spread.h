// SPDX-License-Identifier: Apache-2.0
/* Owns what an A/A campaign tells: how far boots, hosts and blocks are apart while nothing changes, and what the judge
 * says of it. Must not know recordings, files or words. */
#pragma once

#include "judge.h"
#include "power.h"

#define SPREAD_PROBE_MAX 32

/* Standard deviations of ln; NaN where not known. Upper ends are one-sided, 95%, as of normal values (chi-square). */
struct spread_endpoint {
	double boot_sd, boot_sd_upper;             /* from boot to boot of one host in one slot */
	double host_sd;                            /* how differently hosts take to what comes with the second slot */
	double difference_sd, difference_sd_upper; /* of D_h, second slot less first */
	double block_sd, block_sd_upper;           /* from storm to storm in one boot */
};

struct spread {
	char probe[SPREAD_PROBE_MAX]; /* what measured */
	uint32_t hosts;
	uint32_t boots; /* of each host in each slot, the least */
	struct spread_endpoint endpoint[ENDPOINT_COUNT];
};

/* Storm-to-storm sums of squares, pooled over boots. */
struct spread_blocks {
	double nu, square;
};
void spread_add_blocks(struct spread_blocks *into, const struct summary_blocks *boot);

/* hosts: the first slot's boots in old_boot, the second one's in new_boot; whether canary or control does not matter.
 * Var D = host_sd^2 + boot_sd^2 (1/n_old + 1/n_new); where a slot has one boot only, all of D's spread counts as the
 * boots'. -EINVAL for fewer than 2 hosts with both slots, naming what is missing. probe is cut to its room. */
int must_check spread_estimate(const struct judge_host *hosts, size_t n,
			       const struct spread_blocks blocks[ENDPOINT_COUNT], const char *probe, struct spread *ret,
			       struct err *e);

/* The spread raises a plan's floors: sd_history of each endpoint for the plan's number of boots, never below what it
 * was.
 */
void spread_apply(const struct spread *s, struct judge_plan *p);
/* The standard deviation that D is expected to have with so many boots; NaN where not known. */
double spread_difference_sd(const struct spread_endpoint *s, uint32_t boots);

/* What the judge says where nothing changed: hosts are divided into canaries and controls by lot, again and again. */
struct spread_splits {
	uint32_t n;
	uint32_t verdict[3]; /* by enum verdict_kind */
};
/* hosts is scratch: names and values stay, who is canary changes. */
int must_check spread_split(const struct judge_plan *plan, struct judge_host *hosts, size_t n, uint32_t splits,
			    uint64_t seed, struct spread_splits *ret, struct err *e);
