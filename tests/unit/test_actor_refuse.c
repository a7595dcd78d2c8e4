// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that the agent refuses what is unsafe before it changes anything, and comes home from what goes wrong.
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

#include "agent/actor.h"
#include "fleet_of_one.h"

#define DENIED "/var/lib/kpcp/actor/denied"

static const struct one_order stage[] = {{.verb = VERB_STAGE}};
static const struct one_order measure_old[] = {{.verb = VERB_MEASURE}};
static const struct one_order trial[] = {{.verb = VERB_STAGE}, {.verb = VERB_TRIAL}};
static const struct one_order measure_new[] = {{.verb = VERB_STAGE}, {.verb = VERB_MEASURE, .target_new = true}};
static const struct one_order prove[] = {{.verb = VERB_STAGE}, {.verb = VERB_PROVE}};
static const struct one_order commit[] = {{.verb = VERB_STAGE}, {.verb = VERB_TRIAL}, {.verb = VERB_COMMIT}};

static void says(const struct one *o, unsigned i, enum outcome outcome, const char *text)
{
	if (o->outcome[i] != outcome || !strstr(o->reason[i], text))
		one_fail(o, "order %u: %s where %s belongs: \"%s\" does not say \"%s\"", i + 1,
			 outcome_name(o->outcome[i]), outcome_name(outcome), o->reason[i], text);
}

static void is_in(const struct one *o, enum host_state state)
{
	struct journal j;

	one_journal(o, &j);
	if (j.state != state)
		one_fail(o, "%s where %s belongs: %s", host_state_name(j.state), host_state_name(state), j.reason);
}

static void is_home(const struct one *o)
{
	if (o->m.running != 0 || o->m.transaction[0] || o->m.loaded >= 0 || o->m.grub.next[0] ||
	    strcmp(o->m.grub.saved, MACHINE_ENTRY(MACHINE_OLD)) != 0)
		one_fail(o, "not at home: %s, \"%s\", default %s, next %s", o->m.kernel[o->m.running].release,
			 o->m.transaction, o->m.grub.saved, o->m.grub.next);
}

static bool denied(const struct one *o)
{
	const char *text = machine_text(&o->m, DENIED);

	return text && strstr(text, MACHINE_NEW_ID);
}

/* A machine with one thing wrong, which is to be named, and nothing may have been changed. */
static void refuses(const struct one_order *orders, const char *path, const char *text, const char *why)
{
	struct one o;

	one_init(&o, orders, 1);
	machine_put(&o.m, path, text);
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, why);
	is_home(&o);
	assert_int_equal(o.m.installs + o.m.downloads, 0);
	assert_int_equal(o.m.boots, 1);
	one_free(&o);
}

