// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that buffers keep their bound, their zero byte, and their content when they refuse to grow.
 * Must not know who uses buffers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/buf.h"

static void test_adds_and_terminates(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(1000);
	assert_null(b.data);
	assert_int_equal(buf_add(&b, "abc", 3, &e), 0);
	assert_string_equal(b.data, "abc");
	assert_int_equal(buf_add(&b, "d\0e", 3, &e), 0);
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.data, "abcd\0e\0", 7);
}

static void test_adding_nothing_gives_an_empty_string(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(0);
	assert_int_equal(buf_add(&b, NULL, 0, &e), 0);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	assert_int_equal(buf_add(&b, "x", 1, &e), -EFBIG);
}

static void test_fills_to_the_bound_and_refuses_one_more(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(5);
	assert_int_equal(buf_add(&b, "12345", 5, &e), 0);
	assert_int_equal(buf_add(&b, "6", 1, &e), -EFBIG);
	assert_int_equal(e.code, EFBIG);
	assert_non_null(strstr(e.text, "5 bytes"));
	assert_int_equal(b.len, 5);
	assert_string_equal(b.data, "12345");
	assert_int_equal(buf_addf(&b, &e, "%d", 6), -EFBIG);
	char *at = (char *)&e;
	assert_int_equal(buf_reserve(&b, 1, &at, &e), -EFBIG);
	assert_ptr_equal(at, &e);
	assert_string_equal(b.data, "12345");
	assert_int_equal(buf_add(&b, "", 0, &e), 0);
}

static void test_sizes_that_overflow_are_refused(void **state)
{
	(void)state;
	struct err e = {0};
	char *at = NULL;
	_cleanup_(buf_free) struct buf b = BUF_INIT(100);
	assert_int_equal(buf_add(&b, "ab", 2, &e), 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX, &at, &e), -EFBIG);
	assert_int_equal(buf_reserve(&b, SIZE_MAX - 1, &at, &e), -EFBIG);
	b.max = SIZE_MAX;
	assert_int_equal(buf_reserve(&b, SIZE_MAX - 2, &at, &e), -ENOMEM);
	assert_null(at);
	assert_string_equal(b.data, "ab");
	b.max = 1; /* a bound that was lowered under what is there */
	assert_int_equal(buf_add(&b, "c", 1, &e), -EFBIG);
	assert_string_equal(b.data, "ab");
}

static void test_grows_over_many_sizes(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(3000);
	for (unsigned i = 0; i < 3000; i++) {
		char c = (char)('a' + i % 26);
		assert_int_equal(buf_add(&b, &c, 1, &e), 0);
		assert_int_equal(b.data[b.len], 0);
		assert_true(b.cap > b.len);
		assert_true(b.cap <= b.max + 1);
	}
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
}

static void test_formats(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(2000);
	assert_int_equal(buf_addf(&b, &e, "%s-%d", "x", 7), 0);
	assert_int_equal(buf_addf(&b, &e, "%s", ""), 0);
	assert_int_equal(buf_addf(&b, &e, "%1000s", "y"), 0);
	assert_int_equal(b.len, 1003);
	assert_memory_equal(b.data, "x-7  ", 5);
	assert_string_equal(b.data + 1001, " y");
}

static void test_reserved_room_is_zeroed_behind_what_is_filled(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(1000);
	assert_int_equal(buf_add(&b, "aaaaaaaaaa", 10, &e), 0);
	b.len = 2; /* the caller takes back what it had added */
	char *at;
	assert_int_equal(buf_reserve(&b, 8, &at, &e), 0);
	assert_ptr_equal(at, b.data + 2);
	assert_int_equal(b.len, 2);
	memcpy(at, "bcd", 3);
	b.len += 3;
	assert_string_equal(b.data, "aabcd");
}

static void test_free_leaves_an_empty_buffer_of_the_same_bound(void **state)
{
	(void)state;
	struct err e = {0};
	struct buf b = BUF_INIT(4);
	buf_free(&b);
	assert_int_equal(buf_add(&b, "abcd", 4, &e), 0);
	buf_free(&b);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.cap, 0);
	assert_int_equal(b.max, 4);
	assert_int_equal(buf_add(&b, "abcd", 4, &e), 0);
	buf_free(&b);
	buf_free(&b);
}

static void test_steal_ptr_leaves_nothing_to_free(void **state)
{
	(void)state;
	struct err e = {0};
	struct buf b = BUF_INIT(4);
	assert_int_equal(buf_add(&b, "abcd", 4, &e), 0);
	char *data = steal_ptr(b.data);
	assert_null(b.data);
	buf_free(&b);
	assert_string_equal(data, "abcd");
	b.data = data;
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_adds_and_terminates),
	    cmocka_unit_test(test_adding_nothing_gives_an_empty_string),
	    cmocka_unit_test(test_fills_to_the_bound_and_refuses_one_more),
	    cmocka_unit_test(test_sizes_that_overflow_are_refused),
	    cmocka_unit_test(test_grows_over_many_sizes),
	    cmocka_unit_test(test_formats),
	    cmocka_unit_test(test_reserved_room_is_zeroed_behind_what_is_filled),
	    cmocka_unit_test(test_free_leaves_an_empty_buffer_of_the_same_bound),
	    cmocka_unit_test(test_steal_ptr_leaves_nothing_to_free),
	};
	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
