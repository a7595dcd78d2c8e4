// SPDX-License-Identifier: Apache-2.0
/* Owns a comparison and a recording as JSON for machines: stable names, units in them, NaN as null.
 * Must not know files. */
#pragma once

#include "compare.h"
#include "lib/base/buf.h"

/* Adds one JSON text with a final line feed; the same bytes for the same input. */
int must_check to_json_comparison(struct buf *out, const struct comparison *c, struct err *e);
int must_check to_json_recording(struct buf *out, const struct recording_header *h, const struct summary *s,
				 struct err *e);
