// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/report/text.c writes numbers and lines as people read them.
 * Must not know tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/report/text.h"

static void test_durations(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} row[] = {{0, "0 ns"},         {64, "64 ns"},       {412.5, "412 ns"},     {999.4, "999 ns"},
		   {999.6, "1.00 us"},  {1234, "1.23 us"},   {9994, "9.99 us"},     {9996, "10.0 us"},
		   {99960, "100 us"},   {999600, "1.00 ms"}, {12345678, "12.3 ms"}, {1.5e9, "1.50 s"},
		   {6.87e10, "68.7 s"}, {NAN, "-"},          {INFINITY, "-"}};
	char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		assert_string_equal(text_duration(row[i].ns, text), row[i].text);
}

static void test_settings(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_string_equal(text_setting(10000000, text), "10 ms");
	assert_string_equal(text_setting(1700000000, text), "1700 ms");
	assert_string_equal(text_setting(2000000000, text), "2 s");
	assert_string_equal(text_setting(2000000000000, text), "2000 s");
	assert_string_equal(text_setting(1234567, text), "1234567 ns");
	assert_string_equal(text_setting(0, text), "0 ns");
}

static void test_counts(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_string_equal(text_count(0, text), "0");
	assert_string_equal(text_count(999, text), "999");
	assert_string_equal(text_count(1000, text), "1,000");
	assert_string_equal(text_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
	assert_string_equal(text_page_rate(3281234, text), "3.28 M pages/s");
	assert_string_equal(text_page_rate(NAN, text), "-");
	assert_string_equal(text_ratio(0.98149, text), "0.981");
	assert_string_equal(text_ratio(NAN, text), "-");
	assert_string_equal(text_ratio(INFINITY, text), "inf");
}

static void test_quantiles_out_of_range(void **state)
{
	static struct hist h;
	char text[TEXT_MAX];

	(void)state;
	hist_init(&h);
	assert_string_equal(text_quantile(&h, 0.5, text), "-");
	for (int i = 0; i < 10; i++)
		hist_add(&h, 5);
	assert_string_equal(text_quantile(&h, 0.5, text), "<64 ns");
	for (int i = 0; i < 90; i++)
		hist_add(&h, HIST_MAX_NS + 5);
	assert_string_equal(text_quantile(&h, 0.05, text), "<64 ns");
	assert_string_equal(text_quantile(&h, 0.5, text), ">68.7 s");
}

static void test_wrap(void **state)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(4096);
	struct err e;

	(void)state;
	assert_int_equal(text_wrap(&b, "  - ", "one two  three four", 12, &e), 0);
	assert_int_equal(text_wrap(&b, "", "", 12, &e), 0);
	assert_int_equal(text_wrap(&b, "a ", "a-word-longer-than-the-line b", 12, &e), 0);
	assert_string_equal(b.data, "  - one two\n    three\n    four\n\na a-word-longer-than-the-line\n  b\n");
}

static void test_kernel(void **state)
{
	struct recording_header h = {
	    .release = "6.1.158", .build_id = {0xab, 0xcd, 1, 2, 3, 4}, .pcp_batch_scale_max = 5};
	char text[TEXT_KERNEL_MAX];

	(void)state;
	assert_string_equal(text_kernel(&h, text), "6.1.158 (build-id abcd01020304, pcp_batch_scale_max 5)");
	memset(h.build_id, 0, sizeof(h.build_id));
	h.pcp_batch_scale_max = -1;
	assert_string_equal(text_kernel(&h, text), "6.1.158 (no build-id)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_durations), cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_counts),    cmocka_unit_test(test_quantiles_out_of_range),
	    cmocka_unit_test(test_wrap),      cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
