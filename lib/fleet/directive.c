// SPDX-License-Identifier: Apache-2.0
/* Owns the keys of a plan and of a directive, their ranges, and what must hold between them.
 * Must not know signatures, nor what controller and agent do with it. */
#include "directive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "lib/base/conf.h"
#include "lib/base/list.h"
#include "lib/base/near.h"
#include "lib/base/num.h"
#include "lib/core/stats.h"
#include "lib/report/measure.h"
#include "lib/report/plan.h"
#include "setting.h"

#define APPROVAL_BYTES_MAX 128
#define CPUS_MAX           8192
#define HOSTS_OF_CLUSTER   4096
#define YEAR_9999_S        253402300799u
#define CONTROLS_UNSET     UINT32_MAX /* told from a number that was written */

/* What the tables of keys are applied to. */
struct reading {
	struct judge_plan judge; /* first: lib/report/plan.h's keys take the target for it */
	struct directive d;
};
_Static_assert(offsetof(struct reading, judge) == 0, "plan_keys' target begins with a struct judge_plan");

static struct directive *directive(void *target)
{
	return &((struct reading *)target)->d;
}

static int set_form(char *ret, size_t size, const struct form *f, const char *value, struct err *e)
{
	size_t len = strlen(value);
	int r = form_check(f, value, e);

	if (r == 0 && len >= size)
		r = err_set(e, EINVAL, "has %zu characters, at most %zu are taken", len, size - 1);
	if (r == 0)
		memcpy(ret, value, len + 1);
	return r;
}

static int set_word(unsigned *ret, const char *value, const char *const *words, size_t n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return err_set(e, EINVAL, "\"%s\" is none of its words; did you mean \"%s\"?", value,
		       near_find(value, words, n));
}

/* ---- [rollout] ---- */

static int set_name(void *t, const char *value, struct err *e)
{
	return set_form(directive(t)->name, sizeof(directive(t)->name), &form_name, value, e);
}

/* The next word of a list. A word that is too long is cut, and still too long for its form. 1, 0 or an error. */
static int next_word(const char **at, char *ret, size_t size, struct err *e)
{
	const char *word;
	size_t len;
	int r = list_next(at, &word, &len, e);

	if (r <= 0)
		return r;
	if (len >= size)
		len = size - 1;
	memcpy(ret, word, len);
	ret[len] = 0;
	return 1;
}

static int set_clusters(void *t, const char *value, struct err *e)
{
	struct directive *d = directive(t);
	char word[DIRECTIVE_NAME_MAX + 1];
	int r;

	while ((r = next_word(&value, word, sizeof(word), e)) > 0) {
		if (d->n_clusters == DIRECTIVE_CLUSTERS_MAX)
			return err_set(e, EINVAL, "more than %d clusters", DIRECTIVE_CLUSTERS_MAX);
		for (uint32_t i = 0; i < d->n_clusters; i++)
			if (strcmp(d->cluster[i], word) == 0)
				return err_set(e, EINVAL, "%s is named twice", word);
		char *cluster = d->cluster[d->n_clusters];
		r = set_form(cluster, sizeof(d->cluster[0]), &form_name, word, e);
		if (r < 0)
			return r;
		d->n_clusters++;
	}
	if (r < 0)
		return r;
	return d->n_clusters > 0 ? 0 : err_set(e, EINVAL, "names no cluster");
}

static int set_evidence(void *t, const char *value, struct err *e)
{
	static const char *const words[] = {[EVIDENCE_MEASURED] = "measured", [EVIDENCE_HEALTH] = "health"};
	unsigned word = 0;
	int r = set_word(&word, value, words, ARRAY_SIZE(words), e);

	if (r == 0)
		directive(t)->evidence = (enum evidence)word;
	return r;
}

static int set_deadline(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 1, 30 * 86400, &directive(t)->deadline_s, e);
}

static int set_order_timeout(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 1, 86400, &directive(t)->order_timeout_s, e);
}

/* ---- [kernel], [preset] ---- */

#define KERNEL_TEXT(field, form)                                                              \
	static int set_##field(void *t, const char *value, struct err *e)                     \
	{                                                                                     \
		struct directive *d = directive(t);                                           \
		return set_form(d->kernel.field, sizeof(d->kernel.field), &(form), value, e); \
	}
