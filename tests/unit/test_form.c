// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/fleet/form.c takes the names, digests and texts that it should, to the last character.
 * Must not know messages or plans. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fleet/form.h"

static void test_takes_and_refuses(void **state)
{
	static const struct {
		const struct form *form;
		const char *value;
		bool ok;
	} row[] = {
	    {&form_name, "a", true},
	    {&form_name, "9.a-b.", true},
	    {&form_name, "123456789012345678901234567890123456789012345678", true},
	    {&form_name, "1234567890123456789012345678901234567890123456789", false},
	    {&form_name, "", false},
	    {&form_name, ".", false},
	    {&form_name, "-a", false},
	    {&form_name, "a_b", false},
	    {&form_name, "aB", false},
	    {&form_host, "A_b-c.d", true},
	    {&form_host, "_a", false},
	    {&form_package, "linux-image-6.1+x", true},
	    {&form_package, "a", false},
	    {&form_package, "a_b", false},
	    {&form_package, "--yes", false},
	    {&form_version, "2:1.0-1~a+b", true},
	    {&form_version, "v1", false},
	    {&form_version, "1 2", false},
	    {&form_release, "6.1.0-40_x+y~z", true},
	    {&form_release, "6.1/0", false},
	    {&form_release, "6.1:0", false},
	    {&form_build_id, "0000000000000000000000000000000000000001", true},
	    {&form_build_id, "0000000000000000000000000000000000000000", false},
	    {&form_build_id, "000000000000000000000000000000000000001", false},
	    {&form_build_id, "000000000000000000000000000000000000000g", false},
	    {&form_boot_id, "00000000-0000-0000-0000-000000000000", true},
	    {&form_boot_id, "00000000-0000-0000-0000000-000000000", false},
	    {&form_boot_id, "000000000000000000000000000000000000", false},
	    {&form_boot_id, "00000000-0000-0000-0000-00000000000G", false},
	    {&form_base64, "AAAA", true},
	    {&form_base64, "AA==", true},
	    {&form_base64, "AAA=", true},
	    {&form_base64, "A===", false},
	    {&form_base64, "AAAA====", false},
	    {&form_base64, "A=AA", false},
	    {&form_pem, "-----BEGIN X-----\n", true},
	    {&form_pem, "-----BEGIN X-----\r\n", false},
	    {&form_pem, "\n-----BEGIN X-----\n", false},
	    {&form_text, "", true},
	    {&form_text, "\xc3\xa4 <b>", true},
	    {&form_text, "a\tb", false},
	    {&form_text, "a\n", false},
	    {&form_text, "\xc3", false},
	    {&form_text, "\xf3\xa0\x81\x81", false}, /* a tag: an invisible letter */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct err e = {0};

		if ((form_check(row[i].form, row[i].value, &e) == 0) != row[i].ok)
			fail_msg("\"%s\" as %s", row[i].value, row[i].form->what);
		if (!row[i].ok)
			assert_non_null(strstr(e.text, row[i].form->what));
	}
}

/* A refused value goes to terminals and logs within the message: only as far as it is plain. */
static void test_messages_are_plain(void **state)
{
	struct err e = {0};
	char longer[200];

	(void)state;
	assert_int_equal(form_check(&form_name, "ab\x1b[2J", &e), -EINVAL);
	assert_non_null(strstr(e.text, "'ab...' is not a name"));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(form_check(&form_name, longer, &e), -EINVAL);
	assert_non_null(strstr(e.text, "xxx...', of 199 characters, is not a name"));
}

static void test_plain_span(void **state)
{
	(void)state;
	assert_int_equal(form_plain_span("a\tb\n", 4, true), 4);
	assert_int_equal(form_plain_span("a\tb\n", 4, false), 1);
	assert_int_equal(form_plain_span("\xe2\x82\xac", 3, false), 3);
	assert_int_equal(form_plain_span("\xe2\x82\xac", 2, false), 0); /* cut */
	assert_int_equal(form_plain_span("\xe2\x80\xa7\xe2\x80\xa8", 6, true), 3);
	assert_int_equal(form_plain_span("", 0, true), 0);
}

static void test_clean(void **state)
{
	char ret[8];

	(void)state;
	form_clean("abc\xe2\x82\xac", ret, 7); /* the euro sign just fits */
	assert_string_equal(ret, "abc\xe2\x82\xac");
	form_clean("abcd\xe2\x82\xac", ret, 7);
	assert_string_equal(ret, "abcd");
	form_clean("\xff\xfe", ret, 2);
	assert_string_equal(ret, "?");
	form_clean("\xe2\x80\xaex", ret, 8); /* a character, however long, is one */
	assert_string_equal(ret, "?x");
	form_clean("", ret, 1);
	assert_string_equal(ret, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_takes_and_refuses),
	    cmocka_unit_test(test_messages_are_plain),
	    cmocka_unit_test(test_plain_span),
	    cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
