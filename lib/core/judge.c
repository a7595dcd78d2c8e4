// SPDX-License-Identifier: Apache-2.0
/* Owns the verdict: has the data checked and each endpoint estimated, and decides; what the brake knows goes first.
 * Must not know recordings, files, clocks or what is done with a verdict. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge_work.h"

#define Y_MAX 100.0

const struct judge_plan judge_plan_default = {
    .canaries = 4,
    .controls = 4,
    .boots = 1,
    .storms = 30,
    .judged = {[ENDPOINT_P99] = true, [ENDPOINT_P999] = true, [ENDPOINT_EXIT] = true},
    .margin = {[ENDPOINT_P99] = 0.10, [ENDPOINT_P999] = 0.20, [ENDPOINT_EXIT] = 0.10},
    .min_samples = {[ENDPOINT_P99] = 1000, [ENDPOINT_P999] = 10000, [ENDPOINT_EXIT] = 30},
    .probing = PROBING_ACTIVE,
    .min_passive_samples = {[ENDPOINT_P99] = 10000, [ENDPOINT_P999] = 100000, [ENDPOINT_EXIT] = 300},
    .alpha_promote = 0.05,
    .alpha_rollback = 0.01,
    .sd_floor = 0.008,
    .ancova_from = 20,
    .welch_alone = false,
    .seed = 1,
};

const char *verdict_name(enum verdict_kind k)
{
	switch (k) {
	case VERDICT_HOLD:
		return "HOLD";
	case VERDICT_PROMOTE:
		return "PROMOTE";
	case VERDICT_ROLLBACK:
		return "ROLLBACK";
	}
	return "UNKNOWN";
}

void judge_add_reason(struct verdict *v, const char *text)
{
	if (v->n_reasons >= JUDGE_REASONS_MAX)
		return;
	char *reason = v->reason[v->n_reasons++];
	size_t len = strnlen(text, JUDGE_REASON_MAX - 1);
	memcpy(reason, text, len);
	reason[len] = '\0';
}

void judge_add_defect(struct work *w, const char *text)
{
	w->defects++;
	if (w->v->n_reasons >= JUDGE_REASONS_MAX - REASONS_KEPT - 1)
		w->unsaid++;
	else
		judge_add_reason(w->v, text);
}

bool judge_usable(double y)
{
	return isfinite(y) && fabs(y) <= Y_MAX;
}

unsigned judge_judged_count(const struct judge_plan *p)
{
	unsigned m = 0;
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		m += p->judged[i];
	return m;
}

double judge_floor(const struct judge_plan *p, enum endpoint x)
{
	return fmax(p->sd_floor, p->sd_history[x]);
}

/* ---- order ---- */

static int compare_boots(const struct judge_boot *a, const struct judge_boot *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int r = memcmp(a[i].y, b[i].y, sizeof(a[i].y));
		if (r == 0)
			r = memcmp(a[i].samples, b[i].samples, sizeof(a[i].samples));
		if (r == 0)
			r = memcmp(&a[i].storms, &b[i].storms, sizeof(a[i].storms));
		if (r == 0)
			r = (int)a[i].probing - (int)b[i].probing;
		if (r != 0)
			return r;
	}
	return 0;
}

/* Contents too: hosts of one name are a defect, and its reasons must not depend on the order either. */
static int compare_hosts(const void *pa, const void *pb)
{
	const struct judge_host *a = *(const struct judge_host *const *)pa, *b = *(const struct judge_host *const *)pb;
	int r = strcmp(a->name, b->name);
	if (r == 0)
		r = (int)a->control - (int)b->control;
	if (r == 0)
		r = strncmp(a->model, b->model, sizeof(a->model));
	if (r == 0)
		r = (a->n_old > b->n_old) - (a->n_old < b->n_old);
	if (r == 0)
		r = (a->n_new > b->n_new) - (a->n_new < b->n_new);
	if (r == 0)
		r = compare_boots(a->old_boot, b->old_boot, a->n_old);
	if (r == 0)
		r = compare_boots(a->new_boot, b->new_boot, a->n_new);
	return r;
}

/* ---- the decision: PROMOTE before ROLLBACK before HOLD ---- */