static void test_refuses_unsafe_hosts(void **state)
{
	static const char *const rows[][3] = {
	    {"/etc/default/grub", "GRUB_DEFAULT=0\n", "GRUB_DEFAULT is 0"},
	    {"/etc/default/grub", "GRUB_TIMEOUT=1\n", "set it to saved"},
	    {"/etc/default/grub", "GRUB_DEFAULT=saved\nGRUB_SAVEDEFAULT=true\n", "GRUB_SAVEDEFAULT"},
	    {"/etc/default/grub", NULL, "knows GRUB alone"},
	    {"/boot/grub/grub.cfg", "set default=\"0\"\n", "run update-grub"},
	    {"/proc/sys/kernel/kexec_load_disabled", "1\n", "kexec_load_disabled is 1"},
	    {"/proc/sys/kernel/kexec_load_disabled", NULL, "has no kexec"},
	    {"/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", "locked down"},
	    {"/sys/devices/system/cpu/offline", "2-7\n", "CPU 2 is offline"},
	    {"/proc/sys/kernel/panic", "0\n", "kernel.panic is 0"},
	    {"/etc/default/kexec", "LOAD_KEXEC=true\n", "LOAD_KEXEC=false"},
	    {"/proc/self/mountinfo", "22 1 0:20 / / rw - btrfs /dev/vda1 rw\n", "/boot is on btrfs"},
	    {"/proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 22 0:9 / /boot rw - zfs b rw\n",
	     "/boot is on zfs"},
	    {"/sys/dev/block/254:1/dm/name", "vg-root\n", "LVM or RAID (vg-root)"},
	    {"/sys/dev/block/254:1/../md/level", "raid1\n", "LVM or RAID (raid1)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refuses(stage, rows[i][0], rows[i][1], rows[i][2]);
		refuses(measure_old, rows[i][0], rows[i][1], rows[i][2]);
	}
	refuses(stage, "/boot", "1000000", "/boot has 0 MiB free");
}

static void test_takes_harmless_hosts(void **state)
{
	static const char *const rows[][2] = {
	    {"/sys/devices/system/cpu/offline", "4-255\n"}, /* could be plugged in, are not */
	    {"/etc/default/kexec", NULL},
	    {"/sys/kernel/security/lockdown", "[none] integrity confidentiality\n"},
	    {"/proc/modules", ""},
	    {"/etc/apt/sources.list.d/kpcp.sources", NULL},
	};
	struct one o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		one_init(&o, stage, 1);
		machine_put(&o.m, rows[i][0], rows[i][1]);
		one_live(&o);
		says(&o, 0, OUTCOME_DONE, "");
		is_in(&o, HOST_VERIFIED);
		one_free(&o);
	}
	/* kernel.panic is 0, and an armed kdump takes the machine back. */
	one_init(&o, stage, 1);
	machine_put(&o.m, "/proc/sys/kernel/panic", "0\n");
	machine_put(&o.m, "/sys/kernel/kexec_crash_loaded", "1\n");
	one_live(&o);
	says(&o, 0, OUTCOME_DONE, "");
	one_free(&o);
}

static void test_refuses_wrong_defaults(void **state)
{
	static const char *const saved[] = {"", "0", "gnulinux-simple-1234", MACHINE_ENTRY(MACHINE_OTHER)};
	struct one o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(saved); i++) {
		one_init(&o, stage, 1);
		snprintf(o.m.grub.saved, sizeof(o.m.grub.saved), "%s", saved[i]);
		one_live(&o);
		says(&o, 0, OUTCOME_REFUSED, "grub-set-default '" MACHINE_ENTRY(MACHINE_OLD) "'");
		assert_int_equal(o.m.installs, 0);
		one_free(&o);
	}
	one_init(&o, stage, 1);
	snprintf(o.m.grub.next, sizeof(o.m.grub.next), "x");
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "one-shot entry");
	one_free(&o);
}

static void test_refuses_packages(void **state)
{
	static const char older[] = "[rollout]\nname = r-kernel\nclusters = east\n[kernel]\npackage = " MACHINE_DEB
				    "\nversion = 6.1.189-1+kpcp1\nrelease = " MACHINE_NEW "\nsha256 = " MACHINE_SHA
				    "\nbuild-id = " MACHINE_NEW_ID "\n";
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	o.m.deb_sha = "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "SHA-256 ffff456789ab");
	assert_int_equal(o.m.installs, 0);
	assert_false(o.m.deb);
	is_home(&o);
	one_free(&o);
	one_init(&o, stage, 1);
	o.kernel_directive = older;
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "6.1.189 is older than 6.1.190");
	assert_int_equal(o.m.downloads, 0);
	one_free(&o);
	one_init(&o, stage, 1);
	machine_put(&o.m, "/proc/modules", "mlx5_core 1 0 - Live 0x0\nvirtio_net 1 0 - Live 0x0\n");
	one_live(&o);
	says(&o, 0, OUTCOME_FAILED, "module mlx5_core is loaded");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	one_free(&o);
	one_init(&o, stage, 1);
	o.m.fails = "apt-get";
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "ended with status 1: it fails");
	one_free(&o);
}

/* The new kernel has a fault: the host comes home by itself. */
static void comes_home(const struct one_order *orders, enum machine_fault fault, enum outcome outcome, const char *why,
		       enum host_state state, bool deny)
{
	struct one o;

	one_init(&o, orders, 2);
	o.m.kernel[1].fault = fault;
	one_live(&o);
	says(&o, 1, outcome, why);
	is_in(&o, state);
	is_home(&o);
	if (denied(&o) != deny)
		one_fail(&o, "fault %d: denied %d where %d belongs", (int)fault, !deny, deny);
	one_free(&o);
}

