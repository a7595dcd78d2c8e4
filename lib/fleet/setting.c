// SPDX-License-Identifier: Apache-2.0
/* Owns the table of sysctls that a preset may set, with their ranges.
 * Must not know presets' files, nor how a sysctl is set. */
#include "setting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/list.h"
#include "lib/base/near.h"
#include "lib/base/num.h"

/* Ranges are the kernel's own (6.1 to 7.x). Where it only asks for no negative number, the bound is what keeps a host
 * alive: all of min_free_kbytes is memory that nobody gets. */
static const struct {
	const char *key;
	int64_t min, max;
	int64_t least; /* of the values above 0: what is between is refused by the kernel */
} known[] = {
    {"vm.pcp_batch_scale_max", 0, 6, 1},
    {"vm.percpu_pagelist_high_fraction", -1, INT32_MAX, 8}, /* 0: off; -1: the series' own: 4 batches */
    {"vm.min_free_kbytes", 128, 16 << 20, 1},               /* 16 GiB: three times what the largest hosts are given */
    {"vm.watermark_scale_factor", 1, 3000, 1},              /* of 10,000: 30% of a zone */
    {"vm.watermark_boost_factor", 0, 100000, 1},            /* of 10,000: ten times the high watermark */
    {"vm.zone_reclaim_mode", 0, 7, 1},
};

static size_t find(const char *key)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(known) && strcmp(known[i].key, key) != 0)
		i++;
	return i;
}

bool directive_setting_ok(const char *key)
{
	return find(key) < ARRAY_SIZE(known);
}

static int unknown_key(const char *key, struct err *e)
{
	const char *names[ARRAY_SIZE(known)];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		names[i] = known[i].key;
	return err_set(e, EINVAL, "a preset cannot set '%s'; did you mean '%s'?", key,
		       near_find(key, names, ARRAY_SIZE(known)));
}

static int take(const char *key, const char *value, struct directive_setting *ret, struct err *e)
{
	size_t i = find(key);
	int64_t x;

	if (i == ARRAY_SIZE(known))
		return unknown_key(key, e);
	int r = num_i64(value, known[i].min, known[i].max, &x, e);
	if (r < 0)
		return err_context(e, "%s", key);
	if (x > 0 && x < known[i].least)
		return err_set(e, ERANGE,
			       "%s: '%s' is out of range; the kernel takes %" PRId64 ", 0 and %" PRId64 " or more", key,
			       value, known[i].min, known[i].least);
	snprintf(ret->key, sizeof(ret->key), "%s", known[i].key);
	snprintf(ret->value, sizeof(ret->value), "%" PRId64, x);
	return 0;
}

/* Copies [from, to) without the blanks around it. */
static int trim(const char *from, const char *to, char *ret, size_t size, struct err *e)
{
	while (from < to && strchr(" \t", *from))
		from++;
	while (from < to && strchr(" \t", to[-1]))
		to--;
	if ((size_t)(to - from) >= size)
		return err_set(e, EINVAL, "'%.20s...' is too long for a key or a value", from);
	memcpy(ret, from, (size_t)(to - from));
	ret[to - from] = 0;
	return 0;
}

/* One "key=value" in [from, to). */
static int take_one(const char *from, const char *to, struct directive_setting *ret, struct err *e)
{
	const char *equals = memchr(from, '=', (size_t)(to - from));
	char key[sizeof(ret->key)], value[sizeof(ret->value)];
	int r;

	if (!equals)
		return err_set(e, EINVAL,
			       "'%.*s' is not key=value, as in \"vm.pcp_batch_scale_max=0, "
			       "vm.watermark_boost_factor=0\"",
			       (int)(to - from), from);
	if ((r = trim(from, equals, key, sizeof(key), e)) < 0 ||
	    (r = trim(equals + 1, to, value, sizeof(value), e)) < 0)
		return r;
	return take(key, value, ret, e);
}

/* Where "key=value" ends: blanks may stand around "=", none in a value. */
static const char *one_end(const char *at)
{
	const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', (size_t)(end - at));

	if (!equals)
		return end;
	equals++;
	equals += strspn(equals, " \t");
	return equals + strcspn(equals, " \t,");
}

int setting_parse(const char *list, struct directive_setting *ret, uint32_t cap, uint32_t *n, struct err *e)
{
	struct directive_setting got[ARRAY_SIZE(known)];
	uint32_t count = 0;

	for (const char *at = list;;) {
		const char *end = one_end(at);
		struct directive_setting one = {0};
		int r = take_one(at, end, &one, e);

		if (r < 0)
			return r;
		for (uint32_t i = 0; i < count; i++)
			if (strcmp(got[i].key, one.key) == 0)
				return err_set(e, EINVAL, "%s is set twice; leave one of them out", one.key);
		if (count == cap)
			return err_set(e, EINVAL, "more than %u settings", cap);
		/* Each key once: what is known fits. */
		got[count++] = one;
		at = end;
		if ((r = list_skip(&at, e)) < 0)
			return r;
		if (*at == 0)
			break;
	}
	memcpy(ret, got, count * sizeof(*ret));
	*n = count;
	return 0;
}
