// SPDX-License-Identifier: Apache-2.0
/* Owns the lines and columns of a comparison and of a recording.
 * Must not know terminals or files. */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "caution.h"
#include "text.h"

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

static int quantile_head(struct buf *out, const char *first, struct err *e)
{
	return buf_addf(out, e, "%-15s%9s%9s%9s%9s%9s%10s%8s\n", first, "p50", "p90", "p99", "p99.9", "max", "samples",
			"missed");
}

static int quantile_row(struct buf *out, const char *first, const struct hist *h, const uint64_t *missed, struct err *e)
{
	char text[TEXT_MAX];
	int r = buf_addf(out, e, "%-15s", first);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(quantiles); i++)
		r = buf_addf(out, e, "%9s", text_quantile(h, quantiles[i], text));
	if (r == 0)
		r = buf_addf(out, e, "%9s", text_duration(h->count ? (double)h->max_ns : NAN, text));
	if (r == 0)
		r = buf_addf(out, e, "%10s", text_count(h->count, text));
	return r < 0 ? r : missed ? buf_addf(out, e, "%8s\n", text_count(*missed, text)) : buf_add(out, "\n", 1, e);
}

bool table_saturated(const struct recording_shape *s, uint64_t samples, uint64_t missed, char *ret)
{
	char late[TEXT_MAX], all[TEXT_MAX], period[TEXT_MAX];

	if (missed == 0 || missed < samples / 4)
		return false;
	snprintf(
	    ret, TABLE_SATURATED_MAX,
	    "%s of %s operations started a period or more late: this machine does not fault %u pages every %s, and the "
	    "responses are mostly waiting for the operations before. Record again with a longer --period, a smaller "
	    "--burst or fewer victims.",
	    text_count(missed, late), text_count(samples > missed ? samples : missed, all), s->burst_pages,
	    text_setting(s->period_ns, period));
	return true;
}

static double exit_rate(uint64_t pages, uint64_t ns)
{
	return ns > 0 && pages > 0 ? (double)pages / ((double)ns / 1e9) : NAN;
}

static int add_shape(struct buf *out, const char *first, const struct recording_shape *s, struct err *e)
{
	char text[512], period[TEXT_MAX], window[TEXT_MAX], pages[TEXT_MAX];

	snprintf(text, sizeof(text), "%s: %u victim%s, %u pages every %s, for %s after the SIGKILL of %u x %s pages",
		 s->probe, s->victims, s->victims == 1 ? "" : "s", s->burst_pages, text_setting(s->period_ns, period),
		 text_setting(s->window_ns, window), s->processes, text_count(s->process_pages, pages));
	return text_wrap(out, first, text, TABLE_WIDTH, e);
}

static int add_hosts(struct buf *out, const char *first, const struct comparison *c, bool control, uint32_t planned,
		     struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(JUDGE_HOSTS_MAX * (RECORDING_NAME_MAX + 1) + 64);
	uint32_t n = 0;
	int r = 0;

	for (size_t i = 0; i < c->n_hosts; i++)
		n += c->host[i].control == control;
	r = buf_addf(&names, e, "%u of %u host%s%s", n, planned, planned == 1 ? "" : "s", n ? ":" : "");
	for (size_t i = 0; r == 0 && i < c->n_hosts; i++)
		if (c->host[i].control == control)
			r = buf_addf(&names, e, " %s", c->host[i].name);
	return r < 0 ? r : text_wrap(out, first, names.data, TABLE_WIDTH, e);
}

static int add_plan(struct buf *out, const struct comparison *c, struct err *e)
{
	const struct judge_plan *p = c->plan;
	bool kernels = c->factor == COMPARE_KERNELS;
	_cleanup_(buf_free) struct buf text = BUF_INIT(8192);
	int r = buf_addf(&text, e, "%s: %u %s%s a %s, %u storms a %s", c->plan_name ? c->plan_name : "the default one",
			 p->boots, kernels ? "boot" : "recording", p->boots == 1 ? "" : "s",
			 kernels ? "kernel" : "setting", p->storms, kernels ? "boot" : "recording");

	for (int i = 0; r == 0 && i < ENDPOINT_COUNT; i++)
		if (p->judged[i])
			r = buf_addf(&text, e, ", %s within %g%%", endpoint_name((enum endpoint)i), p->margin[i] * 100);
	if (r == 0)
		r = buf_addf(&text, e, "; second opinion %s", p->welch_alone ? "not required" : "required");
	return r < 0 ? r : text_wrap(out, "plan        ", text.data, TABLE_WIDTH, e);
}