static void test_faulty_kernels(void **state)
{
	const struct one_order *orders[] = {trial, measure_new, prove};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		comes_home(orders[i], FAULT_PANICS_RECORDED, OUTCOME_FAILED, "records of a crash", HOST_FAILED, true);
		/* Tried once again, then held; nothing shows that the kernel is to blame. */
		comes_home(orders[i], FAULT_PANICS, OUTCOME_HELD, "nothing tells why", HOST_HELD, false);
		comes_home(orders[i], FAULT_OOPSES, OUTCOME_FAILED, "bugs", HOST_FAILED, true);
		comes_home(orders[i], FAULT_WARNS, OUTCOME_FAILED, "warnings", HOST_FAILED, false);
		comes_home(orders[i], FAULT_LOSES_NIC, OUTCOME_FAILED, "interface eth1", HOST_FAILED, false);
		comes_home(orders[i], FAULT_FAILS_UNIT, OUTCOME_FAILED, "unit db.service failed", HOST_FAILED, false);
	}
}

static void test_denied_for_good(void **state)
{
	static const struct one_order again[] = {{.verb = VERB_STAGE}, {.verb = VERB_TRIAL}, {.verb = VERB_REVERT}};
	struct err e;
	struct one o;

	(void)state;
	one_init(&o, again, 2);
	o.m.kernel[1].fault = FAULT_OOPSES;
	one_live(&o);
	/* The fault is gone, the state too: the build-id is still denied. */
	o.m.kernel[1].fault = FAULT_NONE;
	machine_put(&o.m, ONE_STATE, NULL);
	o.orders = stage;
	o.n_orders = 1;
	o.next = 0;
	o.answered = false;
	memset(&o.report, 0, sizeof(o.report));
	o.kernel_directive = one_other_plan;
	o.rollout = "r-other";
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "crashed on this host once");
	assert_int_equal(actor_lift_denied(&o.conf, &o.m.sys, "dddd", &e), -ENOENT);
	assert_int_equal(actor_lift_denied(&o.conf, &o.m.sys, MACHINE_NEW_ID, &e), 0);
	o.next = 0;
	o.epoch_base = 10;
	o.answered = false;
	one_live(&o);
	says(&o, 0, OUTCOME_DONE, "");
	one_free(&o);
}

static void test_probation_ends(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, trial, 2);
	o.m.starting = true;
	one_live(&o);
	says(&o, 1, OUTCOME_FAILED, "still starting");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	assert_false(denied(&o));
	one_free(&o);
}

static void test_attempts_are_capped(void **state)
{
	struct journal j;
	struct one o;

	(void)state;
	/* systemctl does nothing: three jumps, three ways back, then a person. */
	one_init(&o, trial, 2);
	o.m.stuck = true;
	one_live(&o);
	says(&o, 1, OUTCOME_FAILED, "still runs");
	is_in(&o, HOST_FAILED);
	one_journal(&o, &j);
	assert_int_equal(o.m.kexec_boots, 0);
	is_home(&o);
	one_free(&o);
	/* The power fails again and again. */
	one_init(&o, measure_new, 2);
	o.m.cut = CUT_POWER;
	o.m.cut_at = 22;
	one_live(&o);
	says(&o, 1, OUTCOME_DONE, "");
	one_free(&o);
}

/* The fault shows while the host soaks. */
static void goes_bad(void *target)
{
	struct one *o = target;
	struct journal j;

	if (machine_text(&o->m, ONE_STATE)) {
		one_journal(o, &j);
		if (j.state == HOST_SOAK)
			o->m.kernel[1].fault = o->fault;
	}
}

static void test_soak_that_ends_badly(void **state)
{
	static const enum machine_fault faults[] = {FAULT_OOPSES, FAULT_WARNS, FAULT_FAILS_UNIT, FAULT_LOSES_NIC};
	struct one o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		one_init(&o, commit, 3);
		o.fault = faults[i];
		o.each = goes_bad;
		one_live(&o);
		assert_int_equal(o.outcome[1], OUTCOME_DONE);
		assert_int_equal(o.outcome[2], OUTCOME_FAILED);
		is_in(&o, HOST_FAILED);
		is_home(&o);
		assert_int_equal(denied(&o), faults[i] == FAULT_OOPSES);
		one_free(&o);
	}
}