KERNEL_TEXT(package, form_package)
KERNEL_TEXT(version, form_version)
KERNEL_TEXT(release, form_release)
KERNEL_TEXT(sha256, form_sha256)
KERNEL_TEXT(build_id, form_build_id)

static int set_preset(void *t, const char *value, struct err *e)
{
	return set_form(directive(t)->preset.name, sizeof(directive(t)->preset.name), &form_name, value, e);
}

static int set_settings(void *t, const char *value, struct err *e)
{
	struct directive *d = directive(t);

	return setting_parse(value, d->preset.setting, DIRECTIVE_SETTINGS_MAX, &d->preset.n, e);
}

/* ---- [canaries], [measure] ---- */

static int set_from(void *t, const char *value, struct err *e)
{
	return set_form(directive(t)->canaries_from, DIRECTIVE_NAME_MAX, &form_name, value, e);
}

static int set_controls_from(void *t, const char *value, struct err *e)
{
	return set_form(directive(t)->controls_from, DIRECTIVE_NAME_MAX, &form_name, value, e);
}

static int set_warmup(void *t, const char *value, struct err *e)
{
	return measure_warmup(value, &directive(t)->measure.warmup, e);
}

static int set_storm(void *t, const char *value, struct err *e)
{
	return measure_storm(value, &directive(t)->measure.processes, &directive(t)->measure.process_bytes, e);
}

static int set_burst(void *t, const char *value, struct err *e)
{
	return measure_burst(value, &directive(t)->measure.burst_pages, e);
}

static int set_period(void *t, const char *value, struct err *e)
{
	return measure_period(value, &directive(t)->measure.period_ns, e);
}

static int set_window(void *t, const char *value, struct err *e)
{
	return measure_window(value, &directive(t)->measure.window_ns, e);
}

/* Kept as it was written: which CPUs there are is only known on the host. */
static int set_cpus(char *ret, size_t size, const char *value, struct err *e)
{
	size_t len = strlen(value), n;

	if (len >= size)
		return err_set(e, EINVAL, "has %zu characters, at most %zu are taken", len, size - 1);
	unsigned *cpu = calloc(CPUS_MAX, sizeof(*cpu));
	int r = cpu ? num_cpulist(value, cpu, CPUS_MAX, &n, e) : err_sys(e, ENOMEM, "reading CPUs");
	free(cpu);
	if (r == 0)
		memcpy(ret, value, len + 1);
	return r;
}

static int set_storm_cpus(void *t, const char *value, struct err *e)
{
	return set_cpus(directive(t)->measure.storm_cpus, sizeof(directive(t)->measure.storm_cpus), value, e);
}

static int set_victim_cpus(void *t, const char *value, struct err *e)
{
	return set_cpus(directive(t)->measure.victim_cpus, sizeof(directive(t)->measure.victim_cpus), value, e);
}

/* ---- [waves], [approval] ---- */

static int set_percent(void *t, const char *value, struct err *e)
{
	struct directive *d = directive(t);
	uint32_t last = 0;
	char word[16];
	int r;

	for (d->n_waves = 0; (r = next_word(&value, word, sizeof(word), e)) > 0; d->n_waves++) {
		if (d->n_waves == DIRECTIVE_WAVES_MAX)
			return err_set(e, EINVAL, "more than %d waves", DIRECTIVE_WAVES_MAX);
		uint32_t *percent = &d->wave_percent[d->n_waves];
		size_t len = strlen(word);
		if (len > 1 && word[len - 1] == '%')
			word[len - 1] = 0;
		r = num_u32(word, 1, 100, percent, e);
		if (r < 0)
			return r;
		if (*percent <= last)
			return err_set(e, EINVAL, "%u after %u: each wave is of all hosts so far, so they must rise",
				       *percent, last);
		last = *percent;
	}
	if (r < 0)
		return r;
	if (last != 100)
		return err_set(e, EINVAL, "the last wave must be 100: add it, or hosts would be left out");
	return 0;
}

static int set_soak(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 1, 30 * 86400, &directive(t)->soak_s, e);
}

static int set_budget(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, HOSTS_OF_CLUSTER, &directive(t)->budget, e);
}

static int set_serial(void *t, const char *value, struct err *e)
{
	return num_u64(value, 1, INT64_MAX, &directive(t)->serial, e);
}

static int set_expires(void *t, const char *value, struct err *e)
{
	return num_u64(value, 1, YEAR_9999_S, &directive(t)->expires_unix_s, e);
}

