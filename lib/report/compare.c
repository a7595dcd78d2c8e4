// SPDX-License-Identifier: Apache-2.0
/* Owns which recordings may be compared, and their grouping by host for the judge.
 * Must not know where recordings come from, nor how a comparison is shown. */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static bool is_control(enum compare_group g)
{
	return g == GROUP_CONTROL_OLD || g == GROUP_CONTROL_NEW;
}

static bool is_new(enum compare_group g)
{
	return g == GROUP_NEW || g == GROUP_CONTROL_NEW;
}

/* A kernel that shows no build-id is known by its release alone. */
static bool same_build(const struct recording_header *a, const struct recording_header *b)
{
	static const uint8_t none[sizeof(a->build_id)];
	bool known = memcmp(a->build_id, none, sizeof(none)) != 0 && memcmp(b->build_id, none, sizeof(none)) != 0;

	return strcmp(a->release, b->release) == 0 && (!known || memcmp(a->build_id, b->build_id, sizeof(none)) == 0);
}

static bool same_kernel(const struct recording_header *a, const struct recording_header *b)
{
	return same_build(a, b) && a->pcp_batch_scale_max == b->pcp_batch_scale_max;
}

/* "kernel" or "setting": what the messages call old and new. */
static const char *factor_word(enum compare_factor f)
{
	return f == COMPARE_KERNELS ? "kernel" : "setting";
}

/* All of the first kind have one kernel with one vm.pcp_batch_scale_max, and all of the second one have one: controls
 * are of the first kind in both of their groups. */
static int check_arms(const struct compare_file *file, size_t n, enum compare_factor factor,
		      const struct compare_file *first[2], struct err *e)
{
	const char *what = factor_word(factor);

	for (size_t i = 0; i < n; i++) {
		const struct compare_file *f = &file[i];
		bool newer = f->group == GROUP_NEW;
		char a[TEXT_KERNEL_MAX], b[TEXT_KERNEL_MAX];

		if (!first[newer])
			first[newer] = f;
		if (same_kernel(&f->header, &first[newer]->header))
			continue;
		text_kernel(&first[newer]->header, a);
		text_kernel(&f->header, b);
		if (is_control(f->group))
			return err_set(e, EINVAL,
				       "%s and %s: controls must stay on the canaries' old %s, but the old %s is "
				       "%s in the first and this control ran %s; nothing was compared",
				       first[newer]->path, f->path, what, what, a, b);
		return err_set(e, EINVAL,
			       "%s and %s: all canaries must have one %s %s, but the first ran %s, the second %s; "
			       "nothing was compared",
			       first[newer]->path, f->path, newer ? "new" : "old", what, a, b);
	}
	return 0;
}

/* The canaries' new kernel is another: a host that came up with the old kernel again would prove it no worse than
 * itself, and promote a kernel that nobody measured. */
static int check_kernels(const struct compare_file *file, size_t n, struct err *e)
{
	const struct compare_file *first[2] = {NULL, NULL}; /* of the old kernel, of the new one */
	char a[TEXT_KERNEL_MAX];
	int r = check_arms(file, n, COMPARE_KERNELS, first, e);

	if (r < 0 || !first[0] || !first[1] || !same_kernel(&first[0]->header, &first[1]->header))
		return r;
	return err_set(e, EINVAL,
		       "%s and %s: old and new are one kernel, %s, so the new one was not measured; boot it and "
		       "record again; nothing was compared",
		       first[0]->path, first[1]->path, text_kernel(&first[0]->header, a));
}

/* One kernel everywhere; whether old and new are one setting cannot be told from recordings. */
static int check_settings(const struct compare_file *file, size_t n, struct err *e)
{
	const struct compare_file *first[2] = {NULL, NULL};
	char a[TEXT_KERNEL_MAX], b[TEXT_KERNEL_MAX];

	for (size_t i = 1; i < n; i++)
		if (!same_build(&file[0].header, &file[i].header))
			return err_set(
			    e, EINVAL,
			    "%s and %s: settings are compared on one kernel, but the first ran %s, the second "
			    "%s; nothing was compared",
			    file[0].path, file[i].path, text_kernel(&file[0].header, a),
			    text_kernel(&file[i].header, b));
	return check_arms(file, n, COMPARE_SETTINGS, first, e);
}

