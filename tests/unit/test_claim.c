// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what a host's own report says against its claim.
 * Must not know who asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "rollout/claim.h"

#define OLD   "6.1.0-44-amd64"
#define NEW   "6.1.158-kpcp"
#define ENTRY "gnulinux-advanced-1>gnulinux-%s-advanced-1"
#define A     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B     "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct directive d;
static struct claim_before before;
static struct host_report report;
static char why[MESSAGE_TEXT_MAX];

static void runs(const char *release, const char *build_id, const char *boot_id, const char *entry)
{
	snprintf(report.release, sizeof(report.release), "%s", release);
	snprintf(report.build_id, sizeof(report.build_id), "%s", build_id);
	snprintf(report.boot_id, sizeof(report.boot_id), "%s", boot_id);
	snprintf(report.default_entry, sizeof(report.default_entry), ENTRY, entry);
}

static int setup(void **state)
{
	(void)state;
	d = (struct directive){.factor = FACTOR_KERNEL, .kernel.release = NEW, .kernel.build_id = B};
	before = (struct claim_before){
	    .boot_id = "boot 1", .release = OLD, .build_id = A, .begun = true, .pcp_batch_scale_max = 5};
	snprintf(before.default_entry, sizeof(before.default_entry), ENTRY, OLD);
	report = (struct host_report){.outcome = OUTCOME_DONE};
	runs(NEW, B, "boot 2", OLD);
	why[0] = 0;
	return 0;
}

static void holds(enum verb verb)
{
	const struct order o = {.verb = verb, .target_new = true};

	if (claim_check(&d, &o, &before, &report, why) != CLAIM_HOLDS)
		fail_msg("%s: %s", verb_name(verb), why);
}

static void fails(enum verb verb, const char *words)
{
	const struct order o = {.verb = verb, .target_new = true};

	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_FALSE);
	if (!strstr(why, words))
		fail_msg("%s: \"%s\", not \"%s\"", verb_name(verb), why, words);
}

static void test_new_kernel(void **state)
{
	static const enum verb verbs[] = {VERB_TRIAL, VERB_PROVE, VERB_MEASURE};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		setup(state);
		holds(verbs[i]);
		runs(OLD, A, "boot 2", OLD);
		fails(verbs[i], "reported done, but runs " OLD " instead of " NEW);
		runs(NEW, A, "boot 2", OLD);
		fails(verbs[i], "with the build-id " A " instead of " B);
		runs(NEW, "", "boot 2", OLD);
		fails(verbs[i], "with the build-id unknown");
		runs(NEW, B, "boot 1", OLD);
		fails(verbs[i], "still in the boot boot 1");
		before.boot_id[0] = 0; /* granted before this was kept */
		holds(verbs[i]);
	}
}

static void test_old_kernel_measured(void **state)
{
	const struct order o = {.verb = VERB_MEASURE};

	(void)state;
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_FALSE);
	runs(OLD, A, "boot 2", OLD);
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_HOLDS);
	runs(OLD, B, "boot 2", OLD);
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_FALSE);
	before.build_id[0] = 0;
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_HOLDS);
	runs(OLD, A, "boot 1", OLD);
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_FALSE);
}

static void test_staged_says_nothing_yet(void **state)
{
	(void)state;
	runs(OLD, A, "boot 1", OLD);
	holds(VERB_STAGE);
}

static void test_commit(void **state)
{
	(void)state;
	runs(NEW, B, "boot 1", NEW);
	holds(VERB_COMMIT);
	runs(NEW, B, "boot 1", OLD);
	fails(VERB_COMMIT, "which is not of " NEW);
	runs(NEW, B, "boot 1", NEW "2");
	fails(VERB_COMMIT, "which is not of " NEW);
	report.default_entry[0] = 0;
	fails(VERB_COMMIT, "default entry \"\"");
	runs(OLD, A, "boot 1", NEW);
	fails(VERB_COMMIT, "runs " OLD);
	/* Its name is part of another one's that was the default before. */
	snprintf(before.default_entry, sizeof(before.default_entry), ENTRY, NEW "-debug");
	runs(NEW, B, "boot 1", NEW "-debug");
	fails(VERB_COMMIT, "which is not of " NEW);
	snprintf(before.default_entry, sizeof(before.default_entry), ENTRY, NEW);
	snprintf(before.build_id, sizeof(before.build_id), B); /* had it all the time */
	runs(NEW, B, "boot 1", NEW);
	holds(VERB_COMMIT);
}

static void test_way_back(void **state)
{
	(void)state;
	runs(OLD, A, "boot 1", OLD); /* who is at home need not reboot */
	holds(VERB_REVERT);
	runs(NEW, B, "boot 2", OLD);
	fails(VERB_REVERT, "runs " NEW " instead of " OLD);
	runs(OLD, B, "boot 2", OLD);
	fails(VERB_REVERT, "with the build-id " B);
	runs(OLD, A, "boot 2", NEW);
	fails(VERB_REVERT, "which is of " NEW);
	/* Nothing was begun: a person may have done what the refusal said. */
	before.begun = false;
	runs("6.1.0-45-amd64", "cccccccccccccccccccccccccccccccccccccccc", "boot 2", "6.1.0-45-amd64");
	holds(VERB_REVERT);
	runs(NEW, B, "boot 2", OLD);
	fails(VERB_REVERT, "which it was to leave");
	snprintf(before.build_id, sizeof(before.build_id), B);
	holds(VERB_REVERT);
}

static void test_presets(void **state)
{
	(void)state;
	d = (struct directive){
	    .factor = FACTOR_PRESET,
	    .preset = {.n = 2, .setting = {{"vm.min_free_kbytes", "67584"}, {"vm.pcp_batch_scale_max", "2"}}}};
	runs(OLD, A, "boot 1", OLD);
	report.pcp_batch_scale_max = 2;
	holds(VERB_APPLY);
	holds(VERB_COMMIT);
	report.pcp_batch_scale_max = 5;
	fails(VERB_APPLY, "vm.pcp_batch_scale_max = 5 instead of 2");
	fails(VERB_COMMIT, "instead of 2");
	report.pcp_batch_scale_max = -1; /* a kernel without */
	fails(VERB_APPLY, "= -1 instead of 2");
	/* Put back: to what it was; where nothing was applied, to nothing that is known. */
	holds(VERB_REVERT);
	before.applied = true;
	fails(VERB_REVERT, "= -1 instead of 5");
	report.pcp_batch_scale_max = 5;
	holds(VERB_REVERT);
	before.pcp_batch_scale_max = CLAIM_SCALE_UNKNOWN;
	report.pcp_batch_scale_max = 2;
	holds(VERB_REVERT);
	/* A reboot between the end and its report: the agent applies again. */
	const struct order o = {.verb = VERB_APPLY};
	runs(OLD, A, "boot 2", OLD);
	report.pcp_batch_scale_max = 5;
	assert_int_equal(claim_check(&d, &o, &before, &report, why), CLAIM_LATER);
	/* Kernels without the setting, under a preset without it. */
	d.preset.n = 1;
	report.pcp_batch_scale_max = -1;
	holds(VERB_APPLY);
	holds(VERB_REVERT);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_new_kernel),
	    T(test_old_kernel_measured),
	    T(test_staged_says_nothing_yet),
	    T(test_commit),
	    T(test_way_back),
	    T(test_presets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
