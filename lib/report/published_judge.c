// SPDX-License-Identifier: Apache-2.0
/* Owns the judging of published histograms, its words and its JSON.
 * Must not know files beyond their names. */
#include "published_judge.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/bounds.h"
#include "table.h"
#include "text.h"

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
#define QUANTILES ARRAY_SIZE(quantiles)

static double middle_ln_s(struct published_bucket b)
{
	return (log(fmax(1, (double)b.low_ns)) + log((double)b.high_ns + 1)) / 2 - log(1e9);
}

static struct judge_boot boot_of(const struct published *h)
{
	return (struct judge_boot){.y = {[ENDPOINT_P99] = middle_ln_s(published_quantile(h, 0.99)),
					 [ENDPOINT_P999] = middle_ln_s(published_quantile(h, 0.999)),
					 [ENDPOINT_EXIT] = NAN},
				   .samples = {[ENDPOINT_P99] = h->count, [ENDPOINT_P999] = h->count},
				   .storms = 1,
				   .probing = PROBING_PASSIVE};
}

int published_judge(struct published_pair *p, struct err *e)
{
	static struct judge_host host;

	p->plan = judge_plan_default;
	p->plan.probing = PROBING_PASSIVE;
	host = (struct judge_host){.name = "published", .n_old = 1, .n_new = 1};
	host.old_boot[0] = boot_of(p->hist[0]);
	host.new_boot[0] = boot_of(p->hist[1]);
	return judge(&p->plan, &host, 1, &p->verdict, e);
}

/* The least and the most that the ratio of two bucketed quantiles can be. */
static void ratio_range(const struct published_pair *p, double q, double *ret_least, double *ret_most)
{
	struct published_bucket old = published_quantile(p->hist[0], q), new = published_quantile(p->hist[1], q);

	*ret_least = fmax(1, (double)new.low_ns) / ((double)old.high_ns + 1);
	*ret_most = ((double)new.high_ns + 1) / fmax(1, (double)old.low_ns);
}

static int add_hist(struct buf *out, const char *which, const char *path, const struct published *h, struct err *e)
{
	char n[TEXT_MAX], text[PUBLISHED_NOTE_MAX + 64];
	int r = buf_addf(out, e, "%s  %s: %s values\n", which, path, text_count(h->count, n));

	if (r == 0 && h->note[0])
		r = text_wrap(out, "     ", h->note, TABLE_WIDTH, e);
	snprintf(text, sizeof(text), "source: %s", h->source[0] ? h->source : "not said");
	return r < 0 ? r : text_wrap(out, "     ", text, TABLE_WIDTH, e);
}

static const char *range(struct published_bucket b, char ret[2 * TEXT_MAX + 8])
{
	char low[TEXT_MAX], high[TEXT_MAX];

	snprintf(ret, 2 * TEXT_MAX + 8, "%s - %s", text_duration((double)b.low_ns, low),
		 text_duration((double)b.high_ns + 1, high));
	return ret;
}

static int add_table(struct buf *out, const struct published_pair *p, struct err *e)
{
	int r = buf_addf(out, e, "\n%-10s%22s%22s%20s\n", "", "old", "new", "new to old");

	for (size_t i = 0; r == 0 && i < QUANTILES; i++) {
		char old[2 * TEXT_MAX + 8], new[2 * TEXT_MAX + 8], name[TEXT_MAX], a[TEXT_MAX], b[TEXT_MAX],
		    ratio[2 * TEXT_MAX + 8];
		double least, most;

		ratio_range(p, quantiles[i], &least, &most);
		snprintf(name, sizeof(name), "p%g", quantiles[i] * 100);
		snprintf(ratio, sizeof(ratio), "%s - %s", text_ratio(least, a), text_ratio(most, b));
		r = buf_addf(out, e, "%-10s%22s%22s%20s\n", name,
			     range(published_quantile(p->hist[0], quantiles[i]), old),
			     range(published_quantile(p->hist[1], quantiles[i]), new), ratio);
	}
	return r;
}

