// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the judge on bad input: each kind by itself, then random damage, none of which may end in PROMOTE.
 * Must not know how the judge finds it. */
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

#include "judge_campaign.h"
#include "lib/core/draw.h"

#define SEED 0x62616469u

/* A campaign that is promoted while nothing is wrong with it: whatever is done to it then is what holds it. */
static size_t good(struct judge_plan *p)
{
	*p = plan_of(4, 4, 2);
	size_t n = fill(p, 0.005, 0.002, ones);
	run(p, n);
	expect(VERDICT_PROMOTE, "Proven no worse");
	return n;
}

static void test_empty(void **state)
{
	(void)state;
	struct judge_plan p;
	good(&p);
	run(&p, 0);
	expect(VERDICT_HOLD, "0 canaries came, the plan has 4");
	p = judge_plan_default;
	run(&p, 0);
	expect(VERDICT_HOLD, "0 canaries came");
}

static void test_no_numbers(void **state)
{
	(void)state;
	struct judge_plan p;
	const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		size_t n = good(&p);
		hosts[1].new_boot[1].y[ENDPOINT_P99] = bad[k];
		run(&p, n);
		expect(VERDICT_HOLD, "can-1, new arm, boot 2: p99 has no value");
		/* All of them: no endpoint is left to be estimated. */
		for (size_t i = 0; i < n; i++)
			for (uint32_t b = 0; b < 2; b++)
				hosts[i].old_boot[b].y[ENDPOINT_P99] = hosts[i].new_boot[b].y[ENDPOINT_P99] = bad[k];
		run(&p, n);
		expect(VERDICT_HOLD, "has no value");
		assert_false(v.endpoint[ENDPOINT_P99].estimated);
	}
}

static void test_one_host(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(1, 1, 2);
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_HOLD, "cannot be known from one host");
	p = plan_of(1, 8, 2);
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_HOLD, "cannot be known from one host");
	p = plan_of(4, 0, 2);
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_HOLD, "No controls");
}

static void test_one_boot_where_two_are_planned(void **state)
{
	(void)state;
	struct judge_plan p;
	size_t n = good(&p);
	for (size_t i = 0; i < n; i++)
		hosts[i].n_old = hosts[i].n_new = 1;
	run(&p, n);
	expect(VERDICT_HOLD, "1 boots measured (old arm), the plan has 2");
}

static void test_duplicated_hosts(void **state)
{
	(void)state;
	struct judge_plan p;
	size_t n = good(&p);
	hosts[2] = hosts[1];
	run(&p, n);
	expect(VERDICT_HOLD, "can-1 came twice as canary");
	/* One more than planned is no better. */
	n = good(&p);
	hosts[n] = hosts[1];
	run(&p, n + 1);
	expect(VERDICT_HOLD, "5 canaries came, the plan has 4");
}

static void test_host_in_both_arms(void **state)
{
	(void)state;
	struct judge_plan p;
	size_t n = good(&p);
	memcpy(hosts[5].name, hosts[1].name, sizeof(hosts[5].name));
	run(&p, n);
	expect(VERDICT_HOLD, "can-1 is both canary and control");
}

static void test_most_samples_missing(void **state)
{
	(void)state;
	struct judge_plan p;
	for (int slot = 0; slot < 2; slot++) {
		size_t n = good(&p);
		struct judge_boot *b = slot ? &hosts[6].new_boot[0] : &hosts[6].old_boot[0];
		/* 7 of 10 storms, and of their samples. */
		b->storms = p.storms * 3 / 10;
		for (int x = 0; x < ENDPOINT_COUNT; x++)
			b->samples[x] = b->samples[x] * 3 / 10;
		run(&p, n);
		expect(VERDICT_HOLD, "9 storms, the plan has 30");
		assert_true(said("stands on 300 samples of 1000 needed"));
	}
}

static void test_evidence_of_two_kinds(void **state)
{
	(void)state;
	struct judge_plan p;
	size_t n = good(&p);
	hosts[3].new_boot[0].probing = PROBING_PASSIVE;
	run(&p, n);
	expect(VERDICT_HOLD, "can-3, new arm, boot 1: the evidence is passive, the plan asks for active");
	for (size_t i = 0; i < n; i++)
		for (uint32_t b = 0; b < 2; b++)
			hosts[i].old_boot[b].probing = hosts[i].new_boot[b].probing = PROBING_PASSIVE;
	run(&p, n);
	expect(VERDICT_HOLD, "never mixed");
}

