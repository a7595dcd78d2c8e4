// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the summary: units, zeros, missing data, what may be compared.
 * Must not know plans or verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/summary.h"

static struct recording_header header(void)
{
	struct recording_header h = {
	    .shape = {.probe = "victim-4k-active/1",
		      .layout = HIST_LAYOUT,
		      .victims = 2,
		      .burst_pages = 256,
		      .period_ns = 1000000,
		      .window_ns = 1000000,
		      .processes = 18,
		      .process_pages = 1000},
	    .host = "node-1",
	    .release = "6.1.0-pcp",
	    .boot_id = {1, 2, 3},
	    .build_id = {4, 5, 6},
	};
	return h;
}

static struct recording_storm storm(uint32_t index, uint64_t ns, unsigned n)
{
	struct recording_storm s = {.index = index, .exit_ns = 2000000000, .exit_pages = 1000000, .missed = 3};
	hist_init(&s.response);
	hist_init(&s.service);
	for (unsigned i = 0; i < n; i++) {
		hist_add(&s.response, ns);
		hist_add(&s.service, ns / 2);
	}
	return s;
}

/* 100 operations fall due for each of 2 victims. One storm that lacks one of them spoils the quantiles, whatever the
 * others have: those that were given up had waited longest. */
static void test_given_up(void **state)
{
	(void)state;
	struct recording_header h = header();
	h.shape.window_ns = 100 * h.shape.period_ns;
	for (unsigned n = 199; n <= 200; n++) {
		struct summary s;
		summary_init(&s, &h);
		struct recording_storm x = storm(0, 1000000, 300), y = storm(1, 1000000, n);
		summary_add(&s, &x);
		summary_add(&s, &y);
		summary_close(&s);
		assert_int_equal(s.given_up, n < 200);
		assert_int_equal(isnan(s.y[ENDPOINT_P99]) != 0, n < 200);
		assert_int_equal(isnan(s.y[ENDPOINT_P999]) != 0, n < 200);
		assert_false(isnan(s.y[ENDPOINT_EXIT]));
	}
}

static void test_units(void **state)
{
	(void)state;
	struct recording_header h = header();
	struct summary s;
	summary_init(&s, &h);
	for (uint32_t i = 0; i < 3; i++) {
		struct recording_storm x = storm(i, 1000000, 100);
		summary_add(&s, &x);
	}
	summary_close(&s);
	assert_string_equal(s.host, "node-1");
	assert_string_equal(s.release, "6.1.0-pcp");
	assert_memory_equal(s.boot_id, h.boot_id, sizeof(s.boot_id));
	assert_memory_equal(s.build_id, h.build_id, sizeof(s.build_id));
	assert_int_equal(s.storms, 3);
	assert_int_equal(s.missed, 9);
	assert_int_equal(s.service.count, 300);
	/* All values the same: the quantile is that value, 1 ms. */
	assert_true(fabs(s.y[ENDPOINT_P99] - log(1e-3)) < 1e-12);
	assert_true(fabs(s.y[ENDPOINT_P999] - log(1e-3)) < 1e-12);
	/* 6 s for 3,000,000 pages. */
	assert_true(fabs(s.y[ENDPOINT_EXIT] - log(2e-6)) < 1e-12);
	assert_int_equal(s.samples[ENDPOINT_P99], 300);
	assert_int_equal(s.samples[ENDPOINT_P999], 300);
	assert_int_equal(s.samples[ENDPOINT_EXIT], 3);
}

/* The quantile is of the merged storms: never an average of the storms' quantiles. */
static void test_merged_not_averaged(void **state)
{
	(void)state;
	struct recording_header h = header();
	struct summary s;
	summary_init(&s, &h);
	struct recording_storm fast = storm(0, 1000, 990), slow = storm(1, 1000000, 10);
	summary_add(&s, &fast);
	summary_add(&s, &slow);
	summary_close(&s);
	assert_true(fabs(s.y[ENDPOINT_P99] - log(1e-6)) < 0.02);
	assert_true(fabs(s.y[ENDPOINT_P999] - log(1e-3)) < 0.02);
}

static void test_larger_is_worse(void **state)
{
	(void)state;
	struct recording_header h = header();
	struct summary a, b;
	summary_init(&a, &h);
	summary_init(&b, &h);
	struct recording_storm good = storm(0, 1000000, 100), bad = storm(0, 2000000, 100);
	bad.exit_ns *= 2;
	summary_add(&a, &good);
	summary_add(&b, &bad);
	summary_close(&a);
	summary_close(&b);
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		assert_true(fabs(b.y[i] - a.y[i] - log(2)) < 1e-9);
}

