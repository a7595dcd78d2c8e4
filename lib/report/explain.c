// SPDX-License-Identifier: Apache-2.0
/* Owns the words in which a verdict is explained.
 * Must not decide anything. */
#include "explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "table.h"
#include "text.h"

/* One text that grows, cut where it is full. */
struct text {
	char *at;
	size_t left;
};

static void printf_like(2, 3) add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
	t->at += used;
	t->left -= used;
}

/* "4.2% slower", "as fast", "3.0% faster", "2.31 times as slow" */
static const char *change(double ratio, char ret[TEXT_MAX])
{
	double percent = (ratio - 1) * 100;

	if (isnan(ratio))
		snprintf(ret, TEXT_MAX, "not known");
	else if (fabs(percent) < 0.05)
		snprintf(ret, TEXT_MAX, "as fast");
	else if (ratio >= 2)
		snprintf(ret, TEXT_MAX, "%.3g times as slow", ratio);
	else
		snprintf(ret, TEXT_MAX, "%.1f%% %s", fabs(percent), percent > 0 ? "slower" : "faster");
	return ret;
}

static const char *meaning(enum endpoint x)
{
	switch (x) {
	case ENDPOINT_P99:
		return "what the slowest of 100 page requests beside an exit waits";
	case ENDPOINT_P999:
		return "what the slowest of 1,000 page requests beside an exit waits";
	case ENDPOINT_EXIT:
		return "how long an exiting process takes to give a page back";
	case ENDPOINT_COUNT:
		break;
	}
	return "unknown";
}

static const char *what(const struct comparison *c)
{
	return c->factor == COMPARE_KERNELS ? "kernel" : "setting";
}

/* ---- the whole ---- */

static void say_worse(const struct comparison *c, struct text *t)
{
	bool first = true;

	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct verdict_endpoint *v = &c->verdict.endpoint[i];
		char by[TEXT_MAX], least[TEXT_MAX];

		if (!v->rolls_back)
			continue;
		add(t, "%s %s is %s, at the very least %s", first ? ":" : ";", endpoint_name((enum endpoint)i),
		    change(v->ratio, by), change(v->lower, least));
		first = false;
	}
	add(t, ".");
}

static void say_summary(const struct comparison *c, struct text *t)
{
	const struct verdict *v = &c->verdict;

	switch (v->kind) {
	case VERDICT_PROMOTE:
		add(t,
		    "The new %s is good: on everything that was judged it is proven to be slower by less than what the "
		    "plan "
		    "allows, or not slower at all.",
		    what(c));
		break;
	case VERDICT_ROLLBACK:
		add(t, "The new %s is bad", what(c));
		say_worse(c, t);
		break;
	case VERDICT_HOLD:
		if (v->defects > 0)
			add(t,
			    "Nothing is decided: the data are not what the plan promised (%" PRIu32
			    " thing%s missing or wrong), and what is missing could be what is bad.",
			    v->defects, v->defects == 1 ? "" : "s");
		else
			add(t,
			    "Nothing is decided: the data are complete, but hosts and boots differ too much to tell "
			    "the new "
			    "%s from a bad one, or from a good one.",
			    what(c));
		break;
	}
}

static double most_hosts(const struct verdict *v)
{
	double most = 0;

	for (int i = 0; i < ENDPOINT_COUNT; i++)
		if (v->endpoint[i].judged && !v->endpoint[i].promotes && v->endpoint[i].hosts_needed > most)
			most = v->endpoint[i].hosts_needed;
	return most;
}

