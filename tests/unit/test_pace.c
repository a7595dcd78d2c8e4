// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of the talker's decisions: how long it waits, what it hands on, what it gives up.
 * Must not know clocks, the network or the channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/pace.h"
#include "lib/base/attr.h"

#define S PACE_SECOND_NS

static void test_waits_have_a_quarter_of_jitter(void **state)
{
	(void)state;
	assert_int_equal(pace_wait_ns(60, 0), 60 * S);
	assert_int_equal(pace_wait_ns(60, 15 * S), 75 * S);
	assert_int_equal(pace_wait_ns(60, 15 * S + 1), 60 * S);
	assert_int_equal(pace_wait_ns(60, 7 * S), 67 * S);
	/* what a controller may say has bounds */
	assert_int_equal(pace_wait_ns(0, 0), S);
	assert_int_equal(pace_wait_ns(UINT32_MAX, 0), 3600 * S);
	assert_true(pace_wait_ns(UINT32_MAX, UINT64_MAX) <= 4500 * S);
}

static void test_backoff_doubles_to_five_minutes(void **state)
{
	static const struct {
		uint32_t failures;
		uint64_t most_s;
	} rows[] = {{1, 2}, {2, 4}, {3, 8}, {8, 256}, {9, 300}, {10, 300}, {1000, 300}, {UINT32_MAX, 300}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t span = (rows[i].most_s - 1) * S;
		assert_int_equal(pace_backoff_ns(rows[i].failures, 0, 0), S);
		assert_int_equal(pace_backoff_ns(rows[i].failures, 0, span), rows[i].most_s * S);
		assert_int_equal(pace_backoff_ns(rows[i].failures, 0, span + 1), S);
	}
}

static void test_retry_after_is_the_least(void **state)
{
	(void)state;
	assert_int_equal(pace_backoff_ns(1, 30, 0), 30 * S);
	assert_true(pace_backoff_ns(1, 30, 5 * S) > 30 * S);
	assert_true(pace_backoff_ns(1, 30, UINT64_MAX) <= 38 * S);
	/* A longer back-off of our own stays. */
	assert_int_equal(pace_backoff_ns(9, 1, 299 * S), 300 * S);
	/* Nobody sends agents away for a week. */
	assert_true(pace_backoff_ns(1, 604800, UINT64_MAX) <= 4500 * S);
	assert_true(pace_backoff_ns(1, UINT64_MAX, 0) == 3600 * S);
}

static void test_which_orders_are_handed_over(void **state)
{
	static const struct {
		const char *what;
		struct pace_seen seen;
		uint64_t epoch, last, since_s;
		bool want;
	} rows[] = {
	    {"the first", {0, OUTCOME_NONE}, 5, 0, 0, true},
	    {"a newer one", {5, OUTCOME_DONE}, 6, 5, 1, true},
	    {"while one runs", {5, OUTCOME_RUNNING}, 6, 5, 600, false},
	    {"the one that runs", {5, OUTCOME_RUNNING}, 5, 5, 600, false},
	    {"one that is done", {5, OUTCOME_DONE}, 5, 0, 600, false},
	    {"one that was refused", {5, OUTCOME_REFUSED}, 5, 5, 600, false},
	    {"one that failed", {5, OUTCOME_FAILED}, 5, 5, 600, false},
	    {"again at once", {5, OUTCOME_DONE}, 6, 6, 59, false},
	    {"again, as the actor did not see it", {5, OUTCOME_DONE}, 6, 6, 60, true},
	    {"seen, but nothing came of it yet", {6, OUTCOME_NONE}, 6, 0, 0, true},
	    {"an older one: the actor says what it thinks of it", {9, OUTCOME_DONE}, 6, 0, 0, true},
	    {"of a held host", {5, OUTCOME_HELD}, 6, 5, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (pace_hand_over(&rows[i].seen, rows[i].epoch, rows[i].last, rows[i].since_s * S) != rows[i].want)
			fail_msg("%s: wanted %s", rows[i].what, rows[i].want ? "handed over" : "kept back");
	}
}

static void test_what_is_final(void **state)
{
	static const long final[] = {400, 409, 413};
	static const long again[] = {0,   100, 200, 204, 301, 302, 307, 399, 401, 403, 404,
				     405, 407, 408, 410, 421, 429, 451, 500, 502, 503, 504};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(final); i++)
		assert_true(pace_final(final[i]));
	for (size_t i = 0; i < ARRAY_SIZE(again); i++)
		assert_false(pace_final(again[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_waits_have_a_quarter_of_jitter),
	    cmocka_unit_test(test_backoff_doubles_to_five_minutes),
	    cmocka_unit_test(test_retry_after_is_the_least),
	    cmocka_unit_test(test_which_orders_are_handed_over),
	    cmocka_unit_test(test_what_is_final),
	};
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
