// SPDX-License-Identifier: Apache-2.0
/* Owns the verdict: checks the data against the plan's roster, estimates each endpoint, decides, says why.
 * Must not know recordings, files, clocks or what is done with a verdict. */
#include "judge.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define POWER 0.80  /* that hosts_needed is computed for */
#define Y_MAX 100.0 /* |y|: e^100 s is no latency; anything beyond is treated like NaN */
/* Kept free of defects, so that the sentences on endpoints and on the plan always find room. */
#define REASONS_KEPT (ENDPOINT_COUNT + 2)

const struct judge_plan judge_plan_default = {
    .canaries = 4,
    .controls = 4,
    .boots = 1,
    .storms = 30,
    .judged = {[ENDPOINT_P99] = true, [ENDPOINT_P999] = true, [ENDPOINT_EXIT] = true},
    .margin = {[ENDPOINT_P99] = 0.10, [ENDPOINT_P999] = 0.20, [ENDPOINT_EXIT] = 0.10},
    .min_samples = {[ENDPOINT_P99] = 1000, [ENDPOINT_P999] = 10000, [ENDPOINT_EXIT] = 30},
    .alpha_promote = 0.05,
    .alpha_rollback = 0.01,
    .sd_floor = 0.008,
    .welch_alone = false,
    .seed = 1,
};

const char *verdict_name(enum verdict_kind k)
{
	switch (k) {
	case VERDICT_HOLD:
		return "HOLD";
	case VERDICT_PROMOTE:
		return "PROMOTE";
	case VERDICT_ROLLBACK:
		return "ROLLBACK";
	}
	return "UNKNOWN";
}

/* One judgement under way. */
struct work {
	const struct judge_plan *plan;
	const struct judge_host *host[JUDGE_HOSTS_MAX]; /* sorted: the order they came in must not show */
	size_t n;
	uint32_t defects; /* of roster and data; with any of them the verdict is HOLD */
	uint32_t unsaid;  /* defects that found no room */
	struct verdict *v;
};

static void add_reason(struct verdict *v, const char *text)
{
	if (v->n_reasons >= JUDGE_REASONS_MAX)
		return;
	char *reason = v->reason[v->n_reasons++];
	size_t len = strnlen(text, JUDGE_REASON_MAX - 1);
	memcpy(reason, text, len);
	reason[len] = '\0';
}

static void add_defect(struct work *w, const char *text)
{
	w->defects++;
	if (w->v->n_reasons >= JUDGE_REASONS_MAX - REASONS_KEPT - 1)
		w->unsaid++;
	else
		add_reason(w->v, text);
}

/* Sentences are put together where all bounded texts are, in a struct err: core itself knows no stdio. */
#define say(v, ...)                                  \
	do {                                         \
		struct err text;                     \
		err_set(&text, EINVAL, __VA_ARGS__); \
		add_reason(v, text.text);            \
	} while (0)
#define defect(w, ...)                               \
	do {                                         \
		struct err text;                     \
		err_set(&text, EINVAL, __VA_ARGS__); \
		add_defect(w, text.text);            \
	} while (0)

/* ---- arguments ---- */

static bool within(double x, double above, double most)
{
	return x > above && x <= most;
}

static int check_plan(const struct judge_plan *p, struct err *e)
{
	unsigned judged = 0;
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		if (!p->judged[i])
			continue;
		judged++;
		if (!within(p->margin[i], 0, 10))
			return err_set(e, EINVAL, "plan: the margin of %s is %g, must be above 0 and at most 10",
				       endpoint_name(i), p->margin[i]);
	}
	if (judged == 0)
		return err_set(e, EINVAL, "plan: no endpoint is judged; name at least one of p99, p99.9, exit");
	if (p->canaries < 1 || p->canaries > JUDGE_HOSTS_MAX || p->controls > JUDGE_HOSTS_MAX - p->canaries)
		return err_set(e, EINVAL,
			       "plan: %" PRIu32 " canaries and %" PRIu32
			       " controls; at least 1 canary and at most %d hosts together are possible",
			       p->canaries, p->controls, JUDGE_HOSTS_MAX);
	if (p->boots < 1 || p->boots > JUDGE_BOOTS_MAX)
		return err_set(e, EINVAL, "plan: %" PRIu32 " boots, must be 1 to %d", p->boots, JUDGE_BOOTS_MAX);
	if (p->storms < 1 || p->storms > RECORDING_STORMS_MAX)
		return err_set(e, EINVAL, "plan: %" PRIu32 " storms, must be 1 to %d", p->storms, RECORDING_STORMS_MAX);
	if (!within(p->alpha_promote, 0, 0.49) || !within(p->alpha_rollback, 0, 0.49))
		return err_set(e, EINVAL,
			       "plan: alpha_promote %g and alpha_rollback %g, must be above 0 and at most 0.49",
			       p->alpha_promote, p->alpha_rollback);
	if (!within(p->sd_floor, 0, 1))
		return err_set(e, EINVAL, "plan: sd_floor %g, must be above 0 and at most 1", p->sd_floor);
	return 0;
}

