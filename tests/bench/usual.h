// SPDX-License-Identifier: Apache-2.0
/* Owns the usual judges, as they are published or commonly built, to compare ours with.
 * Must not know how fleets are simulated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USUAL_MINUTES_MAX 1440

/* Mann and Whitney's test as Kayenta's NetflixACAJudge uses it (Spinnaker's documentation, "How canary judgment
 * works"): two samples of one value a minute, confidence 98% on both sides; "High" where the lower bound of the shift
 * is above 0.25 times the Hodges-Lehmann estimate's size, otherwise a pass. The bound is the order statistic of the
 * pairwise differences by the normal approximation. At most USUAL_MINUTES_MAX values each; fewer than 2 pass. */
bool usual_mann_whitney(const double *canary, size_t n, const double *control, size_t m);

/* All events of all hosts in one pot: one-sided z-test at 5% that canaries have more events slower than a threshold. */
bool usual_pooled(uint64_t canary_slow, uint64_t canary_all, uint64_t control_slow, uint64_t control_all);

/* The canaries' p99 against the controls', nothing else. */
bool usual_threshold(double canary_p99, double control_p99, double limit);
