// SPDX-License-Identifier: Apache-2.0
/* Owns the brake's arithmetic: a block's difference, its e-value, their product and average.
 * Must not know clocks, recordings or what is done when it fires. */
#include "brake.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "stats.h"

#define LATE_SHARE 0.1 /* of the evidence, for regressions that begin after the first block */
#define CAP_SDS    2.0
#define BLOCKS_FAR 1e7 /* beyond this, "never" */

const struct brake_plan brake_plan_default = {
    .canaries = 4,
    .controls = 8,
    .metrics = 1,
    .tolerated = 1.5,
    .aim = 2.0,
    .block_sd = 0.2,
    .alpha = 0.001,
    .horizon = 1440,
};

const char *brake_state_name(enum brake_state s)
{
	static const char *const name[] = {"go on", "blind", "fired", "crashed"};
	return name[s];
}

struct brake_x brake_difference(const struct brake_plan *p, const double *canary, size_t k, const double *control,
				size_t m)
{
	double most = log(p->aim) + CAP_SDS * p->block_sd, least = -CAP_SDS * p->block_sd;
	double sum[2] = {0, 0};
	struct brake_x ret = {.x = NAN};
	for (size_t i = 0; i < k; i++) {
		/* An infinite latency is a hung host, which is counted as such; it has no value here. */
		if (!isfinite(canary[i]))
			continue;
		ret.k++;
		ret.capped += canary[i] > most;
		sum[0] += fmin(canary[i], most);
	}
	for (size_t i = 0; i < m; i++) {
		if (!isfinite(control[i]))
			continue;
		ret.m++;
		ret.capped += control[i] < least;
		sum[1] += fmax(control[i], least);
	}
	/* Of one canary nobody knows whether it is the kernel or the host. */
	if (ret.k >= 2 && ret.m >= 1)
		ret.x = sum[0] / ret.k - sum[1] / ret.m;
	return ret;
}

static int out_of_range(struct err *e, const char *name, double value, const char *range)
{
	return err_set(e, EINVAL, "brake: %s is %g, must be %s", name, value, range);
}

static int check(const struct brake_plan *p, struct err *e)
{
	if (p->canaries < 2 || p->controls < 1)
		return err_set(e, EINVAL,
			       "brake: %" PRIu32 " canaries and %" PRIu32
			       " controls; it needs at least 2 canaries and 1 control",
			       p->canaries, p->controls);
	if (p->metrics < 1 || p->metrics > BRAKE_METRICS_MAX)
		return err_set(e, EINVAL, "brake: %" PRIu32 " metrics, must be 1 to %d", p->metrics, BRAKE_METRICS_MAX);
	if (!(p->tolerated >= 1 && p->tolerated <= 100))
		return out_of_range(e, "tolerated", p->tolerated, "1 to 100");
	if (!(p->aim > p->tolerated && p->aim <= 1000))
		return out_of_range(e, "aim", p->aim, "above what is tolerated and at most 1000");
	if (!(p->block_sd >= 1e-6 && p->block_sd <= 10))
		return out_of_range(e, "block_sd", p->block_sd, "0.000001 to 10");
	if (!(p->alpha > 0 && p->alpha <= 0.5))
		return out_of_range(e, "alpha", p->alpha, "above 0 and at most 0.5");
	return 0;
}

int brake_start(const struct brake_plan *plan, struct brake *ret, struct err *e)
{
	int r = check(plan, e);
	if (r < 0)
		return r;
	struct brake b = {.plan = *plan, .state = BRAKE_GO_ON};
	for (uint32_t i = 0; i < BRAKE_METRICS_MAX; i++)
		b.ln_late[i] = -INFINITY;
	*ret = b;
	return 0;
}

static double ln_add(double a, double b)
{
	double hi = fmax(a, b), lo = fmin(a, b);
	return isinf(hi) ? hi : hi + log1p(exp(lo - hi));
}

/* ln of the factor that one block contributes; 0 where it says nothing. Hosts that are missing widen s. */
static double ln_factor(const struct brake_plan *p, const struct brake_x *x)
{
	if (!isfinite(x->x) || x->k < 2 || x->m < 1)
		return 0;
	double g = log(p->tolerated), s2 = p->block_sd * p->block_sd * (1.0 / x->k + 1.0 / x->m);
	double lambda = (log(p->aim) - g) / s2;
	return lambda * (x->x - g) - lambda * lambda * s2 / 2;
}

/* A weighted average of the e-value from the first block on, of those that start at each block of the horizon, and of 1
 * for the starts that are still to come: an e-value again. */
