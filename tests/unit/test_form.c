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

static size_t encode(uint32_t c, char ret[5])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		ret[i] = (char)(0x80 | (c & 0x3f));
	ret[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	ret[n] = 0;
	return n;
}

static bool plain(uint32_t c)
{
	char text[5];
	size_t n = encode(c, text);
	bool spans = form_plain_span(text, n, false) == n;

	assert_int_equal(form_check(&form_text, text, NULL) == 0, spans);
	return spans;
}

/* The edges of each range that shows nothing: the first and the last in it, and what is shown around it. */
static void test_nothing_invisible(void **state)
{
	static const uint32_t unseen[] = {
	    0x1,     0x1f,    0x7f,    0x80,    0x9f,    0xa0,    0xad,    0x34f,   0x600,    0x605,    0x61c,
	    0x6dd,   0x70f,   0x890,   0x891,   0x8e2,   0x115f,  0x1160,  0x1680,  0x17b4,   0x17b5,   0x180b,
	    0x180e,  0x180f,  0x2000,  0x2007,  0x200a,  0x200b,  0x200d,  0x200f,  0x2028,   0x202a,   0x202e,
	    0x202f,  0x205f,  0x2060,  0x2065,  0x206f,  0x2800,  0x3000,  0x3164,  0xe000,   0xf8ff,   0xfdd0,
	    0xfdef,  0xfe00,  0xfe0f,  0xfeff,  0xffa0,  0xfff0,  0xfff9,  0xfffc,  0xfffe,   0xffff,   0x110bd,
	    0x110cd, 0x13430, 0x1343f, 0x16fe4, 0x1bca0, 0x1bca3, 0x1d159, 0x1d173, 0x1d17a,  0x1fffe,  0x2ffff,
	    0xdfffe, 0xe0000, 0xe0001, 0xe0100, 0xe01ef, 0xe0fff, 0xf0000, 0xfffff, 0x100000, 0x10fffd, 0x10ffff};
	static const uint32_t seen[] = {0x20,    0x7e,    0xa1,    0xac,    0xae,    0x34e,   0x350,   0x606,   0x61b,
					0x61d,   0x6dc,   0x115e,  0x1161,  0x1681,  0x17b3,  0x17b6,  0x180a,  0x1810,
					0x2010,  0x2027,  0x2030,  0x205e,  0x2070,  0x27ff,  0x2801,  0x3001,  0x3163,
					0x3165,  0xd7fb,  0xf900,  0xfdcf,  0xfdf0,  0xfdff,  0xfe10,  0xfefc,  0xff9f,
					0xffa1,  0xffef,  0xfffd,  0x10000, 0x110bc, 0x1342f, 0x1bc9f, 0x1d158, 0x1d15a,
					0x1d172, 0x1d17b, 0x1f600, 0x20000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
		if (plain(unseen[i]))
			fail_msg("U+%04X is taken, and nobody sees it", unseen[i]);
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		if (!plain(seen[i]))
			fail_msg("U+%04X is not taken, and people see it", seen[i]);
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
	    cmocka_unit_test(test_nothing_invisible),
	    cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