/* A clock that steps makes times of no length, of a day, or of less than none: the first are far off, the last two are
 * no numbers by the time they come here. None helps, not even where it makes a canary look fast. */
static void test_clock_steps(void **state)
{
	(void)state;
	struct judge_plan p;
	const double y[] = {log(1e-9), log(86400), NAN, log(0.0)};
	for (size_t k = 0; k < sizeof(y) / sizeof(y[0]); k++) {
		size_t n = good(&p);
		for (int x = 0; x < ENDPOINT_COUNT; x++)
			hosts[0].new_boot[0].y[x] = y[k];
		run(&p, n);
		assert_int_not_equal(v.kind, VERDICT_PROMOTE);
	}
}

/* Controls that came up in another way than canaries are slower or faster as one: a difference that is not the
 * kernel's, and that is as large as the margin. The judge sees controls that moved together, and must not promote by
 * that. */
static void test_controls_that_moved(void **state)
{
	(void)state;
	struct judge_plan p;
	size_t n = good(&p);
	for (size_t i = 4; i < n; i++)
		for (uint32_t b = 0; b < 2; b++)
			for (int x = 0; x < ENDPOINT_COUNT; x++)
				hosts[i].new_boot[b].y[x] -= log(1.3);
	run(&p, n);
	expect(VERDICT_ROLLBACK, "proven worse");
}

/* Zero variance is floored, not refused. */
static void test_no_spread(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(4, 4, 2);
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_PROMOTE, "Proven no worse");
	assert_true(v.endpoint[0].floored_canaries && v.endpoint[0].floored_controls && v.endpoint[0].se > 0);
	double slow[ENDPOINT_COUNT] = {1.5, 1.5, 1.5};
	run(&p, fill(&p, 0, 0, slow));
	expect(VERDICT_ROLLBACK, "proven worse");
}

/* ---- random damage ---- */

static struct draw d;
static size_t below(size_t n)
{
	return (size_t)(draw_u64(&d) % n);
}

static struct judge_boot *any_boot(size_t n, struct judge_host **ret_host, uint32_t **ret_count)
{
	struct judge_host *h = &hosts[below(n)];
	bool newer = below(2);
	*ret_host = h;
	*ret_count = newer ? &h->n_new : &h->n_old;
	struct judge_boot *arm = newer ? h->new_boot : h->old_boot;
	return **ret_count ? &arm[below(**ret_count)] : NULL;
}

/* One kind of damage: something that the plan names is left out, or is no longer what it says. */
static size_t damage(const struct judge_plan *p, size_t n)
{
	struct judge_host *h;
	uint32_t *count;
	if (n == 0)
		return 0;
	struct judge_boot *b = any_boot(n, &h, &count);
	int x = (int)below(ENDPOINT_COUNT);
	switch (below(8)) {
	case 0: /* a host */
		*h = hosts[n - 1];
		return n - 1;
	case 1: /* a boot; the others move up */
		if (b) {
			struct judge_boot *arm = count == &h->n_new ? h->new_boot : h->old_boot;
			memmove(b, b + 1, (size_t)(&arm[*count] - (b + 1)) * sizeof(*b));
			--*count;
		}
		return n;
	case 2: /* storms */
		if (b && b->storms > 0)
			b->storms -= 1 + (uint32_t)below(b->storms);
		return n;
	case 3: /* samples */
		if (b && b->samples[x] >= p->min_samples[x])
			b->samples[x] = below(p->min_samples[x]);
		return n;
	case 4: /* the value itself */
		if (b)
			b->y[x] = (double[]){NAN, INFINITY, -INFINITY, 1e200, -200}[below(5)];
		return n;
	case 5: /* a host twice, in the place of another */
		if (n > 1 && h != &hosts[0])
			*h = hosts[0];
		return n;
	case 6: /* changes sides */
		h->control = !h->control;
		return n;
	default: /* a worst boot that is conveniently lost, with a better one counted twice */
		if (b)
			b->probing = PROBING_PASSIVE;
		return n;
	}
}

