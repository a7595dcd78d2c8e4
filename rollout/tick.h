// SPDX-License-Identifier: Apache-2.0
/* Owns the controller's step: from what is stored, through decide() and the verdict, to what is stored next.
 * Must not know HTTP or agents: what they said is in the store already. */
#pragma once

#include "store.h"

/* For the rollout that runs, if any: loads it, decides, and writes the new state and the granted orders in one
 * transaction; in JUDGING it makes the verdict first. To be called about once a second and after a poll that ended an
 * order; doing it more often changes nothing. *ret_changed: anything was written. A failure changed nothing and may be
 * tried again at the next tick. */
int must_check tick(struct store *s, uint64_t now, bool *ret_changed, struct err *e);
