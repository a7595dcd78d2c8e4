// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the histogram: buckets at every boundary, merging, quantiles, validation.
 * Must not know how histograms are stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/hist.h"
#include "rng.h"

#define SEED 0x6b706370u

/* Any magnitude is as likely as any other, both ends of the range included. */
static uint64_t any_value(void)
{
	unsigned shift = (unsigned)(rng() % 64);
	return rng() >> shift;
}

static void assert_valid(const struct hist *h)
{
	struct err e = {0};
	if (hist_validate(h, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_bucket_boundaries(void **state)
{
	(void)state;
	assert_int_equal(hist_lower_ns(0), HIST_MIN_NS);
	assert_true(hist_lower_ns(HIST_BUCKETS) == HIST_MAX_NS);
	assert_int_equal(hist_index(HIST_MAX_NS - 1), HIST_BUCKETS - 1);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		uint64_t lower = hist_lower_ns(i), upper = hist_lower_ns(i + 1);
		assert_true(upper > lower);
		assert_int_equal(hist_index(lower), i);
		assert_int_equal(hist_index(upper - 1), i);
		assert_true((upper - lower) * 32 <= lower);
	}
}

static void test_powers_of_two(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (1ull << bit) + (uint64_t)(int64_t)d;
			struct hist h;
			hist_init(&h);
			hist_add(&h, v);
			assert_valid(&h);
			assert_int_equal(h.under, v < 64);
			assert_int_equal(h.over, v >= HIST_MAX_NS);
			if (v >= 64 && v < HIST_MAX_NS) {
				unsigned i = hist_index(v);
				assert_int_equal(h.bucket[i], 1);
				assert_true(hist_lower_ns(i) <= v && v < hist_lower_ns(i + 1));
				/* On the power itself a new octave starts. */
				if (d == 0)
					assert_int_equal(i, (bit - 6) * HIST_SUB);
			}
		}
	}
}

static void test_merge_is_exact(void **state)
{
	(void)state;
	rng_state = SEED;
	for (int round = 0; round < 200; round++) {
		struct hist all, part[3];
		hist_init(&all);
		for (int i = 0; i < 3; i++)
			hist_init(&part[i]);
		unsigned n = (unsigned)(rng() % 300);
		for (unsigned k = 0; k < n; k++) {
			uint64_t v = any_value();
			hist_add(&all, v);
			hist_add(&part[rng() % 3], v);
		}
		struct hist forward = part[0], backward = part[2];
		hist_merge(&forward, &part[1]);
		hist_merge(&forward, &part[2]);
		hist_merge(&backward, &part[1]);
		hist_merge(&backward, &part[0]);
		assert_memory_equal(&forward, &all, sizeof(all));
		assert_memory_equal(&backward, &all, sizeof(all));
		assert_valid(&all);
	}
}

static void test_sum_saturates(void **state)
{
	(void)state;
	struct hist h, g;
	hist_init(&h);
	hist_add(&h, UINT64_MAX - 5);
	hist_add(&h, 5);
	assert_true(h.sum_ns == UINT64_MAX);
	hist_add(&h, 1000);
	assert_true(h.sum_ns == UINT64_MAX);
	assert_true(h.count == 3 && h.under == 1 && h.over == 1);
	assert_valid(&h);
	hist_init(&g);
	hist_add(&g, UINT64_MAX - 100);
	hist_merge(&g, &h);
	assert_true(g.sum_ns == UINT64_MAX && g.count == 4);
	assert_valid(&g);
	/* A saturated sum that the buckets cannot explain is still refused. */
	hist_init(&g);
	hist_add(&g, 1000);
	g.sum_ns = UINT64_MAX;
	assert_int_equal(hist_validate(&g, NULL), -EBADMSG);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t exact_quantile(const uint64_t *sorted, size_t n, double p)
{
	size_t rank = (size_t)ceil(p * (double)n - 1e-9);
	return sorted[rank ? rank - 1 : 0];
}

static const double ps[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};

/* Whatever the values, the estimate lies in the bucket that holds the exact order statistic: 1/32 at most. */
static void test_quantile_any_data(void **state)
{
	(void)state;
	rng_state = SEED + 1;
	enum { MAX = 500 };
	static uint64_t v[MAX];
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + rng() % MAX;
		struct hist h;
		hist_init(&h);
		for (size_t i = 0; i < n; i++) {
			v[i] = 64 + any_value() % (HIST_MAX_NS - 64);
			if (rng() % 4 == 0 && i)
				v[i] = v[i - 1];
			hist_add(&h, v[i]);
		}
		qsort(v, n, sizeof(v[0]), by_value);
		double last = 0;
		for (size_t k = 0; k < sizeof(ps) / sizeof(ps[0]); k++) {
			double got, want = (double)exact_quantile(v, n, ps[k]);
			assert_int_equal(hist_quantile(&h, ps[k], &got, NULL), 0);
			assert_true(fabs(got - want) <= want / 32);
			assert_true(got >= last); /* monotone */
			assert_true(got >= (double)h.min_ns && got <= (double)h.max_ns);
			last = got;
		}
	}
}