static void say_next(const struct comparison *c, struct text *t)
{
	const struct verdict *v = &c->verdict;
	double hosts = most_hosts(v);

	switch (v->kind) {
	case VERDICT_PROMOTE:
		add(t, "Let the rollout go on. Keep the recordings: the next step is compared with this one.");
		break;
	case VERDICT_ROLLBACK:
		add(t,
		    "Take the canaries back to the old %s now, and do not try again before somebody has found the "
		    "cause; keep "
		    "the recordings for that.",
		    what(c));
		break;
	case VERDICT_HOLD:
		if (v->defects > 0)
			add(t, "Do not go on, and do not leave out what is bad. Mend what the reasons below name and "
			       "measure again; "
			       "if that cannot be done before the deadline, take the change back.");
		else if (hosts > 0)
			add(t,
			    "Do not go on. About %.0f canaries and as many controls would settle it at this spread; "
			    "more boots "
			    "of each help, too (kpcp-canary plan). At the deadline, take the change back.",
			    hosts);
		else
			add(t, "Do not go on. Measure more hosts or boots; at the deadline, take the change back.");
		break;
	}
}

/* ---- endpoints ---- */

static void say_decided(const struct verdict_endpoint *v, struct text *t)
{
	if (v->promotes)
		add(t, " That is within what is allowed: no worse.");
	else if (v->rolls_back)
		add(t, " Even the least of it is a slowdown, and the most is not within what is allowed: worse.");
	else if (v->upper < v->margin && v->reference_upper >= v->margin)
		add(t, " Against the old one that would do, but the steps before it have used the margin up.");
	else if (v->upper < v->margin && isnan(v->p_random))
		add(t, " That would be within what is allowed, but nothing is proven by data that are not complete.");
	else if (v->upper < v->margin && v->lower > 1)
		add(t, " A small slowdown is sure; the randomisation test does not agree that it is small enough.");
	else if (v->upper < v->margin)
		add(t, " That would be within what is allowed, but not everything that must agree does.");
	else
		add(t, " That includes both a good one and a bad one: undecided.");
}

static void say_how(const struct comparison *c, const struct verdict_endpoint *v, struct text *t)
{
	if (!isnan(v->p_random))
		add(t, " The randomisation test %s (p %.3g, at most %.3g is needed).",
		    v->p_random <= c->plan->alpha_promote ? "agrees that it is below the limit"
							  : "does not confirm that it is below the limit",
		    v->p_random, c->plan->alpha_promote);
	if (v->adjusted)
		add(t, " What hosts were apart before was taken off (%.0f%% of it).", v->theta * 100);
	if (v->floored_canaries || v->floored_controls)
		add(t,
		    " Hosts agreed better than can be measured, or than they do by experience; the experience counts.");
}

static void say_endpoint(const struct comparison *c, enum endpoint x, struct text *t)
{
	const struct verdict_endpoint *v = &c->verdict.endpoint[x];
	char by[TEXT_MAX], least[TEXT_MAX], most[TEXT_MAX];

	add(t, "%s (%s): ", endpoint_name(x), meaning(x));
	if (!v->judged) {
		add(t, "not judged, because the plan does not name it.");
		return;
	}
	if (!v->estimated) {
		add(t, "no estimate, because no canary has it from both %ss.", what(c));
		return;
	}
	change(v->ratio, by);
	add(t, "%s %s the old %s", by, strncmp(by, "as", 2) == 0 || strstr(by, "times") ? "as" : "than", what(c));
	if (isnan(v->upper)) {
		add(t, ", which is an estimate only: there are too few controls or canaries to say how sure it is.");
		return;
	}
	add(t, ", controls taken off; surely between %s and %s. Allowed is %.4g%% slower.", change(v->lower, least),
	    change(v->upper, most), (v->margin - 1) * 100);
	say_decided(v, t);
	say_how(c, v, t);
}

/* ---- what was left out ---- */

static uint32_t with_value(const struct judge_boot *b, uint32_t n, enum endpoint x)
{
	uint32_t have = 0;

	for (uint32_t i = 0; i < n; i++)
		have += isfinite(b[i].y[x]);
	return have;
}

/* Room for one more line; NULL: no. The last line is kept for how many there would have been. */
static char *room(struct explanation *ret, uint32_t *unsaid)
{
	if (ret->n_left_out < EXPLAIN_LEFT_MAX - 1)
		return ret->left_out[ret->n_left_out++];
	++*unsaid;
	return NULL;
}

