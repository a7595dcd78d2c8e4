// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that a configuration is taken as it is written, or refused with the place and a way out.
 * Must not know the keys of any program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/conf.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"

struct settings {
	uint64_t storms;
	uint64_t window_ns;
	char url[256];
	char other[256];
	unsigned calls;
};

static int set_storms(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls++;
	return num_u64(value, 1, 1000, &s->storms, e);
}

static int set_window(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls++;
	return num_duration(value, 0, UINT64_MAX, &s->window_ns, e);
}

static int set_url(void *target, const char *value, struct err *e)
{
	(void)e;
	struct settings *s = target;
	s->calls++;
	snprintf(s->url, sizeof(s->url), "%s", value);
	return 0;
}

static int set_other(void *target, const char *value, struct err *e)
{
	(void)e;
	struct settings *s = target;
	s->calls++;
	snprintf(s->other, sizeof(s->other), "%s", value);
	return 0;
}

static const struct conf_key keys[] = {
    {"measure", "storms", set_storms, true},
    {"measure", "window", set_window, false},
    {"controller", "url", set_url, false},
    {"controller", "other", set_other, false},
};

static int parse_n(const char *text, size_t len, struct settings *s, struct err *e)
{
	memset(s, 0, sizeof(*s));
	return conf_parse("f.conf", text, len, keys, ARRAY_SIZE(keys), s, e);
}

static int parse(const char *text, struct settings *s, struct err *e)
{
	return parse_n(text, strlen(text), s, e);
}

static void assert_message(const char *text, const char *message)
{
	struct settings s;
	struct err e = {0};
	assert_int_equal(parse(text, &s, &e), -EINVAL);
	assert_int_equal(e.code, EINVAL);
	assert_string_equal(e.text, message);
}

static void test_takes_sections_keys_and_comments(void **state)
{
	(void)state;
	struct settings s;
	struct err e = {0};
	static const char text[] = "; a comment\n"
				   "# another\n"
				   "\n"
				   "[measure] ; what is measured\n"
				   "storms=30\n"
				   "  window = 10ms ; after SIGKILL\n"
				   "\t\n"
				   "[controller]\n"
				   "url: https://example.org/#a;b=c\n"
				   "other =\n";
	assert_int_equal(parse(text, &s, &e), 0);
	assert_int_equal(s.storms, 30);
	assert_int_equal(s.window_ns, 10000000);
	assert_string_equal(s.url, "https://example.org/#a;b=c");
	assert_string_equal(s.other, "");
	assert_int_equal(s.calls, 4);
}

