// SPDX-License-Identifier: Apache-2.0
/* Owns what a plan would do, in words: the steps of each host, and what speaks against it.
 * Must not know HTTP, the database, or clocks: what is known of the fleet comes in. */
#pragma once

#include "roster.h"
#include "store.h"

#define FORECAST_STEPS_MAX    8
#define FORECAST_TEXT_MAX     256
#define FORECAST_PROBLEMS_MAX 64

/* The steps of a host with this role and wave, in their order; returns how many. */
unsigned forecast_steps(const struct directive *d, enum role role, uint32_t wave,
			char step[FORECAST_STEPS_MAX][FORECAST_TEXT_MAX]);

struct forecast_problems {
	uint32_t n;
	uint32_t left_out; /* there are so many more */
	char text[FORECAST_PROBLEMS_MAX][FORECAST_TEXT_MAX];
};

void forecast_problem(struct forecast_problems *p, const char *fmt, ...) printf_like(2, 3);

/* What speaks against the plan itself: the names in it do not fit each other, or the fleet that is enrolled. hosts:
 * all of the store's. */
void forecast_plan(const struct directive *d, const struct store_host *hosts, size_t n, struct forecast_problems *p);

/* What speaks against one host that is drawn. */
void forecast_host(const struct directive *d, const struct store_host *h, enum role role, uint64_t now,
		   struct forecast_problems *p);

/* What speaks against measuring h beside first, who is drawn to be measured, too. */
void forecast_pair(const struct store_host *first, const struct store_host *h, struct forecast_problems *p);