static int add_kernels(struct buf *out, const struct comparison *c, struct err *e)
{
	char kernel[TEXT_KERNEL_MAX];
	int r = 0;

	if (c->arm[GROUP_OLD].header)
		r = text_wrap(out, "old kernel  ", text_kernel(c->arm[GROUP_OLD].header, kernel), TABLE_WIDTH, e);
	if (r == 0 && c->arm[GROUP_NEW].header)
		r = text_wrap(out, "new kernel  ", text_kernel(c->arm[GROUP_NEW].header, kernel), TABLE_WIDTH, e);
	return r;
}

/* A preset may set what no recording tells: then that is said, rather than two lines that look alike. */
static int add_settings(struct buf *out, const struct comparison *c, struct err *e)
{
	const struct recording_header *old = c->arm[GROUP_OLD].header, *newer = c->arm[GROUP_NEW].header;
	char kernel[TEXT_KERNEL_MAX], scale[TEXT_MAX], text[TEXT_KERNEL_MAX];
	bool same = old && newer && old->pcp_batch_scale_max == newer->pcp_batch_scale_max;
	int r = text_wrap(out, "kernel      ", text_build(&c->file[0].header, kernel), TABLE_WIDTH, e);

	if (r == 0 && old)
		r = text_wrap(out, "old setting ", text_scale(old, scale), TABLE_WIDTH, e);
	if (r < 0 || !newer)
		return r;
	snprintf(text, sizeof(text), "%s%s", text_scale(newer, scale),
		 same ? ", as before; what else was set, recordings do not tell" : "");
	return text_wrap(out, "new setting ", text, TABLE_WIDTH, e);
}

static int add_what(struct buf *out, const struct comparison *c, struct err *e)
{
	int r = c->factor == COMPARE_KERNELS ? add_kernels(out, c, e) : add_settings(out, c, e);

	if (r == 0)
		r = add_hosts(out, "canaries    ", c, false, c->plan->canaries, e);
	if (r == 0)
		r = add_hosts(out, "controls    ", c, true, c->plan->controls, e);
	if (r == 0)
		r = add_plan(out, c, e);
	return r < 0 ? r : add_shape(out, "probe       ", &c->file[0].header.shape, e);
}

static int add_exit(struct buf *out, const struct comparison *c, const char *const *name, struct err *e)
{
	int r = buf_addf(out, e, "\nexit, from SIGKILL to the last waitpid\n%-15s%18s%12s\n", "", "rate", "storms");

	for (int g = 0; r == 0 && g < GROUP_COUNT; g++) {
		const struct compare_arm *a = &c->arm[g];
		char rate[TEXT_MAX], storms[TEXT_MAX];

		if (a->recordings > 0)
			r = buf_addf(out, e, "%-15s%18s%12s\n", name[g],
				     text_page_rate(exit_rate(a->exit_pages, a->exit_ns), rate),
				     text_count(a->storms, storms));
	}
	return r;
}

int table_comparison(struct buf *out, const struct comparison *c, struct err *e)
{
	/* Controls have the old kernel, or setting, twice: before and after the canaries changed. */
	static const char *const name[GROUP_COUNT] = {"canaries  old", "canaries  new", "controls  old",
						      "controls  again"};
	int r = add_what(out, c, e);

	if (r == 0)
		r = buf_addf(
		    out, e,
		    "\nresponse of the victims, hosts merged (to look at; the judge goes by hosts and boots)\n");
	if (r == 0)
		r = quantile_head(out, "", e);
	for (int g = 0; r == 0 && g < GROUP_COUNT; g++)
		if (c->arm[g].recordings > 0)
			r = quantile_row(out, name[g], &c->arm[g].response, &c->arm[g].missed, e);
	return r < 0 ? r : add_exit(out, c, name, e);
}

static int endpoint_row(struct buf *out, enum endpoint x, const struct verdict_endpoint *v, struct err *e)
{
	char ratio[TEXT_MAX], lower[TEXT_MAX], upper[TEXT_MAX], margin[TEXT_MAX], p[TEXT_MAX],
	    interval[2 * TEXT_MAX + 8];
	double estimate = v->estimated ? v->ratio : NAN;
	double low = v->estimated ? v->lower : NAN, high = v->estimated ? v->upper : NAN;

	if (isnan(low) && isnan(high))
		snprintf(interval, sizeof(interval), "-");
	else
		snprintf(interval, sizeof(interval), "[%s, %s]", text_ratio(low, lower), text_ratio(high, upper));
	return buf_addf(out, e, "%-10s%9s%20s%9s%11s  %s\n", endpoint_name(x), text_ratio(estimate, ratio), interval,
			text_ratio(v->margin, margin), text_ratio(v->p_random, p), compare_decision(v));
}

