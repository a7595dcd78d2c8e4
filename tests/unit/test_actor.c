// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that a host goes through whole rollouts, and through any interruption of them, to the right end.
 * Must not know real machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet_of_one.h"

static const struct one_order canary[] = {
    {.verb = VERB_STAGE},
    {.verb = VERB_MEASURE, .arm = ARM_OLD, .boot = 0},
    {.verb = VERB_MEASURE, .arm = ARM_OLD, .boot = 1},
    {.verb = VERB_MEASURE, .arm = ARM_NEW, .boot = 0, .target_new = true},
    {.verb = VERB_MEASURE, .arm = ARM_NEW, .boot = 1, .target_new = true},
    {.verb = VERB_PROVE},
    {.verb = VERB_COMMIT},
};
/* Each kind of step once, to be cut at each. */
static const struct one_order short_canary[] = {
    {.verb = VERB_STAGE},
    {.verb = VERB_MEASURE, .arm = ARM_OLD},
    {.verb = VERB_MEASURE, .arm = ARM_NEW, .target_new = true},
    {.verb = VERB_PROVE},
    {.verb = VERB_COMMIT},
};
static const struct one_order short_control[] = {
    {.verb = VERB_MEASURE, .arm = ARM_NEW},
    {.verb = VERB_STAGE},
    {.verb = VERB_TRIAL},
    {.verb = VERB_COMMIT},
};
static const struct one_order control[] = {
    {.verb = VERB_MEASURE, .arm = ARM_OLD},
    {.verb = VERB_MEASURE, .arm = ARM_NEW},
    {.verb = VERB_STAGE},
    {.verb = VERB_TRIAL},
    {.verb = VERB_COMMIT},
};
static const struct one_order taken_back[] = {
    {.verb = VERB_STAGE},
    {.verb = VERB_MEASURE, .arm = ARM_OLD},
    {.verb = VERB_MEASURE, .arm = ARM_NEW, .target_new = true},
    {.verb = VERB_REVERT},
};
static const struct one_order committed_back[] = {
    {.verb = VERB_STAGE}, {.verb = VERB_TRIAL}, {.verb = VERB_COMMIT}, {.verb = VERB_REVERT}};
static const struct one_order preset[] = {
    {.verb = VERB_MEASURE, .arm = ARM_OLD, .preset = true},
    {.verb = VERB_APPLY, .preset = true},
    {.verb = VERB_MEASURE, .arm = ARM_NEW, .target_new = true, .preset = true},
    {.verb = VERB_COMMIT, .preset = true},
};
static const struct one_order preset_back[] = {
    {.verb = VERB_APPLY, .preset = true},
    {.verb = VERB_COMMIT, .preset = true},
    {.verb = VERB_REVERT, .preset = true},
};

static void all_done(const struct one *o)
{
	for (unsigned i = 0; i < o->n_orders; i++)
		if (o->outcome[i] != OUTCOME_DONE)
			one_fail(o, "order %u of %u (%s): %s: %s", i + 1, o->n_orders, verb_name(o->orders[i].verb),
				 outcome_name(o->outcome[i]), o->reason[i]);
}

static void is_at(const struct one *o, enum host_state state)
{
	struct journal j;

	one_journal(o, &j);
	if (j.state != state)
		one_fail(o, "%s where %s belongs: %s", host_state_name(j.state), host_state_name(state), j.reason);
	assert_int_equal(j.act, ACT_REST);
}

/* On the old kernel from firmware, default and one-shot entry as before, nothing loaded, nothing pinned. */
static void is_home(const struct one *o)
{
	if (o->m.running != 0 || o->m.transaction[0])
		one_fail(o, "%s runs, transaction \"%s\"", o->m.kernel[o->m.running].release, o->m.transaction);
	assert_string_equal(o->m.grub.saved, MACHINE_ENTRY(MACHINE_OLD));
	assert_string_equal(o->m.grub.next, "");
	assert_int_equal(o->m.loaded, -1);
	assert_string_equal(o->m.held, "");
}

