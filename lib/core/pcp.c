// SPDX-License-Identifier: Apache-2.0
/* Owns the arithmetic of a zone's per-CPU page lists, base by base.
 * Must not know where sizes come from, nor how the answer is shown. Functions named in comments are mm/page_alloc.c's.
 */
#include "pcp.h"

#include <errno.h>
#include <string.h>

#include "lib/base/near.h"

#define FRACTION_MIN 8   /* MIN_PERCPU_PAGELIST_HIGH_FRACTION */
#define COSTLY_ORDER 3   /* PAGE_ALLOC_COSTLY_ORDER: up to here and huge pages, the lists hold high orders */
#define LISTS_6_1    13u /* NR_PCP_LISTS: three migrate types of four orders, and one for huge pages */
#define LISTS        14u /* two for huge pages since 6.8 */

struct traits {
	const char *name;
	bool scale, tuning, minus_one;
	bool pieces;      /* frees go back one batch to a hold */
	bool drain_batch; /* drains, too */
	uint32_t lists;
};

static const struct traits traits[PCP_KERNEL_COUNT] = {
    [PCP_6_1] = {"6.1", false, false, false, false, false, LISTS_6_1},
    [PCP_6_1_KPCP] = {"6.1-kpcp", true, false, false, false, false, LISTS_6_1},
    [PCP_6_1_TUNED] = {"6.1-tuned", true, true, true, true, true, LISTS_6_1},
    [PCP_6_12] = {"6.12", false, true, false, false, false, LISTS},
    [PCP_6_12_KPCP] = {"6.12-kpcp", true, true, true, true, true, LISTS},
    [PCP_7] = {"7.x", false, true, false, true, false, LISTS},
    [PCP_7_KPCP] = {"7.x-kpcp", true, true, true, true, true, LISTS},
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

const char *pcp_kernel_name(enum pcp_kernel k)
{
	return traits[k].name;
}

/* "6.1", and not "6.12". */
static bool starts_version(const char *text, const char *version)
{
	size_t n = strlen(version);

	return strncmp(text, version, n) == 0 && !(text[n] >= '0' && text[n] <= '9');
}

int pcp_kernel_named(const char *name, enum pcp_kernel *ret, struct err *e)
{
	const char *names[PCP_KERNEL_COUNT];

	for (int i = 0; i < PCP_KERNEL_COUNT; i++) {
		names[i] = traits[i].name;
		if (strcmp(name, names[i]) != 0)
			continue;
		*ret = (enum pcp_kernel)i;
		return 0;
	}
	return err_set(
	    e, EINVAL,
	    "there is no model named \"%.64s\"; there are 6.1, 6.1-kpcp, 6.1-tuned, 6.12, 6.12-kpcp, 7.x and "
	    "7.x-kpcp; did you mean %s?",
	    name, near_find(name, names, PCP_KERNEL_COUNT));
}

int pcp_kernel_of(const char *release, bool kpcp, bool tuned, enum pcp_kernel *ret, struct err *e)
{
	if (starts_version(release, "6.1") && tuned && !kpcp)
		return err_set(
		    e, EINVAL,
		    "kernel \"%.64s\": its lists have a high_min, but it has no vm.pcp_batch_scale_max: there is "
		    "no model of such a 6.1",
		    release);
	if (starts_version(release, "6.1"))
		*ret = tuned ? PCP_6_1_TUNED : kpcp ? PCP_6_1_KPCP : PCP_6_1;
	else if (starts_version(release, "6.12"))
		*ret = kpcp ? PCP_6_12_KPCP : PCP_6_12;
	else if (starts_version(release, "7.2") || starts_version(release, "7.3"))
		*ret = kpcp ? PCP_7_KPCP : PCP_7;
	else
		return err_set(
		    e, EINVAL,
		    "there is no model of kernel \"%.64s\": models are of 6.1, 6.12, 7.2 and 7.3, with and "
		    "without the series; what one of them would do here: --zoneinfo /proc/zoneinfo --kernel NAME",
		    release);
	return 0;
}

bool pcp_has_scale(enum pcp_kernel k)
{
	return traits[k].scale;
}

bool pcp_has_tuning(enum pcp_kernel k)
{
	return traits[k].tuning;
}

/* percpu_pagelist_high_fraction_sysctl_handler() */
bool pcp_takes_fraction(enum pcp_kernel k, int64_t fraction)
{
	if (fraction == -1)
		return traits[k].minus_one;
	return fraction == 0 || (fraction >= FRACTION_MIN && fraction <= INT32_MAX);
}

/* zone_batchsize(). To 6.12 it is min(managed >> 10, 1 MiB) / 4, in 7.x min(managed >> 12, 256 KiB): the same number
 * whatever the zone and the page size, as dividing by 4 rounds both ways alike. */
static uint32_t batch_of(const struct pcp_zone *z)
{
	uint64_t b = least(z->managed >> 10, (1u << 20) >> z->page_shift) / 4, power = 1;

	b = most(b, 1);
	b += b / 2;
	while (power * 2 <= b)
		power *= 2;
	return (uint32_t)most(power - 1, 1);
}

/* zone_highsize(): total pages over the node's CPUs, never below four batches. */
static uint64_t high_of(uint64_t total, const struct pcp_zone *z, uint32_t batch)
{
	return most(total / z->cpus, 4ull * batch);
}

/* zone_set_pageset_high_and_batch(): a fraction that is set pins the mark, in kernels that would tune it. */
struct pcp_limits pcp_limits(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z)
{
	struct pcp_limits x = {.batch = batch_of(z)};
	uint64_t total = s->fraction > 0 ? z->managed / (uint32_t)s->fraction : s->fraction < 0 ? 0 : z->low;

	x.high_min = x.high_max = high_of(total, z, x.batch);
	if (traits[k].tuning && s->fraction == 0)
		x.high_max = high_of(z->managed / FRACTION_MIN, z, x.batch);
	return x;
}

const char *pcp_path_name(enum pcp_path p)
{
	static const char *const names[PCP_PATH_COUNT] = {
	    [PCP_FREE] = "free",   [PCP_FREE_HIGH] = "free_high", [PCP_DRAIN] = "drain",
	    [PCP_DECAY] = "decay", [PCP_ALLOC] = "refill",
	};
	return names[p];
}

static uint64_t scaled(const struct pcp_limits *x, const struct pcp_sysctl *s)
{
	return (uint64_t)x->batch << s->scale;
}

/* A list's high mark is looked at when pages are freed, not when one is filled: on top of it there may be a refill of
 * each other list. */
static uint64_t fullest(enum pcp_kernel k, const struct pcp_limits *x)
{
	return most(x->high_min, x->high_max) + (uint64_t)(traits[k].lists - 1) * x->batch;
}

/* 6.12's free_unref_page_commit() counts on while free_count < batch << S, so the last free may add a page of the
 * largest order that the lists hold: a huge page, the order that fills a page of page tables. */
static uint64_t counted(const struct pcp_limits *x, const struct pcp_sysctl *s, uint32_t order)
{
	return scaled(x, s) - 1 + (1ull << order);
}

static uint32_t huge_order(const struct pcp_zone *z)
{
	return z->page_shift - 3;
}

/* nr_pcp_free(): clamp(what is wanted, batch, high - batch); high is four batches at least. */
static uint64_t free_hold(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z,
			  const struct pcp_limits *x)
{
	uint64_t want = k == PCP_6_12 ? counted(x, s, huge_order(z)) : scaled(x, s);

	if (traits[k].pieces)
		return x->batch;
	return most(least(want, most(x->high_min, x->high_max) - x->batch), x->batch);
}

uint64_t pcp_hold(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z, enum pcp_path p)
{
	struct pcp_limits x = pcp_limits(k, s, z);

	switch (p) {
	case PCP_FREE:
		return free_hold(k, s, z, &x);
	case PCP_FREE_HIGH: /* nr_pcp_free(); 6.1 returns pcp->count */
		return traits[k].pieces ? x.batch
		       : k == PCP_6_1   ? fullest(k, &x)
					: least(fullest(k, &x), scaled(&x, s));
	case PCP_DRAIN: /* drain_pages_zone() */
		return traits[k].drain_batch ? x.batch : least(fullest(k, &x), scaled(&x, s));
	case PCP_DECAY: /* decay_pcp_high() */
		return traits[k].tuning ? x.batch : 0;
	case PCP_ALLOC: /* rmqueue_bulk(); nr_pcp_alloc() leaves room for a batch below the mark */
		if (!traits[k].tuning)
			return x.batch > 1 ? most(x.batch, 2) : 1;
		return least(scaled(&x, s), most(most(x.high_min, x.high_max) - x.batch, x.batch));
	case PCP_PATH_COUNT:
		break;
	}
	return 0;
}

uint64_t pcp_worst_hold(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z)
{
	uint64_t worst = 0;

	for (int p = 0; p < PCP_PATH_COUNT; p++)
		worst = most(worst, pcp_hold(k, s, z, (enum pcp_path)p));
	return worst;
}

bool pcp_scale_bounds(enum pcp_kernel k, enum pcp_path p)
{
	if (!traits[k].scale)
		return false;
	if (k == PCP_6_1_KPCP)
		return p == PCP_FREE || p == PCP_FREE_HIGH || p == PCP_DRAIN;
	return p == PCP_ALLOC;
}

/* free_unref_page_commit(). 6.1: free_factor above 0, which every CPU that only frees reaches while the configured
 * scale is above 0; the series counts it apart from the sysctl. 6.12: free_count >= batch, which its cap always lets
 * through. From 6.16 on: free_count >= batch + high_min / 2, and the cap is batch << S; the series lifts it. */
enum pcp_free_high pcp_free_high(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z)
{
	struct pcp_limits x = pcp_limits(k, s, z);
	uint64_t threshold = x.batch + x.high_min / 2;

	if (k == PCP_6_1)
		return s->scale > 0 ? PCP_FIRES : PCP_NEVER_FIRES;
	if (k != PCP_7 || counted(&x, s, COSTLY_ORDER) >= threshold)
		return PCP_FIRES;
	return counted(&x, s, huge_order(z)) >= threshold ? PCP_FIRES_AFTER_HUGE : PCP_NEVER_FIRES;
}

uint64_t pcp_parked(enum pcp_kernel k, const struct pcp_sysctl *s, const struct pcp_zone *z)
{
	struct pcp_limits x = pcp_limits(k, s, z);

	return most(x.high_min, x.high_max) * z->cpus;
}

/* __setup_per_zone_wmarks(); mult_frac() splits so as not to overflow, and comes to the same. */
struct pcp_watermarks pcp_watermarks_above(uint64_t min, uint64_t managed, uint32_t scale_factor)
{
	uint64_t gap = most(min / 4, managed / 10000 * scale_factor + managed % 10000 * scale_factor / 10000);

	return (struct pcp_watermarks){min, min + gap, min + 2 * gap};
}
