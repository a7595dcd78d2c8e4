// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the brake and of planning: the formula by hand, what must not fire it, times to detect, powers.
 * Must not know recordings or plans on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/core/brake.h"
#include "lib/core/draw.h"
#include "lib/core/power.h"
#include "lib/core/stats.h"

#define SEED 0x6272616bu

static struct brake start(const struct brake_plan *p)
{
	struct brake b;
	struct err e = {0};
	if (brake_start(p, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}

/* x with the whole roster there. */
static struct brake_x block(const struct brake_plan *p, double x)
{
	return (struct brake_x){.x = x, .k = p->canaries, .m = p->controls};
}

static void test_formula(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	p.horizon = 0;
	struct brake b = start(&p);
	double g = log(1.5), s2 = .04 * (1.0 / 4 + 1.0 / 8), lambda = (log(2) - g) / s2, ln_e = 0;
	const double x[] = {0.1, 0.6, -0.2, 0.8, 0.75};
	for (size_t i = 0; i < 5; i++) {
		struct brake_x one = block(&p, x[i]);
		brake_look(&b, &one, 0);
		ln_e += lambda * (x[i] - g) - lambda * lambda * s2 / 2;
		assert_true(fabs(b.ln_e - ln_e) < 1e-12 * fabs(ln_e));
	}
	assert_int_equal(b.blocks, 5);
}

/* The late start's e-value, from its definition: the mean over all starts of the horizon, those to come counting 1. */
static void test_late_start(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	p.horizon = 6;
	struct brake b = start(&p);
	double g = log(1.5), s2 = .015, lambda = (log(2) - g) / s2, l[8];
	const double x[] = {0.3, 0.5, 0.55, 0.2, 0.6, 0.58, 0.5, 0.45};
	for (int t = 0; t < 8; t++) {
		struct brake_x one = block(&p, x[t]);
		brake_look(&b, &one, 0);
		l[t] = lambda * (x[t] - g) - lambda * lambda * s2 / 2;
		double late = t < 6 ? (5 - t) / 6.0 : 0, first = 0;
		for (int from = 0; from <= t && from < 6; from++) {
			double sum = 0;
			for (int i = from; i <= t; i++)
				sum += l[i];
			late += exp(sum) / 6;
			if (from == 0)
				first = exp(sum);
		}
		assert_true(fabs(exp(b.ln_e) / (.9 * first + .1 * late) - 1) < 1e-10);
	}
}

static void test_metrics_are_averaged(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default, one = p;
	p.metrics = 3;
	struct brake all = start(&p), alone[3] = {start(&one), start(&one), start(&one)};
	for (int t = 0; t < 4; t++) {
		struct brake_x x[3] = {block(&p, .5), block(&p, .45 + .02 * t), block(&p, NAN)};
		brake_look(&all, x, 0);
		for (int i = 0; i < 3; i++)
			brake_look(&alone[i], &x[i], 0);
	}
	double mean = (exp(alone[0].ln_e) + exp(alone[1].ln_e) + exp(alone[2].ln_e)) / 3;
	assert_true(fabs(exp(all.ln_e) / mean - 1) < 1e-10);
	/* A metric without data neither helps nor hinders, and does not blind the others. */
	assert_true(fabs(alone[2].ln_e) < 1e-12 && alone[2].state == BRAKE_BLIND && all.state != BRAKE_BLIND);
}

static void test_difference(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	const double canary[] = {0.5, NAN, 0.3, 100}, control[] = {0.1, -50, INFINITY, 0.2};
	struct brake_x x = brake_difference(&p, canary, 4, control, 4);
	assert_int_equal(x.k, 3);
	assert_int_equal(x.m, 3);
	assert_int_equal(x.capped, 2);
	assert_true(fabs(x.x - ((.8 + log(2) + .4) / 3 - (.3 - .4) / 3)) < 1e-12);
	/* Of one canary, or without a control, a block says nothing. */
	assert_true(isnan(brake_difference(&p, canary, 2, control, 4).x));
	assert_true(isnan(brake_difference(&p, canary, 4, control, 0).x));
	assert_true(isnan(brake_difference(&p, NULL, 0, NULL, 0).x));
}

/* Whatever one host says, however long: it takes two. */
static void test_one_host_never_fires(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 8; k++) {
		struct brake_plan p = brake_plan_default;
		p.canaries = k;
		struct brake b = start(&p);
		double control[8] = {0};
		for (int t = 0; t < 1440; t++) {
			double canary[8] = {0};
			canary[0] = 50;
			struct brake_x x = brake_difference(&p, canary, k, control, 8);
			assert_int_equal(brake_look(&b, &x, 0), BRAKE_GO_ON);
		}
	}
}

static void test_crash_and_standing(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	struct brake b = start(&p);
	struct brake_x good = block(&p, 0), bad = block(&p, 2), nothing = {.x = NAN};
	assert_int_equal(brake_look(&b, &good, 0), BRAKE_GO_ON);
	assert_int_equal(brake_look(&b, &nothing, 0), BRAKE_BLIND);
	assert_int_equal(brake_look(&b, &good, 0), BRAKE_GO_ON);
	/* At once, even where nothing was measured. */
	assert_int_equal(brake_look(&b, &nothing, 1), BRAKE_CRASHED);
	assert_int_equal(b.fired_at, 4);
	for (int i = 0; i < 100; i++)
		assert_int_equal(brake_look(&b, &good, 0), BRAKE_CRASHED);
	assert_int_equal(b.fired_at, 4);
	/* A fired brake stands, whatever comes after, a crash too. */
	b = start(&p);
	while (brake_look(&b, &bad, 0) != BRAKE_FIRED)
		assert_true(b.blocks < 10);
	uint32_t at = b.fired_at;
	for (int i = 0; i < 100; i++)
		assert_int_equal(brake_look(&b, &good, 1), BRAKE_FIRED);
	assert_int_equal(b.fired_at, at);
}

static void test_missing_hosts_widen(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	struct brake full = start(&p), thin = start(&p);
	struct brake_x x = block(&p, .6), less = {.x = .6, .k = 2, .m = 3};
	brake_look(&full, &x, 0);
	brake_look(&thin, &less, 0);
	assert_true(thin.ln_e < full.ln_e && thin.ln_e > 0);
}

static void test_refusals(void **state)
{
	(void)state;
	struct brake b = {.blocks = 77}, before = b;
#define REFUSED(change, word)                                           \
	do {                                                            \
		struct brake_plan p = brake_plan_default;               \
		struct err e = {0};                                     \
		change;                                                 \
		assert_int_equal(brake_start(&p, &b, &e), -EINVAL);     \
		if (!strstr(e.text, word))                              \
			fail_msg("wanted \"%s\" in: %s", word, e.text); \
		assert_memory_equal(&b, &before, sizeof(b));            \
	} while (0)
	REFUSED(p.canaries = 1, "at least 2 canaries");
	REFUSED(p.controls = 0, "0 controls");
	REFUSED(p.metrics = 0, "0 metrics");
	REFUSED(p.metrics = 9, "9 metrics");
	REFUSED(p.tolerated = 0.9, "tolerated");
	REFUSED(p.tolerated = NAN, "tolerated");
	REFUSED(p.aim = 1.5, "aim");
	REFUSED(p.aim = INFINITY, "aim");
	REFUSED(p.block_sd = 0, "block_sd");
	REFUSED(p.block_sd = NAN, "block_sd");
	REFUSED(p.alpha = 0, "alpha");
	REFUSED(p.alpha = 0.6, "alpha");
}

/* Numbers that no kernel can give: no NaN in the evidence, and nothing fires. */
static void test_garbage(void **state)
{
	(void)state;
	struct brake_plan p = brake_plan_default;
	struct brake b = start(&p);
	struct draw d = draw_start(SEED, 0);
	const double garbage[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 0, -0.0};
	for (int t = 0; t < 5000; t++) {
		double canary[4] = {0}, control[8];
		canary[draw_u64(&d) % 4] = garbage[draw_u64(&d) % 7];
		for (int i = 0; i < 8; i++)
			control[i] = garbage[draw_u64(&d) % 4 ? 5 : draw_u64(&d) % 7];
		struct brake_x x = brake_difference(&p, canary, 4, control, 8);
		brake_look(&b, &x, 0);
		assert_false(isnan(b.ln_e));
		assert_true(b.state == BRAKE_GO_ON || b.state == BRAKE_BLIND);
	}
}

/* Blocks until it fires, when a regression begins after `quiet` blocks; 0: it fired before, or not within 60. */
static uint32_t fires(const struct brake_plan *p, enum draw_shape shape, double ratio, uint32_t quiet, uint64_t run)
{
	struct brake b = start(p);
	struct draw d = draw_start(SEED, run);
	struct draw_series host[12];
	for (int h = 0; h < 12; h++)
		host[h] = (struct draw_series){.shape = shape, .phi = 0.5};
	for (uint32_t t = 1; t <= quiet + 60; t++) {
		double x[12];
		for (int h = 0; h < 12; h++)
			x[h] = 0.2 * draw_next(&d, &host[h]) + (h < 4 && t > quiet ? log(ratio) : 0);
		struct brake_x seen = brake_difference(p, x, 4, x + 4, 8);
		if (brake_look(&b, &seen, 0) == BRAKE_FIRED)
			return t <= quiet ? 0 : t - quiet;
	}
	return 0;
}

/* A doubling is caught in at most 5 blocks in half of all cases and in 10 in nine of ten; one that begins after 200
 * quiet blocks takes some more, and is caught, too. */
static void test_time_to_detect(void **state)
{
	(void)state;
	enum { RUNS = 400 };
	for (int shape = 0; shape < DRAW_SHAPES; shape++) {
		for (uint32_t quiet = 0; quiet <= 200; quiet += 200) {
			unsigned within5 = 0, within10 = 0, within15 = 0;
			for (uint64_t run = 0; run < RUNS; run++) {
				uint32_t t = fires(&brake_plan_default, (enum draw_shape)shape, 2, quiet, run);
				within5 += t > 0 && t <= 5;
				within10 += t > 0 && t <= 10;
				within15 += t > 0 && t <= 15;
			}
			print_message("%s after %u: %u %u %u of %d\n", draw_shape_name((enum draw_shape)shape), quiet,
				      within5, within10, within15, RUNS);
			assert_true(quiet ? within10 > RUNS / 2 && within15 > RUNS * 9 / 10
					  : within5 > RUNS / 2 && within10 > RUNS * 9 / 10);
		}
	}
}

/* 300 campaigns of 1,440 looks each while nothing is wrong, with every shape of errors: none fires. */
static void test_no_false_alarm(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRAW_SHAPES; shape++) {
		for (uint64_t run = 0; run < 300; run++) {
			struct brake b = start(&brake_plan_default);
			struct draw d = draw_start(SEED + 1, run);
			struct draw_series host[12];
			for (int h = 0; h < 12; h++)
				host[h] = (struct draw_series){.shape = (enum draw_shape)shape, .phi = 0.5};
			for (int t = 0; t < 1440; t++) {
				double x[12];
				for (int h = 0; h < 12; h++)
					x[h] = 0.2 * draw_next(&d, &host[h]);
				struct brake_x seen = brake_difference(&b.plan, x, 4, x + 4, 8);
				if (brake_look(&b, &seen, 0) != BRAKE_GO_ON)
					fail_msg("%s, campaign %d, block %d", draw_shape_name((enum draw_shape)shape),
						 (int)run, t);
			}
		}
	}
}

