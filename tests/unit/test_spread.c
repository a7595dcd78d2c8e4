// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of an A/A campaign's spread: known spreads come back, plans are raised by them, the file's one form
 * and its bad forms. Must not know recordings on disk. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/trial.h"
#include "lib/report/spread_file.h"

#define SEED  3u
#define HOSTS 60

static struct judge_host h[HOSTS];

/* Boots 7%, hosts 3%, storms 20%. */
static struct spread learn(uint32_t boots)
{
	struct trial t = trial_default;
	struct spread_blocks blocks[ENDPOINT_COUNT] = {{0, 0}};
	const struct summary_blocks boot = {.n = 30, .square = 29 * .04}, lone = {.n = 1, .square = 7};
	struct spread s;
	t.canaries = t.controls = HOSTS / 2;
	t.boots = boots;
	t.host_sd = .03;
	t.seed = SEED;
	trial_hosts(&t, 0, h);
	for (int i = 0; i < HOSTS; i++)
		for (uint32_t b = 0; b < boots; b++)
			h[i].old_boot[b].y[ENDPOINT_EXIT] = h[i].new_boot[b].y[ENDPOINT_EXIT] = NAN;
	for (int i = 0; i < HOSTS; i++)
		spread_add_blocks(&blocks[ENDPOINT_P99], &boot);
	spread_add_blocks(&blocks[ENDPOINT_P99], &lone);
	assert_int_equal(spread_estimate(h, HOSTS, blocks, "victim-4k-active/1", &s, NULL), 0);
	return s;
}

static void test_estimate(void **state)
{
	(void)state;
	struct spread s = learn(4);
	const struct spread_endpoint *x = &s.endpoint[ENDPOINT_P99];
	assert_true(s.hosts == HOSTS && s.boots == 4);
	assert_true(fabs(x->boot_sd - .07) < .008);
	assert_true(fabs(x->host_sd - .03) < .015);
	assert_true(fabs(x->difference_sd - sqrt(.03 * .03 + .07 * .07 / 2)) < .012);
	assert_true(fabs(x->block_sd - .2) < 1e-12);
	assert_true(x->boot_sd_upper > x->boot_sd && x->block_sd_upper > .2 && x->block_sd_upper < .21);
	assert_true(isnan(s.endpoint[ENDPOINT_EXIT].boot_sd) && isnan(s.endpoint[ENDPOINT_EXIT].block_sd));
	/* Of one boot a slot, boots take all of it. */
	s = learn(1);
	x = &s.endpoint[ENDPOINT_P99];
	assert_true(fabs(x->boot_sd * sqrt(2) - x->difference_sd) < 1e-12);
	assert_true(x->host_sd < 1e-6);
}

static void test_refused(void **state)
{
	(void)state;
	const struct spread_blocks blocks[ENDPOINT_COUNT] = {{0, 0}};
	struct spread s = learn(2), kept = s;
	struct err e = {0};
	assert_int_equal(spread_estimate(h, 1, blocks, "x", &s, &e), -EINVAL);
	assert_int_equal(spread_estimate(h, 0, blocks, "x", &s, &e), -EINVAL);
	h[5].n_new = 0;
	assert_int_equal(spread_estimate(h, HOSTS, blocks, "x", &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, h[5].name));
	assert_memory_equal(&s, &kept, sizeof(s));
}

static void test_apply(void **state)
{
	(void)state;
	struct spread s = learn(4);
	struct judge_plan p = judge_plan_default;
	p.boots = 4;
	p.sd_history[ENDPOINT_P999] = 5;
	spread_apply(&s, &p);
	assert_true(fabs(p.sd_history[ENDPOINT_P99] - spread_difference_sd(&s.endpoint[ENDPOINT_P99], 4)) < 1e-15);
	assert_true(p.sd_history[ENDPOINT_P999] == 5); /* raised, never lowered */
	assert_true(p.sd_history[ENDPOINT_EXIT] == 0); /* not known: nothing raised */
}

/* Nothing changed: lots make campaigns, of which hardly any is taken back. */
static void test_split(void **state)
{
	(void)state;
	struct spread_splits splits, again;
	struct trial t = trial_default;
	learn(4);
	struct judge_plan p = trial_plan(&t);
	p.welch_alone = true;
	assert_int_equal(spread_split(&p, h, HOSTS, 200, SEED, &splits, NULL), 0);
	assert_int_equal(spread_split(&p, h, HOSTS, 200, SEED, &again, NULL), 0);
	assert_memory_equal(&splits, &again, sizeof(splits));
	assert_int_equal(splits.verdict[0] + splits.verdict[1] + splits.verdict[2], 200);
	assert_true(splits.verdict[VERDICT_ROLLBACK] <= 8);
	assert_true(splits.verdict[VERDICT_PROMOTE] >= 180);
}

static bool in_range(const struct spread *s)
{
	bool good = true;
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		double sd[] = {s->endpoint[x].boot_sd, s->endpoint[x].host_sd, s->endpoint[x].block_sd_upper};
		for (size_t i = 0; i < ARRAY_SIZE(sd); i++)
			good &= isnan(sd[i]) || (sd[i] >= 0 && sd[i] <= 10);
	}
	return good && s->hosts >= 1 && s->boots >= 1 && memchr(s->probe, 0, sizeof(s->probe));
}

static void test_file(void **state)
{
	(void)state;
	struct buf a = BUF_INIT(SPREAD_FILE_MAX), b = BUF_INIT(SPREAD_FILE_MAX);
	struct spread s = learn(4), back;
	assert_int_equal(spread_file_format(&a, &s, NULL), 0);
	assert_int_equal(spread_file_parse("a", a.data, a.len, &back, NULL), 0);
	assert_int_equal(spread_file_format(&b, &back, NULL), 0);
	assert_string_equal(a.data, b.data);
	/* Cut anywhere, or with one bit turned: refused, or numbers within their ranges. */
	for (size_t i = 0; i < a.len; i++) {
		struct err e = {0};
		char kept = a.data[i];
		int r = spread_file_parse("a", a.data, i, &back, &e);
		assert_true(r == 0 ? in_range(&back) : e.code == -r);
		a.data[i] = (char)(kept ^ (1 << (i % 7)));
		r = spread_file_parse("a", a.data, a.len, &back, &e);
		assert_true(r == 0 ? in_range(&back) : e.code == -r);
		a.data[i] = kept;
	}
	buf_free(&a);
	buf_free(&b);
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_estimate), cmocka_unit_test(test_refused), cmocka_unit_test(test_apply),
	    cmocka_unit_test(test_split),    cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
