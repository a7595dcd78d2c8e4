// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of which orders are begun, which are refused and with what sentence.
 * Must not know signatures, files or machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/verify.h"

#define NOW 2000000u

/* A host that has staged the kernel "new" of rollout r, asked by a directive that is right. */
struct scene {
	struct journal j;
	struct order o;
	struct directive d;
	struct verify v;
};

static void set(struct scene *s, enum host_state state, enum verb verb)
{
	memset(s, 0, sizeof(*s));
	s->j.state = state;
	s->j.epoch = 5;
	s->j.serial = 1000;
	snprintf(s->j.rollout, sizeof(s->j.rollout), "r");
	snprintf(s->j.new_build, sizeof(s->j.new_build), "new");
	s->o = (struct order){.epoch = 6, .rollout = "r", .verb = verb, .target_new = true};
	snprintf(s->d.name, sizeof(s->d.name), "r");
	snprintf(s->d.kernel.build_id, sizeof(s->d.kernel.build_id), "new");
	s->d.serial = 1000;
	s->d.expires_unix_s = NOW + 1;
	s->v = (struct verify){.j = &s->j, .order = &s->o, .directive = &s->d, .unix_s = NOW};
}

static struct verify_answer ask(const struct scene *s)
{
	struct verify_answer a;

	verify_order(&s->v, &a);
	return a;
}

static void accepts(const struct scene *s, enum event event)
{
	struct verify_answer a = ask(s);

	if (a.verdict != VERIFY_ACCEPTED || a.event != event)
		fail_msg("%d, %s: %s", (int)a.verdict, event_name(a.event), a.reason);
}

static void refuses(const struct scene *s, const char *why)
{
	struct verify_answer a = ask(s);

	if (a.verdict != VERIFY_REFUSED || !strstr(a.reason, why))
		fail_msg("%d: \"%s\" does not say \"%s\"", (int)a.verdict, a.reason, why);
}

static void is(const struct scene *s, enum verify_verdict want)
{
	struct verify_answer a = ask(s);

	if (a.verdict != want)
		fail_msg("%d, not %d: %s", (int)a.verdict, (int)want, a.reason);
}

static void test_epochs(void **state)
{
	struct scene s;

	(void)state;
	set(&s, HOST_VERIFIED, VERB_TRIAL);
	accepts(&s, EVENT_TRIAL);
	s.o.epoch = 5;
	is(&s, VERIFY_KNOWN);
	s.o.epoch = 4;
	is(&s, VERIFY_OLD);
	/* Not even a way back, nor one whose signature is wrong, says anything then. */
	s.o.verb = VERB_REVERT;
	s.v.directive = NULL;
	is(&s, VERIFY_OLD);
}

/* Epochs are not signed: one far ahead would make every later order an old one. */
static void test_far_epochs(void **state)
{
	static const enum verb verbs[] = {VERB_TRIAL, VERB_REVERT};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		set(&s, HOST_VERIFIED, verbs[i]);
		s.o.epoch = s.j.epoch + VERIFY_STEP_MAX;
		is(&s, VERIFY_ACCEPTED);
		s.o.epoch++;
		is(&s, VERIFY_FAR);
		s.o.epoch = UINT64_MAX;
		is(&s, VERIFY_FAR);
		s.j.act = ACT_CHECK;
		is(&s, VERIFY_FAR);
	}
	/* A host that lost its state, under a controller that has given many orders. */
	set(&s, HOST_IDLE, VERB_STAGE);
	s.j.epoch = 0;
	s.o.epoch = 100000;
	is(&s, VERIFY_ACCEPTED);
}

/* What a rollout is for a host does not change under its name, not even by another signed plan. */
static void test_one_plan_a_rollout(void **state)
{
	struct scene s;

	(void)state;
	set(&s, HOST_APPLIED, VERB_APPLY);
	s.j.factor = s.d.factor = FACTOR_PRESET;
	s.j.new_build[0] = 0;
	s.v.plan = "1";
	accepts(&s, EVENT_APPLY); /* a state from before plans were kept */
	snprintf(s.j.plan, sizeof(s.j.plan), "1");
	accepts(&s, EVENT_APPLY);
	snprintf(s.j.plan, sizeof(s.j.plan), "2");
	refuses(&s, "began here with another plan");
	s.o.verb = VERB_COMMIT;
	refuses(&s, "began here with another plan");
	s.o.verb = VERB_MEASURE;
	s.o.target_new = false;
	refuses(&s, "began here with another plan");
	/* The way back is that of the first plan. */
	s.o.verb = VERB_REVERT;
	accepts(&s, EVENT_RESTORE);
	/* Not by a directive of the other factor: nothing of that one is here. */
	s.d.factor = FACTOR_KERNEL;
	refuses(&s, "as one of a preset");
	set(&s, HOST_COMMITTED, VERB_REVERT);
	s.d.factor = FACTOR_PRESET;
	refuses(&s, "as one of a kernel");
	/* Another rollout has its own. */
	set(&s, HOST_IDLE, VERB_STAGE);
	snprintf(s.j.rollout, sizeof(s.j.rollout), "before");
	snprintf(s.j.plan, sizeof(s.j.plan), "2");
	s.v.plan = "1";
	accepts(&s, EVENT_STAGE);
}

