// SPDX-License-Identifier: Apache-2.0
/* Owns how an A/A campaign's result is shown: as text for people, as JSON for machines.
 * Must not know files or how a spread is estimated. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/spread.h"

struct spread_report {
	const struct spread *spread;
	const struct judge_plan *plan; /* that the splits were judged by */
	const char *file;              /* where it was written; NULL: nowhere */
	struct spread_splits splits;   /* n 0: too few hosts to divide */
};

int must_check spread_text(struct buf *out, const struct spread_report *r, struct err *e);
int must_check spread_json(struct buf *out, const struct spread_report *r, struct err *e);