static void test_forecast(void **state)
{
	(void)state;
	const struct brake_plan *p = &brake_plan_default;
	enum { RUNS = 2000 };
	double seen[11] = {0};
	for (uint64_t run = 0; run < RUNS; run++) {
		uint32_t t = fires(p, DRAW_NORMAL, 2, 0, run);
		for (uint32_t i = 1; i <= 10; i++)
			seen[i] += t > 0 && t <= i;
	}
	for (int t = 1; t <= 10; t++) {
		double said = brake_caught_within(p, 2, t);
		print_message("block %d: %.3f, said %.3f\n", t, seen[t] / RUNS, said);
		assert_true(fabs(seen[t] / RUNS - said) < 0.09);
	}
	assert_true(brake_blocks_needed(p, 2, .5) == 3 && brake_blocks_needed(p, 2, .9) <= 7);
	assert_true(isinf(brake_blocks_needed(p, 1.5, .5)) && isinf(brake_blocks_needed(p, 1, .5)));
	/* The worse, the sooner. */
	for (double r = 1.8; r < 20; r *= 1.2)
		assert_true(brake_blocks_needed(p, r * 1.2, .9) <= brake_blocks_needed(p, r, .9));
}

/* ---- planning ---- */

static double power(double boot_sd, double host_sd, uint32_t boots, double k, double m, double ratio)
{
	struct power_spread s = {.boot_sd = boot_sd, .host_sd = host_sd};
	return power_promote(power_difference_sd(&s, boots), k, m, .10, ratio, .05);
}