/* Values spread over the buckets, as latencies are: 1.6% at most. */
static void test_quantile_error(void **state)
{
	(void)state;
	rng_state = SEED + 2;
	enum { N = 100000 };
	uint64_t *v = test_malloc(N * sizeof(*v));
	double worst = 0;
	for (int round = 0; round < 6; round++) {
		struct hist h;
		hist_init(&h);
		double median = exp(log(500.0) + uniform() * log(1e5)), sigma = 0.05 + uniform();
		for (size_t i = 0; i < N; i++) {
			double ns = median * exp(sigma * normal());
			v[i] = ns < 64 ? 64 : ns > 6e10 ? 60000000000ull : (uint64_t)ns;
			hist_add(&h, v[i]);
		}
		qsort(v, N, sizeof(v[0]), by_value);
		for (size_t k = 0; k < sizeof(ps) / sizeof(ps[0]); k++) {
			double got, want = (double)exact_quantile(v, N, ps[k]);
			assert_int_equal(hist_quantile(&h, ps[k], &got, NULL), 0);
			worst = fmax(worst, fabs(got / want - 1));
		}
	}
	print_message("largest quantile error: %.3f%%\n", 100 * worst);
	assert_true(worst <= 0.016);
	test_free(v);
	/* One value alone in its bucket: exact through min and max, half a bucket at most in between. */
	for (uint64_t x = 65; x < HIST_MAX_NS; x += 1 + x / 7) {
		struct hist h;
		double got;
		hist_init(&h);
		hist_add(&h, 64);
		hist_add(&h, x);
		hist_add(&h, HIST_MAX_NS - 1);
		assert_int_equal(hist_quantile(&h, 0.5, &got, NULL), 0);
		if (hist_index(x) > 0 && hist_index(x) < HIST_BUCKETS - 1)
			assert_true(fabs(got / (double)x - 1) <= 1.0 / 64);
	}
}

static void test_quantile_ranks(void **state)
{
	(void)state;
	struct hist h;
	double got;
	struct err e = {0};
	hist_init(&h);
	got = 7;
	assert_int_equal(hist_quantile(&h, 0.5, &got, &e), -ENODATA);
	assert_non_null(strstr(e.text, "empty"));
	for (int i = 1; i <= 100; i++)
		hist_add(&h, i <= 93 ? 1000 : 2000);
	/* 0.07 * 100 is a little over 7 in binary; .93 * 100 a little over 93. Both ranks must stay whole. */
	assert_int_equal(hist_quantile(&h, 0.93, &got, NULL), 0);
	assert_true(got < 1100);
	assert_int_equal(hist_quantile(&h, 0.931, &got, NULL), 0);
	assert_true(got > 1900);
	got = 7;
	const double bad[] = {0, 1, -1, 2, NAN, INFINITY};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hist_quantile(&h, bad[i], &got, NULL), -EINVAL);
	assert_true(got == 7);
	/* Identical values give themselves. */
	hist_init(&h);
	for (int i = 0; i < 10; i++)
		hist_add(&h, 1023);
	assert_int_equal(hist_quantile(&h, 0.99, &got, NULL), 0);
	assert_true(got == 1023);
}

