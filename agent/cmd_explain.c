// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary explain`: what the page lists of a machine depend on, found or given, and what follows from it.
 * Must not know the formulas. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "lib/base/fs.h"
#include "lib/base/near.h"
#include "lib/base/num.h"
#include "lib/core/pcp.h"
#include "lib/core/zoneinfo.h"
#include "lib/report/show.h"
#include "sys.h"

#define ZONEINFO_BYTES_MAX (64u << 20)

struct found {
	enum pcp_kernel kernel;
	struct pcp_sysctl sysctl;
	uint32_t page_shift;
	uint32_t cpus; /* 0: as the zone says */
	const struct sys *sys;
	struct zoneinfo zones;
};

static struct explain_args *args_of(void *t)
{
	return &((struct canary *)t)->explain;
}

static int set_sysroot(void *t, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, EINVAL, "it names no folder");
	args_of(t)->sysroot = value;
	return 0;
}

static int set_zoneinfo(void *t, const char *value, struct err *e)
{
	(void)e;
	args_of(t)->zoneinfo = value;
	return 0;
}

static int set_kernel(void *t, const char *value, struct err *e)
{
	enum pcp_kernel k;

	args_of(t)->kernel = value;
	return pcp_kernel_named(value, &k, e);
}

static int set_cpus(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, NUM_CPU_MAX, &args_of(t)->cpus, e);
}

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->json = true;
	return 0;
}

/* "KEY=VALUE"; ranges are the kernel's. */
static int set_set(void *t, const char *text, struct err *e)
{
	struct explain_args *a = args_of(t);
	const struct {
		const char *key;
		int64_t min, max, *value;
	} keys[] = {{"vm.pcp_batch_scale_max", 0, PCP_SCALE_MAX, &a->scale},
		    {"vm.percpu_pagelist_high_fraction", -1, INT32_MAX, &a->fraction},
		    {"vm.watermark_scale_factor", 1, 3000, &a->factor}};
	const char *names[ARRAY_SIZE(keys)], *equals = strchr(text, '=');
	char key[64];

	if (!equals || equals - text >= (int)sizeof(key))
		return err_set(e, EINVAL, "\"%.80s\" is not KEY=VALUE", text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		names[i] = keys[i].key;
		if (strcmp(key, names[i]) != 0)
			continue;
		int r = num_i64(equals + 1, keys[i].min, keys[i].max, keys[i].value, e);
		return r < 0 ? err_context(e, "%s", key) : 0;
	}
	return err_set(e, EINVAL, "the model knows no %s; did you mean %s?", key,
		       near_find(key, names, ARRAY_SIZE(keys)));
}

/* A number in a file of one line. */
static int read_number(const struct sys *s, const char *path, int64_t min, int64_t max, int64_t *ret, struct err *e)
{
	char text[32];
	int r = sys_read_text(s, path, text, sizeof(text), e);

	if (r < 0)
		return r;
	r = num_i64(text, min, max, ret, e);
	return r < 0 ? err_context(e, "%s", path) : 0;
}

static int find_machine(struct found *f, struct err *e)
{
	const struct sys *s = f->sys;
	_cleanup_(buf_free) struct buf text = BUF_INIT(ZONEINFO_BYTES_MAX);
	char release[128];
	int64_t scale = PCP_SCALE_DEFAULT, fraction;
	int r = s->read(s, "/proc/zoneinfo", &text, e);

	if (r < 0 || (r = zoneinfo_parse(text.data ? text.data : "", text.len, &f->zones, e)) < 0)
		return r;
	if ((r = sys_read_text(s, "/proc/sys/kernel/osrelease", release, sizeof(release), e)) < 0)
		return r;
	r = read_number(s, "/proc/sys/vm/pcp_batch_scale_max", 0, PCP_SCALE_MAX, &scale, e);
	if (r < 0 && r != -ENOENT)
		return r;
	if ((r = pcp_kernel_of(release, r == 0, f->zones.zone[0].has_bounds, &f->kernel, e)) < 0 ||
	    (r = read_number(s, "/proc/sys/vm/percpu_pagelist_high_fraction", -1, INT32_MAX, &fraction, e)) < 0)
		return r;
	if (!pcp_takes_fraction(f->kernel, fraction))
		return err_set(e, EINVAL, "/proc/sys/vm/percpu_pagelist_high_fraction: kernel %s never has %" PRId64,
			       pcp_kernel_name(f->kernel), fraction);
	f->sysctl = (struct pcp_sysctl){(int32_t)scale, (int32_t)fraction};
	return 0;
}

static int find_given(const struct explain_args *a, struct found *f, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(ZONEINFO_BYTES_MAX);
	int r;

	if (!a->kernel)
		return err_set(e, EINVAL, "--zoneinfo needs --kernel, as the file does not tell which kernel wrote it");
	if ((r = fs_read(a->zoneinfo, &text, e)) < 0)
		return r;
	if ((r = zoneinfo_parse(text.data ? text.data : "", text.len, &f->zones, e)) < 0)
		return err_context(e, "%s", a->zoneinfo);
	return pcp_kernel_named(a->kernel, &f->kernel, e);
}

