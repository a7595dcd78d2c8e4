// SPDX-License-Identifier: Apache-2.0
/* Owns a measurement on this host: kpcp-canary with the directive's settings, and its recording in the spool.
 * Must not know what is measured, nor how a recording reaches the controller. */
#include "act.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "say.h"

#define ARGS_MAX     32
#define ARG_MAX      96
#define MARGIN_S     600u
#define STORM_LONG_S 120u /* a storm beside its window: memory to populate, processes to reap */

struct arguments {
	const char *argv[ARGS_MAX + 1];
	char text[ARGS_MAX][ARG_MAX];
	size_t n;
};

static void add(struct arguments *x, const char *fmt, ...) printf_like(2, 3);

static void add(struct arguments *x, const char *fmt, ...)
{
	va_list ap;

	if (x->n >= ARGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(x->text[x->n], ARG_MAX, fmt, ap);
	va_end(ap);
	x->argv[x->n] = x->text[x->n];
	x->n++;
}

/* FNV-1a: the same host delays its storms in the same way in every boot, and no two hosts alike. */
static uint64_t seed_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return h;
}

static void fill(const struct actor *a, const char *out, struct arguments *x)
{
	const struct directive *d = &a->directive;

	x->argv[x->n++] = a->conf->canary;
	add(x, "record");
	add(x, "--force");
	add(x, "--out");
	x->argv[x->n++] = out;
	add(x, "--host=%s", a->conf->name);
	add(x, "--seed=%" PRIu64, seed_of(a->conf->name));
	add(x, "--storms=%u", d->judge.storms);
	add(x, "--warmup=%u", d->measure.warmup);
	if (d->measure.processes > 0)
		add(x, "--storm=%ux%" PRIu64, d->measure.processes, d->measure.process_bytes);
	if (d->measure.storm_cpus[0])
		add(x, "--storm-cpus=%s", d->measure.storm_cpus);
	if (d->measure.victim_cpus[0])
		add(x, "--victim-cpus=%s", d->measure.victim_cpus);
	if (d->measure.burst_pages > 0)
		add(x, "--burst=%u", d->measure.burst_pages);
	if (d->measure.period_ns > 0)
		add(x, "--period=%" PRIu64 "ns", d->measure.period_ns);
	if (d->measure.window_ns > 0)
		add(x, "--window=%" PRIu64 "ns", d->measure.window_ns);
	x->argv[x->n] = NULL;
}

int act_record(struct actor *a, struct act_result *ret, struct err *e)
{
	const struct directive *d = &a->directive;
	struct arguments *x = &(struct arguments){0};
	char out[PATH_MAX];
	uint64_t window_s = d->measure.window_ns / ACT_SECOND_NS + 1, size;
	int r;

	/* This boot is used up from here on, even if the measurement is cut short. */
	snprintf(a->j.used, sizeof(a->j.used), "%s", a->boot.boot);
	if ((r = act_store(a, e)) < 0)
		return r;
	if ((r = act_path(a->conf->state_dir, "spool/recording.kpcp", out, e)) < 0)
		return act_failed(ret, r, e);
	fill(a, out, x);
	say(SAY_NOTICE, "measuring %s: %u storms", a->boot.release, d->judge.storms);
	r = act_run(a, x->argv, MARGIN_S + (d->judge.storms + d->measure.warmup) * (STORM_LONG_S + 2 * window_s), NULL,
		    e);
	if (r < 0 || (r = a->sys.hands->size(&a->sys, out, &size, e)) < 0)
		return act_failed(ret, r, e);
	if (size > MESSAGE_RECORDING_MAX)
		return act_came(ret, EVENT_FAILED,
				"the recording has %" PRIu64 " bytes, the controller takes %u: fewer storms", size,
				MESSAGE_RECORDING_MAX);
	return act_came(ret, EVENT_RECORDED, "measured");
}

int act_upload(struct actor *a, struct err *e)
{
	char which[DIRECTIVE_NAME_MAX + 24];
	int n = snprintf(which, sizeof(which), "%s/%" PRIu64, a->j.order.rollout, a->j.order.epoch);

	return channel_send(a->channel, CHANNEL_UPLOAD, which, (size_t)n, e);
}
