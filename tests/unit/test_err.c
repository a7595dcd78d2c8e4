// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that every failure carries a code and one bounded, printable line.
 * Must not know the wording of any other library. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/err.h"

static void test_set_gives_code_and_text(void **state)
{
	(void)state;
	struct err e = {0};
	assert_int_equal(err_set(&e, ENOENT, "no %s in %d", "cup", 7), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.text, "no cup in 7");
}

static void test_codes_that_are_no_errno_become_eio(void **state)
{
	(void)state;
	struct err e = {0};
	assert_int_equal(err_set(&e, 0, "x"), -EIO);
	assert_int_equal(e.code, EIO);
	assert_int_equal(err_set(&e, -EINVAL, "x"), -EIO);
	assert_int_equal(err_sys(&e, 0, "x"), -EIO);
	struct err none = {0};
	assert_int_equal(err_context(&none, "x"), -EIO);
	assert_int_equal(none.code, EIO);
}

static void test_null_gives_the_code_alone(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ENOSPC, "x %d", 1), -ENOSPC);
	assert_int_equal(err_sys(NULL, ENOSPC, "x %d", 1), -ENOSPC);
	assert_int_equal(err_context(NULL, "x %d", 1), -EIO);
}

static void test_sys_appends_the_reason(void **state)
{
	(void)state;
	struct err e = {0};
	assert_int_equal(err_sys(&e, ENOENT, "cannot open %s", "/x"), -ENOENT);
	assert_string_equal(e.text, "cannot open /x: No such file or directory");
}

static void test_sys_keeps_the_reason_of_a_long_text(void **state)
{
	(void)state;
	struct err e = {0};
	char path[4096];
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	err_sys(&e, ENOENT, "cannot open %s", path);
	static const char reason[] = ": No such file or directory";
	size_t len = strlen(e.text);
	assert_int_equal(len, ERR_TEXT_MAX - 1);
	assert_string_equal(e.text + len - strlen(reason), reason);
}

static void test_context_goes_in_front(void **state)
{
	(void)state;
	struct err e = {0};
	err_set(&e, EINVAL, "bad");
	assert_int_equal(err_context(&e, "line %d", 3), -EINVAL);
	assert_int_equal(err_context(&e, "file %s", "f"), -EINVAL);
	assert_string_equal(e.text, "file f: line 3: bad");
}

static void test_text_may_be_its_own_argument(void **state)
{
	(void)state;
	struct err e = {0};
	err_set(&e, EINVAL, "inner");
	err_set(&e, e.code, "outer (%s)", e.text);
	assert_string_equal(e.text, "outer (inner)");
}

static void test_long_text_is_cut_at_the_bound(void **state)
{
	(void)state;
	struct err e = {0};
	char text[ERR_TEXT_MAX + 1];
	memset(text, 'a', sizeof(text) - 1);
	for (size_t len = ERR_TEXT_MAX - 2; len <= ERR_TEXT_MAX; len++) {
		err_set(&e, EINVAL, "%.*s", (int)len, text);
		assert_int_equal(strlen(e.text), len < ERR_TEXT_MAX ? len : ERR_TEXT_MAX - 1);
	}
	for (int i = 0; i < 10; i++)
		err_context(&e, "level %d", i);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(e.text, "level 9: level 8: ", 18);
}

/* A character of 2, 3 and 4 bytes at every place around the cut: never a part of it stays, and a whole one does. */
static void test_cut_leaves_no_half_character(void **state)
{
	(void)state;
	static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\xa7"};
	for (size_t c = 0; c < ARRAY_SIZE(characters); c++) {
		size_t width = strlen(characters[c]);
		for (size_t before = ERR_TEXT_MAX - 6; before < ERR_TEXT_MAX; before++) {
			char text[2 * ERR_TEXT_MAX];
			memset(text, 'a', before);
			memcpy(text + before, characters[c], width);
			memcpy(text + before + width, "bbbbbbbb", 9);
			struct err e = {0};
			err_set(&e, EINVAL, "%s", text);
			size_t wanted = before + width <= ERR_TEXT_MAX - 1 ? ERR_TEXT_MAX - 1 : before;
			assert_int_equal(strlen(e.text), wanted);
			assert_memory_equal(e.text, text, wanted);
		}
	}
}

static void test_text_is_one_printable_line(void **state)
{
	(void)state;
	struct err e = {0};
	err_set(&e, EINVAL, "%s", "a\nb\tc\033[31m\177\r\xc3\xa4");
	assert_string_equal(e.text, "a b c [31m  \xc3\xa4");
	err_context(&e, "x\ny");
	assert_string_equal(e.text, "x y: a b c [31m  \xc3\xa4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_set_gives_code_and_text),
	    cmocka_unit_test(test_codes_that_are_no_errno_become_eio),
	    cmocka_unit_test(test_null_gives_the_code_alone),
	    cmocka_unit_test(test_sys_appends_the_reason),
	    cmocka_unit_test(test_sys_keeps_the_reason_of_a_long_text),
	    cmocka_unit_test(test_context_goes_in_front),
	    cmocka_unit_test(test_text_may_be_its_own_argument),
	    cmocka_unit_test(test_long_text_is_cut_at_the_bound),
	    cmocka_unit_test(test_cut_leaves_no_half_character),
	    cmocka_unit_test(test_text_is_one_printable_line),
	};
	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