/* A histogram that ends has nothing behind its end. */
static uint64_t count_of(const struct published *h, uint32_t i)
{
	return i < h->n ? h->bucket[i].count : 0;
}

/* One line for each bucket that holds anything: two bars, each a share of its own histogram. */
static int add_bars(struct buf *out, const struct published_pair *p, const struct picture_style *style, struct err *e)
{
	enum { WIDTH = 26 };
	int r = buf_addf(out, e, "\n%-20s  %-*s  %s\n", "values of", WIDTH + 7, "old", "new");

	const struct published *longer = p->hist[p->hist[1]->n > p->hist[0]->n];
	for (uint32_t i = 0; r == 0 && i < longer->n; i++) {
		char label[2 * TEXT_MAX + 8];

		if (count_of(p->hist[0], i) + count_of(p->hist[1], i) == 0)
			continue;
		r = buf_addf(out, e, "%20s", range(longer->bucket[i], label));
		for (int g = 0; r == 0 && g < 2; g++) {
			double share = (double)count_of(p->hist[g], i) / (double)p->hist[g]->count;
			int width = (int)ceil(share * WIDTH);

			r = buf_addf(out, e, "  %5.1f%%%s", share * 100, width > 0 || g == 0 ? " " : "");
			for (int k = 0; r == 0 && k < width; k++)
				r = buf_addf(out, e, "%s", style->utf8 ? "█" : "#");
			if (r == 0 && g == 0)
				r = buf_addf(out, e, "%*s", WIDTH - width, "");
		}
		if (r == 0)
			r = buf_add(out, "\n", 1, e);
	}
	return r;
}

/* Histograms whose buckets differ are shown in the table, not side by side. */
static bool same_buckets(const struct published_pair *p)
{
	uint32_t n = p->hist[0]->n < p->hist[1]->n ? p->hist[0]->n : p->hist[1]->n;

	for (uint32_t i = 0; i < n; i++)
		if (p->hist[0]->bucket[i].low_ns != p->hist[1]->bucket[i].low_ns ||
		    p->hist[0]->bucket[i].high_ns != p->hist[1]->bucket[i].high_ns)
			return false;
	return true;
}

#define REASON_MAX 400
#define REASONS    5

/* Why these two could never be a proof, whatever they hold; the plan's own reasons come with the verdict. */
static unsigned why_not(const struct published_pair *p, char ret[REASONS][REASON_MAX])
{
	unsigned n = 0;
	double least, most;
	const struct published *old = p->hist[0], *new = p->hist[1];

	ratio_range(p, 0.99, &least, &most);
	snprintf(ret[n++], REASON_MAX,
		 "One machine and one boot of each: how far two boots of one kernel are apart is not in here, so no "
		 "difference "
		 "can be told from an ordinary one. All %llu values of one boot count as one.",
		 (unsigned long long)(old->count + new->count));
	snprintf(ret[n++], REASON_MAX,
		 "No controls: what else changed between the two (load, fragmentation, time) is in the ratio.");
	snprintf(
	    ret[n++], REASON_MAX,
	    "The p99 lies somewhere in a bucket: its ratio is only known to be between %.3g and %.3g, and such buckets "
	    "cannot show a margin of %g%%.",
	    least, most, p->plan.margin[ENDPOINT_P99] * 100);
	if (old->totalled && new->totalled && old->total_count > 0 && new->total_count > 0)
		snprintf(
		    ret[n++], REASON_MAX,
		    "The run time of a function is not what a bystander waits: %llu calls took %.3g s together, then "
		    "%llu calls took %.3g s. The same work in smaller pieces has a smaller p99 whether or not anybody "
		    "waits less.",
		    (unsigned long long)old->total_count, (double)old->total_ns / 1e9,
		    (unsigned long long)new->total_count, (double)new->total_ns / 1e9);
	else
		snprintf(ret[n++], REASON_MAX,
			 "%llu values against %llu: where the number of calls changes with the kernel, so does what a "
			 "quantile of them means, whether or not a bystander waits less.",
			 (unsigned long long)old->count, (unsigned long long)new->count);
	snprintf(
	    ret[n++], REASON_MAX,
	    "What to do: record on your own hosts (kpcp-canary record), with controls and several boots, and judge by "
	    "kpcp-canary compare; kpcp-canary plan says how many.");
	return n;
}

