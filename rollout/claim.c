// SPDX-License-Identifier: Apache-2.0
/* Owns whether a host's own report bears out that an order is done: a pure function.
 * Must not know the database, nor what follows from the answer. */
#include "claim.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/num.h"

#define WHY(...) (snprintf(why, MESSAGE_TEXT_MAX, __VA_ARGS__), CLAIM_FALSE)

/* An agent takes no entry whose id lacks the release; what follows it must not make it another one. */
static bool entry_is(const char *entry, const char *release)
{
	size_t len = strlen(release);

	for (const char *at = entry; (at = strstr(at, release)); at++)
		if (at[len] == 0 || at[len] == '-' || at[len] == '>')
			return true;
	return false;
}

static enum claim runs(const struct host_report *r, const char *release, const char *build_id, char *why)
{
	if (strcmp(r->release, release) != 0)
		return WHY("reported done, but runs %.64s instead of %.64s", r->release, release);
	/* The kernel that was there before may show none. */
	if (build_id[0] && strcmp(r->build_id, build_id) != 0)
		return WHY("reported done, but runs %.64s with the build-id %.40s instead of %.40s", r->release,
			   r->build_id[0] ? r->build_id : "unknown", build_id);
	return CLAIM_HOLDS;
}

static enum claim rebooted(const struct claim_before *b, const struct host_report *r, char *why)
{
	if (b->boot_id[0] && strcmp(r->boot_id, b->boot_id) == 0)
		return WHY("reported done, but runs still in the boot %s that it was to leave", r->boot_id);
	return CLAIM_HOLDS;
}

static enum claim is_default(const struct directive *d, const struct claim_before *b, const struct host_report *r,
			     char *why)
{
	bool same = strcmp(r->default_entry, b->default_entry) == 0 && strcmp(b->build_id, d->kernel.build_id) != 0;

	if (same || !entry_is(r->default_entry, d->kernel.release))
		return WHY("reported done, but runs with the default entry \"%.100s\", which is not of %.64s",
			   r->default_entry, d->kernel.release);
	return CLAIM_HOLDS;
}

static enum claim is_back(const struct directive *d, const struct claim_before *b, const struct host_report *r,
			  char *why)
{
	bool had_it = strcmp(b->build_id, d->kernel.build_id) == 0;

	/* Where nothing was begun, a person may have given it another kernel since: any but the new one. */
	if (!b->begun && !had_it && strcmp(r->build_id, d->kernel.build_id) == 0)
		return WHY("reported done, but runs %.64s, which it was to leave", r->release);
	if (b->begun && runs(r, b->release, b->build_id, why) != CLAIM_HOLDS)
		return CLAIM_FALSE;
	if (!had_it && !entry_is(b->default_entry, d->kernel.release) && entry_is(r->default_entry, d->kernel.release))
		return WHY("reported done, but runs with the default entry \"%.100s\", which is of %.64s",
			   r->default_entry, d->kernel.release);
	return CLAIM_HOLDS;
}

static enum claim check_kernel(const struct directive *d, const struct order *o, const struct claim_before *b,
			       const struct host_report *r, char *why)
{
	bool newer = o->verb != VERB_MEASURE || o->target_new;
	enum claim c;

	if (o->verb == VERB_STAGE || o->verb == VERB_APPLY)
		return CLAIM_HOLDS;
	if (o->verb == VERB_REVERT)
		return is_back(d, b, r, why);
	c = newer ? runs(r, d->kernel.release, d->kernel.build_id, why) : runs(r, b->release, b->build_id, why);
	if (c != CLAIM_HOLDS)
		return c;
	return o->verb == VERB_COMMIT ? is_default(d, b, r, why) : rebooted(b, r, why);
}

/* The one setting that a report tells. */
static bool planned_scale(const struct directive *d, int64_t *ret)
{
	struct err ignored;

	for (uint32_t i = 0; i < d->preset.n; i++)
		if (strcmp(d->preset.setting[i].key, "vm.pcp_batch_scale_max") == 0)
			return num_i64(d->preset.setting[i].value, INT32_MIN, INT32_MAX, ret, &ignored) == 0;
	return false;
}

static enum claim check_preset(const struct directive *d, const struct order *o, const struct claim_before *b,
			       const struct host_report *r, char *why)
{
	int64_t want;

	if (!planned_scale(d, &want) || (o->verb != VERB_APPLY && o->verb != VERB_COMMIT && o->verb != VERB_REVERT))
		return CLAIM_HOLDS;
	if (o->verb == VERB_REVERT) {
		if (!b->applied || b->pcp_batch_scale_max == CLAIM_SCALE_UNKNOWN)
			return CLAIM_HOLDS;
		want = b->pcp_batch_scale_max;
	}
	if (r->pcp_batch_scale_max == want)
		return CLAIM_HOLDS;
	if (o->verb == VERB_APPLY && b->boot_id[0] && strcmp(r->boot_id, b->boot_id) != 0)
		return CLAIM_LATER;
	return WHY("reported done, but runs with vm.pcp_batch_scale_max = %d instead of %lld", r->pcp_batch_scale_max,
		   (long long)want);
}

enum claim claim_check(const struct directive *d, const struct order *o, const struct claim_before *before,
		       const struct host_report *report, char ret_why[MESSAGE_TEXT_MAX])
{
	return d->factor == FACTOR_KERNEL ? check_kernel(d, o, before, report, ret_why)
					  : check_preset(d, o, before, report, ret_why);
}
