// SPDX-License-Identifier: Apache-2.0
/* Owns the step from a campaign that is not over yet to the brake: each boot of the new kernel or preset is a block.
 * Must not know files, nor what is done when the brake fires. */
#pragma once

#include <stdbool.h>

#include "lib/core/brake.h"
#include "lib/core/judge.h"

/* What the brake watches under this plan: its judged endpoints, in this order; the horizon is the plan's boots. One
 * block's spread is the plan's brake_sd, or the default one where it has none. false: the plan has too few hosts for a
 * brake. */
bool braking_plan(const struct judge_plan *p, struct brake_plan *ret);

/* The brake after the first `blocks` boots of the new arm. A host's value is y of that boot less the mean of its own
 * old boots; NaN for a host without the boot or without old ones. An error of that mean is in every block alike; it is
 * a part of what is tolerated (1.5), which hosts that spread by 15% miss by three standard deviations. */
int must_check braking_look(const struct judge_plan *p, const struct judge_host *hosts, size_t n, uint32_t blocks,
			    struct brake *ret, struct err *e);
