// SPDX-License-Identifier: Apache-2.0
/* Owns the way of an order into the journal.
 * Must not know how it is carried out. */
#pragma once

#include "act.h"

/* Verifies the order in the reply. Accepted: the journal in memory has it, and *ret is for the lifecycle, whose caller
 * stores both. Not accepted: the answer is in the journal and stored, or nothing changed. */
int must_check act_order(struct actor *a, const struct poll_reply *reply, bool *ret_accepted, enum event *ret,
			 struct err *e);
/* After a restart: reads the directive of the order under way again, with its signature. */
int must_check act_order_recall(struct actor *a, struct err *e);
