// SPDX-License-Identifier: Apache-2.0
/* Owns what must be there before anything is estimated: a plan in its range, hosts, models, boots, storms, samples.
 * Must not know estimates, bounds or verdicts. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "judge_work.h"

/* ---- arguments ---- */

static bool within(double x, double above, double most)
{
	return x > above && x <= most;
}

static int check_spread(const struct judge_plan *p, struct err *e)
{
	if (!within(p->sd_floor, 0, 1))
		return err_set(e, EINVAL, "plan: sd_floor %g, must be above 0 and at most 1", p->sd_floor);
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const struct judge_reference *f = &p->reference[i];
		if (!(p->sd_history[i] >= 0 && p->sd_history[i] <= 10))
			return err_set(e, EINVAL, "plan: the history of %s is %g, must be 0 to 10", endpoint_name(i),
				       p->sd_history[i]);
		if (f->given && !(fabs(f->delta) <= 10 && f->se >= 0 && f->se <= 10))
			return err_set(e, EINVAL,
				       "plan: the reference of %s is %g +- %g, must be -10 to 10 and 0 to 10",
				       endpoint_name(i), f->delta, f->se);
	}
	return 0;
}

static int check_models(const struct judge_plan *p, struct err *e)
{
	if (p->n_models > JUDGE_MODELS_MAX)
		return err_set(e, EINVAL, "plan: %" PRIu32 " models, at most %d are possible", p->n_models,
			       JUDGE_MODELS_MAX);
	for (uint32_t i = 0; i < p->n_models; i++) {
		size_t len = strnlen(p->model[i], JUDGE_MODEL_MAX);
		if (len == 0 || len == JUDGE_MODEL_MAX)
			return err_set(e, EINVAL, "plan: model %" PRIu32 " has no name, or one without an end", i + 1);
	}
	return 0;
}

int judge_check_plan(const struct judge_plan *p, struct err *e)
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
	int r = check_models(p, e);
	return r < 0 ? r : check_spread(p, e);
}

int judge_check_hosts(const struct judge_host *hosts, size_t n, struct err *e)
{
	if (n > JUDGE_HOSTS_MAX)
		return err_set(e, EINVAL, "%zu hosts, at most %d can be judged", n, JUDGE_HOSTS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct judge_host *h = &hosts[i];
		size_t len = strnlen(h->name, sizeof(h->name));
		if (len == 0 || len == sizeof(h->name))
			return err_set(e, EINVAL, "host %zu of %zu has no name, or one without an end", i + 1, n);
		if (strnlen(h->model, sizeof(h->model)) == sizeof(h->model))
			return err_set(e, EINVAL, "host %s: its model is a name without an end", h->name);
		if (h->n_old > JUDGE_BOOTS_MAX || h->n_new > JUDGE_BOOTS_MAX)
			return err_set(e, EINVAL, "host %s: %" PRIu32 " and %" PRIu32 " boots, at most %d are possible",
				       h->name, h->n_old, h->n_new, JUDGE_BOOTS_MAX);
	}
	return 0;
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

/* Where all storms are there, the same again gives no more samples. */
static const char *remedy(const struct judge_boot *b, const struct judge_plan *p, int endpoint)
{
	if (p->probing == PROBING_PASSIVE)
		return "watch for longer.";
	if (b->storms != p->storms || endpoint == ENDPOINT_EXIT)
		return "measure this boot again.";
	return "measure with more victims or a longer window, or plan more storms.";
}

static void check_boot(struct work *w, const struct judge_host *h, const char *slot, uint32_t number,
		       const struct judge_boot *b)
{
	const struct judge_plan *p = w->plan;
	bool passive = p->probing == PROBING_PASSIVE;
	const uint64_t *min_samples = passive ? p->min_passive_samples : p->min_samples;
	if (b->probing != p->probing) {
		defect(w,
		       "%s, %s, boot %" PRIu32
		       ": the evidence is %s, the plan asks for %s; the two are never mixed: measure this boot again.",
		       h->name, slot, number, probing_name(b->probing), probing_name(p->probing));
		return;
	}
	/* What happens by itself does not happen in a fixed number. */
	if (passive ? b->storms < p->storms : b->storms != p->storms)
		defect(w, "%s, %s, boot %" PRIu32 ": %" PRIu32 " %s, the plan has %s%" PRIu32 ".", h->name, slot,
		       number, b->storms, passive ? "exits watched" : "storms", passive ? "at least " : "", p->storms);
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		const char *todo = remedy(b, p, i);
		if (!p->judged[i])
			continue;
		if (!judge_usable(b->y[i]))
			defect(w,
			       "%s, %s, boot %" PRIu32 ": %s has no value (%" PRIu64 " samples of %" PRIu64
			       " needed, and none given up): measure this boot again.",
			       h->name, slot, number, endpoint_name(i), b->samples[i], min_samples[i]);
		else if (b->samples[i] < min_samples[i])
			defect(w,
			       "%s, %s, boot %" PRIu32 ": %s stands on %" PRIu64 " samples of %" PRIu64 " needed: %s",
			       h->name, slot, number, endpoint_name(i), b->samples[i], min_samples[i], todo);
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

/* One kind of hardware may take to a kernel as no other does: what nobody measured is not proven. */
static void check_covered(struct work *w, const char *model)
{
	uint32_t came[2] = {0, 0};
	char names[160] = "";
	for (size_t i = 0; i < w->n; i++) {
		const struct judge_host *h = w->host[i];
		if (strcmp(h->model, model) == 0)
			came[h->control]++;
		else if (h->model[0] && !strstr(names, h->model))
			list_name(names, sizeof(names), h->model);
	}
	for (int control = 0; control < 2; control++)
		if (came[control] == 0)
			defect(w,
			       "No %s of model %s, which the plan names: take one in, or this kind of hardware stays "
			       "unproven (other models that came: %s).",
			       control ? "control" : "canary", model, names[0] ? names : "none");
}

void judge_check_data(struct work *w)
{
	const struct judge_plan *p = w->plan;
	if (p->controls == 0)
		defect(w, "No controls: what the new kernel or preset changed cannot be told from what else changed "
			  "between the boots, so this is an estimate only. Reboot and measure unchanged hosts in the "
			  "same slots.");
	else if (p->controls < 2 || p->canaries < 2)
		defect(w,
		       "%" PRIu32 " canaries and %" PRIu32 " controls: how far hosts differ cannot be known from one "
		       "host on a side; plan at least 2 of each (3 for the second opinion).",
		       p->canaries, p->controls);
	check_count(w, false, p->canaries);
	check_count(w, true, p->controls);
	check_names(w);
	for (uint32_t i = 0; i < p->n_models; i++)
		check_covered(w, p->model[i]);
	for (size_t i = 0; i < w->n; i++) {
		const struct judge_host *h = w->host[i];
		/* A control runs the old kernel in both slots. */
		check_arm(w, h, h->control ? "first slot" : "old arm", h->old_boot, h->n_old);
		check_arm(w, h, h->control ? "second slot" : "new arm", h->new_boot, h->n_new);
	}
	if (w->unsaid)
		say(w->v, "And %" PRIu32 " more defects of this kind.", w->unsaid);
}
