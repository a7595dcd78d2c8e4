// SPDX-License-Identifier: Apache-2.0
/* Owns what is estimated of each endpoint: differences, bounds, the second opinion, hosts needed.
 * Must not know rosters, other endpoints or sentences. */
#include <math.h>

#include "judge_work.h"
#include "power.h"
#include "stats.h"

#define POWER 0.80 /* that hosts_needed is computed for */

/* Mean of the boots that have a value; each boot is one sample, whatever its number of operations. */
static double mean_y(const struct judge_boot *b, uint32_t n, enum endpoint x)
{
	double sum = 0;
	uint32_t used = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!judge_usable(b[i].y[x]))
			continue;
		sum += b[i].y[x];
		used++;
	}
	return used ? sum / used : NAN;
}

/* What an arm's hosts say of an endpoint: y before, and y after. Hosts without either are left out here; that they are
 * is a defect already. */
static size_t collect(const struct work *w, enum endpoint x, bool control, double *ret_pre, double *ret_post)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const struct judge_host *h = w->host[i];
		if (h->control != control)
			continue;
		double pre = mean_y(h->old_boot, h->n_old, x), post = mean_y(h->new_boot, h->n_new, x);
		if (isnan(pre) || isnan(post))
			continue;
		ret_pre[n] = pre;
		ret_post[n++] = post;
	}
	return n;
}

/* The two arms of one endpoint; collect fills them. */
struct arms {
	double *canary, *control, *pre_canary, *pre_control;
	size_t k, m;
};

/* One way to compare them: the values, and what came out. */
struct comparison {
	const double *canary, *control;
	bool adjusted;
	double theta;
	struct stats_welch s;
	double upper, lower; /* of ln ratio */
};

static bool covariance_wanted(const struct judge_plan *p, const struct arms *a)
{
	return p->ancova_from > 0 && !p->welch_alone && a->k >= p->ancova_from && a->m >= p->ancova_from && a->k >= 3 &&
	       a->m >= 3;
}

/* canary and control become post - theta pre, pre_canary and pre_control the plain differences. */
static void take_off(struct arms *a, double theta)
{
	for (size_t i = 0; i < a->k + a->m; i++) {
		double *post = i < a->k ? &a->canary[i] : &a->control[i - a->k];
		double *pre = i < a->k ? &a->pre_canary[i] : &a->pre_control[i - a->k];
		double plain = *post - *pre;
		*post -= theta * *pre;
		*pre = plain;
	}
}

static int compare(const struct work *w, enum endpoint x, const struct arms *a, const struct stats_slope *slope,
		   struct comparison *c)
{
	const struct judge_plan *p = w->plan;
	int r = stats_welch(c->canary, a->k, c->control, a->m, judge_floor(p, x), &c->s, NULL);
	if (r < 0)
		return r;
	if (c->adjusted)
		stats_slope_widen(slope, a->k, a->m, &c->s);
	c->upper = c->s.delta + stats_t_quantile(1 - p->alpha_promote, c->s.nu) * c->s.se;
	c->lower = c->s.delta - stats_t_quantile(1 - p->alpha_rollback / judge_judged_count(p), c->s.nu) * c->s.se;
	return 0;
}

/* Covariance takes for granted that canaries were chosen by lot. Where the arms were apart before by more than two
 * standard errors, they may not have been, and theta, which chance makes smaller, would leave some of that to pass for
 * the kernel's doing; so both ways must agree then: the worse upper end counts, and the lower one of the lower ends.
 * (The plain difference alone would be wrong there, too: it was looked for where y before was unusual.) */
static int choose(const struct work *w, enum endpoint x, struct arms *a, struct comparison *ret)
{
	struct stats_slope slope = {.theta = 1};
	bool adjust = covariance_wanted(w->plan, a);
	if (adjust)
		slope = stats_slope(a->pre_canary, a->canary, a->k, a->pre_control, a->control, a->m);
	bool balanced = fabs(slope.pre_difference) <= 2 * slope.pre_se;
	take_off(a, slope.theta);
	struct comparison way = {a->canary, a->control, adjust, slope.theta, {0}, NAN, NAN};
	struct comparison plain = {a->pre_canary, a->pre_control, false, 1, {0}, NAN, NAN};
	int r = compare(w, x, a, &slope, &way);
	if (r == 0 && adjust && !balanced && (r = compare(w, x, a, &slope, &plain)) == 0) {
		double lower = fmin(way.lower, plain.lower);
		if (plain.upper > way.upper)
			way = plain;
		way.lower = lower;
	}
	*ret = way;
	return r;
}