static void leave_out_values(const struct comparison *c, struct explanation *ret, uint32_t *unsaid)
{
	for (size_t h = 0; h < c->n_hosts; h++) {
		for (int x = 0; x < ENDPOINT_COUNT; x++) {
			const struct judge_host *host = &c->host[h];
			uint32_t old = with_value(host->old_boot, host->n_old, (enum endpoint)x);
			uint32_t new = with_value(host->new_boot, host->n_new, (enum endpoint)x);
			char *line;

			if (!c->verdict.endpoint[x].judged || (old == host->n_old && new == host->n_new &&old &&new) ||
			    !(line = room(ret, unsaid)))
				continue;
			snprintf(line, EXPLAIN_MAX,
				 "%s of %s: %s, because %u of %u boots before and %u of %u after have a value.",
				 endpoint_name((enum endpoint)x), host->name,
				 old && new ? "some boots do not count" : "the host does not count", old, host->n_old,
				 new, host->n_new);
		}
	}
}

static void leave_out(const struct comparison *c, struct explanation *ret)
{
	uint32_t unsaid = 0;
	char *line;

	for (int x = 0; x < ENDPOINT_COUNT; x++)
		if (!c->verdict.endpoint[x].judged && (line = room(ret, &unsaid)))
			snprintf(line, EXPLAIN_MAX, "%s: measured, but the plan's endpoints do not name it.",
				 endpoint_name((enum endpoint)x));
	if (c->plan->welch_alone && (line = room(ret, &unsaid)))
		snprintf(line, EXPLAIN_MAX, "The second opinion: the plan accepts Welch's bounds alone.");
	if (c->plan->controls == 0 && (line = room(ret, &unsaid)))
		snprintf(line, EXPLAIN_MAX, "Controls: the plan has none, so nothing can be proven.");
	leave_out_values(c, ret, &unsaid);
	if (unsaid)
		snprintf(ret->left_out[ret->n_left_out++], EXPLAIN_MAX, "And %u more of this kind.", unsaid);
}

void explain(const struct comparison *c, struct explanation *ret)
{
	struct text summary = {ret->summary, EXPLAIN_MAX}, next = {ret->next, EXPLAIN_MAX};

	memset(ret, 0, sizeof(*ret));
	say_summary(c, &summary);
	say_next(c, &next);
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		struct text t = {ret->endpoint[x], EXPLAIN_MAX};

		say_endpoint(c, (enum endpoint)x, &t);
	}
	leave_out(c, ret);
}

int explain_text(struct buf *out, const struct comparison *c, bool colour, struct err *e)
{
	static const char *const paint[] = {
	    [VERDICT_HOLD] = "\033[1;33m", [VERDICT_PROMOTE] = "\033[1;32m", [VERDICT_ROLLBACK] = "\033[1;31m"};
	const struct verdict *v = &c->verdict;
	struct explanation x;
	int r;

	explain(c, &x);
	r = buf_addf(out, e, "verdict: %s%s%s\n", colour ? paint[v->kind] : "", verdict_name(v->kind),
		     colour ? "\033[0m" : "");
	if (r == 0)
		r = text_wrap(out, "", x.summary, TABLE_WIDTH, e);
	if (r == 0)
		r = text_wrap(out, "what to do: ", x.next, TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "\nwhat was looked at\n");
	for (int i = 0; r == 0 && i < ENDPOINT_COUNT; i++)
		r = text_wrap(out, "  - ", x.endpoint[i], TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "\nwhat was left out%s\n", x.n_left_out ? "" : ": nothing");
	for (uint32_t i = 0; r == 0 && i < x.n_left_out; i++)
		r = text_wrap(out, "  - ", x.left_out[i], TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "\nthe judge's reasons\n");
	for (uint32_t i = 0; r == 0 && i < v->n_reasons; i++)
		r = text_wrap(out, "  - ", v->reason[i], TABLE_WIDTH, e);
	return r;
}
