// SPDX-License-Identifier: Apache-2.0
/* Owns invented campaigns: hosts with known spreads and a known true ratio, judged by the judge itself, and counted.
 * Must not know command lines, output or clocks: a specification and a seed in, counts out. */
#pragma once

#include "draw.h"
#include "judge.h"

#define TRIAL_BLOCKS_MAX 100000u
#define TRIAL_TYPICAL    (-6.907755) /* ln of 1 ms: where y is without any spread; any value would do */

/* Standard deviations are of ln latency: 0.07 is 7%. */
struct trial {
	uint32_t canaries, controls;
	uint32_t boots;         /* of each kernel on each host */
	double boot_sd;         /* from boot to boot of one kernel */
	double host_sd;         /* how differently hosts take to the new kernel; controls have it, too */
	double level_sd;        /* how far hosts are apart before anything changes */
	double ratio;           /* the truth: 1.10 is 10% worse */
	double margin;          /* what the gate is to keep out */
	double missing;         /* the share of boots that are never measured */
	double block_sd;        /* of one host in one block, for the brake */
	double block_bound;     /* what the brake takes block_sd for */
	uint32_t blocks;        /* 0: the gate; otherwise the brake looks so often */
	enum draw_shape errors; /* of every spread above but the level */
	double phi;             /* neighbouring boots and blocks of one host, where errors are DRAW_AR1 */
	bool second_opinion;
	uint64_t seed;
};

/* 8 canaries, 8 controls, 4 boots; boots 7%, hosts 2%, blocks 20%; ratio 1, margin 10%; normal errors, phi 0.5. */
extern const struct trial trial_default;

/* What the gate said. The two conditions are counted each by itself, over all campaigns: both can hold, and a campaign
 * with boots missing fulfils neither. */
struct trial_counts {
	uint64_t campaigns;
	uint64_t promote;    /* the upper bound is below the margin (and the second opinion agrees) */
	uint64_t rollback;   /* the lower bound is above 1 */
	uint64_t hold;       /* neither */
	uint64_t verdict[3]; /* by enum verdict_kind */
};

/* The plan that a campaign is judged by: one endpoint, p99. */
struct judge_plan trial_plan(const struct trial *c);

/* Fills canaries + controls hosts (at most JUDGE_HOSTS_MAX) with campaign number i; returns how many boots are missing.
 * For every host y = level + s_b e in each boot, + s_hk z and, on canaries, + ln(ratio) on the new kernel's. */
uint32_t trial_hosts(const struct trial *c, uint64_t i, struct judge_host *ret);

/* Judges campaigns from `from` on and adds to *ret. -EINVAL where the judge does not take the plan. hosts: room for
 * canaries + controls. */
int must_check trial_gate(const struct trial *c, uint64_t from, uint64_t n, struct judge_host *hosts,
			  struct trial_counts *ret, struct err *e);

/* What the brake did. */
struct trial_looks {
	uint64_t campaigns;
	uint64_t fired;
	uint64_t at[TRIAL_BLOCKS_MAX + 1]; /* how often it fired at block 1, 2, ... */
};

/* Lets the brake look at campaigns from `from` on, block by block, until it fires or t->blocks are over, and adds to
 * *ret. In each block every host's baseline-normalised ln p99 is block_sd e, + ln(ratio) on canaries; a host is missing
 * with probability t->missing. -EINVAL for fewer than 2
 * canaries or no control. */
int must_check trial_brake(const struct trial *t, uint64_t from, uint64_t n, struct trial_looks *ret, struct err *e);

/* The block by which the share p of all campaigns was stopped; 0 where fewer were. */
uint32_t trial_block_of(const struct trial_looks *l, double p);

/* The share k / n and its standard error: of a share of 0 or 1 that of one more case, so that it is never 0. */
double trial_share(uint64_t k, uint64_t n);
double trial_share_se(uint64_t k, uint64_t n);
