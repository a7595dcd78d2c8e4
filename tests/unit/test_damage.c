// SPDX-License-Identifier: Apache-2.0
/* Owns the promise that damage never helps: a campaign that would be promoted, damaged at random, never is.
 * Must not know how the judge finds damage. */
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

#define SEED   23u
#define ROUNDS 20000

static struct trial campaign(void)
{
	struct trial t = trial_default;
	t.canaries = 4;
	t.controls = 4;
	t.boots = 3;
	t.boot_sd = 0.01;
	t.host_sd = 0.005;
	t.ratio = 0.8; /* far better: whatever is left of it still looks good */
	t.seed = SEED;
	return t;
}

static size_t pick(struct draw *d, size_t n)
{
	return (size_t)(draw_u64(d) % n);
}

enum damage {
	LEAVE_OUT_HOST,
	LEAVE_OUT_BOOT,
	LEAVE_OUT_STORMS,
	LEAVE_OUT_SAMPLES,
	NO_NUMBER,
	SAME_HOST_TWICE,
	IN_BOTH_ARMS,
	EXTRA_BOOT,
	DAMAGES
};

static void drop_host(struct judge_host *h, size_t *n, size_t i)
{
	memmove(&h[i], &h[i + 1], (*n - i - 1) * sizeof(*h));
	--*n;
}

static void drop_boot(struct draw *d, struct judge_boot *b, uint32_t *n)
{
	if (*n == 0)
		return;
	size_t i = pick(d, *n);
	memmove(&b[i], &b[i + 1], (*n - i - 1) * sizeof(*b));
	--*n;
}

/* Each leaves less, or other, than the plan names. */
static void damage(struct draw *d, enum damage what, struct judge_host *h, size_t *n)
{
	static const double none[] = {NAN, INFINITY, -INFINITY, 1e9, -1e9};
	if (*n < 2)
		return;
	size_t i = pick(d, *n);
	bool newer = pick(d, 2);
	struct judge_boot *boot = newer ? h[i].new_boot : h[i].old_boot;
	uint32_t *boots = newer ? &h[i].n_new : &h[i].n_old;
	struct judge_boot *b = &boot[*boots ? pick(d, *boots) : 0];
	switch (what) {
	case LEAVE_OUT_HOST:
		drop_host(h, n, i);
		break;
	case LEAVE_OUT_BOOT:
		drop_boot(d, boot, boots);
		break;
	case LEAVE_OUT_STORMS:
		b->storms = (uint32_t)pick(d, judge_plan_default.storms);
		break;
	case LEAVE_OUT_SAMPLES:
		b->samples[ENDPOINT_P99] = pick(d, judge_plan_default.min_samples[ENDPOINT_P99]);
		break;
	case NO_NUMBER:
		b->y[ENDPOINT_P99] = none[pick(d, ARRAY_SIZE(none))];
		break;
	case SAME_HOST_TWICE:
		memcpy(h[i].name, h[(i + 1) % *n].name, sizeof(h[i].name));
		break;
	case IN_BOTH_ARMS:
		h[i].control = !h[i].control;
		break;
	case EXTRA_BOOT:
		boot[*boots] = boot[0];
		++*boots;
		break;
	case DAMAGES:
		break;
	}
}

