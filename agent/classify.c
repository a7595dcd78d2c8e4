// SPDX-License-Identifier: Apache-2.0
/* Owns the table "which kernel came up".
 * Must not know files, nor what is done about the verdict. */
#include "classify.h"

#include <errno.h>
#include <string.h>

static const char *const ways[WAY_COUNT] = {
    [WAY_NONE] = "none", [WAY_FRESH] = "fresh", [WAY_KEXEC] = "kexec", [WAY_PROOF] = "proof", [WAY_BACK] = "back"};

const char *way_name(enum way w)
{
	return w < WAY_COUNT ? ways[w] : "?";
}

int way_parse(const char *word, enum way *ret, struct err *e)
{
	for (unsigned i = 0; i < WAY_COUNT; i++) {
		if (strcmp(ways[i], word) == 0) {
			*ret = (enum way)i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "\"%s\" is no way to boot", word);
}

const char *came_name(enum came c)
{
	static const char *const names[CAME_COUNT] = {
	    [CAME_SAME] = "same",      [CAME_ARRIVED] = "arrived",       [CAME_CRASHED] = "crashed",
	    [CAME_BACK] = "went back", [CAME_POWER_LOSS] = "power loss", [CAME_FOREIGN] = "foreign",
	};

	return c < CAME_COUNT ? names[c] : "?";
}

/* Ids that are not known match nothing, not even each other. */
static bool same(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

/* An orderly shutdown of a boot in which the one that came next was not ordered. For a jump and a one-shot boot that is
 * neither the boot that ordered it nor none; without an intent it is the boot that was known. */
static bool ended_clean_unordered(const struct classify *c)
{
	if (c->way == WAY_NONE)
		return same(c->clean_boot, c->known_boot);
	return (c->way == WAY_KEXEC || c->way == WAY_PROOF) && *c->clean_boot && !same(c->clean_boot, c->known_boot);
}

enum came classify(const struct classify *c)
{
	bool to = c->way != WAY_NONE && same(c->to, c->build), from = same(c->from, c->build);

	if (same(c->known_boot, c->boot))
		return CAME_SAME;
	if (*c->seen)
		return c->way == WAY_KEXEC && to && same(c->transaction, c->seen) ? CAME_ARRIVED : CAME_FOREIGN;
	if (c->way != WAY_KEXEC && to && !c->evidence && same(c->clean_boot, c->known_boot))
		return CAME_ARRIVED;
	if (from && c->evidence)
		return CAME_CRASHED;
	if (from && ended_clean_unordered(c))
		return CAME_BACK;
	if (from || (to && c->way != WAY_KEXEC))
		return CAME_POWER_LOSS;
	return CAME_FOREIGN;
}
