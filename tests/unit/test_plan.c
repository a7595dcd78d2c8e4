// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/report/plan.c reads plans as they are meant and refuses all others.
 * Must not know how a plan is judged by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/report/braking.h"
#include "lib/report/plan.h"

static int parse(const char *text, struct judge_plan *ret, struct err *e)
{
	return plan_parse("plan.conf", text, strlen(text), ret, e);
}

static void test_defaults(void **state)
{
	struct judge_plan p;
	struct err e;

	(void)state;
	assert_int_equal(parse("[judge]\n", &p, &e), 0);
	assert_memory_equal(&p, &judge_plan_default, sizeof(p));
}

static void test_every_key(void **state)
{
	struct judge_plan p;
	struct err e;

	(void)state;
	assert_int_equal(parse("[judge]\n"
			       "canaries = 3\ncontrols = 5\nboots = 4\nstorms = 40\n"
			       "endpoints = exit,p99\n"
			       "margin-p99 = 11%\nmargin-p99.9 = 21%\nmargin-exit = 12%\n"
			       "min-samples-p99 = 1001\nmin-samples-p99.9 = 10001\nmin-samples-exit = 31\n"
			       "alpha-promote = 0.04\nalpha-rollback = 0.02\nsd-floor = 2%\n"
			       "second-opinion = welch-alone\nseed = 18446744073709551615\n",
			       &p, &e),
			 0);
	assert_int_equal(p.canaries, 3);
	assert_int_equal(p.controls, 5);
	assert_int_equal(p.boots, 4);
	assert_int_equal(p.storms, 40);
	assert_true(p.judged[ENDPOINT_P99] && p.judged[ENDPOINT_EXIT]);
	assert_false(p.judged[ENDPOINT_P999]);
	assert_float_equal(p.margin[ENDPOINT_P99], 0.11, 1e-12);
	assert_float_equal(p.margin[ENDPOINT_P999], 0.21, 1e-12);
	assert_float_equal(p.margin[ENDPOINT_EXIT], 0.12, 1e-12);
	assert_int_equal(p.min_samples[ENDPOINT_P99], 1001);
	assert_int_equal(p.min_samples[ENDPOINT_P999], 10001);
	assert_int_equal(p.min_samples[ENDPOINT_EXIT], 31);
	assert_float_equal(p.alpha_promote, 0.04, 1e-12);
	assert_float_equal(p.alpha_rollback, 0.02, 1e-12);
	assert_float_equal(p.sd_floor, 0.02, 1e-12);
	assert_true(p.welch_alone);
	assert_true(p.seed == UINT64_MAX);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *text, *message;
	} row[] = {
	    {"[judge]\ncanarys = 3\n", "canaries"},
	    {"[jugde]\ncanaries = 3\n", "judge"},
	    {"[judge]\ncanaries = 0\n", "plan.conf:2"},
	    {"[judge]\ncanaries = 3x\n", "3x"},
	    {"[judge]\ncanaries = 3\ncanaries = 4\n", "canaries"},
	    {"[judge]\nmargin-p99 = 10\n", "margin-p99"},
	    {"[judge]\nmargin-p99 = nan%\n", "margin-p99"},
	    {"[judge]\nmargin-p99 = 0%\n", "margin-p99"},
	    {"[judge]\nendpoints = p99,, exit\n", "endpoints"},
	    {"[judge]\nendpoints = p99, exit,\n", "endpoints"},
	    {"[judge]\nendpoints = p99, exits\n", "did you mean exit?"},
	    {"[judge]\nendpoints = p999999999999999999999999999999999999999999999\n", "did you mean"},
	    {"[judge]\nendpoints = p99, p99\n", "twice"},
	    {"[judge]\nalpha-promote = 0.5\n", "alpha-promote"},
	    {"[judge]\nsd-floor = 0.5%\n", "sd-floor"},
	    {"[judge]\nbrake-sd = 0%\n", "brake-sd"},
	    {"[judge]\nsecond-opinion = required?\n", "did you mean \"required\"?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct judge_plan p;
		struct err e = {0};

		memset(&p, 0x55, sizeof(p));
		struct judge_plan before = p;
		assert_true(parse(row[i].text, &p, &e) < 0);
		if (!strstr(e.text, row[i].message))
			fail_msg("\"%s\" does not say \"%s\"", e.text, row[i].message);
		assert_memory_equal(&p, &before, sizeof(p));
	}
}

/* The brake takes hosts to spread as the plan says, be that more or less than what it takes them for without. */
static void test_brake_sd(void **state)
{
	struct judge_plan p;
	struct brake_plan b;
	struct err e = {0};

	(void)state;
	assert_int_equal(parse("[judge]\ncanaries = 4\n", &p, &e), 0);
	assert_true(braking_plan(&p, &b));
	assert_float_equal(b.block_sd, 0.2, 1e-12);
	assert_int_equal(parse("[judge]\nbrake-sd = 7.5%\n", &p, &e), 0);
	assert_true(braking_plan(&p, &b));
	assert_float_equal(b.block_sd, 0.075, 1e-12);
	assert_int_equal(parse("[judge]\nbrake-sd = 40%\n", &p, &e), 0);
	assert_true(braking_plan(&p, &b));
	assert_float_equal(b.block_sd, 0.4, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_every_key),
	    cmocka_unit_test(test_refuses),
	    cmocka_unit_test(test_brake_sd),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
