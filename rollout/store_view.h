// SPDX-License-Identifier: Apache-2.0
/* Owns what the tick needs of the store: the rollout that runs as decide() wants it, and the way back for decisions.
 * Must not know how either is reached. */
#pragma once

#include <limits.h>

#include "store.h"

/* The rollout that runs, whole, as of one moment. */
struct store_view {
	struct store_rollout rollout;
	struct directive directive;
	struct decide_view view; /* points into the above; view.host is owned */
};
/* 1: *ret is filled; 0: no rollout runs. */
int must_check store_view_load(struct store *s, uint64_t now, struct store_view *ret, struct err *e);
void store_view_free(struct store_view *v);

/* Writes the decision: the state, the orders with the next epoch of each host, and what they replace, in one
 * transaction; an order that would take a cluster over its budget fails it all. A host that cannot be ordered anything
 * (an order is out to it already, or it has no next epoch) is skipped, and d->waiting names it. Nothing is written when
 * nothing is new. */
int must_check store_view_apply(struct store *s, const struct store_view *v, struct decision *d, uint64_t now,
				bool *ret_changed, struct err *e);

/* The verdict as it is kept; json and text may be empty, where nothing could be compared. */
struct store_verdict {
	enum verdict_kind kind;
	char reason[JUDGE_REASON_MAX];
	struct buf json, text;
};
int must_check store_verdict_set(struct store *s, const char *rollout, const struct store_verdict *v, uint64_t now,
				 struct err *e);

/* The brake has looked at so many boots of the new arm, and this is what it said. */
int must_check store_braked_set(struct store *s, const char *rollout, uint32_t blocks, const char *text, uint64_t now,
				struct err *e);

struct store_recording_file {
	char path[PATH_MAX];
	char host[STORE_NAME_MAX];
	enum arm arm;
	uint32_t boot;
	bool control;
};
/* By host, arm and boot; the caller's to free. */
int must_check store_recording_files(struct store *s, const char *rollout, struct store_recording_file **ret, size_t *n,
				     struct err *e);