/* Within the one boot, as if calls were independent (they are not): how well the p99 is known at all. */
static int add_within(struct buf *out, const struct published_pair *p, struct err *e)
{
	char text[256], old[2 * TEXT_MAX + 8], new[2 * TEXT_MAX + 8];
	char *ret[2] = {old, new};

	for (int g = 0; g < 2; g++) {
		double n = (double)p->hist[g]->count, f = bounds_rank(BOUNDS_DKW, 0.99, n, 0.05);
		struct published_bucket low = published_quantile(p->hist[g], fmax(0.99 - f, 1 / n));
		struct published_bucket high = published_quantile(p->hist[g], fmin(0.99 + f, 1));
		struct published_bucket both = {.low_ns = low.low_ns, .high_ns = high.high_ns};

		range(both, ret[g]);
	}
	snprintf(
	    text, sizeof(text),
	    "Even within the one boot, and were calls independent, p99 is known only as %s (old) and %s (new), 95%%.",
	    old, new);
	return text_wrap(out, "", text, TABLE_WIDTH, e);
}

int published_text(struct buf *out, const struct published_pair *p, const struct picture_style *style, struct err *e)
{
	char why[REASONS][REASON_MAX];
	unsigned n = why_not(p, why);
	int r = add_hist(out, "old", p->path[0], p->hist[0], e);

	if (r == 0)
		r = add_hist(out, "new", p->path[1], p->hist[1], e);
	if (r == 0)
		r = add_table(out, p, e);
	if (r == 0)
		r = add_within(out, p, e);
	if (r == 0 && same_buckets(p))
		r = add_bars(out, p, style, e);
	if (r == 0)
		r = buf_addf(out, e, "\nverdict: %s\nwhy published histograms alone prove nothing\n",
			     verdict_name(p->verdict.kind));
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = text_wrap(out, "  - ", why[i], TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "what the judge says of them, by the default plan for what was watched\n");
	for (uint32_t i = 0; r == 0 && i < p->verdict.n_reasons; i++)
		r = text_wrap(out, "  - ", p->verdict.reason[i], TABLE_WIDTH, e);
	return r;
}

static json_t *hist_json(const char *path, const struct published *h)
{
	json_t *q = json_array();

	for (size_t i = 0; i < QUANTILES; i++) {
		struct published_bucket b = published_quantile(h, quantiles[i]);

		json_array_append_new(q, json_pack("{sf sI sI}", "p", quantiles[i], "low_ns", (json_int_t)b.low_ns,
						   "high_ns", (json_int_t)b.high_ns));
	}
	return json_pack("{ss ss ss sI so}", "path", path, "note", h->note, "source", h->source, "count",
			 (json_int_t)h->count, "quantiles", q);
}

int published_json(struct buf *out, const struct published_pair *p, struct err *e)
{
	char why[REASONS][REASON_MAX];
	unsigned n = why_not(p, why);
	json_t *reasons = json_array(), *judged = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(reasons, json_string(why[i]));
	for (uint32_t i = 0; i < p->verdict.n_reasons; i++)
		json_array_append_new(judged, json_string(p->verdict.reason[i]));
	json_t *root = json_pack("{ss ss so so so so}", "format", "kpcp-import/1", "verdict",
				 verdict_name(p->verdict.kind), "why", reasons, "reasons", judged, "old",
				 hist_json(p->path[0], p->hist[0]), "new", hist_json(p->path[1], p->hist[1]));
	char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
	int r = text ? buf_addf(out, e, "%s\n", text)
		     : err_set(e, ENOMEM, "this could not be written as JSON: memory ran out, or a text is not UTF-8");

	free(text);
	json_decref(root);
	return r;
}