static const char *verdict_colour(enum verdict_kind k)
{
	return k == VERDICT_PROMOTE ? "\033[1;32m" : k == VERDICT_ROLLBACK ? "\033[1;31m" : "\033[1;33m";
}

int table_verdict(struct buf *out, const struct comparison *c, bool colour, struct err *e)
{
	const struct verdict *v = &c->verdict;
	char caution[CAUTION_MAX][CAUTION_TEXT_MAX];
	int r = buf_addf(out, e, "\n%-10s%9s%20s%9s%11s  %s\n", "endpoint", "ratio", "interval", "limit", "random. p",
			 "decision");

	for (int i = 0; r == 0 && i < ENDPOINT_COUNT; i++)
		if (v->endpoint[i].judged)
			r = endpoint_row(out, (enum endpoint)i, &v->endpoint[i], e);
	if (r == 0)
		r = text_wrap(
		    out, "",
		    "ratio: new to old, over the same of the controls; above 1 is worse. The interval's upper "
		    "end must stay below the limit for PROMOTE; a lower end above 1 besides means ROLLBACK.",
		    TABLE_WIDTH, e);
	if (r == 0 && c->arm[GROUP_CONTROL_OLD].recordings == 0)
		r = text_wrap(
		    out, "",
		    c->factor == COMPARE_KERNELS
			? "There are no controls: these ratios are the canaries' alone, and what else changed between "
			  "the boots is in them. They are an estimate, no proof."
			: "There are no controls: these ratios are the canaries' alone, and what else changed between "
			  "the recordings is in them. They are an estimate, no proof.",
		    TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "\nverdict: %s%s%s\n", colour ? verdict_colour(v->kind) : "",
			     verdict_name(v->kind), colour ? "\033[0m" : "");
	for (uint32_t i = 0; r == 0 && i < v->n_reasons; i++)
		r = text_wrap(out, "  - ", v->reason[i], TABLE_WIDTH, e);
	unsigned n = caution_list(c, caution);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = text_wrap(out, "warning: ", caution[i], TABLE_WIDTH, e);
	return r;
}

/* "2026-11-30 19:25:01 UTC" */
static const char *start_time(uint64_t unix_s, char ret[TEXT_MAX])
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(ret, TEXT_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		snprintf(ret, TEXT_MAX, "%" PRIu64, unix_s);
	return ret;
}

static int recording_head(struct buf *out, const struct recording_header *h, struct err *e)
{
	char kernel[TEXT_KERNEL_MAX], text[TEXT_MAX], boot[33];
	int r = buf_addf(out, e, "host        %s (%u CPUs, %" PRIu64 " MiB, clock source %s)\n", h->host, h->cpus,
			 h->memory_kib >> 10, h->clocksource);

	if (r == 0)
		r = text_wrap(out, "kernel      ", text_kernel(h, kernel), TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "boot        %s\n", text_hex(h->boot_id, sizeof(h->boot_id), boot));
	if (r == 0)
		r = buf_addf(out, e, "recorded    %s by kpcp-canary %s, seed %" PRIu64 "\n",
			     start_time(h->start_unix_s, text), h->tool, h->seed);
	return r < 0 ? r : add_shape(out, "probe       ", &h->shape, e);
}

int table_recording(struct buf *out, const struct recording_header *h, const struct summary *s, struct err *e)
{
	char rate[TEXT_MAX], time[TEXT_MAX], late[TABLE_SATURATED_MAX];
	int r = recording_head(out, h, e);

	if (r == 0)
		r = buf_addf(out, e, "storms      %u of %u planned\n\n", s->storms, h->storms_planned);
	if (r == 0)
		r = quantile_head(out, "", e);
	if (r == 0)
		r = quantile_row(out, "response", &s->response, &s->missed, e);
	if (r == 0)
		r = quantile_row(out, "service", &s->service, NULL, e);
	if (r == 0)
		r = text_wrap(
		    out, "",
		    "response: end of an operation - its intended start; service: end - actual start; missed: "
		    "started a period or more late, or never.",
		    TABLE_WIDTH, e);
	if (r == 0 && table_saturated(&h->shape, s->response.count, s->missed, late))
		r = text_wrap(out, "warning: ", late, TABLE_WIDTH, e);
	return r < 0 ? r
		     : buf_addf(out, e, "\nexit: %s on average, %s a storm from SIGKILL to the last waitpid\n",
				text_page_rate(exit_rate(s->exit_pages, s->exit_ns), rate),
				text_duration(s->storms ? (double)s->exit_ns / s->storms : NAN, time));
}
