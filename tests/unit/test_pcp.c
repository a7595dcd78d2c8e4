// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that the model of the page lists gives the numbers that kernels give, and those worked out by hand.
 * Must not know how the model comes to them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/pcp.h"

/* The published host: 256 CPUs, 1 TB, one node. */
static const struct pcp_zone host = {.managed = 291974346, .low = 1636587, .cpus = 256, .page_shift = 12};
static const struct pcp_sysctl stock = {.scale = 5, .fraction = 0};

static void test_published_host(void **state)
{
	(void)state;
	for (int k = 0; k < PCP_KERNEL_COUNT; k++) {
		struct pcp_limits x = pcp_limits((enum pcp_kernel)k, &stock, &host);

		assert_int_equal(x.batch, 63);
		assert_int_equal(x.high_min, 6392);
		assert_int_equal(x.high_max, pcp_has_tuning((enum pcp_kernel)k) ? 142565 : 6392);
	}
	/* min 1309270, low 1636587, high 1963904 in its zoneinfo. */
	struct pcp_watermarks w = pcp_watermarks_above(1309270, host.managed, 10);
	assert_int_equal(w.low, 1636587);
	assert_int_equal(w.high, 1963904);
	/* 142,565 pages are 557 MiB to a CPU. */
	assert_int_equal(pcp_parked(PCP_6_12, &stock, &host), 142565ull * 256);
	assert_int_equal(pcp_parked(PCP_6_1, &stock, &host), 6392ull * 256);
}

static void holds(enum pcp_kernel k, int32_t scale, const uint64_t expected[PCP_PATH_COUNT])
{
	for (int p = 0; p < PCP_PATH_COUNT; p++) {
		uint64_t x = pcp_hold(k, &(struct pcp_sysctl){.scale = scale}, &host, (enum pcp_path)p);

		if (x != expected[p])
			fail_msg("%s, scale %d, %s: %lu, not %lu", pcp_kernel_name(k), scale,
				 pcp_path_name((enum pcp_path)p), (unsigned long)x, (unsigned long)expected[p]);
	}
}

static void test_holds_of_the_published_host(void **state)
{
	/* free, free_high, drain, decay, refill */
	(void)state;
	/* free_high: the whole list, 6,392, and a refill of each of the 12 others */
	holds(PCP_6_1, 5, (uint64_t[]){2016, 6392 + 12 * 63, 2016, 0, 63});
	holds(PCP_6_1_KPCP, 5, (uint64_t[]){2016, 2016, 2016, 0, 63});
	holds(PCP_6_1_KPCP, 0, (uint64_t[]){63, 63, 63, 0, 63});
	holds(PCP_6_1_KPCP, 6, (uint64_t[]){4032, 4032, 4032, 0, 63});
	holds(PCP_6_1_TUNED, 5, (uint64_t[]){63, 63, 63, 63, 2016});
	holds(PCP_6_1_TUNED, 0, (uint64_t[]){63, 63, 63, 63, 63});
	/* free: a huge page of 512 over the 2,015 that were counted */
	holds(PCP_6_12, 5, (uint64_t[]){2527, 2016, 2016, 63, 2016});
	holds(PCP_6_12_KPCP, 5, (uint64_t[]){63, 63, 63, 63, 2016});
	holds(PCP_7, 5, (uint64_t[]){63, 63, 2016, 63, 2016});
	holds(PCP_7_KPCP, 3, (uint64_t[]){63, 63, 63, 63, 504});
	assert_int_equal(pcp_worst_hold(PCP_6_1, &stock, &host), 6392 + 12 * 63);
	assert_int_equal(pcp_worst_hold(PCP_6_1_KPCP, &stock, &host), 2016);
	assert_int_equal(pcp_worst_hold(PCP_7_KPCP, &(struct pcp_sysctl){.scale = 0}, &host), 63);
}

/* A short list bounds a hold by itself: high - batch. */
static void test_high_bounds_holds_too(void **state)
{
	static const struct pcp_sysctl pinned = {.scale = 5, .fraction = INT32_MAX};

	(void)state;
	assert_int_equal(pcp_limits(PCP_6_1, &pinned, &host).high_max, 252);
	assert_int_equal(pcp_hold(PCP_6_1, &pinned, &host, PCP_FREE), 189);
	assert_int_equal(pcp_hold(PCP_6_1, &pinned, &host, PCP_FREE_HIGH), 252 + 12 * 63);
	assert_int_equal(pcp_hold(PCP_6_12, &pinned, &host, PCP_ALLOC), 189);
}

static void test_fractions(void **state)
{
	struct pcp_sysctl s = {.scale = 5, .fraction = 8};

	(void)state;
	/* A fraction that is set pins the mark on every base: 291974346 / 8 / 256. */
	for (int k = 0; k < PCP_KERNEL_COUNT; k++) {
		struct pcp_limits x = pcp_limits((enum pcp_kernel)k, &s, &host);
		assert_int_equal(x.high_min, 142565);
		assert_int_equal(x.high_max, 142565);
	}
	s.fraction = -1;
	assert_int_equal(pcp_limits(PCP_6_12_KPCP, &s, &host).high_max, 252);
	assert_false(pcp_takes_fraction(PCP_6_12, -1));
	assert_false(pcp_takes_fraction(PCP_6_1_KPCP, -1));
	assert_true(pcp_takes_fraction(PCP_6_1_TUNED, -1));
	assert_true(pcp_takes_fraction(PCP_7_KPCP, -1));
	assert_true(pcp_takes_fraction(PCP_7, 8));
	assert_true(pcp_takes_fraction(PCP_7, 0));
	assert_false(pcp_takes_fraction(PCP_7, 7));
	assert_false(pcp_takes_fraction(PCP_7, -2));
}

