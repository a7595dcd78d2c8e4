// SPDX-License-Identifier: Apache-2.0
/* Owns simulated fleets minute by minute: the boots of lib/core/trial.h, with a series of minutes inside each.
 * Must not know any judge. */
#pragma once

#include "lib/base/attr.h"
#include "lib/core/stats.h"
#include "lib/core/trial.h"

#define FLEET_HOSTS_MAX   16
#define FLEET_BOOTS_MAX   4
#define FLEET_MINUTES_MAX 1440 /* of one kernel, over all boots */

#define FLEET_MINUTE_SD  0.10 /* of ln p99 within one boot */
#define FLEET_MINUTE_PHI 0.8
#define FLEET_EVENTS     1000 /* waits a minute on each host */
#define FLEET_EVENT_SD   0.7  /* of the ln of one wait: a lognormal body */

struct fleet {
	struct trial trial; /* its ratio is not used: each question has its own */
	uint32_t minutes;   /* of each boot */
	/* What was drawn, at a ratio of 1. */
	struct judge_host host[FLEET_HOSTS_MAX];         /* y: the mean over the boot's minutes */
	double y[FLEET_HOSTS_MAX][FLEET_MINUTES_MAX];    /* of the new boots, one after the other */
	double luck[FLEET_HOSTS_MAX][FLEET_MINUTES_MAX]; /* of counting events, standard normal */
};

void fleet_draw(struct fleet *f, uint64_t i);

/* What our judge is given: the canaries' new boots slower by ratio. */
void fleet_hosts(const struct fleet *f, double ratio, struct judge_host *ret);

/* What a time-series store has of the new boots: the mean p99 of each group, one value a minute. Returns how many. */
size_t fleet_series(const struct fleet *f, double ratio, double *canary, double *control);

/* Waits that were slower than the p99 of a typical boot, in the minutes from <= m < to. */
struct fleet_events {
	uint64_t canary_slow, canary_all, control_slow, control_all;
};
struct fleet_events fleet_events(const struct fleet *f, double ratio, size_t from, size_t to);
