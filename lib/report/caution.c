// SPDX-License-Identifier: Apache-2.0
/* Owns the warnings of a comparison.
 * Must not know how they are shown, nor have a part in the verdict. */
#include "caution.h"

#include <stdio.h>

#include "table.h"
#include "text.h"

/* What `record` said when it was made, to somebody else perhaps. */
static bool late(const struct comparison *c, char ret[CAUTION_TEXT_MAX])
{
	char one[TABLE_SATURATED_MAX], first[TABLE_SATURATED_MAX];
	const struct compare_file *of = NULL;
	unsigned others = 0;

	for (size_t i = 0; i < c->n_files; i++) {
		const struct compare_file *f = &c->file[i];

		if (!table_saturated(&f->header.shape, f->sum.response.count, f->sum.missed, of ? one : first))
			continue;
		others += of != NULL;
		of = of ? of : f;
	}
	if (!of)
		return false;
	if (others > 0)
		snprintf(ret, CAUTION_TEXT_MAX, "%.120s, and so %u of the other recordings: %s", of->path, others,
			 first);
	else
		snprintf(ret, CAUTION_TEXT_MAX, "%.120s: %s", of->path, first);
	return true;
}

static bool same_setting(const struct comparison *c, char ret[CAUTION_TEXT_MAX])
{
	const struct recording_header *a = c->arm[GROUP_OLD].header, *b = c->arm[GROUP_NEW].header;
	char scale[TEXT_MAX];

	if (c->factor != COMPARE_SETTINGS || !a || !b || a->pcp_batch_scale_max != b->pcp_batch_scale_max)
		return false;
	snprintf(ret, CAUTION_TEXT_MAX,
		 "Old and new have the same setting as far as recordings tell (%s), and they tell of no other sysctl: "
		 "where nothing else was set between them, this compares a setting with itself.",
		 text_scale(a, scale));
	return true;
}

/* The verdict says how many came and how many should; not that nobody had asked for so many. */
static bool default_plan(const struct comparison *c, char ret[CAUTION_TEXT_MAX])
{
	uint32_t canaries = 0, controls = 0;

	for (size_t i = 0; i < c->n_hosts; i++)
		*(c->host[i].control ? &controls : &canaries) += 1;
	if (c->plan_name || (canaries == c->plan->canaries && controls == c->plan->controls))
		return false;
	snprintf(
	    ret, CAUTION_TEXT_MAX,
	    "No --plan was given, so that %u canar%s and %u control%s are expected; there %s %u and %u. Record on so "
	    "many hosts, twice on each, or name by --plan FILE how many there are to be (canaries and controls in "
	    "[judge], see kpcp-plan(5)). One host, before and after, gives an estimate, never a proof.",
	    c->plan->canaries, c->plan->canaries == 1 ? "y" : "ies", c->plan->controls,
	    c->plan->controls == 1 ? "" : "s", canaries == 1 && controls == 0 ? "is" : "are", canaries, controls);
	return true;
}

unsigned caution_list(const struct comparison *c, char ret[CAUTION_MAX][CAUTION_TEXT_MAX])
{
	unsigned n = 0;

	n += late(c, ret[n]);
	n += same_setting(c, ret[n]);
	n += default_plan(c, ret[n]);
	return n;
}
