// SPDX-License-Identifier: Apache-2.0
/* Owns a comparison and a recording as text for people.
 * Must not know terminals or files: it adds to a buffer. */
#pragma once

#include <stdbool.h>

#include "compare.h"
#include "lib/base/buf.h"

#define TABLE_WIDTH 80

/* Whether so many operations were late that the responses tell of a queue rather than of the kernel: a quarter. Then
 * *ret, of TABLE_SATURATED_MAX bytes, is a sentence that says so and what to do. */
#define TABLE_SATURATED_MAX 320
bool table_saturated(const struct recording_shape *s, uint64_t samples, uint64_t missed, char *ret);

/* What was compared, and each arm's quantiles. */
int must_check table_comparison(struct buf *out, const struct comparison *c, struct err *e);
/* Each endpoint's estimate, the verdict, its reasons. colour: ANSI sequences around the verdict. */
int must_check table_verdict(struct buf *out, const struct comparison *c, bool colour, struct err *e);
int must_check table_recording(struct buf *out, const struct recording_header *h, const struct summary *s,
			       struct err *e);