static const struct conf_key own_keys[] = {
    {"rollout", "name", set_name, true},
    {"rollout", "clusters", set_clusters, true},
    {"rollout", "evidence", set_evidence, false},
    {"rollout", "deadline", set_deadline, false},
    {"rollout", "order-timeout", set_order_timeout, false},
    {"kernel", "package", set_package, false},
    {"kernel", "version", set_version, false},
    {"kernel", "release", set_release, false},
    {"kernel", "sha256", set_sha256, false},
    {"kernel", "build-id", set_build_id, false},
    {"preset", "name", set_preset, false},
    {"preset", "settings", set_settings, false},
    {"canaries", "from", set_from, false},
    {"canaries", "controls-from", set_controls_from, false},
    {"measure", "warmup", set_warmup, false},
    {"measure", "storm", set_storm, false},
    {"measure", "burst", set_burst, false},
    {"measure", "period", set_period, false},
    {"measure", "window", set_window, false},
    {"measure", "storm-cpus", set_storm_cpus, false},
    {"measure", "victim-cpus", set_victim_cpus, false},
    {"waves", "percent", set_percent, false},
    {"waves", "soak", set_soak, false},
    {"waves", "budget", set_budget, false},
};

static const struct conf_key approval_keys[] = {
    {"approval", "serial", set_serial, true},
    {"approval", "expires", set_expires, true},
};

/* ---- what must hold beyond single keys ---- */

/* A text under its name, for messages with lines. */
struct source {
	const char *name;
	const char *text;
	size_t len;
};

static int line_at(const struct source *s, size_t offset)
{
	int line = 1;

	for (size_t i = 0; i < offset; i++)
		line += s->text[i] == '\n';
	return line;
}

/* Where the first line "[section]" begins, by lib/base/conf's rules; s->len where there is none. */
static size_t find_section(const struct source *s, const char *section)
{
	size_t n = strlen(section);

	for (size_t at = 0; at < s->len;) {
		const char *feed = memchr(s->text + at, '\n', s->len - at);
		size_t end = feed ? (size_t)(feed - s->text) : s->len, from = at;

		while (from < end && (s->text[from] == ' ' || s->text[from] == '\t'))
			from++;
		if (end - from >= n + 2 && s->text[from] == '[' && memcmp(s->text + from + 1, section, n) == 0 &&
		    s->text[from + 1 + n] == ']')
			return at;
		at = end + 1;
	}
	return s->len;
}

/* Line of a section for messages; the last line where it is not there. */
static int section_line(const struct source *s, const char *section)
{
	return line_at(s, find_section(s, section));
}

static bool has_section(const struct source *s, const char *section)
{
	return find_section(s, section) < s->len;
}

/* A plan is read by people before it is signed: nothing in it may be invisible to them. */
static int check_text(const struct source *s, size_t max, struct err *e)
{
	if (s->len > max)
		return err_set(e, EFBIG, "%s: %zu bytes, at most %zu are taken; shorten its comments", s->name, s->len,
			       max);
	size_t plain = form_plain_span(s->text, s->len, true);
	if (plain == s->len)
		return 0;
	return err_set(e, EINVAL,
		       "%s:%d: byte 0x%02x begins no character that can be seen; only UTF-8 text, tabs and line feeds "
		       "may be in a plan that people sign; remove it",
		       s->name, line_at(s, plain), (unsigned char)s->text[plain]);
}

static int check_factor(const struct source *s, struct directive *d, struct err *e)
{
	bool kernel = has_section(s, "kernel"), preset = has_section(s, "preset");

	if (kernel && preset)
		return err_set(
		    e, EINVAL,
		    "%s: line %d has [kernel] and line %d has [preset], but one rollout changes one thing, so "
		    "that a regression has one cause; make two plans, the kernel's first",
		    s->name, section_line(s, "kernel"), section_line(s, "preset"));
	if (!kernel && !preset)
		return err_set(
		    e, EINVAL,
		    "%s: neither [kernel] nor [preset], so nothing would be rolled out; add what `kpcp kernel "
		    "DEB` prints, or what `kpcp preset FILE` prints",
		    s->name);
	d->factor = kernel ? FACTOR_KERNEL : FACTOR_PRESET;
	return 0;
}