static int check_hosts(const struct judge_host *hosts, size_t n, struct err *e)
{
	if (n > JUDGE_HOSTS_MAX)
		return err_set(e, EINVAL, "%zu hosts, at most %d can be judged", n, JUDGE_HOSTS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct judge_host *h = &hosts[i];
		size_t len = strnlen(h->name, sizeof(h->name));
		if (len == 0 || len == sizeof(h->name))
			return err_set(e, EINVAL, "host %zu of %zu has no name, or one without an end", i + 1, n);
		if (h->n_old > JUDGE_BOOTS_MAX || h->n_new > JUDGE_BOOTS_MAX)
			return err_set(e, EINVAL, "host %s: %" PRIu32 " and %" PRIu32 " boots, at most %d are possible",
				       h->name, h->n_old, h->n_new, JUDGE_BOOTS_MAX);
	}
	return 0;
}

/* ---- order ---- */

static int compare_boots(const struct judge_boot *a, const struct judge_boot *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int r = memcmp(a[i].y, b[i].y, sizeof(a[i].y));
		if (r == 0)
			r = memcmp(a[i].samples, b[i].samples, sizeof(a[i].samples));
		if (r == 0)
			r = memcmp(&a[i].storms, &b[i].storms, sizeof(a[i].storms));
		if (r != 0)
			return r;
	}
	return 0;
}

/* Contents too: hosts of one name are a defect, and its reasons must not depend on the order either. */
static int compare_hosts(const void *pa, const void *pb)
{
	const struct judge_host *a = *(const struct judge_host *const *)pa, *b = *(const struct judge_host *const *)pb;
	int r = strcmp(a->name, b->name);
	if (r == 0)
		r = (int)a->control - (int)b->control;
	if (r == 0)
		r = (a->n_old > b->n_old) - (a->n_old < b->n_old);
	if (r == 0)
		r = (a->n_new > b->n_new) - (a->n_new < b->n_new);
	if (r == 0)
		r = compare_boots(a->old_boot, b->old_boot, a->n_old);
	if (r == 0)
		r = compare_boots(a->new_boot, b->new_boot, a->n_new);
	return r;
}

/* ---- roster and data against the plan ---- */

/* Appends ", name" while it fits with the dots that stand for the rest. */
static void list_name(char *list, size_t size, const char *name)
{
	const char *dots = ", ...";
	size_t len = strlen(list), need = strlen(name) + (len ? 2 : 0);
	if (len >= 3 && strcmp(list + len - 3, "...") == 0)
		return;
	bool fits = len + need + strlen(dots) < size;
	if (!fits)
		name = "...";
	if (len) {
		memcpy(list + len, ", ", 2);
		len += 2;
	}
	memcpy(list + len, name, strlen(name) + 1);
}

static void check_count(struct work *w, bool control, uint32_t planned)
{
	char names[160] = "";
	uint32_t came = 0;
	for (size_t i = 0; i < w->n; i++) {
		if (w->host[i]->control != control)
			continue;
		came++;
		list_name(names, sizeof(names), w->host[i]->name);
	}
	if (came == planned)
		return;
	defect(w, "%" PRIu32 " %s came, the plan has %" PRIu32 ": %s (came: %s).", came,
	       control ? "controls" : "canaries", planned,
	       came < planned ? "find out what became of the others" : "leave none out, make a new plan",
	       came ? names : "none");
}

static void check_names(struct work *w)
{
	for (size_t i = 1; i < w->n; i++) {
		const struct judge_host *a = w->host[i - 1], *b = w->host[i];
		if (strcmp(a->name, b->name) != 0)
			continue;
		if (a->control != b->control)
			defect(w, "%s is both canary and control: a host can be only one of them.", a->name);
		else
			defect(w, "%s came twice as %s: give each host once, with all its boots.", a->name,
			       a->control ? "control" : "canary");
	}
}

static bool usable(double y)
{
	return isfinite(y) && fabs(y) <= Y_MAX;
}

/* Where all storms are there, the same again gives no more samples. */
static const char *remedy(const struct judge_boot *b, const struct judge_plan *p, int endpoint)
{
	if (b->storms != p->storms || endpoint == ENDPOINT_EXIT)
		return "measure this boot again.";
	return "measure with more victims or a longer window, or plan more storms.";
}