static void test_under_and_over(void **state)
{
	(void)state;
	struct hist h;
	double got = 7;
	struct err e = {0};
	hist_init(&h);
	hist_add(&h, 0);
	hist_add(&h, 63);
	hist_add(&h, 1000);
	hist_add(&h, HIST_MAX_NS);
	hist_add(&h, UINT64_MAX);
	assert_true(h.under == 2 && h.over == 2 && h.count == 5);
	assert_valid(&h);
	assert_int_equal(hist_quantile(&h, 0.4, &got, &e), -ERANGE);
	assert_non_null(strstr(e.text, "below"));
	assert_int_equal(hist_quantile(&h, 0.7, &got, &e), -ERANGE);
	assert_non_null(strstr(e.text, "above"));
	assert_true(got == 7);
	assert_int_equal(hist_quantile(&h, 0.5, &got, NULL), 0);
	assert_true(fabs(got / 1000 - 1) < 1.0 / 64);
}

static void test_validate_refuses(void **state)
{
	(void)state;
	struct hist good, h;
	hist_init(&good);
	for (int i = 0; i < 20; i++)
		hist_add(&good, 1000 + 100 * (uint64_t)i);
	hist_add(&good, 10);
	hist_add(&good, HIST_MAX_NS + 10);
	assert_valid(&good);
#define REFUSED(change)                                            \
	do {                                                       \
		struct err e = {0};                                \
		h = good;                                          \
		change;                                            \
		assert_int_equal(hist_validate(&h, &e), -EBADMSG); \
		assert_true(e.text[0] != '\0');                    \
	} while (0)
	REFUSED(h.count++);
	REFUSED(h.count--);
	REFUSED(h.under++);
	REFUSED(h.over--);
	REFUSED(h.bucket[700]++);
	REFUSED(h.bucket[0] = UINT64_MAX); /* the total wraps */
	REFUSED(h.min_ns = 64);
	REFUSED(h.min_ns = UINT64_MAX);
	REFUSED(h.max_ns = HIST_MAX_NS - 1);
	REFUSED(h.max_ns = 0);
	REFUSED(h.sum_ns = 0);
	REFUSED(h.sum_ns = h.sum_ns * 2);
	good.over = 0;
	good.count--;
	good.max_ns = 2900;
	good.sum_ns -= HIST_MAX_NS + 10;
	assert_valid(&good);
	REFUSED(h.max_ns = 4000);
	REFUSED(h.max_ns = 60);
	good.under = 0;
	good.count--;
	good.min_ns = 1000;
	good.sum_ns -= 10;
	assert_valid(&good);
	REFUSED(h.min_ns = 900);
	REFUSED(h.min_ns = 1200);
	hist_init(&good);
	assert_valid(&good);
	REFUSED(h.min_ns = 0);
	REFUSED(h.max_ns = 1);
	REFUSED(h.sum_ns = 1);
	hist_add(&good, 100000);
	assert_valid(&good);
	REFUSED(h.min_ns--);
	hist_init(&good);
	hist_add(&good, 3);
	assert_valid(&good);
	REFUSED(h.max_ns = 64);
	hist_init(&good);
	hist_add(&good, UINT64_MAX);
	assert_valid(&good);
	REFUSED(h.min_ns = 64);
#undef REFUSED
}

int main(void)
{
	printf("seed %#x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bucket_boundaries), cmocka_unit_test(test_powers_of_two),
	    cmocka_unit_test(test_merge_is_exact),    cmocka_unit_test(test_sum_saturates),
	    cmocka_unit_test(test_quantile_any_data), cmocka_unit_test(test_quantile_error),
	    cmocka_unit_test(test_quantile_ranks),    cmocka_unit_test(test_under_and_over),
	    cmocka_unit_test(test_validate_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