static void has_committed(const struct one *o)
{
	is_at(o, HOST_COMMITTED);
	assert_int_equal(o->m.running, 1);
	assert_string_equal(o->m.grub.saved, MACHINE_ENTRY(MACHINE_NEW));
	assert_string_equal(o->m.grub_synced.saved, MACHINE_ENTRY(MACHINE_NEW));
	assert_string_equal(o->m.grub.next, "");
	/* The way back is pinned still. */
	assert_string_equal(o->m.held, "linux-image-" MACHINE_OLD);
}

static void test_canary(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, canary, ARRAY_SIZE(canary));
	one_live(&o);
	all_done(&o);
	has_committed(&o);
	assert_string_equal(o.recorded[1], "kexec 0");
	assert_string_equal(o.recorded[2], "kexec 0");
	assert_string_equal(o.recorded[3], "kexec 1");
	assert_string_equal(o.recorded[4], "kexec 1");
	/* Each measured boot is one firmware boot and one kexec; the first is fresh already; the proof is firmware. */
	assert_int_equal(o.m.kexec_boots, 4);
	assert_int_equal(o.m.firmware_boots, 1 + 3 + 1);
	assert_int_equal(o.m.installs, 1);
	assert_null(strstr(machine_text(&o.m, "/proc/cmdline"), "kpcp.transaction"));
	one_free(&o);
}

static void test_control(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, control, ARRAY_SIZE(control));
	one_live(&o);
	all_done(&o);
	has_committed(&o);
	assert_string_equal(o.recorded[0], "kexec 0");
	assert_string_equal(o.recorded[1], "kexec 0");
	one_free(&o);
}

static void test_taken_back(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, taken_back, ARRAY_SIZE(taken_back));
	one_live(&o);
	all_done(&o);
	is_at(&o, HOST_ROLLED_BACK);
	is_home(&o);
	one_free(&o);
	one_init(&o, committed_back, ARRAY_SIZE(committed_back));
	one_live(&o);
	all_done(&o);
	is_at(&o, HOST_ROLLED_BACK);
	is_home(&o);
	one_free(&o);
}

static void test_revert_in_each_state(void **state)
{
	struct one o;

	(void)state;
	/* After each prefix of a canary's life. */
	for (unsigned n = 0; n <= ARRAY_SIZE(canary); n++) {
		struct one_order orders[ARRAY_SIZE(canary) + 1];

		memcpy(orders, canary, sizeof(canary[0]) * n);
		orders[n] = (struct one_order){.verb = VERB_REVERT};
		one_init(&o, orders, n + 1);
		one_live(&o);
		all_done(&o);
		is_at(&o, n == 0 ? HOST_IDLE : HOST_ROLLED_BACK);
		is_home(&o);
		one_free(&o);
	}
}

static void preset_is(const struct one *o, const char *reserve, const char *scale)
{
	assert_string_equal(machine_text(&o->m, "/proc/sys/vm/min_free_kbytes"), reserve);
	assert_string_equal(machine_text(&o->m, "/proc/sys/vm/watermark_scale_factor"), scale);
}

static void test_preset(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, preset, ARRAY_SIZE(preset));
	one_live(&o);
	all_done(&o);
	is_at(&o, HOST_COMMITTED);
	preset_is(&o, "135168\n", "50\n");
	assert_non_null(strstr(machine_text(&o.m, "/etc/sysctl.d/90-kpcp.conf"), "vm.min_free_kbytes = 135168\n"));
	assert_string_equal(o.recorded[0], "in place 0");
	assert_string_equal(o.recorded[2], "in place 0");
	assert_int_equal(o.m.boots, 1);
	one_free(&o);
}

/* How the rollout before ended is not how this one did. */
static void test_preset_after_a_kernel(void **state)
{
	static const struct one_order committed[] = {{.verb = VERB_STAGE}, {.verb = VERB_TRIAL}, {.verb = VERB_COMMIT}};
	struct one o;

	(void)state;
	for (int back = 0; back < 2; back++) {
		struct one_order orders[ARRAY_SIZE(committed) + 1 + ARRAY_SIZE(preset)];
		size_t n = ARRAY_SIZE(committed);

		memcpy(orders, committed, sizeof(committed));
		if (back)
			orders[n++] = (struct one_order){.verb = VERB_REVERT};
		memcpy(orders + n, preset, sizeof(preset));
		one_init(&o, orders, (unsigned)(n + ARRAY_SIZE(preset)));
		one_live(&o);
		all_done(&o);
		is_at(&o, HOST_COMMITTED);
		preset_is(&o, "135168\n", "50\n");
		assert_int_equal(o.m.running, back ? 0 : 1);
		one_free(&o);
	}
}

