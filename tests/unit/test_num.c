// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that numbers are read as a whole or not at all.
 * Must not know where the texts come from. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/num.h"

/* The failed call must leave its output, return the code, and put the text and what was expected in the message. */
#define assert_refused(fn, s, min, max, code_, output, part)                       \
	do {                                                                       \
		struct err e_ = {0};                                               \
		__typeof__(output) before_ = (output);                             \
		assert_int_equal(fn((s), (min), (max), &(output), &e_), -(code_)); \
		assert_int_equal(e_.code, (code_));                                \
		assert_memory_equal(&before_, &(output), sizeof(before_));         \
		assert_non_null(strstr(e_.text, (s)));                             \
		if (!strstr(e_.text, (part)))                                      \
			fail_msg("'%s' lacks '%s'", e_.text, (part));              \
	} while (0)

static const char *const never_whole[] = {"",    " ",   " 1",  "1 ",  "+1",  "1x",    "x",   "0x10",     "1.0",
					  "1e3", "1\n", "\t1", "--1", "- 1", "1_000", "1,0", "\xc2\xb2", "inf"};

static void test_u64(void **state)
{
	(void)state;
	struct err e = {0};
	uint64_t v = 0;
	assert_int_equal(num_u64("0", 0, 6, &v, &e), 0);
	assert_true(v == 0);
	assert_int_equal(num_u64("6", 0, 6, &v, &e), 0);
	assert_true(v == 6);
	assert_int_equal(num_u64("007", 7, 7, &v, &e), 0);
	assert_true(v == 7);
	assert_int_equal(num_u64("18446744073709551615", 0, UINT64_MAX, &v, &e), 0);
	assert_true(v == UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(never_whole); i++) {
		v = 99;
		assert_int_equal(num_u64(never_whole[i], 0, UINT64_MAX, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_u64, "-1", 0, 6, EINVAL, v, "expected a whole number from 0 to 6");
	assert_refused(num_u64, "7", 0, 6, ERANGE, v, "expected a whole number from 0 to 6");
	assert_refused(num_u64, "2", 3, 6, ERANGE, v, "from 3 to 6");
	assert_refused(num_u64, "18446744073709551616", 0, UINT64_MAX, ERANGE, v, "to 18446744073709551615");
	assert_refused(num_u64, "99999999999999999999999", 0, UINT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_u64, "99999999999999999999999x", 0, UINT64_MAX, EINVAL, v, "not understood");
}

static void test_i64(void **state)
{
	(void)state;
	struct err e = {0};
	int64_t v = 0;
	assert_int_equal(num_i64("-1", -1, 6, &v, &e), 0);
	assert_true(v == -1);
	assert_int_equal(num_i64("-0", 0, 6, &v, &e), 0);
	assert_true(v == 0);
	assert_int_equal(num_i64("9223372036854775807", INT64_MIN, INT64_MAX, &v, &e), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(num_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v, &e), 0);
	assert_true(v == INT64_MIN);
	for (size_t i = 0; i < ARRAY_SIZE(never_whole); i++) {
		v = 99;
		assert_int_equal(num_i64(never_whole[i], INT64_MIN, INT64_MAX, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_i64, "-", -5, 5, EINVAL, v, "a whole number from -5 to 5");
	assert_refused(num_i64, "-6", -5, 5, ERANGE, v, "a whole number from -5 to 5");
	assert_refused(num_i64, "6", -5, 5, ERANGE, v, "a whole number from -5 to 5");
	assert_refused(num_i64, "9223372036854775808", INT64_MIN, INT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_i64, "-9223372036854775809", INT64_MIN, INT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_i64, "-18446744073709551616", INT64_MIN, INT64_MAX, ERANGE, v, "out of range");
}

static void test_f64(void **state)
{
	(void)state;
	struct err e = {0};
	double v = 0;
	static const struct {
		const char *text;
		double value;
	} good[] = {{"0.05", 0.05}, {"1e-3", 1e-3}, {"1E+2", 100}, {"-2.5", -2.5},
		    {"12", 12},     {"0.1", 0.1},   {"1e-400", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(num_f64(good[i].text, -1000, 1000, &v, &e), 0);
		assert_true(v == good[i].value);
	}
	assert_int_equal(num_f64("-0", 0, 1, &v, &e), 0);
	assert_false(signbit(v));

	static const char *const bad[] = {"",    " 1",    "1 ",   "+1",  "inf", "nan", "-inf",  "0x1p3",
					  "1.",  ".5",    "1e",   "1e+", "-",   "1,5", "1e1.5", "1d2",
					  "--1", "1.5.5", "1e5x", "1\n", "e5",  "-.5"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v = 99;
		assert_int_equal(num_f64(bad[i], -HUGE_VAL, HUGE_VAL, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_f64, "1.01", 0, 1, ERANGE, v, "a decimal number such as 0.05 from 0 to 1");
	assert_refused(num_f64, "-0.01", 0, 1, ERANGE, v, "from 0 to 1");
	assert_refused(num_f64, "1e999", -HUGE_VAL, HUGE_VAL, ERANGE, v, "out of range");
	assert_refused(num_f64, "-1e999", -HUGE_VAL, HUGE_VAL, ERANGE, v, "out of range");
}

static void test_f64_ignores_the_locale(void **state)
{
	(void)state;
	struct err e = {0};
	double v = 0;
	/* Where no locale with a decimal comma is installed this repeats test_f64 in little; it never fails for it. */
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		print_message("no locale with a decimal comma is installed\n");
	assert_int_equal(num_f64("0.5", 0, 1, &v, &e), 0);
	assert_true(v == 0.5);
	assert_int_equal(num_percent("2.5%", 0, 1, &v, &e), 0);
	assert_true(v == 0.025);
	assert_int_equal(num_f64("0,5", 0, 1, &v, &e), -EINVAL);
	setlocale(LC_ALL, "C");
}

static void test_percent(void **state)
{
	(void)state;
	struct err e = {0};
	double v = 0;
	assert_int_equal(num_percent("10%", 0, 1, &v, &e), 0);
	assert_true(v == 0.10);
	assert_int_equal(num_percent("0.8%", 0, 1, &v, &e), 0);
	assert_true(v == 0.008);
	assert_int_equal(num_percent("100%", 0, 1, &v, &e), 0);
	assert_true(v == 1);
	assert_int_equal(num_percent("0%", 0, 1, &v, &e), 0);
	assert_true(v == 0);
	assert_int_equal(num_percent("-5%", -1, 1, &v, &e), 0);
	assert_true(v == -0.05);

	static const char *const bad[] = {"",     "%",    "10", "0.10", "10 %", " 10%",
					  "10%%", "1e1%", "x%", "10% ", "-%",   "1.%"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v = 99;
		assert_int_equal(num_percent(bad[i], -1, 1, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_percent, "101%", 0, 1, ERANGE, v, "such as 10%, from 0% to 100%");
	assert_refused(num_percent, "10", 0.001, 0.1, EINVAL, v,
		       "a percentage with its sign, such as 10%, from 0.1% to 10%");
	assert_refused(num_percent, "-1%", 0, 1, ERANGE, v, "out of range");

	char digits[66];
	memset(digits, '1', 64);
	memcpy(digits + 64, "%", 2);
	assert_int_equal(num_percent(digits, 0, 1e80, &v, &e), 0);
	memset(digits, '1', 65);
	digits[64] = '%';
	digits[65] = 0;
	assert_int_equal(num_percent(digits, 0, 1e80, &v, &e), 0);
	char more[67];
	memset(more, '1', 65);
	memcpy(more + 65, "%", 2);
	assert_int_equal(num_percent(more, 0, 1e80, &v, &e), -EINVAL);
}

static void test_size(void **state)
{
	(void)state;
	struct err e = {0};
	uint64_t v = 0;
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"4096", 4096},
		    {"64K", 65536},
		    {"6G", 6ull << 30},
		    {"1M", 1 << 20},
		    {"0", 0},
		    {"0K", 0},
		    {"3T", 3ull << 40},
		    {"16777215T", 16777215ull << 40},
		    {"18014398509481983K", 18014398509481983ull << 10}};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(num_size(good[i].text, 0, UINT64_MAX, &v, &e), 0);
		assert_true(v == good[i].value);
	}
	static const char *const bad[] = {"", "K", "1k", "1KB", "1 K", "-1K", "1.5G", "1KK", "1P", "K1", "0x1K", "1K "};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v = 99;
		assert_int_equal(num_size(bad[i], 0, UINT64_MAX, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_size, "16777216T", 0, UINT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_size, "18446744073709551616", 0, UINT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_size, "7G", 1 << 20, 6ull << 30, ERANGE, v, "such as 64K, from 1M to 6G");
	assert_refused(num_size, "1K", 1536, 4097, ERANGE, v, "from 1536 to 4097");
	assert_refused(num_size, "6144M", 0, 6ull << 29, ERANGE, v, "from 0 to 3G");
}

static void test_duration(void **state)
{
	(void)state;
	struct err e = {0};
	uint64_t v = 0;
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"50us", 50000},
		    {"10ms", 10000000},
		    {"1500ns", 1500},
		    {"2s", 2000000000},
		    {"5min", 300000000000},
		    {"4h", 14400000000000},
		    {"7d", 604800000000000},
		    {"0s", 0},
		    {"18446744073s", 18446744073000000000ull},
		    {"18446744073709551615ns", UINT64_MAX}};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(num_duration(good[i].text, 0, UINT64_MAX, &v, &e), 0);
		assert_true(v == good[i].value);
	}
	static const char *const bad[] = {"",      "0",   "10", "ms",   "1.5s", "10 ms", "10m",
					  "10sec", "-1s", "1H", "10MS", "1s2",  "1s "};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v = 99;
		assert_int_equal(num_duration(bad[i], 0, UINT64_MAX, &v, &e), -EINVAL);
		assert_true(v == 99);
	}
	assert_refused(num_duration, "18446744074s", 0, UINT64_MAX, ERANGE, v, "out of range");
	assert_refused(num_duration, "999ns", 1000, 600000000000, ERANGE, v, "such as 10ms, from 1us to 10min");
	assert_refused(num_duration, "20", 0, 1500000000, EINVAL, v, "from 0ns to 1500ms");
	assert_refused(num_duration, "25h", 0, 86400000000000, ERANGE, v, "from 0ns to 1d");
	assert_int_equal(num_seconds("4h", 1, 86400, &v, &e), 0);
	assert_true(v == 14400);
	assert_refused(num_seconds, "1500ms", 1, 60, EINVAL, v, "a whole number of seconds");
	assert_refused(num_seconds, "2d", 1, 86400, ERANGE, v, "from 1s to 1d");
}

static void test_bool(void **state)
{
	(void)state;
	struct err e = {0};
	_Bool v = 0;
	assert_int_equal(num_bool("yes", &v, &e), 0);
	assert_true(v);
	static const char *const bad[] = {"", "Yes", "y", "true", "1", "no ", "yesno", "on"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(num_bool(bad[i], &v, &e), -EINVAL);
		assert_true(v);
		assert_non_null(strstr(e.text, "expected yes or no"));
	}
	assert_int_equal(num_bool("no", &v, &e), 0);
	assert_false(v);
}

static void assert_cpus(const char *s, size_t n, const unsigned *wanted)
{
	struct err e = {0};
	unsigned cpus[64];
	size_t count = 0;
	assert_int_equal(num_cpulist(s, cpus, ARRAY_SIZE(cpus), &count, &e), 0);
	assert_int_equal(count, n);
	assert_memory_equal(cpus, wanted, n * sizeof(*wanted));
}

static void test_cpulist(void **state)
{
	(void)state;
	assert_cpus("0", 1, (unsigned[]){0});
	assert_cpus("0-3,8,10-11", 7, (unsigned[]){0, 1, 2, 3, 8, 10, 11});
	assert_cpus("8,0-3", 5, (unsigned[]){0, 1, 2, 3, 8});
	assert_cpus("1,1,0-2,2-3", 4, (unsigned[]){0, 1, 2, 3});
	assert_cpus("5-5", 1, (unsigned[]){5});
	assert_cpus("63-64,16383", 3, (unsigned[]){63, 64, 16383});
}

static void test_cpulist_refuses(void **state)
{
	(void)state;
	static const char *const bad[] = {"",     ",",  "1,",   ",1",  "1,,2", "3-1", "-1",    "1-",  "a",   "1-2-3",
					  "0-3 ", " 0", "0,-1", "0\n", "all",  "+1",  "1-2:3", "0x1", "1;2", "1.0"};
	unsigned cpus[4] = {91, 92, 93, 94};
	size_t n = 95;
	struct err e = {0};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(num_cpulist(bad[i], cpus, 4, &n, &e), -EINVAL);
		assert_int_equal(e.code, EINVAL);
	}
	assert_int_equal(num_cpulist("16384", cpus, 4, &n, &e), -ERANGE);
	assert_non_null(strstr(e.text, "from 0 to 16383"));
	assert_int_equal(num_cpulist("0-4294967296", cpus, 4, &n, &e), -ERANGE);
	assert_int_equal(num_cpulist("0,99999999999999999999", cpus, 4, &n, &e), -ERANGE);
	assert_int_equal(num_cpulist("0-4", cpus, 4, &n, &e), -ERANGE);
	assert_non_null(strstr(e.text, "at most 4 CPUs, not of 5"));
	assert_int_equal(num_cpulist("0", cpus, 0, &n, &e), -ERANGE);
	assert_int_equal(n, 95);
	assert_memory_equal(cpus, ((unsigned[]){91, 92, 93, 94}), sizeof(cpus));
	assert_int_equal(num_cpulist("0-3,0-3", cpus, 4, &n, &e), 0);
	assert_int_equal(n, 4);
}

static void test_long_texts_are_shown_in_part(void **state)
{
	(void)state;
	struct err e = {0};
	uint64_t v = 0;
	char text[3000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(num_u64(text, 0, 6, &v, &e), -EINVAL);
	assert_non_null(strstr(e.text, "xxx...' is not understood; expected a whole number from 0 to 6"));
	assert_true(strlen(e.text) < 200);
}

static void test_null_err(void **state)
{
	(void)state;
	uint64_t v = 0;
	assert_int_equal(num_u64("x", 0, 1, &v, NULL), -EINVAL);
	assert_int_equal(num_duration("2s", 0, 1, &v, NULL), -ERANGE);
}

static void test_u32_and_shares(void **state)
{
	struct err e;
	uint32_t n = 5;
	double v = 5;

	(void)state;
	assert_int_equal(num_u32("4294967295", 1, UINT32_MAX, &n, &e), 0);
	assert_int_equal(n, UINT32_MAX);
	assert_int_equal(num_u32("4294967296", 1, UINT32_MAX, &n, &e), -ERANGE);
	assert_int_equal(num_u32("-1", 0, 6, &n, &e), -EINVAL);
	assert_int_equal(n, UINT32_MAX);
	assert_int_equal(num_share("7%", 0, 10, &v, &e), 0);
	assert_true(v == 0.07);
	assert_int_equal(num_share("0.07", 0, 10, &v, &e), 0);
	assert_true(v == 0.07);
	assert_int_equal(num_share("250%", 0, 10, &v, &e), 0);
	assert_true(v == 2.5);
	assert_int_equal(num_share("7", 0, 10, &v, &e), -ERANGE);
	assert_non_null(strstr(e.text, "7% or 0.07"));
	assert_int_equal(num_share("0.2", 0.3, 10, &v, &e), -ERANGE);
	assert_int_equal(num_share("%", 0, 10, &v, &e), -EINVAL);
	assert_int_equal(num_share("", 0, 10, &v, &e), -EINVAL);
	assert_true(v == 2.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_u32_and_shares),
	    cmocka_unit_test(test_u64),
	    cmocka_unit_test(test_i64),
	    cmocka_unit_test(test_f64),
	    cmocka_unit_test(test_f64_ignores_the_locale),
	    cmocka_unit_test(test_percent),
	    cmocka_unit_test(test_size),
	    cmocka_unit_test(test_duration),
	    cmocka_unit_test(test_bool),
	    cmocka_unit_test(test_cpulist),
	    cmocka_unit_test(test_cpulist_refuses),
	    cmocka_unit_test(test_long_texts_are_shown_in_part),
	    cmocka_unit_test(test_null_err),
	};
	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