static void decide(struct work *w)
{
	struct verdict *v = w->v;
	bool all_promote = true, any_rolls_back = false;
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		struct verdict_endpoint *ve = &v->endpoint[i];
		/* Nothing is proven harmless by data that differ from what was promised. */
		if (w->defects)
			ve->promotes = false;
		if (!ve->judged)
			continue;
		all_promote &= ve->promotes;
		any_rolls_back |= ve->rolls_back;
	}
	v->defects = w->defects;
	if (w->defects) {
		v->kind = VERDICT_HOLD;
		judge_say_estimates(w);
	} else if (all_promote) {
		v->kind = VERDICT_PROMOTE;
		judge_say_promote(w->plan, v);
	} else if (any_rolls_back) {
		v->kind = VERDICT_ROLLBACK;
		judge_say_rollback(v);
	} else {
		v->kind = VERDICT_HOLD;
		judge_say_undecided(w);
	}
	if (w->plan->welch_alone)
		say(v, "The plan accepts Welch's bounds alone (second-opinion = welch-alone): no randomisation test "
		       "was made.");
}

static void work_free(struct work *w)
{
	free(w->host);
	for (size_t i = 0; i < sizeof(w->room) / sizeof(w->room[0]); i++)
		free(w->room[i]);
}

static int work_alloc(struct work *w, struct err *e)
{
	size_t n = w->n ? w->n : 1;
	bool there = (w->host = calloc(n, sizeof(*w->host))) != NULL;
	for (size_t i = 0; i < sizeof(w->room) / sizeof(w->room[0]); i++)
		there &= (w->room[i] = calloc(n, sizeof(*w->room[i]))) != NULL;
	return there ? 0 : err_sys(e, ENOMEM, "judging %zu hosts", w->n);
}

int judge(const struct judge_plan *plan, const struct judge_host *hosts, size_t n, struct verdict *ret, struct err *e)
{
	int r = judge_check_plan(plan, e);
	if (r == 0)
		r = judge_check_hosts(hosts, n, e);
	if (r < 0)
		return r;
	_cleanup_(work_free) struct work w = {.plan = plan, .n = n, .v = ret};
	if ((r = work_alloc(&w, e)) < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		w.host[i] = &hosts[i];
	qsort(w.host, n, sizeof(w.host[0]), compare_hosts);
	memset(ret, 0, sizeof(*ret));
	judge_check_data(&w);
	judge_estimate_all(&w);
	decide(&w);
	return 0;
}

/* ---- the brake ---- */

static void put_in_front(struct verdict *v, const char *text)
{
	if (v->n_reasons == JUDGE_REASONS_MAX)
		v->n_reasons--;
	memmove(v->reason[1], v->reason[0], v->n_reasons * sizeof(v->reason[0]));
	uint32_t n = v->n_reasons;
	v->n_reasons = 0;
	judge_add_reason(v, text);
	v->n_reasons = n + 1;
}

void judge_brake(struct verdict *v, const struct brake *b)
{
	struct err text;
	if (b->state == BRAKE_CRASHED) {
		v->kind = VERDICT_ROLLBACK;
		err_set(&text, EINVAL,
			"%" PRIu32 " crash%s, lock-up%s or hung host%s among the canaries, the first in block %" PRIu32
			": take the change back now, whatever the latencies say.",
			b->crashes, b->crashes == 1 ? "" : "es", b->crashes == 1 ? "" : "s", b->crashes == 1 ? "" : "s",
			b->fired_at);
	} else if (b->state == BRAKE_FIRED) {
		v->kind = VERDICT_ROLLBACK;
		err_set(
		    &text, EINVAL,
		    "The brake fired in block %" PRIu32
		    ": canaries are proven slower than %.3g times the controls, with a chance of at most %g that this "
		    "is an accident. Take the change back now.",
		    b->fired_at, b->plan.tolerated, b->plan.alpha);
	} else if (b->state == BRAKE_BLIND && v->kind == VERDICT_PROMOTE) {
		v->kind = VERDICT_HOLD;
		err_set(&text, EINVAL,
			"The brake is blind: the last of %" PRIu32
			" blocks had fewer than 2 canaries or no control. Find out why they no longer report.",
			b->blocks);
	} else {
		return;
	}
	put_in_front(v, text.text);
}