/* The shares that the judge's simulation promises. */
static void test_power(void **state)
{
	(void)state;
	const struct {
		double k, m;
		uint32_t boots;
		double boot_sd, host_sd, promoted;
	} row[] = {
	    {4, 8, 1, .07, .02, .38}, {4, 8, 4, .07, .02, .81}, {6, 6, 4, .07, .02, .88},
	    {8, 8, 4, .07, .02, .96}, {8, 8, 4, .15, .03, .49}, {24, 24, 4, .15, .03, .90},
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		double said = power(row[i].boot_sd, row[i].host_sd, row[i].boots, row[i].k, row[i].m, 1);
		if (fabs(said - row[i].promoted) > .02)
			fail_msg("row %zu: %.3f instead of %.3f", i, said, row[i].promoted);
		/* At the margin it is alpha, with equal arms exactly. */
		if (row[i].k == row[i].m)
			assert_true(fabs(power(row[i].boot_sd, row[i].host_sd, row[i].boots, row[i].k, row[i].m, 1.1) -
					 .05) < 1e-7);
	}
	assert_true(power(.07, .02, 4, 1, 8, 1) == 0 && power(.07, .02, 4, 8, 0, 1) == 0);
}

static void test_hosts(void **state)
{
	(void)state;
	/* 2 (1.644854 + .841621)^2 .01 / ln(1.1)^2 = 13.61 */
	assert_true(power_hosts_normal(.1, .1, 1, .05, .8) == 14);
	assert_true(power_hosts_normal(0, .1, 1, .05, .8) == 2);
	assert_true(isinf(power_hosts_normal(.1, .1, 1.1, .05, .8)) && isnan(power_hosts_normal(NAN, .1, 1, .05, .8)));
	for (double sd = 0.01; sd < 1; sd *= 1.6) {
		double n = power_hosts(sd, .1, 1, .05, .8, 3), normal = power_hosts_normal(sd, .1, 1, .05, .8);
		/* t is wider than the normal: a host or two more, never fewer. */
		assert_true(n >= 3 && n >= normal && n <= normal + 3);
		assert_true(power_promote(sd, n, n, .1, 1, .05) >= .8);
		assert_true(n == 3 || power_promote(sd, n - 1, n - 1, .1, 1, .05) < .8);
	}
	assert_true(isinf(power_hosts(.1, .1, 1.1, .05, .8, 3)) && isinf(power_hosts(5, .001, 1, .05, .8, 3)));
	assert_true(isnan(power_hosts(0, .1, 1, .05, .8, 3)) && isnan(power_hosts(.1, .1, 1, .05, 1, 3)));
	struct power_spread s = {.boot_sd = .07, .host_sd = .02};
	assert_true(fabs(power_difference_sd(&s, 4) - sqrt(.0004 + .0049 / 2)) < 1e-15);
	assert_true(isnan(power_difference_sd(&s, 0)));
}

int main(void)
{
	printf("seed 0x%x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_formula),
	    cmocka_unit_test(test_late_start),
	    cmocka_unit_test(test_metrics_are_averaged),
	    cmocka_unit_test(test_difference),
	    cmocka_unit_test(test_one_host_never_fires),
	    cmocka_unit_test(test_crash_and_standing),
	    cmocka_unit_test(test_missing_hosts_widen),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_garbage),
	    cmocka_unit_test(test_time_to_detect),
	    cmocka_unit_test(test_no_false_alarm),
	    cmocka_unit_test(test_forecast),
	    cmocka_unit_test(test_power),
	    cmocka_unit_test(test_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
