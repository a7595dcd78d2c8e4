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

/* The two arms of one endpoint. After take_off, canary and control are D_h = post - theta pre. */
struct arms {
	double *canary, *control, *pre_canary, *pre_control;
	size_t k, m;
	bool adjusted;
	bool apart; /* covariance was asked for, but the arms were apart before: slope says by what */
	struct stats_slope slope;
};

/* Covariance only where both arms were as slow before, as assignment by lot makes them (within two standard errors):
 * theta is below 1 by chance alone, and what is left of a difference that was there before would pass for the kernel's
 * doing. Where they were apart, neither is safe: if by lot, the plain difference takes the way back to the usual for
 * the kernel's doing (1 in 20 campaigns, and half of those would pass at the margin). Then both have to prove it. */
static void take_off(const struct judge_plan *p, struct arms *a)
{
	double theta = 1;
	if (p->ancova_from > 0 && !p->welch_alone && a->k >= p->ancova_from && a->m >= p->ancova_from && a->k >= 3 &&
	    a->m >= 3) {
		struct stats_slope s = stats_slope(a->pre_canary, a->canary, a->k, a->pre_control, a->control, a->m);
		a->adjusted = fabs(s.pre_difference) <= 2 * s.pre_se;
		a->apart = !a->adjusted;
		a->slope = s;
		if (a->adjusted)
			theta = s.theta;
	}
	for (size_t i = 0; i < a->k; i++)
		a->canary[i] -= theta * a->pre_canary[i];
	for (size_t i = 0; i < a->m; i++)
		a->control[i] -= theta * a->pre_control[i];
}

/* Both bounds of delta, on the logarithm. */
struct bounds {
	double lower, upper;
};

static struct bounds bounds_of(const struct judge_plan *p, const struct stats_welch *s)
{
	return (struct bounds){
	    .lower = s->delta - stats_t_quantile(1 - p->alpha_rollback / judge_judged_count(p), s->nu) * s->se,
	    .upper = s->delta + stats_t_quantile(1 - p->alpha_promote, s->nu) * s->se,
	};
}

/* Widens b to what covariance says, too, where the arms were apart before. The values before are used up. */
static void widen(const struct judge_plan *p, enum endpoint x, struct arms *a, struct bounds *b)
{
	struct stats_welch s;
	if (!a->apart)
		return;
	/* post - theta pre, of D = post - pre. */
	for (size_t i = 0; i < a->k; i++)
		a->pre_canary[i] = a->canary[i] + (1 - a->slope.theta) * a->pre_canary[i];
	for (size_t i = 0; i < a->m; i++)
		a->pre_control[i] = a->control[i] + (1 - a->slope.theta) * a->pre_control[i];
	/* What cannot be compared proves nothing. */
	struct bounds other = {-INFINITY, INFINITY};
	if (stats_welch(a->pre_canary, a->k, a->pre_control, a->m, judge_floor(p, x), &s, NULL) == 0) {
		stats_slope_widen(&a->slope, a->k, a->m, &s);
		other = bounds_of(p, &s);
	}
	b->lower = fmin(b->lower, other.lower);
	b->upper = fmax(b->upper, other.upper);
}

/* Both arms together: the mean of their variances, after the floor. At least 2, where no spread would ask for fewer. */
static double hosts_needed(const struct judge_plan *p, enum endpoint x, const struct stats_welch *s)
{
	double sd = sqrt((s->sd_a * s->sd_a + s->sd_b * s->sd_b) / 2);
	return power_hosts_normal(sd, p->margin[x], 1, p->alpha_promote, POWER);
}

/* The second opinion asks the same question as the promotion bound: are the canaries' differences, less the margin,
 * below the controls'? */
static void second_opinion(const struct work *w, enum endpoint x, double *canary, size_t k, const double *control,
			   size_t m, struct verdict_endpoint *ret)
{
	for (size_t i = 0; i < k; i++)
		canary[i] -= log1p(w->plan->margin[x]);
	double p;
	uint64_t assignments;
	if (stats_randomisation(canary, k, control, m, judge_floor(w->plan, x), w->plan->seed, &p, &assignments, NULL) <
	    0)
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
static void decide_endpoint(const struct work *w, enum endpoint x, struct arms *a, const struct stats_welch *s,
			    struct verdict_endpoint *ret)
{
	const struct judge_plan *p = w->plan;
	double limit = log1p(p->margin[x]);
	struct bounds plain = bounds_of(p, s), b = plain;
	widen(p, x, a, &b);
	double reference = reference_upper(p, x, s) + (b.upper - plain.upper);
	ret->upper = exp(b.upper);
	ret->lower = exp(b.lower);
	ret->reference_upper = exp(reference);
	if (!p->judged[x])
		return;
	bool bound_holds = b.upper < limit && (!p->reference[x].given || reference < limit);
	ret->hosts_needed = hosts_needed(p, x, s);
	if (!p->welch_alone)
		second_opinion(w, x, a->canary, a->k, a->control, a->m, ret);
	/* NaN compares false: without a second opinion that was made nothing is promoted. */
	ret->promotes = bound_holds && (p->welch_alone || ret->p_random <= p->alpha_promote);
	ret->rolls_back = b.lower > 0 && !bound_holds;
}

static void estimate(const struct work *w, enum endpoint x, struct verdict_endpoint *ret)
{
	struct arms a = {w->room[0], w->room[1], w->room[2], w->room[3], 0, 0, false, false, {0}};
	a.k = collect(w, x, false, a.pre_canary, a.canary);
	a.m = collect(w, x, true, a.pre_control, a.control);
	ret->canaries = (uint32_t)a.k;
	ret->controls = (uint32_t)a.m;
	if (a.k == 0)
		return;
	take_off(w->plan, &a);
	ret->estimated = true;
	ret->adjusted = a.adjusted;
	ret->theta = a.adjusted ? a.slope.theta : 1;
	ret->delta = stats_mean(a.canary, a.k) - (a.m ? stats_mean(a.control, a.m) : 0);
	ret->ratio = exp(ret->delta);
	struct stats_welch s;
	if (stats_welch(a.canary, a.k, a.control, a.m, judge_floor(w->plan, x), &s, NULL) < 0)
		return;
	if (a.adjusted)
		stats_slope_widen(&a.slope, a.k, a.m, &s);
	ret->delta = s.delta;
	ret->ratio = exp(s.delta);
	ret->se = s.se;
	ret->nu = s.nu;
	ret->sd_canaries = s.sd_a;
	ret->sd_controls = s.sd_b;
	ret->floored_canaries = s.floored_a;
	ret->floored_controls = s.floored_b;
	decide_endpoint(w, x, &a, &s, ret);
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