/* Guests' own /proc/zoneinfo: 512 MB shows batch 31 and high 423; 1 GB, batch 63 and high 7,696. */
static void test_batches(void **state)
{
	static const struct {
		uint64_t managed;
		uint32_t page_shift, batch;
	} cases[] = {
	    {1, 12, 1},       {4095, 12, 1},    {3840, 12, 1},     {12287, 12, 1},   {12288, 12, 3},
	    {118000, 12, 31}, {172032, 12, 31}, {180224, 12, 63},  {262144, 12, 63}, {291974346, 12, 63},
	    {262144, 16, 3},  {1 << 24, 16, 3}, {1 << 24, 14, 15},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pcp_zone z = {cases[i].managed, 0, 1, cases[i].page_shift};
		for (int k = 0; k < PCP_KERNEL_COUNT; k++) {
			struct pcp_limits x = pcp_limits((enum pcp_kernel)k, &stock, &z);
			if (x.batch != cases[i].batch)
				fail_msg("%lu pages: batch %u, not %u", (unsigned long)z.managed, x.batch,
					 cases[i].batch);
			assert_true(x.high_min >= 4ull * x.batch);
		}
	}
}

/* The thresholds of the free_high check before the fix: it cannot fire above 14, 140, 392, 896, 1904, 3920, 7952. */
static void test_where_free_high_is_off(void **state)
{
	static const uint64_t last[] = {14, 140, 392, 896, 1904, 3920, 7952};

	(void)state;
	for (int32_t scale = 0; scale <= PCP_SCALE_MAX; scale++) {
		struct pcp_sysctl s = {.scale = scale};
		/* high_min is low / cpus, and never below 252 */
		struct pcp_zone at = {.managed = 1 << 20, .low = last[scale] + 1, .cpus = 1, .page_shift = 12},
				over = {.managed = 1 << 20, .low = last[scale] + 2, .cpus = 1, .page_shift = 12};

		if (last[scale] >= 252)
			assert_int_equal(pcp_free_high(PCP_7, &s, &at), PCP_FIRES);
		assert_int_not_equal(pcp_free_high(PCP_7, &s, &over), PCP_FIRES);
		assert_int_equal(pcp_free_high(PCP_7_KPCP, &s, &over), PCP_FIRES);
		assert_int_equal(pcp_free_high(PCP_6_12, &s, &over), PCP_FIRES);
		assert_int_equal(pcp_free_high(PCP_6_1_KPCP, &s, &over), PCP_FIRES);
		assert_int_equal(pcp_free_high(PCP_6_1, &s, &over), scale > 0 ? PCP_FIRES : PCP_NEVER_FIRES);
	}
	/* 63 + 6392/2 is over 2,015 + 512. */
	assert_int_equal(pcp_free_high(PCP_7, &stock, &host), PCP_NEVER_FIRES);
	struct pcp_zone between = {.managed = 1 << 20, .low = 4500, .cpus = 1, .page_shift = 12};
	assert_int_equal(pcp_free_high(PCP_7, &stock, &between), PCP_FIRES_AFTER_HUGE);
}

static void test_kernel_names(void **state)
{
	static const struct {
		const char *text;
		bool kpcp, tuned;
		int expected; /* -1: refused */
	} cases[] = {
	    {"6.1", false, false, PCP_6_1},
	    {"6.1.0-28-cloud-amd64", false, false, PCP_6_1},
	    {"6.1.192+kpcp1-guest", true, false, PCP_6_1_KPCP},
	    {"6.1.192+kpcp1-guest", true, true, PCP_6_1_TUNED},
	    {"6.1", true, true, PCP_6_1_TUNED},
	    {"6.1.0-28-amd64", false, true, -1},
	    {"6.12.43+deb13-amd64", false, true, PCP_6_12},
	    {"7.2.13", true, true, PCP_7_KPCP},
	    {"7.3.4-1-amd64", false, true, PCP_7},
	    {"6.13.1", false, true, -1},
	    {"6.8.0-31-generic", false, true, -1},
	    {"", false, false, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum pcp_kernel k = PCP_KERNEL_COUNT;
		struct err e;
		int r = pcp_kernel_of(cases[i].text, cases[i].kpcp, cases[i].tuned, &k, &e);

		assert_int_equal(r, cases[i].expected < 0 ? -EINVAL : 0);
		if (r == 0 && (int)k != cases[i].expected)
			fail_msg("%s: %s", cases[i].text, pcp_kernel_name(k));
		if (r < 0)
			assert_non_null(strstr(e.text, "6.1"));
	}
	for (int k = 0; k < PCP_KERNEL_COUNT; k++) {
		enum pcp_kernel got = PCP_KERNEL_COUNT;
		struct err e;

		assert_int_equal(pcp_kernel_named(pcp_kernel_name((enum pcp_kernel)k), &got, &e), 0);
		assert_int_equal(got, k);
	}
	/* A slip of the pen must not bring the unpatched kernel's numbers. */
	static const char *const wrong[] = {"6.12-kpc", "6.1-kcpp", "6.1junk", "6.1.192-kpcp", "6.12-tuned", "7.2", ""};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		enum pcp_kernel got;
		struct err e;

		assert_int_equal(pcp_kernel_named(wrong[i], &got, &e), -EINVAL);
		assert_non_null(strstr(e.text, "did you mean"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published_host),
	    cmocka_unit_test(test_holds_of_the_published_host),
	    cmocka_unit_test(test_high_bounds_holds_too),
	    cmocka_unit_test(test_fractions),
	    cmocka_unit_test(test_batches),
	    cmocka_unit_test(test_where_free_high_is_off),
	    cmocka_unit_test(test_kernel_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
