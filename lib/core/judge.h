// SPDX-License-Identifier: Apache-2.0
/* Owns the verdict: whether canaries on the new kernel are proven no worse than controls by more than the margins.
 * Must not know recordings, files, clocks or what is done with a verdict: plan and numbers in, verdict out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brake.h"
#include "summary.h"

#define JUDGE_BOOTS_MAX   16
#define JUDGE_HOSTS_MAX   10000 /* canaries and controls together */
#define JUDGE_MODELS_MAX  16
#define JUDGE_MODEL_MAX   32 /* with its final 0 */
#define JUDGE_REASONS_MAX 24
#define JUDGE_REASON_MAX  256

/* What was promised before any data came: the roster, the margins, the error rates. */
struct judge_plan {
	uint32_t canaries; /* hosts, exactly */
	uint32_t controls;
	uint32_t boots;  /* measured boots a kernel and host */
	uint32_t storms; /* in each boot */
	bool judged[ENDPOINT_COUNT];
	double margin[ENDPOINT_COUNT]; /* 0.10: ten per cent worse is just not acceptable */
	/* Active evidence is made on purpose, the same in every boot; passive evidence is what happened to be there, so
	 * that it takes more of it. They are never mixed. */
	enum probing probing;
	uint64_t min_samples[ENDPOINT_COUNT];         /* in each boot, of active evidence */
	uint64_t min_passive_samples[ENDPOINT_COUNT]; /* in each boot, of passive evidence; and storms or more storms */
	double alpha_promote;
	double alpha_rollback; /* over all endpoints together */
	double sd_floor;       /* of ln ratios: what a bucket hides, and never less than the fleet's A/A history says */
	double sd_history[ENDPOINT_COUNT]; /* the same for one endpoint, from A/A recordings; 0: none */
	double brake_sd; /* of one host in one of the brake's blocks, an upper bound from A/A recordings; 0: none */
	/* Kinds of hardware that canaries and controls must have at least one host of each; others are welcome, too. */
	uint32_t n_models;
	char model[JUDGE_MODELS_MAX][JUDGE_MODEL_MAX];
	/* With so many hosts in each arm, y before takes off what hosts are apart anyway (analysis of covariance)
	 * instead of the plain difference. 0: never; so is welch_alone. */
	uint32_t ancova_from;
	/* How much the old kernel is slower than the first committed reference already, from the steps before, with its
	 * standard error: PROMOTE then needs both comparisons, or ten steps of +9% would pass one by one. */
	struct judge_reference {
		bool given;
		double delta; /* ln of the ratio old to reference */
		double se;
	} reference[ENDPOINT_COUNT];
	bool welch_alone; /* accepted by whoever wrote the plan: no second opinion, plain differences */
	uint64_t seed;
};

/* 4 canaries, 4 controls, 1 boot, 30 storms; p99 10%, p99.9 20%, exit 10%; .05 and .01; floor .008; 1,000 samples for
 * p99, 10,000 for p99.9, 30 storms for exit, ten times as many of passive evidence; no models; covariance from 20 hosts
 * an arm on; second opinion required. */
extern const struct judge_plan judge_plan_default;

/* y as in struct summary; boots that are missing are simply not counted in n_old and n_new. */
struct judge_host {
	char name[RECORDING_NAME_MAX];
	char model[JUDGE_MODEL_MAX]; /* kind of hardware; "" where not known */
	bool control;
	uint32_t n_old, n_new;
	struct judge_boot {
		double y[ENDPOINT_COUNT];
		uint64_t samples[ENDPOINT_COUNT];
		uint32_t storms;
		enum probing probing;
	} old_boot[JUDGE_BOOTS_MAX], new_boot[JUDGE_BOOTS_MAX];
};

enum verdict_kind { VERDICT_HOLD, VERDICT_PROMOTE, VERDICT_ROLLBACK };
const char *verdict_name(enum verdict_kind k); /* "HOLD", ... */

struct verdict_endpoint {
	bool judged;
	bool estimated; /* the numbers below are there; with too little data or no controls only some are */
	uint32_t canaries, controls; /* hosts that gave a difference */
	double ratio;                /* exp(delta): above 1 is worse */
	double lower, upper; /* of the ratio: the one-sided rollback and promotion bounds; NaN without controls */
	double margin;       /* 1.10: what upper must stay below */
	double delta, se, nu;
	double sd_canaries, sd_controls; /* of the hosts' differences, after the floor; NaN where not known */
	bool floored_canaries, floored_controls;
	bool adjusted;          /* by analysis of covariance: theta of y before was taken off */
	double theta;           /* 1: the plain difference */
	double reference_upper; /* of the ratio to the first committed reference; NaN where the plan names none */
	double p_random;        /* NaN where not made */
	uint64_t assignments;
	/* promotes: bound and second opinion (or welch_alone), never with incomplete data. rolls_back: its bound; with
	 * incomplete data it is evidence to show, the verdict stays HOLD. */
	bool promotes, rolls_back;
	double hosts_needed; /* an arm, for this spread and margin at power .8; NaN where not known */
};

struct verdict {
	enum verdict_kind kind;
	uint32_t defects; /* what is missing or wrong in roster and data; with any of them the gate says HOLD */
	struct verdict_endpoint endpoint[ENDPOINT_COUNT];
	uint32_t n_reasons;
	char reason[JUDGE_REASONS_MAX][JUDGE_REASON_MAX]; /* whole sentences; the deciding one first */
};

/* The plan's sd_floor and its A/A history for an endpoint, whichever is larger. */
double judge_floor(const struct judge_plan *p, enum endpoint x);

/* D_h = mean y over a host's boots of the new kernel - mean over the old; canaries' D against controls' D by Welch.
 * PROMOTE: delta + t(1 - alpha_promote, nu) se < ln(1 + margin) for every judged endpoint (intersection-union, Berger
 * 1982), the same for delta + reference.delta with sqrt(se^2 + reference.se^2) where the plan names a reference, and
 * the randomisation test of D - ln(1 + margin) agrees at alpha_promote. ROLLBACK: delta - t(1 - alpha_rollback / m, nu)
 * se > 0 for any of the m judged endpoints that misses its promotion bound. Otherwise, and whenever hosts, models,
 * boots, storms, kind of evidence or samples are not what the plan says: HOLD. PROMOTE goes before ROLLBACK. Fails only
 * on arguments that no caller may pass (too many hosts, a host without a name, a plan out of range: -EINVAL; memory
 * that ran out: -ENOMEM; *ret untouched); data that is missing, NaN or short is HOLD with its reason, never an error
 * and never a pass. Deterministic: the order of hosts does not matter. */
int must_check judge(const struct judge_plan *plan, const struct judge_host *hosts, size_t n, struct verdict *ret,
		     struct err *e);

/* What the brake knows goes before the gate: a crash, then the fired brake, make v ROLLBACK; a blind brake makes
 * PROMOTE a HOLD. The reason is put in front of the gate's own. */
void judge_brake(struct verdict *v, const struct brake *b);
