// SPDX-License-Identifier: Apache-2.0
/* Owns the reduction of one boot's storms to the numbers that are judged, and the test of comparability.
 * Must not know arms, plans, margins or verdicts. */
#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NS_PER_S 1e9

const char *endpoint_name(enum endpoint x)
{
	switch (x) {
	case ENDPOINT_P99:
		return "p99";
	case ENDPOINT_P999:
		return "p99.9";
	case ENDPOINT_EXIT:
		return "exit";
	case ENDPOINT_COUNT:
		break;
	}
	return "unknown";
}

const char *probing_name(enum probing x)
{
	return x == PROBING_PASSIVE ? "passive" : "active";
}

enum probing probing_of(const struct recording_shape *s)
{
	static const char mark[] = "-passive/";
	char probe[sizeof(s->probe) + 1] = {0};
	memcpy(probe, s->probe, sizeof(s->probe));
	return strstr(probe, mark) ? PROBING_PASSIVE : PROBING_ACTIVE;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void summary_init(struct summary *s, const struct recording_header *h)
{
	memset(s, 0, sizeof(*s));
	/* Same sizes; the last byte stays 0 whatever the header holds. */
	memcpy(s->host, h->host, sizeof(s->host) - 1);
	memcpy(s->release, h->release, sizeof(s->release) - 1);
	memcpy(s->boot_id, h->boot_id, sizeof(s->boot_id));
	memcpy(s->build_id, h->build_id, sizeof(s->build_id));
	if (h->shape.period_ns > 0)
		s->due_a_storm = h->shape.window_ns / h->shape.period_ns * h->shape.victims;
	hist_init(&s->response);
	hist_init(&s->service);
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		s->y[i] = NAN;
}

static double ln_quantile_s(const struct hist *h, double p)
{
	double ns;
	if (hist_quantile(h, p, &ns, NULL) < 0 || !(ns > 0))
		return NAN;
	return log(ns / NS_PER_S);
}

/* B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962). */
static void add_block(struct summary_blocks *b, double y)
{
	if (!isfinite(y))
		return;
	double before = y - b->mean;
	b->n++;
	b->mean += before / b->n;
	b->square += before * (y - b->mean);
}

void summary_add(struct summary *s, const struct recording_storm *storm)
{
	s->storms++;
	s->missed = add_saturating(s->missed, storm->missed);
	s->exit_pages = add_saturating(s->exit_pages, storm->exit_pages);
	s->exit_ns = add_saturating(s->exit_ns, storm->exit_ns);
	if (storm->exit_ns == 0 || storm->exit_pages == 0)
		s->exit_void++;
	if (storm->response.count < s->due_a_storm)
		s->given_up++;
	if (storm->response.count >= s->due_a_storm)
		add_block(&s->block[ENDPOINT_P99], ln_quantile_s(&storm->response, 0.99));
	if (storm->exit_ns > 0 && storm->exit_pages > 0)
		add_block(&s->block[ENDPOINT_EXIT], log((double)storm->exit_ns / NS_PER_S / (double)storm->exit_pages));
	hist_merge(&s->response, &storm->response);
	hist_merge(&s->service, &storm->service);
}

void summary_close(struct summary *s)
{
	/* Response, not service: a victim that starts late has waited since it was due (coordinated omission).
	 * Operations that were given up are the ones that waited longest: without them the quantiles are too good. */
	if (s->given_up == 0) {
		s->y[ENDPOINT_P99] = ln_quantile_s(&s->response, 0.99);
		s->y[ENDPOINT_P999] = ln_quantile_s(&s->response, 0.999);
	}
	s->samples[ENDPOINT_P99] = s->samples[ENDPOINT_P999] = s->response.count;

	/* One storm without a measured exit spoils the boot: dropping it quietly could hide the slowest. */
	bool measured = s->storms > 0 && s->exit_void == 0;
	s->y[ENDPOINT_EXIT] = measured ? log((double)s->exit_ns / NS_PER_S / (double)s->exit_pages) : NAN;
	s->samples[ENDPOINT_EXIT] = s->storms - s->exit_void;
}

static int differ_number(const char *field, uint64_t a, uint64_t b, struct err *e)
{
	if (a == b)
		return 0;
	return err_set(e, EINVAL,
		       "%s differs: %" PRIu64 " in one recording, %" PRIu64
		       " in the other; record both with the same settings",
		       field, a, b);
}

static int differ_text(const char *field, const char *a, const char *b, size_t size, struct err *e)
{
	if (strncmp(a, b, size) == 0)
		return 0;
	return err_set(
	    e, EINVAL,
	    "%s differs: \"%.*s\" in one recording, \"%.*s\" in the other; record both with the same kpcp-canary",
	    field, (int)size, a, (int)size, b);
}

int summary_comparable(const struct recording_shape *a, const struct recording_shape *b, struct err *e)
{
	int r = differ_text("probe", a->probe, b->probe, sizeof(a->probe), e);
	if (r == 0)
		r = differ_text("histogram layout", a->layout, b->layout, sizeof(a->layout), e);
	if (r == 0)
		r = differ_number("number of victims", a->victims, b->victims, e);
	if (r == 0)
		r = differ_number("burst (pages)", a->burst_pages, b->burst_pages, e);
	if (r == 0)
		r = differ_number("period (ns)", a->period_ns, b->period_ns, e);
	if (r == 0)
		r = differ_number("window (ns)", a->window_ns, b->window_ns, e);
	if (r == 0)
		r = differ_number("processes of a storm", a->processes, b->processes, e);
	if (r == 0)
		r = differ_number("pages of a process", a->process_pages, b->process_pages, e);
	return r;
}