static void check_boot(struct work *w, const struct judge_host *h, const char *slot, uint32_t number,
		       const struct judge_boot *b)
{
	const struct judge_plan *p = w->plan;
	if (b->storms != p->storms)
		defect(w, "%s, %s, boot %" PRIu32 ": %" PRIu32 " storms, the plan has %" PRIu32 ".", h->name, slot,
		       number, b->storms, p->storms);
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const char *todo = remedy(b, p, i);
		if (!p->judged[i])
			continue;
		if (!usable(b->y[i]))
			defect(w,
			       "%s, %s, boot %" PRIu32 ": %s has no value (%" PRIu64 " samples of %" PRIu64
			       " needed, and none given up): measure this boot again.",
			       h->name, slot, number, endpoint_name(i), b->samples[i], p->min_samples[i]);
		else if (b->samples[i] < p->min_samples[i])
			defect(w,
			       "%s, %s, boot %" PRIu32 ": %s stands on %" PRIu64 " samples of %" PRIu64 " needed: %s",
			       h->name, slot, number, endpoint_name(i), b->samples[i], p->min_samples[i], todo);
	}
}

static void check_arm(struct work *w, const struct judge_host *h, const char *slot, const struct judge_boot *b,
		      uint32_t n)
{
	if (n != w->plan->boots)
		defect(w, "%s (%s): %" PRIu32 " boots measured (%s), the plan has %" PRIu32 ".", h->name,
		       h->control ? "control" : "canary", n, slot, w->plan->boots);
	for (uint32_t i = 0; i < n; i++)
		check_boot(w, h, slot, i + 1, &b[i]);
}

/* The roster comes from the plan: anything else than it is a defect, so that leaving data out never helps. */
static void check_data(struct work *w)
{
	const struct judge_plan *p = w->plan;
	if (p->controls == 0)
		defect(w, "No controls: what the new kernel or preset changed cannot be told from what else changed "
			  "between the "
			  "boots, so this is an estimate only. Reboot and measure unchanged hosts in the same slots.");
	else if (p->controls < 2 || p->canaries < 2)
		defect(w,
		       "%" PRIu32 " canaries and %" PRIu32 " controls: how far hosts differ cannot be known from one "
		       "host on a side; plan at least 2 of each (3 for the second opinion).",
		       p->canaries, p->controls);
	check_count(w, false, p->canaries);
	check_count(w, true, p->controls);
	check_names(w);
	for (size_t i = 0; i < w->n; i++) {
		const struct judge_host *h = w->host[i];
		/* A control runs the old kernel in both slots. */
		check_arm(w, h, h->control ? "first slot" : "old arm", h->old_boot, h->n_old);
		check_arm(w, h, h->control ? "second slot" : "new arm", h->new_boot, h->n_new);
	}
	if (w->unsaid)
		say(w->v, "And %" PRIu32 " more defects of this kind.", w->unsaid);
}

/* ---- estimates ---- */

/* Mean of the boots that have a value; each boot is one sample, whatever its number of operations. */
static double mean_y(const struct judge_boot *b, uint32_t n, enum endpoint x)
{
	double sum = 0;
	uint32_t used = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!usable(b[i].y[x]))
			continue;
		sum += b[i].y[x];
		used++;
	}
	return used ? sum / used : NAN;
}

/* D_h = mean Y over the boots of the new kernel - mean Y over those of the old one. */
static size_t differences(const struct work *w, enum endpoint x, bool control, double *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const struct judge_host *h = w->host[i];
		double d = mean_y(h->new_boot, h->n_new, x) - mean_y(h->old_boot, h->n_old, x);
		if (h->control == control && !isnan(d))
			ret[n++] = d;
	}
	return n;
}

static unsigned judged_count(const struct judge_plan *p)
{
	unsigned m = 0;
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		m += p->judged[i];
	return m;
}

/* Hosts an arm for which a ratio of 1 is promoted with probability POWER: the usual size of a one-sided comparison of
 * two means, 2 (z_alpha + z_beta)^2 sigma^2 / ln^2(1 + margin), with sigma^2 the mean of both arms' variances (after
 * the floor). At least 2, where no spread would ask for fewer. */
static double hosts_needed(const struct judge_plan *p, enum endpoint x, const struct stats_welch *s)
{
	double z = stats_normal_quantile(1 - p->alpha_promote) + stats_normal_quantile(POWER);
	double limit = log1p(p->margin[x]);
	return fmax(2, ceil(z * z * (s->sd_a * s->sd_a + s->sd_b * s->sd_b) / (limit * limit)));
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
	if (stats_randomisation(canary, k, control, m, w->plan->sd_floor, w->plan->seed, &p, &assignments, NULL) < 0)
		return;
	ret->p_random = p;
	ret->assignments = assignments;
}

