// SPDX-License-Identifier: Apache-2.0
/* Owns invented campaigns for the gate: drawing their hosts, having them judged, counting.
 * Must not know command lines, output or clocks. */
#include "trial.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct trial trial_default = {
    .canaries = 8,
    .controls = 8,
    .boots = 4,
    .boot_sd = 0.07,
    .host_sd = 0.02,
    .ratio = 1,
    .margin = 0.10,
    .block_sd = 0.2,
    .block_bound = 0.2,
    .phi = 0.5,
    .second_opinion = true,
    .seed = 1,
};

struct judge_plan trial_plan(const struct trial *c)
{
	struct judge_plan p = judge_plan_default;
	p.canaries = c->canaries;
	p.controls = c->controls;
	p.boots = c->boots;
	memset(p.judged, 0, sizeof(p.judged));
	p.judged[ENDPOINT_P99] = true;
	p.margin[ENDPOINT_P99] = c->margin;
	p.welch_alone = !c->second_opinion;
	p.seed = c->seed;
	return p;
}

/* "canary-0007", "control-0012": unique, which is all that the judge asks of names. */
static void name_host(struct judge_host *h, uint32_t number)
{
	const char *kind = h->control ? "control-" : "canary-";
	size_t len = strlen(kind), digits = 4;
	memcpy(h->name, kind, len);
	for (size_t i = digits; i-- > 0; number /= 10)
		h->name[len + i] = (char)('0' + number % 10);
	h->name[len + digits] = '\0';
}
static_assert(JUDGE_HOSTS_MAX <= 10000, "names of hosts have four digits");

static void add_boot(struct judge_boot *boot, uint32_t *n, const struct judge_plan *p, double y)
{
	struct judge_boot *b = &boot[(*n)++];
	memset(b, 0, sizeof(*b));
	b->y[ENDPOINT_P99] = y;
	b->samples[ENDPOINT_P99] = p->min_samples[ENDPOINT_P99];
	b->storms = p->storms;
}

/* The boots of one host are one series in time, the old kernel's first. */
static uint32_t fill_host(const struct trial *c, const struct judge_plan *p, struct draw *d, struct judge_host *h)
{
	double level = TRIAL_TYPICAL + c->level_sd * draw_normal(d);
	double change = c->host_sd * draw_value(d, c->errors) + (h->control ? 0 : log(c->ratio));
	struct draw_series boots = {.shape = c->errors, .phi = c->phi};
	uint32_t missing = 0;
	h->n_old = h->n_new = 0;
	for (uint32_t b = 0; b < 2 * c->boots; b++) {
		double y = level + c->boot_sd * draw_next(d, &boots) + (b < c->boots ? 0 : change);
		/* Drawn only where asked for: the numbers of campaigns without it stay as they are. */
		if (c->missing > 0 && draw_uniform(d) < c->missing) {
			missing++;
			continue;
		}
		if (b < c->boots)
			add_boot(h->old_boot, &h->n_old, p, y);
		else
			add_boot(h->new_boot, &h->n_new, p, y);
	}
	return missing;
}

uint32_t trial_hosts(const struct trial *c, uint64_t i, struct judge_host *ret)
{
	struct judge_plan p = trial_plan(c);
	struct draw d = draw_start(c->seed, i);
	uint32_t missing = 0;
	for (uint32_t h = 0; h < c->canaries + c->controls; h++) {
		ret[h].control = h >= c->canaries;
		name_host(&ret[h], h);
		missing += fill_host(c, &p, &d, &ret[h]);
	}
	return missing;
}

int trial_gate(const struct trial *c, uint64_t from, uint64_t n, struct judge_host *hosts, struct trial_counts *ret,
	       struct err *e)
{
	struct judge_plan p = trial_plan(c);
	for (uint64_t i = from; i < from + n; i++) {
		struct verdict v;
		uint32_t missing = trial_hosts(c, i, hosts);
		/* Drawn assignments must differ from campaign to campaign, or their luck would not average out. */
		p.seed = c->seed + i;
		int r = judge(&p, hosts, c->canaries + c->controls, &v, e);
		if (r < 0)
			return r;
		const struct verdict_endpoint *ve = &v.endpoint[ENDPOINT_P99];
		bool rollback = missing == 0 && ve->lower > 1;
		ret->campaigns++;
		ret->promote += ve->promotes;
		ret->rollback += rollback;
		ret->hold += !ve->promotes && !rollback;
		ret->verdict[v.kind]++;
	}
	return 0;
}

double trial_share(uint64_t k, uint64_t n)
{
	return n ? (double)k / (double)n : NAN;
}

double trial_share_se(uint64_t k, uint64_t n)
{
	if (n == 0)
		return NAN;
	double share = k == 0 || k == n ? 1 / (double)(n + 1) : trial_share(k, n);
	return sqrt(share * (1 - share) / (double)n);
}