static void test_directives(void **state)
{
	struct scene s;

	(void)state;
	for (unsigned i = 0; i < VERB_COUNT; i++) {
		set(&s, HOST_SOAK, (enum verb)i);
		s.v.directive = NULL;
		s.v.problem = "the signature is another one";
		is(&s, VERIFY_UNSIGNED);
		assert_string_equal(ask(&s).reason, "the signature is another one");
		set(&s, HOST_SOAK, (enum verb)i);
		snprintf(s.o.rollout, sizeof(s.o.rollout), "x");
		refuses(&s, "mixes them up");
	}
	set(&s, HOST_VERIFIED, VERB_TRIAL);
	s.d.serial = 999;
	refuses(&s, "superseded");
	set(&s, HOST_IDLE, VERB_APPLY);
	refuses(&s, "apply is no order for a rollout of a kernel");
	s.d.factor = s.j.factor = FACTOR_PRESET;
	accepts(&s, EVENT_APPLY);
	static const enum verb kernel_only[] = {VERB_STAGE, VERB_TRIAL, VERB_PROVE};
	for (size_t i = 0; i < ARRAY_SIZE(kernel_only); i++) {
		set(&s, HOST_IDLE, kernel_only[i]);
		s.d.factor = s.j.factor = FACTOR_PRESET;
		refuses(&s, "no order for a rollout of a preset");
	}
}

static void test_expiry(void **state)
{
	struct scene s;

	(void)state;
	/* What is under way goes on. */
	set(&s, HOST_VERIFIED, VERB_TRIAL);
	s.d.expires_unix_s = 1;
	accepts(&s, EVENT_TRIAL);
	/* What is new is not begun. */
	set(&s, HOST_IDLE, VERB_STAGE);
	s.j.rollout[0] = s.j.new_build[0] = 0;
	accepts(&s, EVENT_STAGE);
	s.v.unix_s = NOW + 2;
	refuses(&s, "expired");
	/* A clock that is behind what was signed last is wrong. */
	s.v.unix_s = 0;
	s.j.serial = s.d.serial = (NOW + 2) * 1000ull;
	refuses(&s, "expired");
	/* A way back never expires. */
	set(&s, HOST_SOAK, VERB_REVERT);
	s.d.expires_unix_s = 1;
	s.d.serial = 1;
	accepts(&s, EVENT_REVERT);
}

static void test_other_rollouts(void **state)
{
	static const enum host_state settled[] = {HOST_IDLE, HOST_ROLLED_BACK, HOST_COMMITTED};
	struct scene s;

	(void)state;
	for (unsigned i = 0; i < HOST_STATE_COUNT; i++) {
		bool free = false;
		for (size_t k = 0; k < ARRAY_SIZE(settled); k++)
			free |= settled[k] == i;
		assert_int_equal(verify_settled((enum host_state)i), free);
		set(&s, (enum host_state)i, VERB_STAGE);
		snprintf(s.j.rollout, sizeof(s.j.rollout), "before");
		if (free)
			accepts(&s, EVENT_STAGE);
		else
			refuses(&s, "this host is in rollout before");
		/* A way back of a rollout that never came here touches nothing of another one. */
		s.o.verb = VERB_REVERT;
		if (free)
			is(&s, VERIFY_NOTHING);
		else
			refuses(&s, "this host is in rollout before");
	}
	set(&s, HOST_HELD, VERB_REVERT);
	s.j.rollout[0] = 0;
	refuses(&s, "does not remember");
	/* Once taken back or committed, a rollout does not come again under its name. */
	set(&s, HOST_ROLLED_BACK, VERB_STAGE);
	refuses(&s, "has ended on this host");
	set(&s, HOST_COMMITTED, VERB_MEASURE);
	refuses(&s, "has ended on this host");
}