static void test_default_that_does_not_stay(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, commit, 3);
	o.m.grub_forgets = true;
	one_live(&o);
	says(&o, 2, OUTCOME_FAILED, "reads back as");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	one_free(&o);
}

/* GRUB that cannot write its block: the one-shot boot would come for ever, were it not cleared. */
static void test_one_shot_that_stays(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, prove, 2);
	o.m.grub_keeps = true;
	one_live(&o);
	says(&o, 1, OUTCOME_FAILED, "did not clear the one-shot entry");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	one_free(&o);
}

/* Somebody makes another kernel the default while the new one is on trial. */
static void change_default(struct one *o)
{
	if (o->m.going != GOING_KEXEC)
		return;
	snprintf(o->m.grub.saved, sizeof(o->m.grub.saved), MACHINE_ENTRY(MACHINE_OTHER));
	o->between = NULL;
}

static void test_default_changed_by_others(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, trial, 2);
	o.between = change_default;
	one_live(&o);
	says(&o, 1, OUTCOME_FAILED, "the default entry is");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	one_free(&o);
}

/* A hold that somebody else has put stays theirs. */
static void test_held_by_others(void **state)
{
	static const struct one_order back[] = {{.verb = VERB_STAGE}, {.verb = VERB_REVERT}};
	struct one o;

	(void)state;
	one_init(&o, back, 2);
	snprintf(o.m.held, sizeof(o.m.held), "linux-image-" MACHINE_OLD);
	one_live(&o);
	says(&o, 1, OUTCOME_DONE, "");
	assert_string_equal(o.m.held, "linux-image-" MACHINE_OLD);
	one_free(&o);
}

static void test_older_call(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, measure_new, 2);
	o.m.no_kexec_file = true;
	one_live(&o);
	says(&o, 1, OUTCOME_DONE, "");
	assert_string_equal(o.recorded[1], "kexec 1");
	one_free(&o);
}

static void test_refused_upload(void **state)
{
	struct one o;

	(void)state;
	one_init(&o, measure_new, 2);
	o.refuse_upload = true;
	one_live(&o);
	says(&o, 1, OUTCOME_FAILED, "not this host's");
	is_in(&o, HOST_FAILED);
	is_home(&o);
	one_free(&o);
}

/* What happens to the machine after the life in which all orders were answered, and what becomes of the host. */
static void then(const struct one_order *orders, unsigned n, void (*fn)(struct machine *m), enum host_state state,
		 const char *why)
{
	struct journal j;
	struct one o;

	one_init(&o, orders, n);
	one_live(&o);
	assert_int_equal(o.outcome[n - 1], OUTCOME_DONE);
	fn(&o.m);
	one_live(&o);
	one_journal(&o, &j);
	if (j.state != state || !strstr(j.reason, why))
		one_fail(&o, "%s where %s belongs: \"%s\" does not say \"%s\"", host_state_name(j.state),
			 host_state_name(state), j.reason, why);
	assert_false(denied(&o));
	one_free(&o);
}

static void operator_reboots(struct machine *m)
{
	m->going = GOING_REBOOT;
	machine_after(m);
}

static void power_fails(struct machine *m)
{
	machine_put(m, "/var/lib/kpcp/actor/clean", NULL);
	machine_reset(m);
}

static void boots_another(struct machine *m)
{
	snprintf(m->grub.next, sizeof(m->grub.next), MACHINE_ENTRY(MACHINE_OTHER));
	operator_reboots(m);
}