/* What --set changes. */
static int apply(const struct explain_args *a, struct found *f, struct err *e)
{
	if (a->scale >= 0 && !pcp_has_scale(f->kernel))
		return err_set(
		    e, EINVAL,
		    "kernel %s has no vm.pcp_batch_scale_max, so nothing would change; its scale is %d by its "
		    "configuration",
		    pcp_kernel_name(f->kernel), f->sysctl.scale);
	if (a->scale >= 0)
		f->sysctl.scale = (int32_t)a->scale;
	if (a->fraction != EXPLAIN_UNSET) {
		if (!pcp_takes_fraction(f->kernel, a->fraction))
			return err_set(e, EINVAL,
				       "kernel %s refuses %" PRId64 " for vm.percpu_pagelist_high_fraction: it takes 0 "
				       "and what is not below 8%s",
				       pcp_kernel_name(f->kernel), a->fraction,
				       pcp_takes_fraction(f->kernel, -1) ? ", and -1" : "");
		f->sysctl.fraction = (int32_t)a->fraction;
	}
	for (size_t i = 0; a->factor >= 0 && i < f->zones.n; i++) {
		struct zoneinfo_zone *z = &f->zones.zone[i];
		struct pcp_watermarks w = pcp_watermarks_above(z->min - (z->boost < z->min ? z->boost : z->min),
							       z->managed, (uint32_t)a->factor);
		z->min = w.min, z->low = w.low, z->high = w.high, z->boost = 0;
	}
	return 0;
}

/* CPUs among which a zone's pages are split: those of its node; all where it has none, or where nothing tells. */
static int cpus_of(const struct found *f, const struct zoneinfo_zone *z, uint32_t *ret, struct err *e)
{
	static unsigned cpu[NUM_CPU_MAX];
	static char text[16384];
	char path[64];
	size_t n = 0;

	*ret = f->cpus ? f->cpus : z->cpus;
	if (f->cpus || !f->sys)
		return 0;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", z->node);
	int r = sys_read_text(f->sys, path, text, sizeof(text), e);
	if (r == -ENOENT || (r == 0 && !text[0]))
		return 0;
	if (r < 0 || (r = num_cpulist(text, cpu, ARRAY_SIZE(cpu), &n, e)) < 0)
		return r < 0 ? err_context(e, "%s", path) : r;
	if (n > 0)
		*ret = (uint32_t)n;
	return 0;
}

static const char *free_high_words(enum pcp_free_high x)
{
	return x == PCP_FIRES ? "yes" : x == PCP_FIRES_AFTER_HUGE ? "only after a huge page" : "never";
}

/* One zone in words: what the kernel sets, and what one hold of its lock may move. */
static int zone_text(struct buf *out, const struct found *f, const struct zoneinfo_zone *z, const struct pcp_zone *in,
		     struct err *e)
{
	struct pcp_limits x = pcp_limits(f->kernel, &f->sysctl, in);
	uint64_t parked = pcp_parked(f->kernel, &f->sysctl, in);
	int r = buf_addf(out, e, "\nnode %u, zone %s: %" PRIu64 " pages, low watermark %" PRIu64 ", %u CPUs\n", z->node,
			 z->name, z->managed, in->low, in->cpus);

	if (r == 0)
		r = buf_addf(out, e, "  %-10s %10u  pages that a list takes or gives at a time\n", "batch", x.batch);
	if (r == 0 && !pcp_has_tuning(f->kernel))
		r = buf_addf(out, e, "  %-10s %10" PRIu64 "  pages on a CPU's lists before some go back\n", "high",
			     x.high_max);
	else if (r == 0)
		r = buf_addf(out, e,
			     "  %-10s %10" PRIu64 "  pages: the high mark of a CPU's lists is not below this\n"
			     "  %-10s %10" PRIu64 "  pages: %s\n",
			     "high_min", x.high_min, "high_max", x.high_max,
			     x.high_min == x.high_max ? "the same, so the mark does not move"
						      : "and moves by itself up to this");
	for (int p = 0; r == 0 && p < PCP_PATH_COUNT; p++) {
		uint64_t hold = pcp_hold(f->kernel, &f->sysctl, in, (enum pcp_path)p);

		if (hold > 0)
			r = buf_addf(
			    out, e, "  %-10s %10" PRIu64 "  list entries in one hold of zone->lock at most%s\n",
			    pcp_path_name((enum pcp_path)p), hold,
			    pcp_scale_bounds(f->kernel, (enum pcp_path)p) ? ", by vm.pcp_batch_scale_max" : "");
	}
	if (r == 0)
		r = buf_addf(out, e, "  %-10s %10" PRIu64 "  MiB that lie on all lists when each is at its mark\n",
			     "parked", parked >> (20 - in->page_shift));
	return r < 0 ? r
		     : buf_addf(out, e, "  free_high fires on CPUs that only free: %s\n",
				free_high_words(pcp_free_high(f->kernel, &f->sysctl, in)));
}

