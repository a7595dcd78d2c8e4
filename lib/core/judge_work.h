// SPDX-License-Identifier: Apache-2.0
/* Owns what the judge's own files share: one judgement under way, and how reasons are added to it.
 * Must not be included by anybody else. */
#pragma once

#include <errno.h>

#include "judge.h"

/* Kept free of defects, so that the sentences on endpoints and on the plan always find room. */
#define REASONS_KEPT (ENDPOINT_COUNT + 2)

/* One judgement under way. */
struct work {
	const struct judge_plan *plan;
	const struct judge_host **host; /* sorted: the order they came in must not show */
	size_t n;
	double *room[5];  /* of n values each, for the estimates */
	uint32_t defects; /* of roster and data; with any of them the verdict is HOLD */
	uint32_t unsaid;  /* defects that found no room */
	struct verdict *v;
};

void judge_add_reason(struct verdict *v, const char *text);
void judge_add_defect(struct work *w, const char *text);

/* Sentences are put together where all bounded texts are, in a struct err: core itself knows no stdio. */
#define say(v, ...)                                  \
	do {                                         \
		struct err text;                     \
		err_set(&text, EINVAL, __VA_ARGS__); \
		judge_add_reason(v, text.text);      \
	} while (0)
#define defect(w, ...)                               \
	do {                                         \
		struct err text;                     \
		err_set(&text, EINVAL, __VA_ARGS__); \
		judge_add_defect(w, text.text);      \
	} while (0)

/* |y|: e^100 s is no latency; anything beyond is treated like NaN. */
bool judge_usable(double y);
unsigned judge_judged_count(const struct judge_plan *p);

int must_check judge_check_plan(const struct judge_plan *p, struct err *e);
int must_check judge_check_hosts(const struct judge_host *hosts, size_t n, struct err *e);
/* The roster comes from the plan: anything else than it is a defect, so that leaving data out never helps. */
void judge_check_data(struct work *w);

void judge_estimate_all(struct work *w);

void judge_say_estimates(struct work *w);
void judge_say_promote(const struct judge_plan *p, struct verdict *v);
void judge_say_rollback(struct verdict *v);
void judge_say_undecided(struct work *w);
