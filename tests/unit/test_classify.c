// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of the table "which kernel came up": every combination of what is known, against the rows written once
 * more as prose; and of what each verdict means to a host. Must not know files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/arrive.h"
#include "agent/classify.h"

static const char *const builds[] = {"old", "new", "other", ""};
static const char *const transactions[] = {"", "mine", "theirs"};
static const char *const cleans[] = {"", "boot-a", "boot-b"};

/* The facts' table, row by row, for a boot that is another one than "boot-a", which was known. */
static enum came by_prose(const struct classify *c, bool from_is_to)
{
	bool old = strcmp(c->build, "old") == 0, new = strcmp(c->build, "new") == 0;
	bool meant = from_is_to ? old : new;
	bool firmware = c->way == WAY_FRESH || c->way == WAY_PROOF || c->way == WAY_BACK;

	if (strcmp(c->seen, "mine") == 0)
		return c->way == WAY_KEXEC && meant ? CAME_ARRIVED : CAME_FOREIGN;
	if (c->seen[0])
		return CAME_FOREIGN;
	if (firmware && meant && !c->evidence && strcmp(c->clean_boot, "boot-a") == 0)
		return CAME_ARRIVED;
	if (old && c->evidence)
		return CAME_CRASHED;
	if (old && c->way == WAY_NONE && strcmp(c->clean_boot, "boot-a") == 0)
		return CAME_BACK;
	if (old && (c->way == WAY_KEXEC || c->way == WAY_PROOF) && strcmp(c->clean_boot, "boot-b") == 0)
		return CAME_BACK;
	if (old || (firmware && meant))
		return CAME_POWER_LOSS;
	return CAME_FOREIGN;
}

static void test_every_combination(void **state)
{
	unsigned n = 0, seen[CAME_COUNT] = {0};

	(void)state;
	for (unsigned i = 0; i < 2u * WAY_COUNT * 4 * 3 * 3 * 2; i++) {
		unsigned k = i;
		bool from_is_to = k % 2;
		struct classify c = {.known_boot = "boot-a", .boot = "boot-c", .from = "old", .transaction = "mine"};

		k /= 2;
		c.way = (enum way)(k % WAY_COUNT);
		k /= WAY_COUNT;
		c.build = builds[k % 4];
		k /= 4;
		c.seen = transactions[k % 3];
		k /= 3;
		c.clean_boot = cleans[k % 3];
		k /= 3;
		c.evidence = k;
		c.to = from_is_to ? "old" : "new";
		enum came got = classify(&c), want = by_prose(&c, from_is_to);
		if (got != want)
			fail_msg("way %s to %s: %s runs, transaction \"%s\", clean \"%s\", evidence %d: %s, not %s",
				 way_name(c.way), c.to, c.build, c.seen, c.clean_boot, c.evidence, came_name(got),
				 came_name(want));
		seen[got]++;
		/* In the boot that was known, nothing has come up. */
		c.boot = "boot-a";
		assert_int_equal(classify(&c), CAME_SAME);
		n++;
	}
	assert_int_equal(n, 720);
	for (unsigned i = CAME_ARRIVED; i < CAME_COUNT; i++)
		assert_true(seen[i] > 0);
}

/* Ids that are not known are equal to nothing. */
static void test_unknown(void **state)
{
	struct classify c = {.way = WAY_FRESH,
			     .known_boot = "",
			     .boot = "b",
			     .from = "",
			     .to = "",
			     .build = "",
			     .transaction = "",
			     .seen = "",
			     .clean_boot = ""};

	(void)state;
	assert_int_equal(classify(&c), CAME_FOREIGN);
	c.way = WAY_KEXEC;
	assert_int_equal(classify(&c), CAME_FOREIGN);
}

static void test_words(void **state)
{
	enum way w = WAY_NONE;
	struct err e;

	(void)state;
	for (unsigned i = 0; i < WAY_COUNT; i++) {
		assert_int_equal(way_parse(way_name((enum way)i), &w, &e), 0);
		assert_int_equal(w, i);
	}
	assert_int_equal(way_parse("none ", &w, &e), -EINVAL);
	assert_int_equal(way_parse("", &w, &e), -EINVAL);
}