static void test_kernels(void **state)
{
	struct scene s;

	(void)state;
	set(&s, HOST_VERIFIED, VERB_TRIAL);
	snprintf(s.d.kernel.build_id, sizeof(s.d.kernel.build_id), "newer");
	refuses(&s, "named another kernel");
	static const enum verb forward[] = {VERB_STAGE, VERB_MEASURE, VERB_TRIAL, VERB_PROVE, VERB_COMMIT};
	for (size_t i = 0; i < ARRAY_SIZE(forward); i++) {
		set(&s, HOST_MEASURE, forward[i]);
		s.v.denied = true;
		refuses(&s, "crashed on this host once");
		set(&s, HOST_MEASURE, forward[i]);
		s.j.new_build[0] = 0;
		if (forward[i] == VERB_STAGE)
			accepts(&s, EVENT_STAGE);
		else
			refuses(&s, "needs a kernel that is staged");
	}
	/* A control measures the old kernel, whatever is said of the new one. */
	set(&s, HOST_IDLE, VERB_MEASURE);
	s.j.rollout[0] = s.j.new_build[0] = 0;
	s.o.target_new = false;
	s.v.denied = true;
	accepts(&s, EVENT_MEASURE);
}

/* A plan for east, with controls of west that stay as they are. */
static void test_clusters(void **state)
{
	static const struct {
		const char *cluster;
		enum verb verb;
		bool target_new, accepted;
	} cases[] = {
	    {"", VERB_TRIAL, true, true},        {"east", VERB_TRIAL, true, true},
	    {"north", VERB_TRIAL, true, true},   {"west", VERB_TRIAL, true, false},
	    {"west", VERB_MEASURE, true, false}, {"west", VERB_MEASURE, false, true},
	    {"eas", VERB_MEASURE, false, false}, {"south", VERB_MEASURE, false, false},
	    {"south", VERB_STAGE, true, false},
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set(&s, HOST_VERIFIED, cases[i].verb);
		s.o.target_new = cases[i].target_new;
		s.d.n_clusters = 1;
		snprintf(s.d.cluster[0], sizeof(s.d.cluster[0]), "east");
		snprintf(s.d.canaries_from, sizeof(s.d.canaries_from), "north");
		snprintf(s.d.controls_from, sizeof(s.d.controls_from), "west");
		s.v.cluster = cases[i].cluster;
		if (cases[i].accepted)
			assert_int_equal(ask(&s).verdict, VERIFY_ACCEPTED);
		else
			refuses(&s, "is not approved for cluster");
	}
	/* The way back is open from everywhere. */
	set(&s, HOST_SOAK, VERB_REVERT);
	s.v.cluster = "south";
	accepts(&s, EVENT_REVERT);
}

static void test_way_back_from_everywhere(void **state)
{
	struct scene s;

	(void)state;
	for (unsigned i = 0; i < HOST_STATE_COUNT; i++) {
		set(&s, (enum host_state)i, VERB_REVERT);
		s.v.denied = true;
		if (i != HOST_APPLIED)
			accepts(&s, EVENT_REVERT);
		s.j.act = ACT_CHECK; /* whatever is being done */
		if (i != HOST_APPLIED)
			accepts(&s, EVENT_REVERT);
		s.o.verb = VERB_STAGE;
		is(&s, VERIFY_BUSY);
		s.o.verb = VERB_REVERT;
		s.v.directive = NULL;
		s.v.problem = "x";
		is(&s, VERIFY_BUSY);
	}
}

static void test_states(void **state)
{
	struct scene s;

	(void)state;
	set(&s, HOST_VERIFIED, VERB_COMMIT);
	refuses(&s, "order to commit has no place in state VERIFIED");
	set(&s, HOST_HELD, VERB_TRIAL);
	refuses(&s, "HELD");
	set(&s, HOST_FAILED, VERB_STAGE);
	refuses(&s, "FAILED");
	set(&s, HOST_FOREIGN, VERB_MEASURE);
	refuses(&s, "FOREIGN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_epochs),
	    cmocka_unit_test(test_far_epochs),
	    cmocka_unit_test(test_one_plan_a_rollout),
	    cmocka_unit_test(test_directives),
	    cmocka_unit_test(test_expiry),
	    cmocka_unit_test(test_other_rollouts),
	    cmocka_unit_test(test_clusters),
	    cmocka_unit_test(test_kernels),
	    cmocka_unit_test(test_way_back_from_everywhere),
	    cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
