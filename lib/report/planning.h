// SPDX-License-Identifier: Apache-2.0
/* Owns how a campaign's planning is shown: hosts and boots a margin takes, the power there is, when the brake would
 * act. Must not know files or command lines. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/brake.h"
#include "lib/core/power.h"
#include "picture.h"

/* What is asked. */
struct planning {
	struct power_spread spread;
	const char *spread_from; /* "given" or where from */
	const char *endpoint;
	double margin, ratio, alpha, power;
	uint32_t canaries, controls, boots; /* that the curve, the power and the brake are shown for */
	uint32_t least; /* hosts an arm that can promote at all: 3 with the second opinion, else 2 */
	struct brake_plan brake;
	bool brake_bounded; /* block_sd is an upper bound from A/A history; otherwise an assumption */
	double block_s;     /* seconds from block to block */
};

int must_check planning_text(struct buf *out, const struct planning *p, const struct picture_style *style,
			     struct err *e);
int must_check planning_json(struct buf *out, const struct planning *p, struct err *e);
