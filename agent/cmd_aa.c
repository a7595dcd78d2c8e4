// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary aa`: unchanged kernels judged against each other, and what is learnt from it.
 * Must not know how a spread is estimated. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "lib/base/num.h"
#include "lib/report/plan.h"
#include "lib/report/rec_file.h"
#include "lib/report/show.h"
#include "lib/report/spread_file.h"
#include "lib/report/spread_text.h"
#include "recordings.h"

#define SPLITS 200 /* campaigns made of one A/A campaign's hosts */

static struct aa_args *args_of(void *t)
{
	return &((struct canary *)t)->aa;
}

static int set_out(void *t, const char *value, struct err *e)
{
	(void)e;
	args_of(t)->out = value;
	return 0;
}

static int set_plan(void *t, const char *value, struct err *e)
{
	(void)e;
	args_of(t)->plan = value;
	return 0;
}

static int set_seed(void *t, const char *value, struct err *e)
{
	return num_u64(value, 0, UINT64_MAX, &args_of(t)->seed, e);
}

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->json = true;
	return 0;
}

/* The plan's margins and error rates, for the boots and storms that came: what they are here is no promise. */
static struct judge_plan plan_for(const struct judge_plan *asked, const struct recordings *r, const struct spread *s)
{
	struct judge_plan p = *asked;

	p.boots = s->boots;
	p.storms = r->file[0].sum.storms;
	p.probing = probing_of(&r->file[0].header.shape);
	p.n_models = 0;
	return p;
}

static int print(const struct aa_args *a, const struct spread_report *report, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	int r = a->json ? spread_json(&out, report, e) : spread_text(&out, report, e);

	return r < 0 ? r : show(&out, e);
}

static int learn(const struct aa_args *a, struct recordings *rec, struct err *e)
{
	struct judge_plan asked = judge_plan_default;
	struct spread s;
	int r = 0;

	if (a->plan && (r = plan_read(a->plan, &asked, e)) < 0)
		return r;
	if ((r = recordings_spread(rec, &s, e)) < 0)
		return r;
	struct judge_plan p = plan_for(&asked, rec, &s);
	struct spread_report report = {.spread = &s, .plan = &p, .file = a->out};
	if (s.hosts >= 4)
		r = spread_split(&p, rec->comparison.host, rec->comparison.n_hosts, SPLITS, a->seed, &report.splits, e);
	if (r == 0 && a->out)
		r = spread_file_write(a->out, &s, e);
	return r < 0 ? r : print(a, &report, e);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct aa_args *a = args_of(target);
	_cleanup_(recordings_free) struct recordings rec = {0};
	int r = recordings_read_aa(&rec, argc, argv, "aa", e);

	return r < 0 ? r : learn(a, &rec, e);
}

static const struct opt options[] = {
    {"out", "FILE", "Write the spread there; a judge's plan names it by spread = FILE.", set_out},
    {"plan", "FILE", "Margins and error rates to judge the unchanged hosts by (default: those of compare).", set_plan},
    {"seed", "NUMBER", "Of the lots that divide the hosts into canaries and controls (default 1).", set_seed},
    {"json", NULL, "Print JSON for machines.", set_json},
};

const struct opt_command cmd_aa = {
    .name = "aa",
    .operands = "FIRST... -- SECOND...",
    .help =
	"Judges unchanged hosts against each other: how far boots, hosts and storms are apart while nothing changes.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