static void test_no_data_is_nan(void **state)
{
	(void)state;
	struct recording_header h = header();
	struct summary s;
	summary_init(&s, &h);
	summary_close(&s);
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		assert_true(isnan(s.y[i]));
		assert_int_equal(s.samples[i], 0);
	}
	/* Storms, but no operation was sampled. */
	struct recording_storm x = storm(0, 1000, 0);
	summary_add(&s, &x);
	summary_close(&s);
	assert_true(isnan(s.y[ENDPOINT_P99]) && isnan(s.y[ENDPOINT_P999]));
	assert_true(isfinite(s.y[ENDPOINT_EXIT]));
}

static void test_zero_in_the_middle(void **state)
{
	(void)state;
	for (int which = 0; which < 3; which++) {
		struct recording_header h = header();
		struct summary s;
		summary_init(&s, &h);
		for (uint32_t i = 0; i < 5; i++) {
			struct recording_storm x = storm(i, 1000000, 10);
			if (i == 2 && which != 1)
				x.exit_ns = 0;
			if (i == 2 && which != 0)
				x.exit_pages = 0;
			summary_add(&s, &x);
		}
		summary_close(&s);
		assert_true(isnan(s.y[ENDPOINT_EXIT]));
		assert_int_equal(s.samples[ENDPOINT_EXIT], 4);
		assert_int_equal(s.exit_void, 1);
		assert_true(isfinite(s.y[ENDPOINT_P99]));
	}
}

static void test_out_of_range_is_nan(void **state)
{
	(void)state;
	struct recording_header h = header();
	struct summary s;
	summary_init(&s, &h);
	struct recording_storm slow = storm(0, HIST_MAX_NS, 10), normal = storm(1, 1000, 985);
	summary_add(&s, &slow);
	summary_add(&s, &normal);
	summary_close(&s);
	assert_true(isnan(s.y[ENDPOINT_P999]) && isnan(s.y[ENDPOINT_P99]));
	struct recording_storm zero = storm(0, 0, 10);
	summary_init(&s, &h);
	summary_add(&s, &zero);
	summary_close(&s);
	assert_true(isnan(s.y[ENDPOINT_P99]));
}

static void test_comparable(void **state)
{
	(void)state;
	struct recording_shape a = header().shape, b;
	struct err e = {0};
	assert_int_equal(summary_comparable(&a, &a, &e), 0);
#define DIFFERS(change, field, x, y)                                                    \
	do {                                                                            \
		b = a;                                                                  \
		change;                                                                 \
		assert_int_equal(summary_comparable(&a, &b, &e), -EINVAL);              \
		if (!strstr(e.text, field) || !strstr(e.text, x) || !strstr(e.text, y)) \
			fail_msg("%s", e.text);                                         \
	} while (0)
	DIFFERS(b.probe[0] = 'V', "probe", "\"victim-4k-active/1\"", "\"Victim-4k-active/1\"");
	DIFFERS(b.layout[0] = 'L', "layout", "\"log-linear", "\"Log-linear");
	DIFFERS(b.victims = 3, "victims", " 2 ", " 3 ");
	DIFFERS(b.burst_pages++, "burst", "256", "257");
	DIFFERS(b.period_ns++, "period", "1000000", "1000001");
	DIFFERS(b.window_ns++, "window", "1000000", "1000001");
	DIFFERS(b.processes++, "processes", "18", "19");
	DIFFERS(b.process_pages++, "pages", "1000", "1001");
#undef DIFFERS
	/* Not terminated: still no reading past the field. */
	memset(a.probe, 'x', sizeof(a.probe));
	assert_int_equal(summary_comparable(&a, &a, &e), 0);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(endpoint_name(ENDPOINT_P99), "p99");
	assert_string_equal(endpoint_name(ENDPOINT_P999), "p99.9");
	assert_string_equal(endpoint_name(ENDPOINT_EXIT), "exit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_units),
	    cmocka_unit_test(test_given_up),
	    cmocka_unit_test(test_merged_not_averaged),
	    cmocka_unit_test(test_larger_is_worse),
	    cmocka_unit_test(test_no_data_is_nan),
	    cmocka_unit_test(test_zero_in_the_middle),
	    cmocka_unit_test(test_out_of_range_is_nan),
	    cmocka_unit_test(test_comparable),
	    cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
