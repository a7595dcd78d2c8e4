// SPDX-License-Identifier: Apache-2.0
/* Owns the order of a recording: victims start, storms come and die, windows end, results are handed on.
 * Must not know command lines or files. */
#include "campaign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pin.h"
#include "probe_storm.h"
#include "probe_victim.h"

#define START_NS    2000000u       /* from the command to a victim's first slot */
#define STEP_NS     60000000000ull /* what a step without a pace may take, in slow emulated machines, too */
#define VOID_STORMS 5u             /* in a row, before giving up */

struct round {
	const struct campaign *c;
	struct victim *victim;
	uint32_t n;
	struct storm storm;
	struct recording_storm *result;
	uint64_t random;
};

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int interrupted(const struct round *r, struct err *e)
{
	return *r->c->interrupted ? err_set(e, EINTR, "interrupted by a signal") : 0;
}

static int each(struct round *r, int (*step)(struct victim *v, struct err *e), struct err *e)
{
	for (uint32_t i = 0; i < r->n; i++) {
		int ret = step(&r->victim[i], e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* A storm that is void (VICTIM_VOID) is void for all victims: the others are waited for, too. */
static int wait_all(struct round *r, uint64_t deadline_ns, struct err *e)
{
	int ret = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		int one = victim_wait(&r->victim[i], deadline_ns, r->c->sys, e);

		if (one < 0 && one != VICTIM_VOID)
			return one;
		if (one < 0)
			ret = one;
	}
	return ret;
}

static uint64_t soon(const struct round *r)
{
	return r->c->sys->now_ns(r->c->sys) + STEP_NS;
}

static int start_victims(struct round *r, struct err *e)
{
	const struct layout *l = r->c->layout;

	for (uint32_t i = 0; i < l->n_victims; i++) {
		int ret = victim_start(&r->victim[i], l, i, r->c->sys, e);

		if (ret < 0)
			return ret;
		r->n++;
	}
	int ret = wait_all(r, soon(r), e);
	const char *text = ret == 0 ? victim_warning(&r->victim[0]) : NULL;
	if (text)
		r->c->warning(r->c->target, text);
	return ret;
}

/* From a populated storm to its last process's end and the victims' last operation. */
static int measure(struct round *r, uint64_t *ret_kill_ns, uint64_t *ret_gone_ns, struct err *e)
{
	const struct layout *l = r->c->layout;
	const struct sys *s = r->c->sys;
	uint64_t start = s->now_ns(s) + START_NS;
	/* The kill must not keep step with the slots. */
	uint64_t kill_at = start + l->lead_ns + next_random(&r->random) % l->period_ns;
	int ret;

	/* Victims shall not all fault at the same moment; and how their slots lie to each other decides how long they
	 * wait for each other, so it is drawn anew for each storm: one draw would mark the whole recording. */
	for (uint32_t i = 0; i < r->n; i++)
		if ((ret = victim_go(&r->victim[i], start + next_random(&r->random) % l->period_ns, e)) < 0)
			return ret;
	while (s->now_ns(s) < kill_at)
		if (s->sleep_until(s, kill_at) < 0 && (ret = interrupted(r, e)) < 0)
			return ret;
	if ((ret = storm_kill(&r->storm, s, ret_kill_ns, e)) < 0)
		return ret;
	for (uint32_t i = 0; i < r->n; i++)
		victim_killed(&r->victim[i], *ret_kill_ns);
	if ((ret = storm_reap(&r->storm, s, ret_gone_ns, e)) < 0)
		return ret;
	while (s->now_ns(s) < *ret_kill_ns + l->window_ns)
		if (s->sleep_until(s, *ret_kill_ns + l->window_ns) < 0 && (ret = interrupted(r, e)) < 0)
			return ret;
	return wait_all(r, *ret_kill_ns + 5 * l->window_ns + STEP_NS, e);
}

static void collect(struct round *r, uint64_t kill_ns, uint64_t gone_ns)
{
	const struct layout *l = r->c->layout;
	struct recording_storm *out = r->result;

	memset(out, 0, sizeof(*out));
	hist_init(&out->response);
	hist_init(&out->service);
	out->exit_ns = gone_ns - kill_ns;
	out->exit_pages = l->processes * l->process_pages;
	for (uint32_t i = 0; i < r->n; i++)
		out->missed += victim_collect(&r->victim[i], l, kill_ns, &out->response, &out->service);
}

static int one_storm(struct round *r, struct err *e)
{
	uint64_t kill_ns = 0, gone_ns = 0;
	int ret;

	if ((ret = storm_start(&r->storm, r->c->layout, r->c->sys, e)) < 0)
		return ret;
	if ((ret = each(r, victim_drain, e)) < 0 || (ret = wait_all(r, soon(r), e)) < 0)
		return ret;
	ret = measure(r, &kill_ns, &gone_ns, e);
	if (ret == 0)
		collect(r, kill_ns, gone_ns);
	if (ret < 0 && ret != VICTIM_VOID)
		return ret;
	storm_stop(&r->storm);
	int released = each(r, victim_release, e);
	if (released == 0)
		released = wait_all(r, soon(r), e);
	return released < 0 ? released : ret;
}

/* A void storm measured nothing, so that measuring it again hides nothing. */
static int one_valid_storm(struct round *r, struct err *e)
{
	int ret = VICTIM_VOID;

	for (unsigned i = 0; i < VOID_STORMS && ret == VICTIM_VOID; i++) {
		if ((ret = interrupted(r, e)) < 0)
			return ret;
		ret = one_storm(r, e);
		if (ret == VICTIM_VOID)
			r->c->warning(r->c->target, e->text);
	}
	return ret;
}

static int all_storms(struct round *r, struct err *e)
{
	const struct campaign *c = r->c;

	for (uint32_t i = 0; i < c->warmup + c->storms; i++) {
		int ret = one_valid_storm(r, e);

		if (ret < 0)
			return i < c->warmup ? err_context(e, "warm-up storm %u of %u", i + 1, c->warmup)
					     : err_context(e, "storm %u of %u", i - c->warmup + 1, c->storms);
		r->result->index = i < c->warmup ? 0 : i - c->warmup;
		ret = c->done(c->target, i, i < c->warmup ? NULL : r->result, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int campaign_run(const struct campaign *c, struct err *e)
{
	struct round r = {.c = c, .random = c->seed};
	int ret = pin_self(c->layout->storm.cpu[0], e);

	if (ret < 0)
		return ret;
	r.victim = calloc(c->layout->n_victims, sizeof(*r.victim));
	r.result = malloc(sizeof(*r.result));
	if (!r.victim || !r.result)
		ret = err_sys(e, ENOMEM, "starting a recording");
	if (ret == 0)
		ret = start_victims(&r, e);
	if (ret == 0)
		ret = all_storms(&r, e);
	storm_stop(&r.storm);
	for (uint32_t i = 0; r.victim && i < c->layout->n_victims; i++)
		victim_stop(&r.victim[i]);
	free(r.victim);
	free(r.result);
	return ret;
}