/* Both arms together: the mean of their variances, after the floor. At least 2, where no spread would ask for fewer. */
static double hosts_needed(const struct judge_plan *p, enum endpoint x, const struct stats_welch *s)
{
	double sd = sqrt((s->sd_a * s->sd_a + s->sd_b * s->sd_b) / 2);
	return power_hosts_normal(sd, p->margin[x], 1, p->alpha_promote, POWER);
}

/* The second opinion asks the same question as the promotion bound: are the canaries' differences, less the margin,
 * below the controls'? */
static void second_opinion(const struct work *w, enum endpoint x, const struct arms *a, const struct comparison *c,
			   struct verdict_endpoint *ret)
{
	double *canary = w->room[4];
	for (size_t i = 0; i < a->k; i++)
		canary[i] = c->canary[i] - log1p(w->plan->margin[x]);
	double p;
	uint64_t assignments;
	if (stats_randomisation(canary, a->k, c->control, a->m, judge_floor(w->plan, x), w->plan->seed, &p,
				&assignments, NULL) < 0)
		return;
	ret->p_random = p;
	ret->assignments = assignments;
}

/* The same margin, from the first committed reference on: the two comparisons' errors are independent. */
static double reference_upper(const struct judge_plan *p, enum endpoint x, const struct stats_welch *s)
{
	const struct judge_reference *f = &p->reference[x];
	if (!f->given)
		return NAN;
	return f->delta + s->delta + stats_t_quantile(1 - p->alpha_promote, s->nu) * hypot(s->se, f->se);
}

/* Promotion: intersection-union test (R. L. Berger, Technometrics 24, 1982): every endpoint at alpha, no correction.
 * Rollback: any of m endpoints, so each at alpha / m (Bonferroni), and only where its own promotion bound is missed: a
 * surely small slowdown is no reason to go back. */
static void decide_endpoint(const struct work *w, enum endpoint x, const struct arms *a, const struct comparison *c,
			    struct verdict_endpoint *ret)
{
	const struct judge_plan *p = w->plan;
	double limit = log1p(p->margin[x]), reference = reference_upper(p, x, &c->s);
	ret->upper = exp(c->upper);
	ret->lower = exp(c->lower);
	ret->reference_upper = exp(reference);
	if (!p->judged[x])
		return;
	bool bound_holds = c->upper < limit && (!p->reference[x].given || reference < limit);
	ret->hosts_needed = hosts_needed(p, x, &c->s);
	if (!p->welch_alone)
		second_opinion(w, x, a, c, ret);
	/* NaN compares false: without a second opinion that was made nothing is promoted. */
	ret->promotes = bound_holds && (p->welch_alone || ret->p_random <= p->alpha_promote);
	ret->rolls_back = c->lower > 0 && !bound_holds;
}

static void estimate(const struct work *w, enum endpoint x, struct verdict_endpoint *ret)
{
	struct arms a = {w->room[0], w->room[1], w->room[2], w->room[3], 0, 0};
	a.k = collect(w, x, false, a.pre_canary, a.canary);
	a.m = collect(w, x, true, a.pre_control, a.control);
	ret->canaries = (uint32_t)a.k;
	ret->controls = (uint32_t)a.m;
	if (a.k == 0)
		return;
	struct comparison c;
	int r = choose(w, x, &a, &c);
	ret->estimated = true;
	/* Without a comparison, the plain differences are what can be told. */
	ret->delta = stats_mean(c.canary, a.k) - (a.m ? stats_mean(c.control, a.m) : 0);
	ret->ratio = exp(ret->delta);
	if (r < 0)
		return;
	ret->adjusted = c.adjusted;
	ret->theta = c.theta;
	ret->delta = c.s.delta;
	ret->ratio = exp(c.s.delta);
	ret->se = c.s.se;
	ret->nu = c.s.nu;
	ret->sd_canaries = c.s.sd_a;
	ret->sd_controls = c.s.sd_b;
	ret->floored_canaries = c.s.floored_a;
	ret->floored_controls = c.s.floored_b;
	decide_endpoint(w, x, &a, &c, ret);
}

void judge_estimate_all(struct work *w)
{
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		struct verdict_endpoint *ve = &w->v->endpoint[i];
		*ve = (struct verdict_endpoint){
		    .judged = w->plan->judged[i],
		    .margin = 1 + w->plan->margin[i],
		    .ratio = NAN,
		    .lower = NAN,
		    .upper = NAN,
		    .delta = NAN,
		    .se = NAN,
		    .nu = NAN,
		    .sd_canaries = NAN,
		    .sd_controls = NAN,
		    .theta = 1,
		    .reference_upper = NAN,
		    .p_random = NAN,
		    .hosts_needed = NAN,
		};
		estimate(w, (enum endpoint)i, ve);
	}
}
