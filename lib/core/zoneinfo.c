// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of /proc/zoneinfo's text.
 * Must not know where it comes from, nor what it means for a kernel. */
#include "zoneinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/num.h"

#define WORD_MAX 32

struct line {
	const char *p, *end;
	size_t number;
};

/* The next word up to blanks; false at the line's end and for one that is too long to be of interest. */
static bool word(struct line *l, char ret[WORD_MAX])
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
	const char *from = l->p;
	while (l->p < l->end && *l->p != ' ' && *l->p != '\t')
		l->p++;
	size_t n = (size_t)(l->p - from);
	if (n == 0 || n >= WORD_MAX)
		return false;
	memcpy(ret, from, n);
	ret[n] = 0;
	return true;
}

static int number(struct line *l, uint64_t max, uint64_t *ret, struct err *e)
{
	char text[WORD_MAX] = "";
	int r;

	if (!word(l, text))
		return err_set(e, EINVAL, "line %zu has no number where one belongs", l->number);
	r = num_u64(text, 0, max, ret, e);
	return r < 0 ? err_context(e, "line %zu", l->number) : 0;
}

/* "Node 0, zone   Normal"; *ret is untouched where it is not one. */
static int header(struct line *l, struct zoneinfo_zone *ret, struct err *e)
{
	struct zoneinfo_zone z = {0};
	char text[WORD_MAX];
	uint64_t node;
	size_t n;

	if (!word(l, text) || (n = strlen(text)) < 2 || text[n - 1] != ',')
		return err_set(e, EINVAL, "line %zu begins as a zone does, but is not \"Node N, zone NAME\"",
			       l->number);
	text[n - 1] = 0;
	int r = num_u64(text, 0, ZONEINFO_NODE_MAX, &node, e);
	if (r < 0)
		return err_context(e, "line %zu", l->number);
	z.node = (uint32_t)node;
	/* "Node 0, per-node stats" is no zone: what follows belongs to none. */
	if (!word(l, text) || strcmp(text, "zone") != 0) {
		*ret = z;
		return 0;
	}
	if (!word(l, text) || strlen(text) >= ZONEINFO_NAME_MAX || strpbrk(text, "\033\177\r"))
		return err_set(e, EINVAL, "line %zu: a zone without a name", l->number);
	memcpy(z.name, text, strlen(text) + 1);
	*ret = z;
	return 0;
}

static void widen(struct zoneinfo_range *range, uint64_t value, bool first)
{
	if (first || value < range->from)
		range->from = value;
	if (first || value > range->to)
		range->to = value;
}

struct state {
	struct zoneinfo_zone zone; /* name is empty outside a zone */
	bool in_cpu, in_lists;
	uint32_t with_high, with_batch, with_min, with_max; /* CPUs that have shown it */
};

static int field(struct state *s, struct line *l, const char *key, struct err *e)
{
	struct zoneinfo_zone *z = &s->zone;
	const struct {
		const char *key;
		uint64_t *value;
	} pages[] = {
	    {"managed", &z->managed}, {"min", &z->min}, {"low", &z->low}, {"high", &z->high}, {"boost", &z->boost}};
	const struct {
		const char *key;
		struct zoneinfo_range *range;
		uint32_t *seen;
	} lists[] = {{"high:", &z->pcp_high, &s->with_high},
		     {"batch:", &z->pcp_batch, &s->with_batch},
		     {"high_min:", &z->high_min, &s->with_min},
		     {"high_max:", &z->high_max, &s->with_max}};
	uint64_t value;

	if (strcmp(key, "pagesets") == 0)
		s->in_lists = true;
	if (s->in_lists && strcmp(key, "cpu:") == 0) {
		int r = number(l, NUM_CPU_MAX - 1, &value, e);

		s->in_cpu = true;
		z->cpus++;
		return r;
	}
	for (size_t i = 0; !s->in_lists && i < sizeof(pages) / sizeof(pages[0]); i++)
		if (strcmp(key, pages[i].key) == 0)
			return number(l, ZONEINFO_PAGES_MAX, pages[i].value, e);
	for (size_t i = 0; s->in_cpu && i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(key, lists[i].key) != 0)
			continue;
		int r = number(l, UINT32_MAX, &value, e);
		if (r == 0)
			widen(lists[i].range, value, (*lists[i].seen)++ == 0);
		return r;
	}
	return 0;
}

static int finish(struct state *s, struct zoneinfo *z, struct err *e)
{
	struct zoneinfo_zone *zone = &s->zone;

	if (!zone->name[0] || zone->managed == 0)
		return 0;
	if (zone->cpus == 0 || zone->cpus >= NUM_CPU_MAX || s->with_high != zone->cpus || s->with_batch != zone->cpus)
		return err_set(e, EINVAL,
			       "node %u, zone %s: %u CPUs, %u of them with high and %u with batch; is the text whole?",
			       zone->node, zone->name, zone->cpus, s->with_high, s->with_batch);
	if (zone->boost > zone->min)
		return err_set(e, EINVAL, "node %u, zone %s: boost is above min, which it is a part of", zone->node,
			       zone->name);
	for (size_t i = 0; i < z->n; i++)
		if (z->zone[i].node == zone->node && strcmp(z->zone[i].name, zone->name) == 0)
			return err_set(e, EINVAL, "node %u, zone %s is there twice", zone->node, zone->name);
	if (zone->min > zone->low || zone->low > zone->high)
		return err_set(e, EINVAL, "node %u, zone %s: the watermarks do not rise from min to low to high",
			       zone->node, zone->name);
	if (z->n == ZONEINFO_ZONES_MAX)
		return err_set(e, EINVAL, "more than %d zones", ZONEINFO_ZONES_MAX);
	zone->has_bounds = s->with_min == zone->cpus && s->with_max == zone->cpus;
	z->zone[z->n++] = *zone;
	return 0;
}

static int parse(const char *text, size_t len, struct zoneinfo *z, struct err *e)
{
	struct state s = {0};
	struct line l = {.p = text, .number = 1};
	char key[WORD_MAX];
	int r;

	for (const char *at = text, *end = text + len; at < end; at = l.end + 1, l.number++) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));

		l.p = at;
		l.end = feed ? feed : end;
		if (at == l.end || *at == '#' || !word(&l, key))
			continue;
		if (strcmp(key, "Node") == 0) {
			if ((r = finish(&s, z, e)) < 0)
				return r;
			s = (struct state){0};
			r = header(&l, &s.zone, e);
		} else {
			/* "pages free 5", "pages managed 5" in some kernels' layouts. */
			if (strcmp(key, "pages") == 0 && !word(&l, key))
				continue;
			r = s.zone.name[0] ? field(&s, &l, key, e) : 0;
		}
		if (r < 0)
			return r;
	}
	if ((r = finish(&s, z, e)) < 0)
		return r;
	return z->n > 0 ? 0 : err_set(e, ENODATA, "no zone with pages is in it; is this /proc/zoneinfo?");
}

int zoneinfo_parse(const char *text, size_t len, struct zoneinfo *ret, struct err *e)
{
	struct zoneinfo *z = calloc(1, sizeof(*z));
	int r;

	if (!z)
		return err_sys(e, ENOMEM, "reading zoneinfo");
	r = parse(text, len, z, e);
	if (r == 0)
		*ret = *z;
	free(z);
	return r;
}
