// SPDX-License-Identifier: Apache-2.0
/* Owns invented campaigns for the brake: drawing their blocks, letting the brake look, counting.
 * Must not know command lines, output or clocks. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "brake.h"
#include "trial.h"

/* One block: what each host's ln p99 is above its own baseline, NaN where it is missing. */
static void draw_block(const struct trial *t, struct draw *d, struct draw_series *host, double *ret)
{
	for (uint32_t h = 0; h < t->canaries + t->controls; h++) {
		ret[h] = t->block_sd * draw_next(d, &host[h]) + (h < t->canaries ? log(t->ratio) : 0);
		if (t->missing > 0 && draw_uniform(d) < t->missing)
			ret[h] = NAN;
	}
}

/* The block at which the brake fired; 0: never. */
static uint32_t look(const struct trial *t, uint64_t i, struct brake *brake)
{
	struct draw_series host[JUDGE_HOSTS_MAX];
	double x[JUDGE_HOSTS_MAX];
	struct draw d = draw_start(t->seed, i);
	for (uint32_t h = 0; h < t->canaries + t->controls; h++)
		host[h] = (struct draw_series){.shape = t->errors, .phi = t->phi};
	for (uint32_t b = 1; b <= t->blocks; b++) {
		draw_block(t, &d, host, x);
		struct brake_x block = brake_difference(&brake->plan, x, t->canaries, x + t->canaries, t->controls);
		if (brake_look(brake, &block, 0) == BRAKE_FIRED)
			return b;
	}
	return 0;
}

int trial_brake(const struct trial *t, uint64_t from, uint64_t n, struct trial_looks *ret, struct err *e)
{
	struct brake_plan p = brake_plan_default;
	struct brake start;
	if (t->blocks > TRIAL_BLOCKS_MAX)
		return err_set(e, EINVAL, "%" PRIu32 " blocks, at most %u are simulated", t->blocks, TRIAL_BLOCKS_MAX);
	p.canaries = t->canaries;
	p.controls = t->controls;
	p.block_sd = t->block_bound;
	int r = brake_start(&p, &start, e);
	if (r < 0)
		return r;
	for (uint64_t i = from; i < from + n; i++) {
		struct brake brake = start;
		uint32_t at = look(t, i, &brake);
		ret->campaigns++;
		ret->fired += at > 0;
		ret->at[at] += at > 0;
	}
	return 0;
}

uint32_t trial_block_of(const struct trial_looks *l, double p)
{
	uint64_t so_far = 0;
	for (uint32_t b = 1; b <= TRIAL_BLOCKS_MAX; b++) {
		so_far += l->at[b];
		if (so_far > 0 && (double)so_far >= p * (double)l->campaigns)
			return b;
	}
	return 0;
}
