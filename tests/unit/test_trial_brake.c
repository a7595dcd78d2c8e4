// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the campaigns that the brake looks at, and of its promised shares.
 * Must not know how blocks are drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/trial.h"

static struct trial_looks looks;

static const struct trial_looks *look(const struct trial *t, uint64_t n)
{
	struct err e = {0};
	memset(&looks, 0, sizeof(looks));
	if (trial_brake(t, 0, n, &looks, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(looks.campaigns, n);
	uint64_t sum = 0;
	for (uint32_t b = 0; b <= TRIAL_BLOCKS_MAX; b++) {
		sum += looks.at[b];
		assert_true(looks.at[b] == 0 || (b >= 1 && b <= t->blocks));
	}
	assert_int_equal(sum, looks.fired);
	return &looks;
}

static struct trial fleet(double ratio, uint32_t blocks)
{
	struct trial t = trial_default;
	t.canaries = 4;
	t.controls = 8;
	t.ratio = ratio;
	t.blocks = blocks;
	return t;
}

static void test_refused(void **state)
{
	(void)state;
	struct err e = {0};
	struct trial t = fleet(2, 10);
	t.canaries = 1;
	assert_int_equal(trial_brake(&t, 0, 1, &looks, &e), -EINVAL);
	t.canaries = 4;
	t.controls = 0;
	assert_int_equal(trial_brake(&t, 0, 1, &looks, &e), -EINVAL);
	t.controls = 8;
	t.blocks = TRIAL_BLOCKS_MAX + 1;
	assert_int_equal(trial_brake(&t, 0, 1, &looks, &e), -EINVAL);
}

/* Caught in 5 blocks by the median and in 10 by the 90th percentile, whatever the errors' shape. */
static void test_caught(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRAW_SHAPES; shape++) {
		struct trial t = fleet(2, 200);
		t.errors = (enum draw_shape)shape;
		const struct trial_looks *l = look(&t, 2000);
		assert_int_equal(l->fired, 2000);
		assert_in_range(trial_block_of(l, 0.5), 2, 5);
		assert_in_range(trial_block_of(l, 0.9), trial_block_of(l, 0.5), 10);
	}
}

/* None false at a ratio of 1; at the tolerated ratio itself alpha is an upper bound (Ville). */
static void test_false(void **state)
{
	(void)state;
	struct trial t = fleet(1, 1440);
	assert_int_equal(look(&t, 300)->fired, 0);
	assert_int_equal(trial_block_of(&looks, 0.5), 0);
	t = fleet(1.5, 1440);
	assert_true(look(&t, 1000)->fired <= 4);
	/* The bound is what the promise stands on: half the true spread breaks it. */
	t.block_bound = 0.08;
	assert_true(look(&t, 1000)->fired > 20);
}

static void test_missing(void **state)
{
	(void)state;
	struct trial t = fleet(2, 50);
	t.missing = 1;
	assert_int_equal(look(&t, 20)->fired, 0);
	t.missing = 0.3;
	assert_int_equal(look(&t, 200)->fired, 200);
}

int main(void)
{
	print_message("seed %d\n", (int)trial_default.seed);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_caught),
	    cmocka_unit_test(test_false),
	    cmocka_unit_test(test_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
