// SPDX-License-Identifier: Apache-2.0
/* Owns the picture of latency distributions in a terminal: one panel above the other, on one logarithmic axis.
 * Must not know terminals, recordings or verdicts: histograms in, text out. */
#pragma once

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/core/hist.h"

#define PICTURE_WIDTH_MIN 40u
#define PICTURE_WIDTH_MAX 200u

struct picture_panel {
	const char *label;
	const struct hist *hist;
};

struct picture_style {
	unsigned width; /* columns of the whole picture */
	bool utf8;      /* blocks of eighths; otherwise ASCII */
	bool colour;    /* ANSI sequences */
};

/* The height of a column is the square root of its share of the operations, so that tails show; the scale is one for
 * all panels, and what is there at all has at least the smallest mark. A dotted line marks each panel's p99. Values out
 * of the histogram's range are counted in the label. */
int must_check picture_draw(struct buf *out, const struct picture_panel *panel, size_t n,
			    const struct picture_style *style, struct err *e);