static void test_boots_that_nobody_ordered(void **state)
{
	(void)state;
	then(stage, 1, operator_reboots, HOST_VERIFIED, "");
	then(stage, 1, power_fails, HOST_VERIFIED, "");
	then(stage, 1, boots_another, HOST_FOREIGN, "nobody ordered");
	then(trial, 2, operator_reboots, HOST_HELD, "somebody rebooted");
	then(trial, 2, boots_another, HOST_FOREIGN, "nobody ordered");
	then(trial, 2, power_fails, HOST_SOAK, ""); /* tried once again */
	then(measure_new, 2, operator_reboots, HOST_HELD, "somebody rebooted");
	then(measure_new, 2, power_fails, HOST_MEASURE, "");
	then(measure_new, 2, boots_another, HOST_FOREIGN, "nobody ordered");
	then(commit, 3, operator_reboots, HOST_COMMITTED, "");
	then(commit, 3, power_fails, HOST_COMMITTED, "");
}

static void test_lift(void **state)
{
	struct err e;
	struct one o;

	(void)state;
	one_init(&o, trial, 2);
	assert_int_equal(actor_lift(&o.conf, &o.m.sys, &e), -EINVAL);
	one_live(&o);
	assert_int_equal(actor_lift(&o.conf, &o.m.sys, &e), -EINVAL);
	operator_reboots(&o.m);
	one_live(&o);
	is_in(&o, HOST_HELD);
	/* Something at its place that kpcp-agent has not written lifts nothing. */
	machine_put(&o.m, "/var/lib/kpcp/actor/lift", "a text longer than any word\n");
	one_live(&o);
	is_in(&o, HOST_HELD);
	assert_null(machine_text(&o.m, "/var/lib/kpcp/actor/lift"));
	o.m.idle = NULL;
	assert_int_equal(actor_lift(&o.conf, &o.m.sys, &e), 0);
	one_live(&o);
	is_in(&o, HOST_IDLE);
	assert_string_equal(o.m.held, "");
	assert_null(machine_text(&o.m, "/var/lib/kpcp/actor/lift"));
	one_free(&o);
}

static void test_damaged_state(void **state)
{
	static const struct one_order back[] = {{.verb = VERB_REVERT}};
	struct err e;
	struct one o;

	(void)state;
	one_init(&o, trial, 2);
	one_live(&o);
	machine_put(&o.m, ONE_STATE, "[host]\nstate = SOAK\n");
	o.orders = back;
	o.n_orders = 1;
	o.next = 0;
	o.answered = false;
	o.epoch_base = 10;
	one_live(&o);
	is_in(&o, HOST_HELD);
	says(&o, 0, OUTCOME_REFUSED, "does not remember");
	assert_string_equal(machine_text(&o.m, "/var/lib/kpcp/actor/state.damaged"), "[host]\nstate = SOAK\n");
	o.m.idle = NULL;
	assert_int_equal(actor_lift(&o.conf, &o.m.sys, &e), 0);
	one_live(&o);
	is_in(&o, HOST_IDLE);
	one_free(&o);
}

static void test_full_disk(void **state)
{
	struct err e = {0};
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	o.m.full = true;
	assert_int_equal(one_life(&o, &e), -ENOSPC);
	assert_int_equal(o.m.installs, 0);
	assert_null(machine_text(&o.m, ONE_STATE));
	o.m.full = false;
	one_live(&o);
	says(&o, 0, OUTCOME_DONE, "");
	one_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refuses_unsafe_hosts),
	    cmocka_unit_test(test_takes_harmless_hosts),
	    cmocka_unit_test(test_refuses_wrong_defaults),
	    cmocka_unit_test(test_refuses_packages),
	    cmocka_unit_test(test_faulty_kernels),
	    cmocka_unit_test(test_denied_for_good),
	    cmocka_unit_test(test_probation_ends),
	    cmocka_unit_test(test_attempts_are_capped),
	    cmocka_unit_test(test_soak_that_ends_badly),
	    cmocka_unit_test(test_default_that_does_not_stay),
	    cmocka_unit_test(test_one_shot_that_stays),
	    cmocka_unit_test(test_default_changed_by_others),
	    cmocka_unit_test(test_held_by_others),
	    cmocka_unit_test(test_older_call),
	    cmocka_unit_test(test_refused_upload),
	    cmocka_unit_test(test_boots_that_nobody_ordered),
	    cmocka_unit_test(test_lift),
	    cmocka_unit_test(test_damaged_state),
	    cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, one_setup, one_teardown);
}
