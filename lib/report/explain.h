// SPDX-License-Identifier: Apache-2.0
/* Owns a verdict in the words of whoever is called at night: what it means, what to do, what each endpoint says, what
 * was left out and why. Must not decide anything. */
#pragma once

#include "compare.h"
#include "lib/base/buf.h"

#define EXPLAIN_MAX      640
#define EXPLAIN_LEFT_MAX 12

/* Whole sentences, the same for the same comparison. */
struct explanation {
	char summary[EXPLAIN_MAX];
	char next[EXPLAIN_MAX];
	char endpoint[ENDPOINT_COUNT][EXPLAIN_MAX];
	uint32_t n_left_out;
	char left_out[EXPLAIN_LEFT_MAX][EXPLAIN_MAX];
};

void explain(const struct comparison *c, struct explanation *ret);
/* The explanation and the judge's own reasons, wrapped. colour: ANSI sequences around the verdict. */
int must_check explain_text(struct buf *out, const struct comparison *c, bool colour, struct err *e);
