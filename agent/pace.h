// SPDX-License-Identifier: Apache-2.0
/* Owns when the talker speaks: waits with jitter, back-off, and which orders are handed on.
 * Must not know clocks, the network or the channel: values in, values out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/fleet/message.h"

#define PACE_SECOND_NS 1000000000ull

/* wait_s as the controller said (taken as at least 1 s, at most 1 h) plus 0 to a quarter of it by random. */
uint64_t pace_wait_ns(uint32_t wait_s, uint64_t random);

/* After failures requests in a row that failed (1: the first): evenly between 1 s and min(2^failures, 300) s, but never
 * before retry_after_s plus up to a quarter of it. */
uint64_t pace_backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random);

/* What the talker has to know of an actor's report: whether an order runs, and which was seen last. */
struct pace_seen {
	uint64_t epoch;
	enum outcome outcome;
};
/* Whether an order goes to the actor. Not while it runs one; not one that it has reported the end of; not the same one
 * (last_epoch, 0: none) again within a minute. An order that the actor lost is handed over again after that. */
bool pace_hand_over(const struct pace_seen *seen, uint64_t epoch, uint64_t last_epoch, uint64_t since_last_ns);

/* Whether an upload was refused for good, so that the order fails: only what the controller says of a recording (bad,
 * of no order of this host, too large). What it says when its own files are missing, or when somebody else answers at
 * its address, ends no order: the same recording may be taken later. */
bool pace_final(long status);
