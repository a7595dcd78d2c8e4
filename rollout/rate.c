// SPDX-License-Identifier: Apache-2.0
/* Owns the counting of tries.
 * Must not know what is asked for, nor the clock. */
#include "rate.h"

#include "lib/base/attr.h"

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

bool rate_take(struct rate *r, const char *client, uint64_t now_s)
{
	uint64_t i = hash(client) % ARRAY_SIZE(r->slot);
	uint64_t passed = now_s > r->slot[i].at_s ? now_s - r->slot[i].at_s : 0;

	r->slot[i].used -= passed < r->slot[i].used ? (uint32_t)passed : r->slot[i].used;
	r->slot[i].at_s = now_s;
	if (r->slot[i].used >= RATE_BURST)
		return false;
	r->slot[i].used++;
	return true;
}
