// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that mistyped names find the one that was meant.
 * Must not know real options or keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/attr.h"
#include "lib/base/near.h"

static const char *const names[] = {"storms", "seed", "victims", "period", "window", "json"};

static const char *nearest(const char *word)
{
	return near_find(word, names, ARRAY_SIZE(names));
}

static void test_each_kind_of_slip(void **state)
{
	(void)state;
	assert_string_equal(nearest("storms"), "storms");
	assert_string_equal(nearest("storm"), "storms");   /* one left out */
	assert_string_equal(nearest("sttorms"), "storms"); /* one too many */
	assert_string_equal(nearest("stirms"), "storms");  /* another one */
	assert_string_equal(nearest("tsorms"), "storms");  /* two swapped */
	assert_string_equal(nearest("perido"), "period");
	assert_string_equal(nearest("x"), "seed"); /* nothing in common: the shortest, and the first of those */
	assert_string_equal(nearest(""), "seed");
}

static void test_a_swap_costs_one(void **state)
{
	(void)state;
	/* Substitutions alone would make "ab" 2 away and "bx" 1 away. A swap is 1 too, and the first one wins. */
	static const char *const swap_first[] = {"ab", "bx"};
	static const char *const swap_last[] = {"bx", "ab"};
	assert_string_equal(near_find("ba", swap_first, 2), "ab");
	assert_string_equal(near_find("ba", swap_last, 2), "bx");
}

static void test_first_of_a_tie(void **state)
{
	(void)state;
	static const char *const tie[] = {"cat", "bat", "rat"};
	assert_string_equal(near_find("hat", tie, 3), "cat");
	assert_string_equal(near_find("hat", tie + 1, 2), "bat");
}

static void test_no_names(void **state)
{
	(void)state;
	assert_null(near_find("x", names, 0));
	assert_null(near_find("x", NULL, 0));
}

static void test_empty_names_count(void **state)
{
	(void)state;
	static const char *const some[] = {"abc", ""};
	assert_string_equal(near_find("x", some, 2), "");
	assert_string_equal(near_find("ab", some, 2), "abc");
}

static void test_long_names_are_cut(void **state)
{
	(void)state;
	char word[5000], same64[200], other63[200];
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	memset(same64, 'a', 64);
	memcpy(same64 + 64, "zzz", 4);
	memset(other63, 'a', 63);
	memcpy(other63 + 63, "b", 2);
	/* The first 64 characters are equal, what follows does not count. */
	const char *const both[] = {other63, same64};
	assert_ptr_equal(near_find(word, both, 2), same64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_kind_of_slip), cmocka_unit_test(test_a_swap_costs_one),
	    cmocka_unit_test(test_first_of_a_tie),    cmocka_unit_test(test_no_names),
	    cmocka_unit_test(test_empty_names_count), cmocka_unit_test(test_long_names_are_cut),
	};
	return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