static void test_preset_back(void **state)
{
	struct one o;

	(void)state;
	for (int was = 0; was < 2; was++) {
		one_init(&o, preset_back, ARRAY_SIZE(preset_back));
		if (was)
			machine_put(&o.m, "/etc/sysctl.d/90-kpcp.conf", "vm.min_free_kbytes = 9\n");
		one_live(&o);
		all_done(&o);
		is_at(&o, HOST_ROLLED_BACK);
		preset_is(&o, "67584\n", "10\n");
		if (was)
			assert_string_equal(machine_text(&o.m, "/etc/sysctl.d/90-kpcp.conf"),
					    "vm.min_free_kbytes = 9\n");
		else
			assert_null(machine_text(&o.m, "/etc/sysctl.d/90-kpcp.conf"));
		assert_int_equal(o.m.boots, 1);
		one_free(&o);
	}
}

static void test_preset_reads_back_differently(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, preset_back, ARRAY_SIZE(preset_back));
	o.m.sticky = "/proc/sys/vm/watermark_scale_factor";
	one_live(&o);
	assert_int_equal(o.outcome[0], OUTCOME_FAILED);
	assert_non_null(strstr(o.reason[0], "reads back as 10"));
	is_at(&o, HOST_FAILED);
	preset_is(&o, "67584\n", "10\n");
	assert_int_equal(o.m.boots, 1);
	one_free(&o);
}

/* What must hold after a cut anywhere in a rollout of a kernel: the same as without it. A loss of power while the
 * default entry is being changed may end at home instead. */
static void test_end(const struct one *o, enum host_state want)
{
	struct journal j;
	bool done = true;

	for (unsigned i = 0; i < o->n_orders; i++) {
		if (o->outcome[i] == OUTCOME_DONE)
			continue;
		done = false;
		if (o->outcome[i] != OUTCOME_FAILED || o->orders[i].verb != VERB_COMMIT || o->m.cut == CUT_KILL)
			all_done(o);
		break;
	}
	one_journal(o, &j);
	if (!done || want == HOST_ROLLED_BACK) {
		is_at(o, HOST_ROLLED_BACK);
		is_home(o);
	} else {
		has_committed(o);
	}
}

static void cut_everywhere(const struct one_order *orders, unsigned n, enum host_state want)
{
	struct one o;

	one_init(&o, orders, n);
	one_live(&o);
	unsigned steps = o.m.steps;
	one_free(&o);
	assert_true(steps > 20);
	for (enum machine_cut cut = CUT_KILL; cut <= CUT_POWER_DONE; cut++) {
		for (unsigned k = 1; k <= steps; k++) {
			one_init(&o, orders, n);
			o.m.cut = cut;
			o.m.cut_at = k;
			o.back_on_failure = true;
			one_live(&o);
			test_end(&o, want);
			for (unsigned i = 0; i < n; i++) {
				if (orders[i].verb == VERB_MEASURE && o.recorded[i][0])
					assert_string_equal(o.recorded[i],
							    orders[i].target_new ? "kexec 1" : "kexec 0");
			}
			one_free(&o);
		}
	}
	printf("# %u steps, each cut in three ways\n", steps);
}

static void test_cut_canary(void **state)
{
	(void)state;
	cut_everywhere(short_canary, ARRAY_SIZE(short_canary), HOST_COMMITTED);
}

static void test_cut_control(void **state)
{
	(void)state;
	cut_everywhere(short_control, ARRAY_SIZE(short_control), HOST_COMMITTED);
}

/* What is before the way back is cut in test_cut_canary. */
static const struct one_order tried_back[] = {{.verb = VERB_STAGE}, {.verb = VERB_TRIAL}, {.verb = VERB_REVERT}};

static void test_cut_back(void **state)
{
	(void)state;
	cut_everywhere(tried_back, ARRAY_SIZE(tried_back), HOST_ROLLED_BACK);
	cut_everywhere(committed_back, ARRAY_SIZE(committed_back), HOST_ROLLED_BACK);
}

