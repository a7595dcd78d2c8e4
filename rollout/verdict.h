// SPDX-License-Identifier: Apache-2.0
/* Owns the step from a rollout's recordings to its verdict, in the words and figures of kpcp-canary compare.
 * Must not know the database, nor what is done with a verdict. */
#pragma once

#include "lib/core/brake.h"
#include "lib/fleet/directive.h"
#include "store_view.h"

/* Reads the files, compares, judges by the directive's own plan. Whatever is wrong with the recordings (missing,
 * damaged, not comparable) is HOLD with its reason: no data is never a pass. Fails only on what may pass by itself
 * (memory, descriptors). ret's buffers are the caller's: verdict_free. */
int must_check verdict_make(const struct directive *d, const struct store_recording_file *file, size_t n,
			    struct store_verdict *ret, struct err *e);
void verdict_free(struct store_verdict *v);

/* What the brake says while the new arm is being measured. */
struct verdict_look {
	bool fired;         /* verdict is there, ROLLBACK, and the caller's to free; otherwise there is none */
	struct brake brake; /* where it stands; of no meaning when blind is not "" */
	char blind[JUDGE_REASON_MAX]; /* why nothing could be compared; the gate will HOLD on it */
	struct store_verdict verdict;
};

/* The brake alone, after so many boots of the new arm; file: what is in until now. It can take back, never promote.
 * Fails as verdict_make does. */
int must_check verdict_look(const struct directive *d, const struct store_recording_file *file, size_t n,
			    uint32_t blocks, struct verdict_look *ret, struct err *e);