/* Promotion: intersection-union test (R. L. Berger, Technometrics 24, 1982): every endpoint at alpha, no correction.
 * Rollback: any of m endpoints, so each at alpha / m (Bonferroni), and only where its own promotion bound is missed: a
 * surely small slowdown is no reason to go back. */
static void estimate(const struct work *w, enum endpoint x, struct verdict_endpoint *ret)
{
	const struct judge_plan *p = w->plan;
	double canary[JUDGE_HOSTS_MAX], control[JUDGE_HOSTS_MAX];
	size_t k = differences(w, x, false, canary), m = differences(w, x, true, control);
	ret->canaries = (uint32_t)k;
	ret->controls = (uint32_t)m;
	if (k == 0)
		return;
	ret->estimated = true;
	ret->delta = stats_mean(canary, k) - (m ? stats_mean(control, m) : 0);
	ret->ratio = exp(ret->delta);
	struct stats_welch s;
	if (stats_welch(canary, k, control, m, p->sd_floor, &s, NULL) < 0)
		return;
	unsigned judged = judged_count(p);
	double upper = s.delta + stats_t_quantile(1 - p->alpha_promote, s.nu) * s.se;
	double lower = s.delta - stats_t_quantile(1 - p->alpha_rollback / judged, s.nu) * s.se;
	ret->delta = s.delta;
	ret->ratio = exp(s.delta);
	ret->se = s.se;
	ret->nu = s.nu;
	ret->upper = exp(upper);
	ret->lower = exp(lower);
	ret->floored_canaries = s.floored_a;
	ret->floored_controls = s.floored_b;
	if (!p->judged[x])
		return;
	bool bound_holds = upper < log1p(p->margin[x]);
	ret->hosts_needed = hosts_needed(p, x, &s);
	if (!p->welch_alone)
		second_opinion(w, x, canary, k, control, m, ret);
	/* NaN compares false: without a second opinion that was made nothing is promoted. */
	ret->promotes = bound_holds && (p->welch_alone || ret->p_random <= p->alpha_promote);
	ret->rolls_back = lower > 0 && !bound_holds;
}

static void estimate_all(struct work *w)
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
		    .p_random = NAN,
		    .hosts_needed = NAN,
		};
		estimate(w, i, ve);
	}
}

/* ---- sentences ---- */

static void say_estimates(struct work *w)
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

static void say_promote(struct verdict *v)
{
	unsigned judged = 0;
	int tightest = -1;
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (!ve->judged)
			continue;
		judged++;
		if (tightest < 0 || ve->upper / ve->margin > v->endpoint[tightest].upper / v->endpoint[tightest].margin)
			tightest = i;
	}
	const struct verdict_endpoint *t = &v->endpoint[tightest];
	say(v,
	    "Proven no worse than the margin on every judged endpoint (%u); the closest is %s: at most %.3f, limit "
	    "%.3f.",
	    judged, endpoint_name(tightest), t->upper, t->margin);
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
}

static void say_rollback(struct verdict *v)
{
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *ve = &v->endpoint[i];
		if (ve->rolls_back)
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
static void say_undecided(struct work *w)
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

/* ---- the decision: PROMOTE before ROLLBACK before HOLD ---- */

static void decide(struct work *w)
{
	struct verdict *v = w->v;
	bool all_promote = true, any_rolls_back = false;
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		struct verdict_endpoint *ve = &v->endpoint[i];
		/* Nothing is proven harmless by data that differ from what was promised. */
		if (w->defects)
			ve->promotes = false;
		if (!ve->judged)
			continue;
		all_promote &= ve->promotes;
		any_rolls_back |= ve->rolls_back;
	}
	if (w->defects) {
		v->kind = VERDICT_HOLD;
		say_estimates(w);
	} else if (all_promote) {
		v->kind = VERDICT_PROMOTE;
		say_promote(v);
	} else if (any_rolls_back) {
		v->kind = VERDICT_ROLLBACK;
		say_rollback(v);
	} else {
		v->kind = VERDICT_HOLD;
		say_undecided(w);
	}
	if (w->plan->welch_alone)
		say(v, "The plan accepts Welch's bounds alone (second-opinion = welch-alone): no randomisation test "
		       "was made.");
}

int judge(const struct judge_plan *plan, const struct judge_host *hosts, size_t n, struct verdict *ret, struct err *e)
{
	int r = check_plan(plan, e);
	if (r == 0)
		r = check_hosts(hosts, n, e);
	if (r < 0)
		return r;
	struct work w = {.plan = plan, .n = n, .v = ret};
	for (size_t i = 0; i < n; i++)
		w.host[i] = &hosts[i];
	qsort(w.host, n, sizeof(w.host[0]), compare_hosts);
	memset(ret, 0, sizeof(*ret));
	check_data(&w);
	estimate_all(&w);
	decide(&w);
	return 0;
}