static void test_cut_preset(void **state)
{
	struct one o;

	(void)state;
	for (enum machine_cut cut = CUT_KILL; cut <= CUT_POWER_DONE; cut++) {
		for (unsigned k = 1;; k++) {
			one_init(&o, preset_back, ARRAY_SIZE(preset_back));
			o.m.cut = cut;
			o.m.cut_at = k;
			one_live(&o);
			all_done(&o);
			is_at(&o, HOST_ROLLED_BACK);
			preset_is(&o, "67584\n", "10\n");
			assert_null(machine_text(&o.m, "/etc/sysctl.d/90-kpcp.conf"));
			bool beyond = o.m.steps < k;
			one_free(&o);
			one_init(&o, preset, ARRAY_SIZE(preset));
			o.m.cut = cut;
			o.m.cut_at = k;
			one_live(&o);
			all_done(&o);
			is_at(&o, HOST_COMMITTED);
			assert_non_null(
			    strstr(machine_text(&o.m, "/etc/sysctl.d/90-kpcp.conf"), "vm.min_free_kbytes = 135168\n"));
			beyond &= o.m.steps < k;
			one_free(&o);
			if (beyond)
				break;
		}
	}
}

/* xorshift; the seed is in the failure's text by way of the steps. */
static uint64_t seed;

static unsigned below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

/* Kills come again and again, each some steps after the last. */
static void kill_again(struct one *o)
{
	if (o->m.dead && o->lives < 50)
		o->m.cut_at = o->m.steps + 1 + below(12);
}

static void test_many_kills(void **state)
{
	struct one o;
	unsigned lives = 0;

	(void)state;
	for (unsigned i = 1; i <= 30; i++) {
		seed = 0x9e3779b97f4a7c15u * i;
		one_init(&o, short_canary, ARRAY_SIZE(short_canary));
		o.m.cut = CUT_KILL;
		o.m.cut_at = 1 + below(20);
		o.between = kill_again;
		one_live(&o);
		all_done(&o);
		has_committed(&o);
		lives += o.lives;
		one_free(&o);
	}
	printf("# 30 rollouts, %u lives\n", lives);
}

/* Power fails while a package is installed, then the process is killed three times in the boot after that: these are no
 * attempts. */
static void power_then_kills(struct one *o)
{
	if (!o->m.dead)
		return;
	if (o->lives == 1)
		machine_after(&o->m);
	o->m.cut = o->lives < 5 ? CUT_KILL : CUT_NONE;
	o->m.cut_at = o->m.steps + 4;
}

static void test_kills_are_no_attempts(void **state)
{
	static const struct one_order stage[] = {{.verb = VERB_STAGE}};
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	o.m.cut = CUT_POWER;
	o.m.cut_at = 8;
	o.between = power_then_kills;
	one_live(&o);
	all_done(&o);
	assert_int_equal(o.lives, 6);
	assert_int_equal(o.report.attempts, 2);
	one_free(&o);
}

/* A boot in which something was measured is not fresh. */
static void test_used_boot(void **state)
{
	static const struct one_order both[] = {{.verb = VERB_MEASURE, .preset = true}, {.verb = VERB_MEASURE}};
	struct one o;

	(void)state;
	one_init(&o, both, ARRAY_SIZE(both));
	one_live(&o);
	all_done(&o);
	assert_string_equal(o.recorded[0], "in place 0");
	assert_string_equal(o.recorded[1], "kexec 0");
	assert_int_equal(o.m.firmware_boots, 2);
	one_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_canary),      cmocka_unit_test(test_control),
	    cmocka_unit_test(test_taken_back),  cmocka_unit_test(test_revert_in_each_state),
	    cmocka_unit_test(test_preset),      cmocka_unit_test(test_preset_after_a_kernel),
	    cmocka_unit_test(test_preset_back), cmocka_unit_test(test_preset_reads_back_differently),
	    cmocka_unit_test(test_used_boot),   cmocka_unit_test(test_kills_are_no_attempts),
	    cmocka_unit_test(test_many_kills),  cmocka_unit_test(test_cut_canary),
	    cmocka_unit_test(test_cut_control), cmocka_unit_test(test_cut_back),
	    cmocka_unit_test(test_cut_preset),
	};

	return cmocka_run_group_tests(tests, one_setup, one_teardown);
}
