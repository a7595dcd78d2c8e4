// SPDX-License-Identifier: Apache-2.0
/* Owns the brake: evidence of a gross regression, block by block, valid at every look; and crashes, which count at
 * once. Must not know clocks, recordings or what is done when it fires: numbers in, decision out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define BRAKE_METRICS_MAX 8

/* Made before the first block and not changed after. */
struct brake_plan {
	uint32_t canaries, controls; /* the roster */
	uint32_t metrics;            /* watched; their e-values are averaged */
	double tolerated;            /* 1.5: a ratio up to this is no matter for the brake */
	double aim;                  /* 2.0: the ratio that is caught the fastest */
	double block_sd;             /* of one host in one block, of ln: an upper bound, from A/A history */
	double alpha;                /* 0.001: probability that it ever fires without reason */
	/* A regression may begin late, when the sum from the first block is far below 0 and would take as long to come
	 * back. A tenth of the evidence is set aside for that, spread over every block of the horizon that it could
	 * begin in. 0: nothing is set aside, only the sum from the first block counts. */
	uint32_t horizon;
};

/* 4 canaries, 8 controls, 1 metric; 1.5, 2.0, 20%, 0.001; 1,440 blocks. */
extern const struct brake_plan brake_plan_default;

enum brake_state {
	BRAKE_GO_ON,  /* nothing proven */
	BRAKE_BLIND,  /* the last block had fewer than 2 canaries or no control: it says nothing; HOLD while that lasts
		       */
	BRAKE_FIRED,  /* a regression beyond what is tolerated is proven: take the change back */
	BRAKE_CRASHED /* a crash, a soft lock-up or a hung host: take the change back */
};
const char *brake_state_name(enum brake_state s); /* "go on", "blind", "fired", "crashed" */

/* One metric in one block. */
struct brake_x {
	double x;        /* mean of the canaries - mean of the controls; NaN where the block says nothing */
	uint32_t k, m;   /* canaries and controls with a value */
	uint32_t capped; /* values that counted for less than they were */
};

/* Values are ln of the metric less the host's own baseline; NaN: the host has none in this block. A canary's value
 * counts for at most ln(aim) + 2 block_sd, a control's for at least -2 block_sd: one host's outlier must not fire the
 * brake, and both only take evidence away. */
struct brake_x brake_difference(const struct brake_plan *p, const double *canary, size_t k, const double *control,
				size_t m);

struct brake {
	struct brake_plan plan;
	double ln_start[BRAKE_METRICS_MAX]; /* ln of the e-value from the first block on */
	double ln_late[BRAKE_METRICS_MAX];  /* ln of the sum of those from each later block on */
	uint32_t blocks, blind;             /* looked at; of those without evidence */
	double ln_e;                        /* ln of the average e-value; fires at -ln(alpha) */
	double ln_e_max;                    /* the highest it has been */
	uint32_t crashes;
	uint32_t fired_at; /* the block, from 1; 0: not fired */
	enum brake_state state;
};

/* -EINVAL and the field's name where the plan is out of range; *ret is untouched then. */
int must_check brake_start(const struct brake_plan *plan, struct brake *ret, struct err *e);

/* One block: x[plan.metrics], and how many canaries crashed, locked up or hung in it. Returns the new state. What has
 * fired stays fired; e-values go on, so that a report shows what came after.
 *   E_t = prod exp(lambda (x_b - g) - lambda^2 s^2 / 2), g = ln(tolerated), s^2 = block_sd^2 (1/k + 1/m), lambda =
 *   (ln(aim) - g) / s^2: a supermartingale while the true x is at most g and each host's spread at most block_sd
 *   (Ville's inequality: P(E ever reaches 1 / alpha) <= alpha). The average of e-values is one, too (Vovk and Wang,
 *   "E-values: calibration, combination and applications", Annals of Statistics 49, 2021). */
enum brake_state brake_look(struct brake *b, const struct brake_x *x, uint32_t crashes);

/* The chance that a constant true ratio is caught within so many blocks, all hosts there, spread exactly block_sd; by
 * the first passage of a Brownian motion with drift (inverse Gaussian), corrected for looking once a block. */
double brake_caught_within(const struct brake_plan *p, double ratio, double blocks);
/* The number of blocks within which it is caught with that probability; infinite where it never is. */
double brake_blocks_needed(const struct brake_plan *p, double ratio, double probability);
