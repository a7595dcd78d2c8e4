// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/report/picture.c draws what is in the histograms, to the character.
 * Must not know terminals. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/report/picture.h"

static struct hist narrow, wide, empty;

static int fill(void **state)
{
	(void)state;
	hist_init(&narrow);
	hist_init(&wide);
	hist_init(&empty);
	for (uint64_t i = 0; i < 1000; i++)
		hist_add(&narrow, 100000 + i * 20);
	for (uint64_t i = 0; i < 900; i++)
		hist_add(&wide, 200000 + i * 100);
	for (uint64_t i = 0; i < 100; i++)
		hist_add(&wide, 1000000 + i * 90000);
	return 0;
}

/* The goldens below were looked at: two humps at 100 and 250 us, one with a long flat tail to 10 ms. */
static int draw(struct buf *out, const struct picture_panel *panel, size_t n, struct picture_style style)
{
	struct err e;

	return picture_draw(out, panel, n, &style, &e);
}

static void test_blocks(void **state)
{
	static const char golden[] = " old                        p50 110 us  p99 120 us  p99.9 120 us\n"
				     "   ▆█┊\n"
				     "   ██┊\n"
				     "   ███\n"
				     "   ███\n"
				     "  ▇███\n"
				     " ──┬─▲─────┬───────────┬────────┬────────┬───────────┬────────┬─\n"
				     " new                      p50 250 us  p99 9.04 ms  p99.9 9.83 ms\n"
				     "                                                            ┊\n"
				     "             ▁▂▃                                            ┊\n"
				     "            █████                                           ┊\n"
				     "            █████                                           ┊\n"
				     "           ▇█████               ▂▂▂▂▂▂▂▂▃▂▃▃▃▃▃▃▃▃▄▄▄▄▄▄▅▄▅▅▅▆▃\n"
				     " ──┬───────┬───────────┬────────┬────────┬───────────┬──────▲─┬─\n"
				     "100 us  200 us      500 us    1 ms     2 ms        5 ms    10 ms\n"
				     " height: square root of the share of operations, one scale for all; ┊ p99\n";
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	const struct picture_panel panel[] = {{"old", &narrow}, {"new", &wide}};

	(void)state;
	assert_int_equal(draw(&b, panel, 2, (struct picture_style){.width = 64, .utf8 = true}), 0);
	assert_string_equal(b.data, golden);
}

static void test_ascii(void **state)
{
	static const char golden[] = " a label that is too  p50 250 us  p99 9.04 ms  p99.9 9.83 ms\n"
				     "   .::##                                                |\n"
				     "   #####                                                |\n"
				     "   #####.                                               |\n"
				     "  .######                                               |\n"
				     "  #######                ......:..:.:::::::::::::::::#####:\n"
				     " -+------------+---------+---------+------------+-------^-+-\n"
				     "200 us      500 us     1 ms      2 ms         5 ms     10 ms\n"
				     " height: square root of the share of operations, one scale for all; | p99\n";
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	const struct picture_panel panel[] = {{"a label that is too long for its line", &wide}};

	(void)state;
	assert_int_equal(draw(&b, panel, 1, (struct picture_style){.width = 60}), 0);
	assert_string_equal(b.data, golden);
}

static void test_colour_is_only_added(void **state)
{
	_cleanup_(buf_free) struct buf plain = BUF_INIT(65536), colour = BUF_INIT(65536);
	const struct picture_panel panel[] = {{"old", &narrow}, {"new", &wide}};
	char *to;

	(void)state;
	assert_int_equal(draw(&plain, panel, 2, (struct picture_style){.width = 79, .utf8 = true}), 0);
	assert_int_equal(draw(&colour, panel, 2, (struct picture_style){.width = 79, .utf8 = true, .colour = true}), 0);
	assert_non_null(strstr(colour.data, "\033[35m"));
	/* Without its sequences it is the plain one. */
	to = colour.data;
	for (const char *at = colour.data; *at;) {
		if (*at == '\033')
			at = strchr(at, 'm') + 1;
		else
			*to++ = *at++;
	}
	*to = 0;
	assert_string_equal(colour.data, plain.data);
}

/* Every width and any range: lines no longer than the picture, nothing outside the arrays (the sanitizers watch). */
static void test_extremes(void **state)
{
	static struct hist one, all, outside;
	const struct picture_panel panel[] = {{"one", &one}, {"all", &all}, {"none", &empty}, {"outside", &outside}};

	(void)state;
	hist_init(&one);
	hist_init(&all);
	hist_init(&outside);
	hist_add(&one, HIST_MAX_NS - 1);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		hist_add(&all, hist_lower_ns(i));
	hist_add(&outside, 1);
	hist_add(&outside, HIST_MAX_NS);
	for (unsigned width = PICTURE_WIDTH_MIN; width <= PICTURE_WIDTH_MAX; width++) {
		for (size_t first = 0; first < 4; first++) {
			_cleanup_(buf_free) struct buf b = BUF_INIT(1 << 20);

			assert_int_equal(draw(&b, panel + first, 4 - first, (struct picture_style){.width = width}), 0);
			/* A title has a least length of its own; the caption too. */
			for (const char *line = strtok(b.data, "\n"); line; line = strtok(NULL, "\n"))
				assert_true(strlen(line) <= (width < 90 ? 90 : width));
		}
	}
}

static void test_refuses(void **state)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	const struct picture_panel panel[] = {
	    {"a", &narrow}, {"b", &narrow}, {"c", &narrow}, {"d", &narrow}, {"e", &narrow}};

	(void)state;
	assert_int_equal(draw(&b, panel, 5, (struct picture_style){.width = 79}), -EINVAL);
	assert_int_equal(draw(&b, panel, 0, (struct picture_style){.width = 79}), -EINVAL);
	assert_int_equal(draw(&b, panel, 1, (struct picture_style){.width = 39}), -EINVAL);
	assert_int_equal(draw(&b, panel, 1, (struct picture_style){.width = 201}), -EINVAL);
	assert_int_equal(b.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_ascii),
	    cmocka_unit_test(test_colour_is_only_added),
	    cmocka_unit_test(test_extremes),
	    cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests_name("picture", tests, fill, NULL);
}
