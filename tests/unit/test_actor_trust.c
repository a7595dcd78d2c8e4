// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of whose orders the agent believes, and that no other order leaves anything behind.
 * Must not know real machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/actor.h"
#include "fleet_of_one.h"

static const struct one_order stage[] = {{.verb = VERB_STAGE}};

static void says(const struct one *o, unsigned i, enum outcome outcome, const char *text)
{
	if (o->outcome[i] != outcome || !strstr(o->reason[i], text))
		one_fail(o, "order %u: %s where %s belongs: \"%s\" does not say \"%s\"", i + 1,
			 outcome_name(o->outcome[i]), outcome_name(outcome), o->reason[i], text);
}

static void test_who_is_believed(void **state)
{
	static const char expired[] =
	    "[rollout]\nname = r-kernel\nclusters = east\n[kernel]\npackage = " MACHINE_DEB
	    "\nversion = 6.1.192-1+kpcp1\nrelease = " MACHINE_NEW "\nsha256 = " MACHINE_SHA
	    "\nbuild-id = " MACHINE_NEW_ID "\n[approval]\nserial = 1796083200000\nexpires = 1796083201\n";
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	o.bad_signature = true;
	one_live(&o);
	assert_int_equal(o.outcome[0], OUTCOME_REFUSED);
	assert_int_equal(o.m.downloads, 0);
	one_free(&o);
	one_init(&o, stage, 1);
	o.rollout = "r-other";
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "mixes them up");
	one_free(&o);
	one_init(&o, stage, 1);
	o.kernel_directive = expired;
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "expired");
	one_free(&o);
}

static unsigned waits;

/* From here on the orders are signed, and count from 1 again. */
static void true_controller(void *target)
{
	struct one *o = target;

	if (!o->went_back)
		return;
	if (++waits > 8)
		one_fail(o, "order %llu is an old one", (unsigned long long)o->sent);
	o->bad_signature = false;
	o->epoch_base = 0;
}

/* An order that nobody has signed is answered and leaves nothing: no order behind it is an old one. */
static void test_unsigned_orders_leave_no_trace(void **state)
{
	struct journal j;
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	o.bad_signature = o.back_on_failure = true;
	o.epoch_base = 1000000;
	o.each = true_controller;
	waits = 0;
	one_live(&o);
	says(&o, 0, OUTCOME_REFUSED, "");
	says(&o, 1, OUTCOME_DONE, "nothing of that rollout");
	one_journal(&o, &j);
	assert_int_equal(j.epoch, 2);
	one_free(&o);
	/* Nor is it found after a restart. */
	one_init(&o, stage, 1);
	o.bad_signature = true;
	o.epoch_base = 1000000;
	one_live(&o);
	one_journal(&o, &j);
	assert_int_equal(j.epoch, 0);
	assert_int_equal(j.outcome, OUTCOME_NONE);
	one_free(&o);
}

/* Two signed presets under one name: the second's values would be there without its ever having been applied, and the
 * way back would not know of them. */
static void test_second_plan_of_a_rollout(void **state)
{
	static const struct one_order apply[] = {{.verb = VERB_APPLY, .preset = true}},
				      keep[] = {{.verb = VERB_COMMIT, .preset = true}},
				      measure[] = {{.verb = VERB_MEASURE, .target_new = true, .preset = true}},
				      back[] = {{.verb = VERB_REVERT, .preset = true}};
	static const char second[] = "[rollout]\nname = r-preset\nclusters = east\n[preset]\nname = other\nsettings = "
				     "vm.min_free_kbytes=135168, vm.percpu_pagelist_high_fraction=8\n";
	const char *fraction = "/proc/sys/vm/percpu_pagelist_high_fraction";
	struct one o;

	(void)state;
	one_init(&o, apply, 1);
	machine_put(&o.m, fraction, "0\n");
	one_live(&o);
	says(&o, 0, OUTCOME_DONE, "");
	const struct one_order *const orders[] = {apply, keep, measure, back};
	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		o.orders = orders[i];
		o.next = 0;
		o.epoch_base = i + 1;
		o.answered = false;
		o.preset_directive = second;
		one_live(&o);
		if (orders[i] == back)
			says(&o, 0, OUTCOME_DONE, "as before");
		else
			says(&o, 0, OUTCOME_REFUSED, "with another plan");
		assert_string_equal(machine_text(&o.m, fraction), "0\n");
	}
	assert_string_equal(machine_text(&o.m, "/proc/sys/vm/min_free_kbytes"), "67584\n");
	one_free(&o);
}

/* The same plan, approved anew while its rollout is under way, is the same plan. */
static void test_plan_approved_again(void **state)
{
	static const char again[] =
	    "[rollout]\nname = r-kernel\nclusters = east\n[kernel]\npackage = " MACHINE_DEB
	    "\nversion = 6.1.192-1+kpcp1\nrelease = " MACHINE_NEW "\nsha256 = " MACHINE_SHA
	    "\nbuild-id = " MACHINE_NEW_ID
	    "\n[measure]\nstorm = 2x32M\n\n[approval]\nserial = 1796083200001\nexpires = 1796169600\n";
	static const struct one_order then_trial[] = {{.verb = VERB_TRIAL}};
	struct one o;

	(void)state;
	one_init(&o, stage, 1);
	one_live(&o);
	o.orders = then_trial;
	o.next = 0;
	o.epoch_base = 1;
	o.answered = false;
	o.kernel_directive = again;
	one_live(&o);
	says(&o, 0, OUTCOME_DONE, "");
	one_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_who_is_believed),
	    cmocka_unit_test(test_unsigned_orders_leave_no_trace),
	    cmocka_unit_test(test_second_plan_of_a_rollout),
	    cmocka_unit_test(test_plan_approved_again),
	};

	return cmocka_run_group_tests(tests, one_setup, one_teardown);
}
