// SPDX-License-Identifier: Apache-2.0
/* Owns what the judge is told of two published histograms, and how that is shown.
 * Must not know files beyond their names. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/judge.h"
#include "picture.h"
#include "published.h"

struct published_pair {
	const char *path[2]; /* old, new */
	const struct published *hist[2];
	struct judge_plan plan;
	struct verdict verdict;
};

/* One host, one boot of each, watched and not measured, at the geometric middle of the quantile's bucket: all that a
 * published histogram says. It is judged by the default plan for passive evidence like anything else, and cannot be
 * more than HOLD, because hosts, boots, controls and exits are missing. */
int must_check published_judge(struct published_pair *p, struct err *e);
int must_check published_text(struct buf *out, const struct published_pair *p, const struct picture_style *style,
			      struct err *e);
int must_check published_json(struct buf *out, const struct published_pair *p, struct err *e);
