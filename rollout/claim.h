// SPDX-License-Identifier: Apache-2.0
/* Owns whether a host's own report bears out that an order is done: a pure function.
 * Must not know the database, nor what follows from the answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/fleet/directive.h"
#include "lib/fleet/message.h"

#define CLAIM_SCALE_UNKNOWN (-2)

/* The host as the controller knew it before. */
struct claim_before {
	char boot_id[37]; /* when this order was granted; "": not known */
	/* When its first order of this rollout was granted. */
	char release[65];
	char build_id[41];
	char default_entry[160];
	bool begun;                  /* it was staged or measured in this rollout */
	bool applied;                /* it got the preset in this rollout */
	int32_t pcp_batch_scale_max; /* when the preset was ordered; CLAIM_SCALE_UNKNOWN */
};

enum claim {
	CLAIM_HOLDS,
	CLAIM_LATER, /* a reboot came in between, and the host puts in place again what it took away: ask the next
			report */
	CLAIM_FALSE, /* the report itself says otherwise: ret_why, a sentence */
};

/* Of a report of OUTCOME_DONE for order o. A kernel's trial, proof, commit and new-kernel measurement run the
 * directive's release and build-id, one of the old kernel and a way back what was there before; who is told to boot has
 * another boot id; a commit has made an entry of the new kernel the default; a preset's values read as the plan has
 * them, where a report tells them. */
enum claim claim_check(const struct directive *d, const struct order *o, const struct claim_before *before,
		       const struct host_report *report, char ret_why[MESSAGE_TEXT_MAX]);
