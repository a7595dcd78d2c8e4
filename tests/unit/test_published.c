// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of published histograms: what is read, what is refused, and that they never prove anything.
 * Must not know files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/attr.h"
#include "lib/report/published_judge.h"

static struct published h;

static int parse(const char *text, struct err *e)
{
	return published_parse("hist.txt", text, strlen(text), &h, e);
}

static void test_read(void **state)
{
	(void)state;
	struct err e = {0};
	if (parse("# run time\n# source: a list\n# published: avg_ns 10 total_ns 1000 count 100\n# lo hi count\n"
		  "0 1 0\n2 3 90\n4 7 10\n",
		  &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(h.note, "run time");
	assert_string_equal(h.source, "a list");
	assert_true(h.totalled && h.avg_ns == 10 && h.total_ns == 1000 && h.total_count == 100);
	assert_true(h.count == 100 && h.n == 3);
	assert_int_equal(published_quantile(&h, .5).low_ns, 2);
	assert_int_equal(published_quantile(&h, .9).low_ns, 2);
	assert_int_equal(published_quantile(&h, .91).high_ns, 7);
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "# nothing\n",
					  "0 1 0\n2 3 0\n",
					  "3 2 1\n",
					  "0 3 1\n2 5 1\n",
					  "0 1 1\n4 7 1\n",
					  "0 1 -1\n",
					  "0 1 nan\n",
					  "0 1 1e3\n",
					  "0 1\n",
					  "0 1 2 3\n",
					  "0 1 18446744073709551616\n",
					  "0 1 9007199254740993\n",
					  "0 1 9007199254740992\n2 3 9007199254740992\n",
					  "zero 1 1\n"};
	assert_int_equal(parse("0 1 5\n", NULL), 0);
	struct published kept = h;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {0};
		if (parse(bad[i], &e) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_non_null(strstr(e.text, "hist.txt"));
		assert_memory_equal(&h, &kept, sizeof(h));
	}
}

/* However good the new one looks: one machine, one boot, no controls. */
static void test_never(void **state)
{
	(void)state;
	static const char *const news[] = {"0 1 1000000\n2 3 1\n", "1024 2047 1000000\n", "1048576 2097151 1000000\n"};
	for (size_t i = 0; i < ARRAY_SIZE(news); i++) {
		struct err e = {0};
		assert_int_equal(parse("1024 2047 1000000\n", &e), 0);
		struct published old = h;
		assert_int_equal(parse(news[i], &e), 0);
		struct published_pair p = {.path = {"old", "new"}, .hist = {&old, &h}};
		if (published_judge(&p, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(p.verdict.kind, VERDICT_HOLD);
		assert_true(p.verdict.n_reasons > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_read),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_never),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