static bool whole(const struct judge_plan *p, size_t n)
{
	uint32_t canaries = 0, controls = 0;
	for (size_t i = 0; i < n; i++) {
		const struct judge_host *h = &hosts[i];
		canaries += !h->control;
		controls += h->control;
		if (h->n_old != p->boots || h->n_new != p->boots)
			return false;
		for (uint32_t b = 0; b < 2 * p->boots; b++) {
			const struct judge_boot *boot = b < p->boots ? &h->old_boot[b] : &h->new_boot[b - p->boots];
			if (boot->storms != p->storms || boot->probing != p->probing)
				return false;
			for (int x = 0; x < ENDPOINT_COUNT; x++)
				if (!(fabs(boot->y[x]) <= 100) || boot->samples[x] < p->min_samples[x])
					return false;
		}
		for (size_t j = 0; j < i; j++)
			if (strcmp(hosts[j].name, h->name) == 0)
				return false;
	}
	return canaries == p->canaries && controls == p->controls;
}

/* From hosts that are as good as can be to hosts that are bad, with one to four kinds of damage at once. */
static void test_random_damage(void **state)
{
	(void)state;
	enum { RUNS = 20000 };
	unsigned promoted = 0, rolled_back = 0, still_whole = 0;
	for (int i = 0; i < RUNS; i++) {
		d = draw_start(SEED, (uint64_t)i);
		rng_state = SEED + (uint64_t)i;
		struct judge_plan p = plan_of(3 + (uint32_t)below(4), 3 + (uint32_t)below(4), 1 + (uint32_t)below(3));
		double ratio[ENDPOINT_COUNT] = {0.5 + draw_uniform(&d), 1, 1};
		size_t n = fill(&p, 0.002 + 0.05 * draw_uniform(&d), 0.002, ratio);
		for (size_t k = 1 + below(4); k > 0; k--)
			n = damage(&p, n);
		run(&p, n);
		if (whole(&p, n)) {
			/* A host that changed sides and back, a boot of a host that was left out. */
			still_whole++;
			continue;
		}
		promoted += v.kind == VERDICT_PROMOTE;
		rolled_back += v.kind == VERDICT_ROLLBACK;
		if (v.kind != VERDICT_HOLD)
			fail_msg("run %d: %s, %s", i, verdict_name(v.kind), v.reason[0]);
	}
	print_message("%d damaged campaigns: %u PROMOTE, %u ROLLBACK; %u whole after all\n", RUNS, promoted,
		      rolled_back, still_whole);
	assert_true(still_whole < RUNS / 20);
}

/* Leaving out what is bad: a campaign that would be taken back never becomes one that is promoted. */
static void test_leaving_out_the_worst(void **state)
{
	(void)state;
	double slow[ENDPOINT_COUNT] = {1.3, 1.3, 1.3};
	for (int i = 0; i < 200; i++) {
		rng_state = SEED + (uint64_t)i;
		struct judge_plan p = plan_of(6, 6, 3);
		size_t n = fill(&p, 0.03, 0.02, slow);
		run(&p, n);
		assert_int_equal(v.kind, VERDICT_ROLLBACK);
		/* The worst boot of each canary, then the worst canaries one by one. */
		for (size_t h = 0; h < 6; h++) {
			uint32_t worst = 0;
			for (uint32_t b = 1; b < 3; b++)
				if (hosts[h].new_boot[b].y[0] > hosts[h].new_boot[worst].y[0])
					worst = b;
			hosts[h].new_boot[worst] = hosts[h].new_boot[2];
			hosts[h].n_new = 2;
			run(&p, n);
			assert_int_equal(v.kind, VERDICT_HOLD);
		}
		for (; n > 6; n--) {
			memmove(&hosts[0], &hosts[1], (n - 1) * sizeof(hosts[0]));
			run(&p, n - 1);
			assert_int_equal(v.kind, VERDICT_HOLD);
		}
	}
}

int main(void)
{
	printf("seed 0x%x\n", SEED);
	rng_state = SEED;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_no_numbers),
	    cmocka_unit_test(test_one_host),
	    cmocka_unit_test(test_one_boot_where_two_are_planned),
	    cmocka_unit_test(test_duplicated_hosts),
	    cmocka_unit_test(test_host_in_both_arms),
	    cmocka_unit_test(test_most_samples_missing),
	    cmocka_unit_test(test_evidence_of_two_kinds),
	    cmocka_unit_test(test_clock_steps),
	    cmocka_unit_test(test_controls_that_moved),
	    cmocka_unit_test(test_no_spread),
	    cmocka_unit_test(test_random_damage),
	    cmocka_unit_test(test_leaving_out_the_worst),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