static int check_host(const struct compare_file *a, const struct compare_file *b, struct err *e)
{
	if (is_control(a->group) != is_control(b->group))
		return err_set(e, EINVAL, "%s and %s: host %s cannot be both a canary and a control; leave one out",
			       a->path, b->path, a->header.host);
	if (strcmp(a->header.clocksource, b->header.clocksource) != 0)
		return err_set(e, EINVAL,
			       "%s and %s: host %s measured by two clocks, %s and %s; find out why the clock source "
			       "changed, then record again",
			       a->path, b->path, a->header.host, a->header.clocksource, b->header.clocksource);
	if (a->header.cpus != b->header.cpus)
		return err_set(
		    e, EINVAL,
		    "%s and %s: host %s had %u CPUs online, then %u; bring the others back, then record again", a->path,
		    b->path, a->header.host, a->header.cpus, b->header.cpus);
	return 0;
}

/* Where one of the two does not tell, nothing is known to differ. Settings are set in place: their boots are nobody's
 * doing. */
static int check_reboot(const struct compare_file *a, const struct compare_file *b, struct err *e)
{
	static const char *const how[REBOOT_METHODS] = {"", "by firmware", "by kexec"};
	enum reboot_method x = a->header.reboot, y = b->header.reboot;

	if (x == y || x == REBOOT_UNKNOWN || y == REBOOT_UNKNOWN)
		return 0;
	return err_set(e, EINVAL,
		       "%s and %s: host %s was rebooted %s, host %s %s; what that changes would pass for the kernel's "
		       "doing; reboot canaries and controls alike, then record again",
		       a->path, b->path, a->header.host, how[x], b->header.host, how[y]);
}

static int check_pair(const struct compare_file *a, const struct compare_file *b, enum compare_factor factor,
		      struct err *e)
{
	const struct recording_header *x = &a->header, *y = &b->header;
	bool one_boot = memcmp(x->boot_id, y->boot_id, sizeof(x->boot_id)) == 0;
	bool one_host = strcmp(x->host, y->host) == 0;
	char boot[9];

	if (one_boot && x->start_unix_s == y->start_unix_s && x->seed == y->seed)
		return err_set(e, EINVAL,
			       "%s and %s are the same recording (boot id %s-...): each counts once; leave one out",
			       a->path, b->path, text_hex(x->boot_id, 4, boot));
	if (one_boot && factor == COMPARE_KERNELS)
		return err_set(
		    e, EINVAL,
		    "%s and %s are of the same boot (boot id %s-...): each boot counts once; leave one out, or boot "
		    "the other kernel before recording again; two settings of one kernel are compared by --setting",
		    a->path, b->path, text_hex(x->boot_id, 4, boot));
	if (one_boot && !one_host)
		return err_set(
		    e, EINVAL,
		    "%s and %s are of the same boot (boot id %s-...), but of hosts %s and %s: one machine is "
		    "one host; leave one out",
		    a->path, b->path, text_hex(x->boot_id, 4, boot), x->host, y->host);
	int r = factor == COMPARE_KERNELS ? check_reboot(a, b, e) : 0;
	return r == 0 && one_host ? check_host(a, b, e) : r;
}

static int check(const struct compare_file *file, size_t n, enum compare_factor factor, struct err *e)
{
	for (size_t i = 1; i < n; i++) {
		int r = summary_comparable(&file[0].header.shape, &file[i].header.shape, e);

		if (r < 0)
			return err_context(e, "%s and %s cannot be compared", file[0].path, file[i].path);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			int r = check_pair(&file[i], &file[j], factor, e);

			if (r < 0)
				return r;
		}
	}
	return factor == COMPARE_KERNELS ? check_kernels(file, n, e) : check_settings(file, n, e);
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct judge_host *x = a, *y = b;

	if (x->control != y->control)
		return x->control ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct judge_host *find_host(struct comparison *c, const struct compare_file *f)
{
	for (size_t i = 0; i < c->n_hosts; i++)
		if (strcmp(c->host[i].name, f->header.host) == 0)
			return &c->host[i];
	return NULL;
}