static double ln_of_metric(const struct brake *b, uint32_t i)
{
	if (b->plan.horizon == 0)
		return b->ln_start[i];
	double waiting = b->blocks < b->plan.horizon ? 1 - (double)b->blocks / b->plan.horizon : 0;
	double late = ln_add(b->ln_late[i] - log(b->plan.horizon), waiting > 0 ? log(waiting) : -INFINITY);
	return ln_add(log(1 - LATE_SHARE) + b->ln_start[i], log(LATE_SHARE) + late);
}

enum brake_state brake_look(struct brake *b, const struct brake_x *x, uint32_t crashes)
{
	bool seen = false;
	double ln_sum = -INFINITY;
	for (uint32_t i = 0; i < b->plan.metrics; i++) {
		double l = ln_factor(&b->plan, &x[i]);
		seen |= isfinite(x[i].x) && x[i].k >= 2 && x[i].m >= 1;
		b->ln_start[i] += l;
		if (b->blocks < b->plan.horizon)
			b->ln_late[i] = ln_add(b->ln_late[i], 0);
		b->ln_late[i] += l;
	}
	b->blocks++;
	b->blind += !seen;
	b->crashes += crashes;
	for (uint32_t i = 0; i < b->plan.metrics; i++)
		ln_sum = ln_add(ln_sum, ln_of_metric(b, i));
	b->ln_e = ln_sum - log(b->plan.metrics);
	b->ln_e_max = fmax(b->ln_e_max, b->ln_e);
	if (b->state == BRAKE_FIRED || b->state == BRAKE_CRASHED)
		return b->state;
	if (b->crashes > 0)
		b->state = BRAKE_CRASHED;
	else if (b->ln_e >= -log(b->plan.alpha))
		b->state = BRAKE_FIRED;
	else
		b->state = seen ? BRAKE_GO_ON : BRAKE_BLIND;
	if (b->state == BRAKE_FIRED || b->state == BRAKE_CRASHED)
		b->fired_at = b->blocks;
	return b->state;
}

/* ---- forecast ---- */

/* A random walk looked at in steps passes a level later than a Brownian motion would, by 0.5826 of a step's standard
 * deviation of level: D. Siegmund, "Sequential Analysis" (1985), chapter X. */
#define OVERSHOOT 0.5826

/* What the caps leave, on the mean, of a slowdown by ln_ratio. */
static double seen_of(const struct brake_plan *p, double ln_ratio)
{
	double sd = p->block_sd, above = (ln_ratio - log(p->aim)) / sd - CAP_SDS;
	double density = exp(-above * above / 2) / sqrt(2 * M_PI);
	double canary = ln_ratio - sd * (above * stats_normal_cdf(above) + density);
	double least = exp(-CAP_SDS * CAP_SDS / 2) / sqrt(2 * M_PI) - CAP_SDS * stats_normal_cdf(-CAP_SDS);
	return canary - sd * least;
}

double brake_caught_within(const struct brake_plan *p, double ratio, double blocks)
{
	double g = log(p->tolerated), s2 = p->block_sd * p->block_sd * (1.0 / p->canaries + 1.0 / p->controls);
	double lambda = (log(p->aim) - g) / s2;
	double drift = lambda * (seen_of(p, log(ratio)) - g) - lambda * lambda * s2 / 2, sd = lambda * sqrt(s2);
	double level = -log(p->alpha) - (p->horizon ? log(1 - LATE_SHARE) : 0);
	if (!(blocks >= 1) || !(drift > 0))
		return 0;
	/* Of a single block the normal distribution itself is known. */
	if (blocks < 2)
		return stats_normal_cdf((drift - level) / sd);
	double a = level + OVERSHOOT * sd, root = sd * sqrt(blocks);
	double back = 2 * drift * a / (sd * sd);
	double missed = stats_normal_cdf(-(drift * blocks + a) / root);
	return fmin(1, stats_normal_cdf((drift * blocks - a) / root) + (missed > 0 ? exp(back + log(missed)) : 0));
}

double brake_blocks_needed(const struct brake_plan *p, double ratio, double probability)
{
	double lo = 0, hi = 1;
	if (!(probability > 0 && probability < 1))
		return NAN;
	while (brake_caught_within(p, ratio, hi) < probability) {
		lo = hi;
		hi *= 2;
		if (hi > BLOCKS_FAR)
			return INFINITY;
	}
	while (hi - lo > 1) {
		double mid = floor((lo + hi) / 2);
		if (brake_caught_within(p, ratio, mid) < probability)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}