/* state, act, running, losses, came, build -> event, or "" where the boot means nothing. */
static void test_meaning(void **state)
{
	static const struct {
		enum host_state state;
		enum act act;
		enum way way;
		enum outcome outcome;
		uint32_t losses;
		enum came came;
		const char *build;
		int event; /* -1: nothing */
	} rows[] = {
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_SAME, "old", -1},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_ARRIVED, "new", EVENT_CAME_JUMP},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_CRASHED, "old", EVENT_CRASHED},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_BACK, "old", EVENT_WENT_BACK},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_POWER_LOSS, "old", EVENT_POWER_LOSS},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 1, CAME_POWER_LOSS, "old", EVENT_LOST_AGAIN},
	    {HOST_LOADED, ACT_JUMP, WAY_KEXEC, OUTCOME_RUNNING, 0, CAME_FOREIGN, "new", EVENT_FOREIGN},
	    {HOST_INTENT, ACT_REBOOT_FRESH, WAY_FRESH, OUTCOME_RUNNING, 0, CAME_ARRIVED, "old", EVENT_CAME_FRESH},
	    {HOST_INTENT, ACT_PROVE, WAY_PROOF, OUTCOME_RUNNING, 0, CAME_ARRIVED, "new", EVENT_CAME_PROOF},
	    {HOST_INTENT, ACT_PREPARE, WAY_NONE, OUTCOME_RUNNING, 0, CAME_POWER_LOSS, "old", -1},
	    {HOST_INTENT, ACT_PREPARE, WAY_NONE, OUTCOME_RUNNING, 0, CAME_FOREIGN, "other", EVENT_FOREIGN},
	    {HOST_INTENT, ACT_REVERT, WAY_BACK, OUTCOME_RUNNING, 0, CAME_ARRIVED, "old", EVENT_CAME_BACK},
	    {HOST_INTENT, ACT_REVERT, WAY_BACK, OUTCOME_RUNNING, 1, CAME_POWER_LOSS, "old", EVENT_CAME_BACK},
	    {HOST_INTENT, ACT_REVERT, WAY_BACK, OUTCOME_RUNNING, 0, CAME_CRASHED, "old", EVENT_CAME_BACK},
	    {HOST_INTENT, ACT_REVERT, WAY_BACK, OUTCOME_RUNNING, 0, CAME_FOREIGN, "new", EVENT_STUCK_BACK},
	    {HOST_INTENT, ACT_REVERT, WAY_NONE, OUTCOME_RUNNING, 0, CAME_FOREIGN, "new", EVENT_STUCK_BACK},
	    {HOST_FAILED, ACT_REVERT, WAY_BACK, OUTCOME_FAILED, 0, CAME_ARRIVED, "old", EVENT_CAME_BACK},
	    {HOST_STAGED, ACT_STAGE, WAY_NONE, OUTCOME_RUNNING, 0, CAME_POWER_LOSS, "old", -1},
	    {HOST_STAGED, ACT_STAGE, WAY_NONE, OUTCOME_RUNNING, 0, CAME_FOREIGN, "other", EVENT_FOREIGN},
	    {HOST_VERIFIED, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_BACK, "old", -1},
	    {HOST_VERIFIED, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_FOREIGN, "new", EVENT_FOREIGN},
	    {HOST_MEASURE, ACT_RECORD, WAY_NONE, OUTCOME_RUNNING, 0, CAME_POWER_LOSS, "old", EVENT_POWER_LOSS},
	    {HOST_MEASURE, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_POWER_LOSS, "old", EVENT_LOST_AT_REST},
	    {HOST_SOAK, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_POWER_LOSS, "old", EVENT_LOST_AT_REST},
	    {HOST_SOAK, ACT_REST, WAY_NONE, OUTCOME_DONE, 1, CAME_POWER_LOSS, "old", EVENT_LOST_AGAIN},
	    {HOST_SOAK, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_CRASHED, "old", EVENT_CRASHED},
	    {HOST_SOAK, ACT_COMMIT, WAY_NONE, OUTCOME_RUNNING, 0, CAME_FOREIGN, "new", -1},
	    {HOST_SOAK, ACT_COMMIT, WAY_NONE, OUTCOME_RUNNING, 0, CAME_POWER_LOSS, "old", EVENT_POWER_LOSS},
	    {HOST_PROBATION, ACT_CHECK, WAY_NONE, OUTCOME_RUNNING, 0, CAME_BACK, "old", EVENT_WENT_BACK},
	    {HOST_COLD_PROOF, ACT_CHECK, WAY_NONE, OUTCOME_RUNNING, 0, CAME_CRASHED, "old", EVENT_CRASHED},
	    {HOST_COMMITTED, ACT_REST, WAY_NONE, OUTCOME_DONE, 0, CAME_FOREIGN, "new", -1},
	    {HOST_IDLE, ACT_REST, WAY_NONE, OUTCOME_NONE, 0, CAME_FOREIGN, "other", -1},
	    {HOST_HELD, ACT_REST, WAY_NONE, OUTCOME_HELD, 0, CAME_CRASHED, "old", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct journal j = {.state = rows[i].state,
				    .act = rows[i].act,
				    .outcome = rows[i].outcome,
				    .losses = rows[i].losses,
				    .rollout = "r",
				    .old_build = "old",
				    .new_build = "new",
				    .intent = {.way = rows[i].way}};
		struct arrive x = {.came = rows[i].came, .build = rows[i].build};
		enum event v = EVENT_COUNT;
		int got = arrive_event(&j, &x, &v) ? (int)v : -1;

		if (got != rows[i].event)
			fail_msg("row %zu: %s", i, got < 0 ? "nothing" : event_name(v));
		/* What a boot means has to have a place in the table of states. */
		struct lifecycle_step step;
		struct err e;
		if (got >= 0 && lifecycle_next(j.state, v, &step, &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
	}
}

static void test_presets(void **state)
{
	struct journal j = {.state = HOST_APPLIED, .act = ACT_RECORD, .rollout = "r", .factor = FACTOR_PRESET};
	struct arrive x = {.came = CAME_FOREIGN, .build = "x"};
	enum event v;

	(void)state;
	assert_true(arrive_event(&j, &x, &v));
	assert_int_equal(v, EVENT_VALUES_GONE);
	x.came = CAME_CRASHED;
	assert_true(arrive_event(&j, &x, &v));
	assert_int_equal(v, EVENT_CRASHED);
	j.act = ACT_KEEP;
	assert_false(arrive_event(&j, &x, &v));
	j.act = ACT_RESTORE;
	assert_false(arrive_event(&j, &x, &v));
	j.act = ACT_RECORD;
	j.state = HOST_IDLE;
	assert_false(arrive_event(&j, &x, &v));
}

static void suspect(enum way way, const char *from, const char *to, const char *want)
{
	struct journal j = {.old_build = "old", .new_build = "new", .intent = {.way = way}};

	snprintf(j.intent.from_build, sizeof(j.intent.from_build), "%s", from);
	snprintf(j.intent.to_build, sizeof(j.intent.to_build), "%s", to);
	const char *got = arrive_suspect(&j);
	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

static void test_who_is_denied(void **state)
{
	(void)state;
	suspect(WAY_KEXEC, "old", "new", "new");
	suspect(WAY_PROOF, "old", "new", "new");
	suspect(WAY_NONE, "old", "new", "new");
	suspect(WAY_FRESH, "new", "old", "new");
	suspect(WAY_BACK, "new", "old", "new");
	/* The way back is never denied. */
	suspect(WAY_KEXEC, "old", "old", NULL);
	suspect(WAY_FRESH, "old", "old", NULL);
	suspect(WAY_NONE, "", "", NULL);
	struct journal same = {.old_build = "x", .new_build = "x", .intent = {.way = WAY_KEXEC, .to_build = "x"}};
	assert_null(arrive_suspect(&same));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_combination),
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_meaning),
	    cmocka_unit_test(test_presets),
	    cmocka_unit_test(test_who_is_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
