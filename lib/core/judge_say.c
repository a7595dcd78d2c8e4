// SPDX-License-Identifier: Apache-2.0
/* Owns the sentences that say why a verdict is what it is.
 * Must not decide anything. */
#include <inttypes.h>
#include <math.h>

#include "judge_work.h"
#include "stats.h"

void judge_say_estimates(struct work *w)
{
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &w->v->endpoint[i];
		if (!ve->judged || !ve->estimated)
			continue;
		if (ve->rolls_back)
			say(w->v,
			    "Even so, %s looks worse: ratio %.3f, at least %.3f, limit %.3f. If the defects above "
			    "cannot "
			    "be mended soon, take the change back by hand.",
			    endpoint_name(i), ve->ratio, ve->lower, ve->margin);
		else if (w->plan->controls == 0)
			say(w->v, "Estimate only: %s is at %.3f times the old one's (above 1 is worse; limit %.3f).",
			    endpoint_name(i), ve->ratio, ve->margin);
	}
}

/* The upper end that came closest to the margin, or passed it: of both comparisons. */
static double worst_upper(const struct verdict_endpoint *ve)
{
	return isnan(ve->reference_upper) ? ve->upper : fmax(ve->upper, ve->reference_upper);
}

void judge_say_promote(const struct judge_plan *p, struct verdict *v)
{
	unsigned judged = 0;
	int tightest = -1;
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (!ve->judged)
			continue;
		judged++;
		if (tightest < 0 ||
		    worst_upper(ve) / ve->margin > worst_upper(&v->endpoint[tightest]) / v->endpoint[tightest].margin)
			tightest = i;
	}
	const struct verdict_endpoint *t = &v->endpoint[tightest];
	say(v,
	    "Proven no worse than the margin on every judged endpoint (%u); the closest is %s: at most %.3f, limit "
	    "%.3f.",
	    judged, endpoint_name(tightest), worst_upper(t), t->margin);
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (!ve->judged)
			continue;
		if (ve->lower > 1)
			say(v,
			    "%s is slower, but surely by less than the margin: ratio %.3f, at least %.3f, at most "
			    "%.3f, "
			    "limit %.3f. It is promoted with this known slowdown.",
			    endpoint_name(i), ve->ratio, ve->lower, ve->upper, ve->margin);
		else
			say(v, "%s: ratio %.3f to the controls, at most %.3f, limit %.3f.", endpoint_name(i), ve->ratio,
			    ve->upper, ve->margin);
	}
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		if (v->endpoint[i].judged && p->reference[i].given)
			say(v, "%s with the steps before: ratio %.3f to the first reference, at most %.3f, limit %.3f.",
			    endpoint_name(i), v->endpoint[i].ratio * exp(p->reference[i].delta),
			    v->endpoint[i].reference_upper, v->endpoint[i].margin);
}

void judge_say_rollback(struct verdict *v)
{
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (ve->rolls_back && ve->upper < ve->margin)
			say(v,
			    "%s is proven worse: ratio %.3f to the controls, at least %.3f; with the steps before it "
			    "is at "
			    "most %.3f times the first reference, not below the limit %.3f. Take the change back.",
			    endpoint_name(i), ve->ratio, ve->lower, ve->reference_upper, ve->margin);
		else if (ve->rolls_back)
			say(v,
			    "%s is proven worse: ratio %.3f to the controls, at least %.3f, and at most %.3f is not "
			    "below the limit %.3f. Take the change back.",
			    endpoint_name(i), ve->ratio, ve->lower, ve->upper, ve->margin);
	}
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (ve->judged && !ve->rolls_back)
			say(v, "%s alone would not take it back: ratio %.3f, at least %.3f, at most %.3f, limit %.3f.",
			    endpoint_name(i), ve->ratio, ve->lower, ve->upper, ve->margin);
	}
}

static uint32_t hosts_for_second_opinion(double alpha)
{
	uint32_t n = 2;
	while (n < STATS_GROUP_MAX && stats_randomisation_min_p(n, n) > alpha)
		n++;
	return n;
}

/* Roster complete, every value there, and still neither proof: say what each endpoint lacks. */
void judge_say_undecided(struct work *w)
{
	const struct judge_plan *p = w->plan;
	struct verdict *v = w->v;
	double least = stats_randomisation_min_p(p->canaries, p->controls);
	if (!p->welch_alone && least > p->alpha_promote)
		say(v,
		    "%" PRIu32 " canaries and %" PRIu32
		    " controls can never be promoted: the randomisation test reaches "
		    "p = %.3g at best, the plan asks for %.3g. Plan %" PRIu32
		    " of each, or accept Welch's bounds alone "
		    "by second-opinion = welch-alone in the plan.",
		    p->canaries, p->controls, least, p->alpha_promote, hosts_for_second_opinion(p->alpha_promote));
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (!ve->judged || ve->promotes)
			continue;
		if (!(ve->upper < ve->margin))
			say(v,
			    "%s is undecided: ratio %.3f, at most %.3f (PROMOTE needs less than %.3f), at least %.3f "
			    "(ROLLBACK needs more than 1). At this spread about %.0f hosts on each side are needed.",
			    endpoint_name(i), ve->ratio, ve->upper, ve->margin, ve->lower, ve->hosts_needed);
		else if (ve->reference_upper >= ve->margin)
			say(v,
			    "%s: at most %.3f against the old kernel is below the limit %.3f, but with the steps "
			    "before it "
			    "is at most %.3f times the first reference: small steps have used the margin up. Mend the "
			    "slowdown, or commit to a new reference.",
			    endpoint_name(i), ve->upper, ve->margin, ve->reference_upper);
		else if (least <= p->alpha_promote)
			say(v,
			    "%s: at most %.3f is below the limit %.3f, but the randomisation test does not confirm it: "
			    "p = %.3f of %" PRIu64 " assignments, at most %.3f is needed. Measure more hosts or boots.",
			    endpoint_name(i), ve->upper, ve->margin, ve->p_random, ve->assignments, p->alpha_promote);
		else
			say(v, "%s: ratio %.3f, at most %.3f, limit %.3f; only the second opinion is missing.",
			    endpoint_name(i), ve->ratio, ve->upper, ve->margin);
	}
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (ve->judged && ve->promotes)
			say(v, "%s alone would pass: ratio %.3f, at most %.3f, limit %.3f.", endpoint_name(i),
			    ve->ratio, ve->upper, ve->margin);
	}
}