static int add_boot(struct comparison *c, const struct compare_file *f, struct err *e)
{
	struct judge_host *h = find_host(c, f);

	if (!h) {
		if (c->n_hosts == JUDGE_HOSTS_MAX)
			return err_set(e, EINVAL, "%s: more than %d hosts", f->path, JUDGE_HOSTS_MAX);
		h = &c->host[c->n_hosts++];
		memcpy(h->name, f->header.host, sizeof(h->name));
		compare_model(&f->header, h->model);
		h->control = is_control(f->group);
	}
	uint32_t *count = is_new(f->group) ? &h->n_new : &h->n_old;
	if (*count == JUDGE_BOOTS_MAX)
		return err_set(e, EINVAL, "%s: more than %d boots of host %s", f->path, JUDGE_BOOTS_MAX, h->name);
	struct judge_boot *boot = &(is_new(f->group) ? h->new_boot : h->old_boot)[(*count)++];

	memcpy(boot->y, f->sum.y, sizeof(boot->y));
	memcpy(boot->samples, f->sum.samples, sizeof(boot->samples));
	boot->storms = f->sum.storms;
	boot->probing = probing_of(&f->header.shape);
	return 0;
}

static void add_to_arm(struct compare_arm *arm, const struct compare_file *f)
{
	if (!arm->header)
		arm->header = &f->header;
	arm->recordings++;
	arm->storms += f->sum.storms;
	arm->missed += f->sum.missed;
	arm->exit_pages += f->sum.exit_pages;
	arm->exit_ns += f->sum.exit_ns;
	hist_merge(&arm->response, &f->sum.response);
}

/* Firmware takes a few per cent of the memory that a host was sold with: rounded up to a sixteenth of the next power of
 * two, hosts that were bought alike come out alike. */
void compare_model(const struct recording_header *h, char ret[JUDGE_MODEL_MAX])
{
	uint64_t mib = h->memory_kib >> 10, step = 1;

	while (step * 16 < mib)
		step *= 2;
	mib = (mib + step - 1) / step * step;
	if (mib >= 1024)
		snprintf(ret, JUDGE_MODEL_MAX, "%ucpu-%lluG", h->cpus, (unsigned long long)(mib >> 10));
	else
		snprintf(ret, JUDGE_MODEL_MAX, "%ucpu-%lluM", h->cpus, (unsigned long long)mib);
}

static void count_hosts(struct comparison *c)
{
	for (size_t i = 0; i < c->n_hosts; i++) {
		const struct judge_host *h = &c->host[i];

		c->arm[h->control ? GROUP_CONTROL_OLD : GROUP_OLD].hosts += h->n_old > 0;
		c->arm[h->control ? GROUP_CONTROL_NEW : GROUP_NEW].hosts += h->n_new > 0;
	}
}

int compare(const struct compare_file *file, size_t n, enum compare_factor factor, const struct judge_plan *plan,
	    const char *plan_name, struct comparison *ret, struct err *e)
{
	struct comparison c = {.factor = factor, .file = file, .n_files = n, .plan = plan, .plan_name = plan_name};
	int r = check(file, n, factor, e);

	if (r < 0)
		return r;
	/* No more hosts than recordings. */
	c.host = calloc(n < JUDGE_HOSTS_MAX ? n + 1 : JUDGE_HOSTS_MAX, sizeof(*c.host));
	if (!c.host)
		return err_sys(e, ENOMEM, "comparing %zu recordings", n);
	for (int g = 0; g < GROUP_COUNT; g++)
		hist_init(&c.arm[g].response);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_boot(&c, &file[i], e);
		add_to_arm(&c.arm[file[i].group], &file[i]);
	}
	if (r == 0) {
		qsort(c.host, c.n_hosts, sizeof(*c.host), by_kind_and_name);
		count_hosts(&c);
		r = judge(plan, c.host, c.n_hosts, &c.verdict, e);
	}
	if (r < 0) {
		comparison_free(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void comparison_free(struct comparison *c)
{
	free(c->host);
	c->host = NULL;
	c->n_hosts = 0;
}

static double mean_y(const struct judge_boot *boot, uint32_t n, enum endpoint x)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += boot[i].y[x];
	return n > 0 ? sum / n : NAN;
}

double compare_difference(const struct judge_host *h, enum endpoint x)
{
	return mean_y(h->new_boot, h->n_new, x) - mean_y(h->old_boot, h->n_old, x);
}

const char *compare_decision(const struct verdict_endpoint *x)
{
	if (!x->judged)
		return "not judged";
	if (!x->estimated)
		return "no estimate";
	if (isnan(x->upper))
		return "estimate only";
	if (x->promotes)
		return "no worse";
	return x->rolls_back ? "worse" : "undecided";
}
