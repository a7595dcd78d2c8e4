// SPDX-License-Identifier: Apache-2.0
/* Owns the picture of a share that depends on a number: a curve from 0 to 100%, in a terminal.
 * Must not know what the share or the number is. */
#pragma once

#include "picture.h"

#define CURVE_POINTS_MAX 120

struct curve {
	const char *title;
	const char *unit;    /* what x counts: "hosts an arm" */
	const double *share; /* 0 to 1, of each x; drawn as 0 where NaN */
	double x_first, x_step;
	size_t n;
	double mark; /* a share that is marked by a line across; 0: none */
};

/* One column for each point, ten lines high, the axis below. */
int must_check curve_draw(struct buf *out, const struct curve *c, const struct picture_style *style, struct err *e);