static void test_takes_line_ends_of_all_kinds(void **state)
{
	(void)state;
	struct settings s;
	struct err e = {0};
	static const char *const texts[] = {
	    "[measure]\nstorms = 5",
	    "[measure]\r\nstorms = 5\r\n",
	    "\xef\xbb\xbf[measure]\nstorms = 5\n",
	    "\xef\xbb\xbfstorms = 5\n",
	    "[measure]\n[controller]\n[measure]\nstorms = 5\n\n\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i], &s, &e), i == 3 ? -EINVAL : 0);
}

static void test_an_empty_text_lacks_what_is_required(void **state)
{
	(void)state;
	static const char missing[] = "f.conf: key 'storms' of [measure] is required and missing; add it";
	assert_message("", missing);
	assert_message("\xef\xbb\xbf", missing);
	assert_message("[measure]\nwindow = 1s\n", missing);
	struct err e = {0};
	assert_int_equal(conf_parse("f.conf", NULL, 0, keys + 1, 3, NULL, &e), 0);
	assert_int_equal(conf_parse("f.conf", "; nothing\n", 10, NULL, 0, NULL, &e), 0);
}

static void test_unknown_names_give_line_and_nearest(void **state)
{
	(void)state;
	assert_message("[measure]\nstorms = 1\nwindwo = 1s\n",
		       "f.conf:3: unknown key 'windwo' in [measure]; did you mean 'window'?");
	assert_message("[measure]\n\nurl = x\n",
		       "f.conf:3: key 'url' is not one of [measure] but of [controller]; move it there");
	assert_message("\n[mesure]\nstorms = 1\n", "f.conf:2: unknown section [mesure]; did you mean [measure]?");
	/* inih does not tell of a section without keys. */
	assert_message("[measure]\nstorms = 1\n[contoller]\n",
		       "f.conf:3: unknown section [contoller]; did you mean [controller]?");
	assert_message("storms = 1\n",
		       "f.conf:1: a key before the first section; is the line [measure] missing above it?");
	assert_message("[Measure]\nstorms = 1\n", "f.conf:1: unknown section [Measure]; did you mean [measure]?");
	assert_message("[measure]\n= 1\n", "f.conf:2: unknown key '' in [measure]; did you mean 'storms'?");
	struct err e = {0};
	assert_int_equal(conf_parse("f.conf", "[a]\n", 4, NULL, 0, NULL, &e), -EINVAL);
	assert_string_equal(e.text, "f.conf:1: unknown section [a]; this file has no keys");
}

static void test_long_names_are_not_cut_into_valid_ones(void **state)
{
	(void)state;
	/* inih keeps 49 bytes of a section's name. */
	static const char long_section[] = "s234567890123456789012345678901234567890123456789";
	static const struct conf_key one[] = {{long_section, "k", set_other, false}};
	struct settings s = {0};
	struct err e = {0};
	char text[200];
	int len = snprintf(text, sizeof(text), "[%s]\nk = 1\n", long_section);
	assert_int_equal(conf_parse("f", text, (size_t)len, one, 1, &s, &e), 0);
	len = snprintf(text, sizeof(text), "[%sX]\nk = 1\n", long_section);
	assert_int_equal(conf_parse("f", text, (size_t)len, one, 1, &s, &e), -EINVAL);
	assert_int_equal(s.calls, 1);
}

static void test_a_key_twice(void **state)
{
	(void)state;
	assert_message("[measure]\nstorms = 1\nstorms = 1\n",
		       "f.conf:3: key 'storms' stands in line 2 already; remove one of them");
	assert_message("[measure]\nstorms = 1\n[controller]\nurl = a\n[measure]\nstorms = 2\n",
		       "f.conf:6: key 'storms' stands in line 2 already; remove one of them");
}

static void test_lines_that_are_no_keys(void **state)
{
	(void)state;
	assert_message("[measure]\nstorms 5\n",
		       "f.conf:2: expected [section], key = value, or a comment after ';' or '#'");
	assert_message("[measure]\nstorms = 5\n  continued\n",
		       "f.conf:3: expected [section], key = value, or a comment after ';' or '#'");
	/* The first error is the one reported, although inih goes on to the next lines. */
	assert_message("[measure]\nrubbish\nstorms = x\n[nonsense]\n",
		       "f.conf:2: expected [section], key = value, or a comment after ';' or '#'");
	assert_message("[measure\nstorms = 5\n", "f.conf:1: a section's name needs a ']' after it");
	assert_message("[measure] storms = 5\n",
		       "f.conf:1: text after the ']' of a section; put it on a line of its own");
}

static void test_errors_of_set_get_their_place(void **state)
{
	(void)state;
	assert_message("[measure]\nstorms = 5x\n",
		       "f.conf:2: storms: '5x' is not understood; expected a whole number from 1 to 1000");
	assert_message("[measure]\nstorms = 30 # per boot\n",
		       "f.conf:2: storms: '30 # per boot' is not understood; expected a whole number from 1 to 1000");
	struct settings s;
	struct err e = {0};
	assert_int_equal(parse("[measure]\nstorms = 1001\nwindow = 1s\n", &s, &e), -ERANGE);
	assert_int_equal(e.code, ERANGE);
	assert_int_equal(s.calls, 1); /* nothing is set after an error */
	assert_int_equal(parse("[measure]\nstorms = 1001\n", &s, NULL), -ERANGE);
}

static void test_lines_have_a_bound(void **state)
{
	(void)state;
	static const char head[] = "[measure]\nstorms = 5\n[controller]\n";
	struct settings s;
	struct err e = {0};
	for (size_t len = 189; len <= 192; len++) {
		char text[600];
		char value[200];
		memset(value, 'v', sizeof(value));
		snprintf(text, sizeof(text), "%surl = %.*s\r\nother = x\n", head, (int)len - 6, value);
		int r = parse(text, &s, &e);
		if (len <= 190) {
			assert_int_equal(r, 0);
			assert_int_equal(strlen(s.url), len - 6);
			assert_string_equal(s.other, "x");
		} else {
			assert_int_equal(r, -EINVAL);
			assert_non_null(strstr(e.text, "f.conf:4: the line has 19"));
			assert_non_null(strstr(e.text, "at most 190"));
			assert_string_equal(s.url, "");
		}
	}
	/* Comments and blanks count as well: what is too long is never cut, wherever the cut would be. */
	char text[600];
	snprintf(text, sizeof(text), "; %250s\n[measure]\nstorms = 5\n", "");
	assert_int_equal(parse(text, &s, &e), -EINVAL);
	snprintf(text, sizeof(text), "[measure]\n%300sstorms = 5\n", "");
	assert_int_equal(parse(text, &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "f.conf:2: the line has 310 bytes"));
}

static void test_bytes_that_no_text_has(void **state)
{
	(void)state;
	struct settings s;
	struct err e = {0};
	static const char nul[] = "[measure]\nstorms = 5\nwin\0dow = 1s\n";
	assert_int_equal(parse_n(nul, sizeof(nul) - 1, &s, &e), -EINVAL);
	assert_string_equal(e.text, "f.conf:3: a NUL byte; is this file text?");
	assert_int_equal(s.calls, 0);
	assert_int_equal(parse_n("", 1, &s, &e), -EINVAL);
	assert_string_equal(e.text, "f.conf:1: a NUL byte; is this file text?");
	assert_message("[measure]\nstorms = 5\n; \033[2J\n",
		       "f.conf:3: byte 0x1b, which no text has; is this file text?");
	assert_message("[measure]\rstorms = 5\n", "f.conf:1: byte 0x0d, which no text has; is this file text?");
	assert_int_equal(parse("[measure]\nstorms = 5\n[controller]\nurl = \xc3\xa4\t\xff\n", &s, &e), 0);
	assert_string_equal(s.url, "\xc3\xa4\t\xff");
}

static void test_texts_have_a_bound(void **state)
{
	(void)state;
	size_t max = 1 << 20;
	char *text = malloc(max + 1);
	assert_non_null(text);
	memset(text, '\n', max + 1);
	memcpy(text, "[measure]\nstorms = 5\n", 21);
	struct settings s;
	struct err e = {0};
	assert_int_equal(parse_n(text, max, &s, &e), 0);
	assert_int_equal(parse_n(text, max + 1, &s, &e), -EFBIG);
	assert_non_null(strstr(e.text, "f.conf: larger than the 1048576 bytes"));

	char path[] = "/tmp/kpcp-test-conf-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, max + 1, &e), 0);
	close(fd);
	free(text);
	int r = conf_read(path, keys, ARRAY_SIZE(keys), &s, &e);
	unlink(path);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(e.text, path));
}