static void test_random(void **state)
{
	(void)state;
	struct trial t = campaign();
	struct judge_plan p = trial_plan(&t);
	unsigned promoted = 0, kinds[3] = {0};
	struct judge_host whole[8], h[8];
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct draw d = draw_start(SEED, round + 1000000);
		struct verdict v;
		struct err e = {0};
		size_t n = ARRAY_SIZE(whole);
		trial_hosts(&t, round % 100, whole);
		p.welch_alone = round % 2;
		memcpy(h, whole, sizeof(h));
		if (round < 100) {
			assert_int_equal(judge(&p, whole, n, &v, &e), 0);
			promoted += v.kind == VERDICT_PROMOTE;
		}
		unsigned times = 1 + (unsigned)pick(&d, 3);
		unsigned done = 0;
		for (unsigned i = 0; i < times; i++) {
			enum damage what = (enum damage)pick(&d, DAMAGES);
			/* Two of these can undo each other: turned and turned back, one boot twice and another left
			 * out. */
			if (i > 0 && what >= SAME_HOST_TWICE)
				continue;
			if (what == EXTRA_BOOT)
				times = 1;
			damage(&d, what, h, &n);
			done |= 1u << what;
		}
		int r = judge(&p, h, n, &v, &e);
		if (r == 0 && v.kind == VERDICT_PROMOTE)
			fail_msg("seed %u, round %d: promoted after damage %#x", SEED, (int)round, done);
		assert_true(r == 0 || e.code == -r);
		if (r == 0) {
			kinds[v.kind]++;
			assert_true(v.kind == VERDICT_PROMOTE || v.n_reasons > 0);
		}
	}
	print_message("whole: %u of 100 promoted; damaged: %u held, %u promoted, %u taken back of %d\n", promoted,
		      kinds[VERDICT_HOLD], kinds[VERDICT_PROMOTE], kinds[VERDICT_ROLLBACK], ROUNDS);
	assert_true(promoted >= 95); /* or the test proves nothing */
}

/* Seven of ten samples missing in every boot of a whole campaign. */
static void test_short(void **state)
{
	(void)state;
	struct trial t = campaign();
	struct judge_plan p = trial_plan(&t);
	struct judge_host h[8];
	struct verdict v;
	trial_hosts(&t, 1, h);
	for (size_t i = 0; i < ARRAY_SIZE(h); i++)
		for (uint32_t b = 0; b < t.boots; b++) {
			h[i].old_boot[b].samples[ENDPOINT_P99] = p.min_samples[ENDPOINT_P99] * 3 / 10;
			h[i].new_boot[b].samples[ENDPOINT_P99] = p.min_samples[ENDPOINT_P99] * 3 / 10;
		}
	assert_int_equal(judge(&p, h, ARRAY_SIZE(h), &v, NULL), 0);
	assert_int_equal(v.kind, VERDICT_HOLD);
	assert_non_null(strstr(v.reason[0], "samples"));
}

/* Nothing at all, one host, one boot, the canaries alone, the controls alone. */
static void test_little(void **state)
{
	(void)state;
	struct trial t = campaign();
	struct judge_plan p = trial_plan(&t);
	struct judge_host h[8];
	struct verdict v;
	const struct {
		size_t from, n;
	} part[] = {{0, 0}, {0, 1}, {7, 1}, {0, 4}, {4, 4}, {3, 2}, {0, 7}};
	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		trial_hosts(&t, i, h);
		assert_int_equal(judge(&p, h + part[i].from, part[i].n, &v, NULL), 0);
		assert_int_equal(v.kind, VERDICT_HOLD);
		assert_true(v.n_reasons > 0);
	}
}

/* Hosts without any spread: floored, decided, no NaN. */
static void test_no_spread(void **state)
{
	(void)state;
	struct trial t = campaign();
	struct judge_host h[8];
	struct verdict v;
	const double ratio[] = {0.9, 1, 1.5};
	const enum verdict_kind kind[] = {VERDICT_PROMOTE, VERDICT_PROMOTE, VERDICT_ROLLBACK};
	t.boot_sd = t.host_sd = t.level_sd = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ratio); i++) {
		t.ratio = ratio[i];
		struct judge_plan p = trial_plan(&t);
		trial_hosts(&t, 0, h);
		assert_int_equal(judge(&p, h, ARRAY_SIZE(h), &v, NULL), 0);
		assert_int_equal(v.kind, kind[i]);
		const struct verdict_endpoint *x = &v.endpoint[ENDPOINT_P99];
		assert_true(isfinite(x->upper) && isfinite(x->lower) && x->floored_canaries && x->floored_controls);
	}
}

int main(void)
{
	print_message("seed %u\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_short),
	    cmocka_unit_test(test_little),
	    cmocka_unit_test(test_no_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
