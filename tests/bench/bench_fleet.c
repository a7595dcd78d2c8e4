// SPDX-License-Identifier: Apache-2.0
/* Owns simulated fleets minute by minute.
 * Must not know any judge. */
#include "bench_fleet.h"

#include <math.h>
#include <string.h>

#define Z99 2.3263478740408408 /* stats_normal_quantile(.99), which is too slow for every minute */

/* A boot's minutes scatter round the boot's own value; the judge's y is their mean. y may be NULL. */
static void draw_boot(const struct fleet *f, struct draw *d, struct judge_boot *boot, double *y)
{
	struct draw_series minutes = {.shape = DRAW_AR1, .phi = FLEET_MINUTE_PHI};
	double sum = 0, own = boot->y[ENDPOINT_P99];
	for (uint32_t m = 0; m < f->minutes; m++) {
		double value = own + FLEET_MINUTE_SD * draw_next(d, &minutes);
		sum += value;
		if (y)
			y[m] = value;
	}
	boot->y[ENDPOINT_P99] = sum / f->minutes;
}

void fleet_draw(struct fleet *f, uint64_t i)
{
	struct trial t = f->trial;
	struct draw d = draw_start(t.seed + 1, i);
	t.ratio = 1;
	trial_hosts(&t, i, f->host);
	for (uint32_t h = 0; h < t.canaries + t.controls; h++) {
		for (uint32_t b = 0; b < t.boots; b++) {
			draw_boot(f, &d, &f->host[h].old_boot[b], NULL);
			draw_boot(f, &d, &f->host[h].new_boot[b], &f->y[h][b * f->minutes]);
		}
		for (uint32_t m = 0; m < t.boots * f->minutes; m++)
			f->luck[h][m] = draw_normal(&d);
	}
}

void fleet_hosts(const struct fleet *f, double ratio, struct judge_host *ret)
{
	uint32_t n = f->trial.canaries + f->trial.controls;
	memcpy(ret, f->host, n * sizeof(*ret));
	for (uint32_t h = 0; h < n; h++)
		for (uint32_t b = 0; !ret[h].control && b < ret[h].n_new; b++)
			ret[h].new_boot[b].y[ENDPOINT_P99] += log(ratio);
}

size_t fleet_series(const struct fleet *f, double ratio, double *canary, double *control)
{
	const struct trial *t = &f->trial;
	size_t n = t->boots * f->minutes;
	for (size_t m = 0; m < n; m++) {
		double sum[2] = {0, 0};
		for (uint32_t h = 0; h < t->canaries + t->controls; h++)
			sum[f->host[h].control] += exp(f->y[h][m]);
		canary[m] = ratio * sum[0] / t->canaries;
		control[m] = sum[1] / t->controls;
	}
	return n;
}

/* Binomial counts by their normal approximation: some 10 of 1,000 a minute, hundreds and more in a pot. */
static double slow_events(const struct fleet *f, uint32_t h, size_t m, double ratio)
{
	double above = f->y[h][m] - TRIAL_TYPICAL + log(ratio);
	double p = 1 - stats_normal_cdf(Z99 - above / FLEET_EVENT_SD);
	double count = FLEET_EVENTS * p + sqrt(FLEET_EVENTS * p * (1 - p)) * f->luck[h][m];
	return fmax(0, fmin(FLEET_EVENTS, round(count)));
}

struct fleet_events fleet_events(const struct fleet *f, double ratio, size_t from, size_t to)
{
	const struct trial *t = &f->trial;
	struct fleet_events e = {0};
	for (uint32_t h = 0; h < t->canaries + t->controls; h++) {
		bool control = f->host[h].control;
		uint64_t slow = 0;
		for (size_t m = from; m < to; m++)
			slow += (uint64_t)slow_events(f, h, m, control ? 1 : ratio);
		*(control ? &e.control_slow : &e.canary_slow) += slow;
		*(control ? &e.control_all : &e.canary_all) += (to - from) * FLEET_EVENTS;
	}
	return e;
}
