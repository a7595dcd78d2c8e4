// SPDX-License-Identifier: Apache-2.0
/* Owns the repeated question how a rollout goes: a view that redraws on a terminal, else a line for each change.
 * Must not know options or exit codes' numbers beyond those that it returns. */
#pragma once

#include "ask.h"

/* 1 is what errors exit with, so no end can be taken for one. */
enum watch_exit { WATCH_DONE = 0, WATCH_GOES_ON = 1, WATCH_BACK = 2, WATCH_PERSON = 3 };

struct watch {
	const char *path; /* "/v1/rollouts/NAME", or "/v1/rollouts" for all */
	bool one;         /* path is of one rollout */
	bool until_done;
	bool quiet;         /* shows nothing: the end alone counts */
	uint64_t timeout_s; /* 0: none */
	uint64_t interval_ns;
};

/* Asks until the rollout is final (until_done: or HOLD), or the time is over. A controller that was reached once may be
 * away for as long as the time-out lets it: it is a service, and restarts. *last: the last answer, the caller's to
 * free. Returns an enum watch_exit but WATCH_GOES_ON; of all rollouts, and without until_done, it is WATCH_DONE at the
 * end. */
int must_check watch(struct ask *a, const struct watch *w, json_t **last, struct err *e);

/* What a rollout's state means for whoever waits for its end: an enum watch_exit; -EPROTO for a word that is no state.
 * Pure. */
int watch_end(const char *state, bool until_done, struct err *e);
