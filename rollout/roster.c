// SPDX-License-Identifier: Apache-2.0
/* Owns the draw of canaries, controls and waves by a hash of names.
 * Must not know whether a host is there at all: who is drawn from is the caller's choice. */
#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lot {
	uint64_t hash;
	const char *name;
	uint32_t host;
	enum role role;
	uint32_t wave;
};

static uint64_t add_text(uint64_t h, const char *s)
{
	/* FNV-1a, 64 bits; the final 0 parts the two names. */
	do
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	while (*s++);
	return h;
}

/* The last steps of splitmix64: names that differ in their last digit only come out far apart, which FNV alone does not
 * promise for the high bits that decide the order. */
static uint64_t mix(uint64_t h)
{
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	return h ^ (h >> 31);
}

static int by_hash(const void *a, const void *b)
{
	const struct lot *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool in_clusters(const struct directive *d, const char *cluster)
{
	for (uint32_t i = 0; i < d->n_clusters; i++)
		if (strcmp(d->cluster[i], cluster) == 0)
			return true;
	return false;
}

static int draw_role(struct lot *lot, uint32_t n, const struct roster_host *host, const char *from, enum role role,
		     uint32_t wanted, struct err *e)
{
	uint32_t drawn = 0, there = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (lot[i].role != ROLE_NONE || strcmp(host[lot[i].host].cluster, from) != 0)
			continue;
		there++;
		if (drawn < wanted) {
			lot[i].role = role;
			drawn++;
		}
	}
	if (drawn == wanted)
		return 0;
	return err_set(e, EINVAL, "cluster %s has %u hosts for %u %s%s; enrol more, or ask for fewer in the plan", from,
		       there, wanted, role == ROLE_CANARY ? "canaries" : "controls",
		       role == ROLE_CONTROL ? " beside its canaries" : "");
}

/* Wave w ends at its percentage of the hosts that are left, rounded up: a small fleet's first wave is not empty. */
static void draw_waves(const struct directive *d, struct lot *lot, uint32_t n, const struct roster_host *host)
{
	uint64_t left = 0, drawn = 0;
	uint32_t wave = 1;

	for (uint32_t i = 0; i < n; i++) {
		if (!in_clusters(d, host[lot[i].host].cluster))
			continue;
		left += lot[i].role == ROLE_NONE;
		if (lot[i].role == ROLE_CONTROL)
			lot[i].wave = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (lot[i].role != ROLE_NONE || !in_clusters(d, host[lot[i].host].cluster))
			continue;
		while (wave < d->n_waves && drawn * 100 >= left * d->wave_percent[wave - 1])
			wave++;
		lot[i].role = ROLE_WAVE;
		lot[i].wave = wave;
		drawn++;
	}
}

int roster_draw(const struct directive *d, struct roster_host *host, uint32_t n, struct err *e)
{
	if (n > DECIDE_HOSTS_MAX)
		return err_set(e, EINVAL, "rollout %s: %u hosts are more than %d", d->name, n, DECIDE_HOSTS_MAX);
	struct lot *lot = calloc(n ? n : 1, sizeof(*lot));
	if (!lot)
		return err_sys(e, ENOMEM, "drawing from %u hosts", n);
	for (uint32_t i = 0; i < n; i++)
		lot[i] = (struct lot){.hash = mix(add_text(add_text(0xcbf29ce484222325u, d->name), host[i].name)),
				      .name = host[i].name,
				      .host = i};
	qsort(lot, n, sizeof(*lot), by_hash);

	int r = draw_role(lot, n, host, d->canaries_from, ROLE_CANARY, d->judge.canaries, e);
	if (r == 0)
		r = draw_role(lot, n, host, d->controls_from, ROLE_CONTROL, d->judge.controls, e);
	if (r == 0) {
		draw_waves(d, lot, n, host);
		for (uint32_t i = 0; i < n; i++) {
			host[lot[i].host].role = lot[i].role;
			host[lot[i].host].wave = lot[i].wave;
		}
	}
	free(lot);
	return r < 0 ? err_context(e, "rollout %s", d->name) : 0;
}

bool roster_alike(const struct host_report *a, const struct host_report *b)
{
	return strcmp(a->release, b->release) == 0 && strcmp(a->build_id, b->build_id) == 0 &&
	       a->pcp_batch_scale_max == b->pcp_batch_scale_max;
}