static json_t *zone_json(const struct found *f, const struct zoneinfo_zone *z, const struct pcp_zone *in)
{
	struct pcp_limits x = pcp_limits(f->kernel, &f->sysctl, in);
	json_t *holds = json_object();

	for (int p = 0; p < PCP_PATH_COUNT; p++) {
		uint64_t hold = pcp_hold(f->kernel, &f->sysctl, in, (enum pcp_path)p);

		if (json_object_set_new(holds, pcp_path_name((enum pcp_path)p), json_integer((json_int_t)hold)) < 0) {
			json_decref(holds);
			return NULL;
		}
	}
	return json_pack("{si ss sI sI si si sI sI sI ss so}", "node", (int)z->node, "zone", z->name, "managed_pages",
			 (json_int_t)z->managed, "low_pages", (json_int_t)in->low, "cpus", (int)in->cpus, "batch",
			 (int)x.batch, "high_min", (json_int_t)x.high_min, "high_max", (json_int_t)x.high_max,
			 "parked_pages", (json_int_t)pcp_parked(f->kernel, &f->sysctl, in), "free_high",
			 free_high_words(pcp_free_high(f->kernel, &f->sysctl, in)), "hold_entries", holds);
}

static int explain(const struct explain_args *a, struct found *f, struct buf *out, struct err *e)
{
	json_t *zones = json_array();
	int r = a->json ? 0
			: buf_addf(out, e, "kernel %s, batch scale %d%s, vm.percpu_pagelist_high_fraction %d\n",
				   pcp_kernel_name(f->kernel), f->sysctl.scale,
				   pcp_has_scale(f->kernel) ? " (vm.pcp_batch_scale_max)" : " (configured, no sysctl)",
				   f->sysctl.fraction);

	for (size_t i = 0; r == 0 && i < f->zones.n; i++) {
		const struct zoneinfo_zone *z = &f->zones.zone[i];
		struct pcp_zone in = {.managed = z->managed, .low = z->low - z->boost, .page_shift = f->page_shift};

		if ((r = cpus_of(f, z, &in.cpus, e)) < 0)
			break;
		if (a->json)
			r = json_array_append_new(zones, zone_json(f, z, &in)) < 0 ? err_sys(e, ENOMEM, "writing JSON")
										   : 0;
		else
			r = zone_text(out, f, z, &in, e);
	}
	json_t *root = json_pack("{ss ss si si so}", "format", "kpcp-explain/1", "kernel", pcp_kernel_name(f->kernel),
				 "scale", f->sysctl.scale, "fraction", f->sysctl.fraction, "zones", zones);
	char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	if (r == 0 && a->json)
		r = text ? buf_addf(out, e, "%s\n", text) : err_sys(e, ENOMEM, "writing JSON");
	free(text);
	json_decref(root);
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	static struct found f;
	const struct explain_args *a = args_of(target);
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	struct sys sys = sys_linux(a->sysroot ? a->sysroot : "");
	int r;

	(void)argv;
	if (argc > 0)
		return err_set(e, EINVAL, "explain takes no operands; a saved zoneinfo goes after --zoneinfo");
	if (a->zoneinfo && a->sysroot)
		return err_set(e, EINVAL, "--sysroot and --zoneinfo: give one of the two");
	if (!a->zoneinfo && (a->kernel || a->cpus))
		return err_set(e, EINVAL, "--kernel and --cpus go with --zoneinfo; a machine's own are read from it");
	f = (struct found){
	    .sysctl = {PCP_SCALE_DEFAULT, 0}, .page_shift = 12, .cpus = a->cpus, .sys = a->zoneinfo ? NULL : &sys};
	if ((r = a->zoneinfo ? find_given(a, &f, e) : find_machine(&f, e)) < 0 || (r = apply(a, &f, e)) < 0 ||
	    (r = explain(a, &f, &out, e)) < 0)
		return r;
	return show(&out, e);
}

static const struct opt options[] = {
    {"sysroot", "DIR", "Read /proc and /sys below DIR, as copied from a host (default: this machine).", set_sysroot},
    {"zoneinfo", "FILE", "A saved /proc/zoneinfo instead; needs --kernel.", set_zoneinfo},
    {"kernel", "NAME", "With --zoneinfo: 6.1, 6.1-kpcp, 6.1-tuned, 6.12, 6.12-kpcp, 7.x or 7.x-kpcp.", set_kernel},
    {"cpus", "COUNT", "With --zoneinfo: online CPUs of each node (default: those in the file).", set_cpus},
    {"set", "KEY=VALUE", "What would be if this sysctl were set so; may be given again.", set_set},
    {"json", NULL, "Print JSON for machines.", set_json},
};

const struct opt_command cmd_explain = {
    .name = "explain",
    .operands = "",
    .help = "Says what a kernel makes of the page lists here: sizes, the longest holds of zone->lock, parked memory.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
