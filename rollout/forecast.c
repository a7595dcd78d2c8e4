// SPDX-License-Identifier: Apache-2.0
/* Owns the sentences about a plan's steps and problems.
 * Must not know HTTP, the database, or clocks. */
#include "forecast.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SPAN_MAX 32

/* "90 s", "30 min", "4 h", "2 d": the largest unit that is exact. */
static const char *span(uint64_t s, char ret[SPAN_MAX])
{
	static const struct {
		uint64_t s;
		const char *name;
	} unit[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};

	for (size_t i = 0; i < ARRAY_SIZE(unit); i++) {
		if ((s > 0 && s % unit[i].s == 0) || unit[i].s == 1) {
			snprintf(ret, SPAN_MAX, "%" PRIu64 " %s", s / unit[i].s, unit[i].name);
			break;
		}
	}
	return ret;
}

/* ---- steps ---- */

struct steps {
	unsigned n;
	char (*text)[FORECAST_TEXT_MAX];
};

static void step(struct steps *s, const char *fmt, ...) printf_like(2, 3);
static void step(struct steps *s, const char *fmt, ...)
{
	va_list ap;

	if (s->n == FORECAST_STEPS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(s->text[s->n++], FORECAST_TEXT_MAX, fmt, ap);
	va_end(ap);
}

static void settings_text(const struct directive *d, char *ret, size_t cap)
{
	size_t at = 0;

	*ret = 0;
	for (uint32_t i = 0; i < d->preset.n && at < cap; i++)
		at += (size_t)snprintf(ret + at, cap - at, "%s%s = %s", i ? ", " : "", d->preset.setting[i].key,
				       d->preset.setting[i].value);
}

static void install(const struct directive *d, struct steps *s)
{
	step(s, "install %.100s %.100s and check it", d->kernel.package, d->kernel.version);
}

static void apply(const struct directive *d, struct steps *s)
{
	char settings[160];

	settings_text(d, settings, sizeof(settings));
	step(s, "set %s in place and read it back", settings);
}

static void measure(const struct directive *d, const char *when, const char *how, struct steps *s)
{
	if (d->factor == FACTOR_KERNEL)
		step(s, "%s: %" PRIu32 " boot%s, each from the firmware and then by kexec into the %s kernel; measure",
		     when, d->judge.boots, d->judge.boots == 1 ? "" : "s", how);
	else
		step(s, "%s: measure %" PRIu32 " time%s in place, with the %s settings", when, d->judge.boots,
		     d->judge.boots == 1 ? "" : "s", how);
}

static void keep(const struct directive *d, struct steps *s)
{
	char soak[SPAN_MAX];

	step(s, "stay healthy for %s", span(d->soak_s, soak));
	if (d->factor == FACTOR_KERNEL)
		step(s, "make it the default");
	else
		step(s, "write the settings into their file");
}

static void canary(const struct directive *d, struct steps *s)
{
	bool kernel = d->factor == FACTOR_KERNEL, measured = d->evidence == EVIDENCE_MEASURED;

	if (kernel)
		install(d, s);
	if (measured)
		measure(d, "before", "old", s);
	if (!kernel)
		apply(d, s);
	if (measured)
		measure(d, "after", "new", s);
	else if (kernel)
		step(s, "kexec into the new kernel and check it");
	if (kernel)
		step(s, "%sboot it once from the firmware", measured ? "if promoted: " : "");
	keep(d, s);
}

static void follow(const struct directive *d, uint32_t wave, struct steps *s)
{
	if (d->factor == FACTOR_KERNEL) {
		step(s, "in wave %" PRIu32 ": install %.90s %.90s and check it", wave, d->kernel.package,
		     d->kernel.version);
		step(s, "kexec into it and check it");
	} else {
		char settings[160];
		settings_text(d, settings, sizeof(settings));
		step(s, "in wave %" PRIu32 ": set %s in place and read it back", wave, settings);
	}
	keep(d, s);
}

unsigned forecast_steps(const struct directive *d, enum role role, uint32_t wave,
			char text[FORECAST_STEPS_MAX][FORECAST_TEXT_MAX])
{
	struct steps s = {.text = text};

	if (role == ROLE_CANARY)
		canary(d, &s);
	if (role == ROLE_CONTROL) {
		measure(d, "before", "old", &s);
		measure(d, "after", "old", &s);
	}
	if (role != ROLE_CANARY && wave > 0)
		follow(d, wave, &s);
	return s.n;
}

/* ---- problems ---- */

void forecast_problem(struct forecast_problems *p, const char *fmt, ...)
{
	va_list ap;

	if (p->n == FORECAST_PROBLEMS_MAX) {
		p->left_out++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(p->text[p->n++], FORECAST_TEXT_MAX, fmt, ap);
	va_end(ap);
}

static void check_cluster(const char *name, const struct store_host *hosts, size_t n, struct forecast_problems *p)
{
	for (size_t i = 0; i < n; i++) {
		if (!hosts[i].retired && strcmp(hosts[i].cluster, name) == 0)
			return;
	}
	forecast_problem(p, "no host of cluster %s is enrolled; correct the name, or enrol its hosts first", name);
}

/* Every distribution's package of a kernel has the release in its name, and so have ours. */
static void check_release(const struct directive *d, struct forecast_problems *p)
{
	if (!strstr(d->kernel.package, d->kernel.release))
		forecast_problem(p,
				 "the package %.80s and the release %s do not belong together; take both from 'kpcp "
				 "kernel DEB'",
				 d->kernel.package, d->kernel.release);
}

void forecast_plan(const struct directive *d, const struct store_host *hosts, size_t n, struct forecast_problems *p)
{
	bool canaries = false, controls = false;

	for (uint32_t i = 0; i < d->n_clusters; i++) {
		check_cluster(d->cluster[i], hosts, n, p);
		canaries |= strcmp(d->cluster[i], d->canaries_from) == 0;
		controls |= strcmp(d->cluster[i], d->controls_from) == 0;
	}
	if (!canaries)
		check_cluster(d->canaries_from, hosts, n, p);
	if (!controls && d->judge.controls > 0 && strcmp(d->controls_from, d->canaries_from) != 0)
		check_cluster(d->controls_from, hosts, n, p);
	if (d->factor == FACTOR_KERNEL)
		check_release(d, p);
}

static void check_change(const struct directive *d, const struct store_host *h, struct forecast_problems *p)
{
	const struct host_report *r = &h->report;

	if (d->factor == FACTOR_KERNEL) {
		if (strcmp(r->release, d->kernel.release) == 0 && strcmp(r->build_id, d->kernel.build_id) == 0)
			forecast_problem(
			    p, "%s runs %s already, so it has nothing to be compared with; roll it back first", h->name,
			    r->release);
		else if (strcmp(r->release, d->kernel.release) == 0)
			forecast_problem(p,
					 "%s runs another build of %s, whose files the package would replace; give the "
					 "new kernel a release of its own",
					 h->name, r->release);
		return;
	}
	for (uint32_t i = 0; i < d->preset.n; i++) {
		if (strcmp(d->preset.setting[i].key, "vm.pcp_batch_scale_max") == 0 && r->pcp_batch_scale_max < 0)
			forecast_problem(p,
					 "the kernel of %s (%s) has no vm.pcp_batch_scale_max and would refuse the "
					 "preset; roll such a kernel out first",
					 h->name, r->release);
	}
}

void forecast_host(const struct directive *d, const struct store_host *h, enum role role, uint64_t now,
		   struct forecast_problems *p)
{
	char age[SPAN_MAX], limit[SPAN_MAX];
	uint64_t seen = now > h->seen_unix_s ? now - h->seen_unix_s : 0;

	if (!h->reported) {
		forecast_problem(p, "%s (%s) has never reported; see to its agent", h->name, role_name(role));
		return;
	}
	if (seen > d->order_timeout_s)
		forecast_problem(p,
				 "%s (%s) was last seen %s ago, and orders may take %s; see to its agent, or retire it",
				 h->name, role_name(role), span(seen, age), span(d->order_timeout_s, limit));
	if (h->report.state == HOST_FOREIGN)
		forecast_problem(p,
				 "%s (%s) is FOREIGN: it runs a kernel that nobody ordered; see to it by 'kpcp why %s'",
				 h->name, role_name(role), h->name);
	if (h->report.state == HOST_HELD)
		forecast_problem(p, "%s (%s) is HELD: it waits for a person; see to it by 'kpcp why %s'", h->name,
				 role_name(role), h->name);
	check_change(d, h, p);
}

void forecast_pair(const struct store_host *first, const struct store_host *h, struct forecast_problems *p)
{
	const struct host_report *a = &first->report, *b = &h->report;

	if (!first->reported || !h->reported || roster_alike(a, b))
		return;
	forecast_problem(p,
			 "%s (%.64s, vm.pcp_batch_scale_max %" PRId64 ") and %s (%.64s, %" PRId64
			 ") cannot be compared; bring canaries and controls to the same first",
			 first->name, a->release, (int64_t)a->pcp_batch_scale_max, h->name, b->release,
			 (int64_t)b->pcp_batch_scale_max);
}