static void test_reads_files(void **state)
{
	(void)state;
	struct settings s = {0};
	struct err e = {0};
	assert_int_equal(conf_read("/nonexistent/f.conf", keys, ARRAY_SIZE(keys), &s, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/f.conf"));

	char path[] = "/tmp/kpcp-test-conf-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, "[measure]\nstorms = 7\nwindow = 5\n", 32, &e), 0);
	close(fd);
	int r = conf_read(path, keys, ARRAY_SIZE(keys), &s, &e);
	char place[64];
	snprintf(place, sizeof(place), "%s:3: window: '5'", path);
	assert_memory_equal(e.text, place, strlen(place));
	assert_int_equal(r, -EINVAL);

	assert_int_equal(truncate(path, 21), 0);
	s = (struct settings){0};
	r = conf_read(path, keys, ARRAY_SIZE(keys), &s, &e);
	assert_int_equal(r, 0);
	assert_int_equal(s.storms, 7);
	assert_int_equal(truncate(path, 0), 0);
	r = conf_read(path, keys, ARRAY_SIZE(keys), &s, &e);
	unlink(path);
	assert_int_equal(r, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_takes_sections_keys_and_comments),
	    cmocka_unit_test(test_takes_line_ends_of_all_kinds),
	    cmocka_unit_test(test_an_empty_text_lacks_what_is_required),
	    cmocka_unit_test(test_unknown_names_give_line_and_nearest),
	    cmocka_unit_test(test_long_names_are_not_cut_into_valid_ones),
	    cmocka_unit_test(test_a_key_twice),
	    cmocka_unit_test(test_lines_that_are_no_keys),
	    cmocka_unit_test(test_errors_of_set_get_their_place),
	    cmocka_unit_test(test_lines_have_a_bound),
	    cmocka_unit_test(test_bytes_that_no_text_has),
	    cmocka_unit_test(test_texts_have_a_bound),
	    cmocka_unit_test(test_reads_files),
	};
	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
