// SPDX-License-Identifier: Apache-2.0
/* Owns the order of a tick: load, judge where it is time to, decide, write.
 * Must not know what is behind any of them. */
#include "tick.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/braking.h"
#include "store_view.h"
#include "verdict.h"

/* A state may lead into JUDGING, and the verdict out of it: both in one tick. */
#define ROUNDS_MAX 3

static int keep(struct store *s, struct store_view *v, const struct store_verdict *verdict, uint64_t now, struct err *e)
{
	int r = store_verdict_set(s, v->rollout.name, verdict, now, e);

	if (r == 0) {
		v->view.has_verdict = true;
		v->view.verdict = verdict->kind;
		memcpy(v->view.verdict_reason, verdict->reason, sizeof(verdict->reason));
	}
	return r;
}

static int make_verdict(struct store *s, struct store_view *v, uint64_t now, struct err *e)
{
	struct store_recording_file *file = NULL;
	struct store_verdict verdict;
	size_t n;
	int r = store_recording_files(s, v->rollout.name, &file, &n, e);

	if (r < 0)
		return r;
	r = verdict_make(&v->directive, file, n, &verdict, e);
	free(file);
	if (r < 0)
		return r;
	r = keep(s, v, &verdict, now, e);
	verdict_free(&verdict);
	return r;
}

/* The verdict first: a look that was kept without it would not be made again. */
static int keep_look(struct store *s, struct store_view *v, const struct verdict_look *look, uint32_t blocks,
		     uint64_t now, struct err *e)
{
	const struct brake *b = &look->brake;
	char text[MESSAGE_TEXT_MAX];
	int r = look->fired ? keep(s, v, &look->verdict, now, e) : 0;

	if (look->blind[0])
		snprintf(text, sizeof(text), "the brake sees nothing after boot %u of %u: %.180s", blocks,
			 v->directive.judge.boots, look->blind);
	else
		snprintf(text, sizeof(text), "the brake after boot %u of %u: %s (evidence %.2f, fires at %.2f)", blocks,
			 v->directive.judge.boots, brake_state_name(b->state), b->ln_e, -log(b->plan.alpha));
	return r < 0 ? r : store_braked_set(s, v->rollout.name, blocks, text, now, e);
}

/* Between boots: a gross regression does not wait for the last of them. */
static int look(struct store *s, struct store_view *v, uint64_t now, struct err *e)
{
	uint32_t blocks = decide_blocks(&v->view);
	struct store_recording_file *file = NULL;
	struct verdict_look look;
	struct brake_plan p;
	size_t n;

	if (v->view.has_verdict || blocks <= v->rollout.braked || blocks >= v->directive.judge.boots ||
	    !braking_plan(&v->directive.judge, &p))
		return 0;
	int r = store_recording_files(s, v->rollout.name, &file, &n, e);
	if (r < 0)
		return r;
	r = verdict_look(&v->directive, file, n, blocks, &look, e);
	free(file);
	if (r < 0)
		return r;
	r = keep_look(s, v, &look, blocks, now, e);
	if (look.fired)
		verdict_free(&look.verdict);
	return r;
}

static int one_round(struct store *s, uint64_t now, bool *ret_changed, bool *ret_judging, struct err *e)
{
	struct store_view v;
	struct decision d;
	int r = store_view_load(s, now, &v, e);

	*ret_changed = *ret_judging = false;
	if (r <= 0)
		return r;
	r = 0;
	if (v.view.state == ROLLOUT_JUDGING && !v.view.has_verdict)
		r = make_verdict(s, &v, now, e);
	else if (v.view.state == ROLLOUT_CANARY)
		r = look(s, &v, now, e);
	if (r == 0)
		r = decide(&v.view, &d, e);
	if (r == 0) {
		r = store_view_apply(s, &v, &d, now, ret_changed, e);
		*ret_judging = d.state == ROLLOUT_JUDGING;
		decision_free(&d);
	}
	store_view_free(&v);
	return r;
}

int tick(struct store *s, uint64_t now, bool *ret_changed, struct err *e)
{
	bool any = false, judging = true;
	int r = 0;

	for (int i = 0; r == 0 && judging && i < ROUNDS_MAX; i++) {
		bool changed;

		r = one_round(s, now, &changed, &judging, e);
		any |= changed;
	}
	if (r == 0)
		*ret_changed = any;
	return r < 0 ? err_context(e, "the controller's step") : 0;
}