static int check_complete(const struct source *s, const struct directive *d, struct err *e)
{
	const struct {
		enum factor factor;
		const char *section, *key;
		bool given;
	} row[] = {
	    {FACTOR_KERNEL, "kernel", "package", d->kernel.package[0] != 0},
	    {FACTOR_KERNEL, "kernel", "version", d->kernel.version[0] != 0},
	    {FACTOR_KERNEL, "kernel", "release", d->kernel.release[0] != 0},
	    {FACTOR_KERNEL, "kernel", "sha256", d->kernel.sha256[0] != 0},
	    {FACTOR_KERNEL, "kernel", "build-id", d->kernel.build_id[0] != 0},
	    {FACTOR_PRESET, "preset", "name", d->preset.name[0] != 0},
	    {FACTOR_PRESET, "preset", "settings", d->preset.n > 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		if (row[i].factor == d->factor && !row[i].given)
			return err_set(
			    e, EINVAL,
			    "%s:%d: key '%s' of [%s] is required and missing; add it, as `kpcp %s` prints it", s->name,
			    section_line(s, row[i].section), row[i].key, row[i].section,
			    d->factor == FACTOR_KERNEL ? "kernel DEB" : "preset FILE");
	return 0;
}

/* Refuses what could never be promoted: nobody should lend hosts to a rollout that can only end in HOLD. */
static int check_measured(const char *name, const struct judge_plan *p, struct err *e)
{
	if ((uint64_t)p->controls + p->canaries > DIRECTIVE_HOSTS_MAX)
		return err_set(e, EINVAL, "%s: [judge]: %u canaries and %u controls, at most %d hosts make a rollout",
			       name, p->canaries, p->controls, DIRECTIVE_HOSTS_MAX);
	if (p->canaries < 2 || p->controls < 2)
		return err_set(
		    e, EINVAL,
		    "%s: [judge]: canaries = %u, controls = %u: a proof needs at least 2 of each; plan more, "
		    "or write evidence = health in [rollout]",
		    name, p->canaries, p->controls);
	double least = stats_randomisation_min_p(p->canaries, p->controls);
	if (!p->welch_alone && least > p->alpha_promote)
		return err_set(
		    e, EINVAL,
		    "%s: [judge]: canaries = %u, controls = %u can never be promoted: the randomisation test "
		    "reaches p = %.3g at best, alpha-promote is %.3g; plan more of them, or write "
		    "second-opinion = welch-alone",
		    name, p->canaries, p->controls, least, p->alpha_promote);
	if (p->judged[ENDPOINT_EXIT] && p->storms < p->min_samples[ENDPOINT_EXIT])
		return err_set(e, EINVAL,
			       "%s: [judge]: storms = %u, but min-samples-exit is %" PRIu64 ", so no boot could have "
			       "enough; plan more storms, or lower it",
			       name, p->storms, p->min_samples[ENDPOINT_EXIT]);
	return 0;
}

static int check_judge(const struct source *s, struct reading *in, struct err *e)
{
	struct judge_plan *p = &in->judge;
	bool written = p->controls != CONTROLS_UNSET;

	/* kpcp-canary would refuse it on each host. */
	if (in->d.measure.window_ns < in->d.measure.period_ns)
		return err_set(e, EINVAL,
			       "%s: [measure]: the window (%" PRIu64 " ms) must hold at least one period (%" PRIu64
			       " ms); make the window longer",
			       s->name, in->d.measure.window_ns / 1000000, in->d.measure.period_ns / 1000000);
	if (in->d.evidence == EVIDENCE_MEASURED) {
		if (!written)
			p->controls = judge_plan_default.controls;
		return check_measured(s->name, p, e);
	}
	if (written && p->controls > 0)
		return err_set(e, EINVAL,
			       "%s:%d: [judge]: controls = %u, but evidence = health compares with nobody; write "
			       "controls = 0 or leave it out",
			       s->name, section_line(s, "judge"), p->controls);
	p->controls = 0;
	return 0;
}

/* ---- approval ---- */

static int render_approval(uint64_t serial, uint64_t expires_unix_s, struct buf *ret, struct err *e)
{
	return buf_addf(ret, e, "\n[approval]\nserial = %" PRIu64 "\nexpires = %" PRIu64 "\n", serial, expires_unix_s);
}

/* Before the keys are read, because their own messages would miss the point. */
static int check_approved(const struct source *s, bool approved, struct err *e)
{
	size_t at = find_section(s, "approval");

	if (!approved && at < s->len)
		return err_set(
		    e, EINVAL,
		    "%s:%d: [approval] is not for plans: `kpcp approve` appends it; remove it and all behind it",
		    s->name, line_at(s, at));
	if (approved && at == s->len)
		return err_set(e, EINVAL,
			       "%s: no section [approval]: this is a plan that nobody approved; `kpcp approve` makes a "
			       "directive of it",
			       s->name);
	return 0;
}

/* The section must be the very bytes that directive_approve appends, and the only one of its name: what was signed
 * has one form, and the plan that people read is everything before it. */
static int check_tail(const struct source *s, const struct directive *d, struct err *e)
{
	_cleanup_(buf_free) struct buf tail = BUF_INIT(APPROVAL_BYTES_MAX);
	int r = render_approval(d->serial, d->expires_unix_s, &tail, e);
	size_t at = find_section(s, "approval");

	if (r < 0)
		return r;
	if (at == 0 || s->len - (at - 1) != tail.len || memcmp(s->text + at - 1, tail.data, tail.len) != 0)
		return err_set(
		    e, EINVAL,
		    "%s:%d: [approval] is not the end that `kpcp approve` writes: the last section, with serial "
		    "and expires and nothing else; approve the plan again",
		    s->name, line_at(s, at));
	return 0;
}

/* ---- reading ---- */

static void set_defaults(struct reading *in)
{
	memset(in, 0, sizeof(*in)); /* all bytes: two readings of one text are the same */
	in->judge = judge_plan_default;
	in->judge.controls = CONTROLS_UNSET;
	in->d.deadline_s = 4 * 3600;
	in->d.order_timeout_s = 1800;
	in->d.measure.warmup = 2;
	in->d.n_waves = 1;
	in->d.wave_percent[0] = 100;
	in->d.soak_s = 1800;
	in->d.budget = 1;
}

static void fill_from(struct directive *d)
{
	char *from[] = {d->canaries_from, d->controls_from};

	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		if (from[i][0] == 0)
			memcpy(from[i], d->cluster[0], DIRECTIVE_NAME_MAX);
}

static int read_keys(const struct source *s, bool approved, struct reading *in, struct err *e)
{
	struct conf_key keys[PLAN_KEYS + ARRAY_SIZE(own_keys) + ARRAY_SIZE(approval_keys)];
	size_t n = 0;

	memcpy(keys, own_keys, sizeof(own_keys));
	n += ARRAY_SIZE(own_keys);
	memcpy(keys + n, plan_keys, sizeof(plan_keys));
	n += PLAN_KEYS;
	if (approved) {
		memcpy(keys + n, approval_keys, sizeof(approval_keys));
		n += ARRAY_SIZE(approval_keys);
	}
	return conf_parse(s->name, s->text, s->len, keys, n, in, e);
}

int directive_parse(const char *name, const char *text, size_t len, bool approved, struct directive *ret, struct err *e)
{
	const struct source s = {.name = name, .text = len > 0 ? text : "", .len = len};
	struct reading in;
	int r;

	set_defaults(&in);
	if ((r = check_text(&s, DIRECTIVE_BYTES_MAX - (approved ? 0 : APPROVAL_BYTES_MAX), e)) < 0 ||
	    (r = check_approved(&s, approved, e)) < 0 || (r = read_keys(&s, approved, &in, e)) < 0 ||
	    (r = check_factor(&s, &in.d, e)) < 0 || (r = check_complete(&s, &in.d, e)) < 0 ||
	    (r = check_judge(&s, &in, e)) < 0 || (approved && (r = check_tail(&s, &in.d, e)) < 0))
		return r;
	fill_from(&in.d);
	in.d.judge = in.judge;
	in.d.approved = approved;
	*ret = in.d;
	return 0;
}

int directive_approve(const char *name, const char *plan, size_t len, uint64_t serial, uint64_t expires_unix_s,
		      struct buf *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct directive d;
	int r;

	if ((r = directive_parse(name, plan, len, false, &d, e)) < 0 || (r = buf_add(&b, plan, len, e)) < 0 ||
	    (r = render_approval(serial, expires_unix_s, &b, e)) < 0)
		return r;
	/* Whoever gets it reads it by the same function: what they would refuse is not signed. */
	if ((r = directive_parse(name, b.data, b.len, true, &d, e)) < 0)
		return err_context(e, "with its approval");
	return buf_add(ret, b.data, b.len, e);
}
