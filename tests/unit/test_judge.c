// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the judge: every verdict, every defect, properties on random campaigns, a short simulation.
 * Must not know how recordings become numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "judge_campaign.h"
#include "lib/core/judge.h"
#include "rng.h"

#define SEED 0x6a756467u

/* ---- the three verdicts ---- */

static void test_identical_data_promotes(void **state)
{
	(void)state;
	rng_state = SEED;
	for (uint32_t k = 3; k <= 8; k += 5) {
		struct judge_plan p = plan_of(k, k, 1);
		run(&p, fill(&p, 0, 0, ones));
		expect(VERDICT_PROMOTE, "Proven no worse than the margin on every judged endpoint (3)");
		for (int x = 0; x < ENDPOINT_COUNT; x++) {
			const struct verdict_endpoint *ve = &v.endpoint[x];
			assert_true(ve->estimated && ve->promotes && !ve->rolls_back);
			assert_true(ve->floored_canaries && ve->floored_controls);
			assert_true(fabs(ve->ratio - 1) < 1e-12 && ve->lower < 1 && ve->upper > 1);
			assert_true(ve->hosts_needed == 2);
		}
	}
	show();
	/* 3 and 3 reach just .05: 20 assignments. */
	struct judge_plan p = plan_of(3, 3, 1);
	run(&p, fill(&p, 0, 0, ones));
	assert_true(v.endpoint[0].p_random == 0.05 && v.endpoint[0].assignments == 20);
}

static void test_twice_as_slow_rolls_back(void **state)
{
	(void)state;
	rng_state = SEED + 1;
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		double ratio[ENDPOINT_COUNT] = {1, 1, 1};
		ratio[x] = 2;
		struct judge_plan p = plan_of(4, 4, 2);
		run(&p, fill(&p, 0.05, 0.02, ratio));
		expect(VERDICT_ROLLBACK, "is proven worse");
		assert_int_equal(strncmp(v.reason[0], endpoint_name(x), strlen(endpoint_name(x))), 0);
		assert_true(v.endpoint[x].rolls_back && !v.endpoint[x].promotes && v.endpoint[x].lower > 1);
		assert_true(said("limit 1.100"));
	}
	show();
	/* Not judged: no reason to go back, but its number is there. */
	struct judge_plan p = plan_of(4, 4, 1);
	p.judged[ENDPOINT_EXIT] = false;
	const double ratio[ENDPOINT_COUNT] = {1, 1, 2};
	run(&p, fill(&p, 0.01, 0, ratio));
	expect(VERDICT_PROMOTE, "(2)");
	assert_true(fabs(v.endpoint[ENDPOINT_EXIT].ratio - 2) < 0.1 && !v.endpoint[ENDPOINT_EXIT].rolls_back);
	/* Nothing the second opinion could change: 2 and 2 can still go back. */
	p = plan_of(2, 2, 1);
	const double all[ENDPOINT_COUNT] = {2, 2, 2};
	run(&p, fill(&p, 0.002, 0, all));
	expect(VERDICT_ROLLBACK, "p99 is proven worse");
}

static void test_undecided_holds(void **state)
{
	(void)state;
	rng_state = SEED + 2;
	struct judge_plan p = plan_of(4, 4, 1);
	run(&p, fill(&p, 0.15, 0.02, ones));
	expect(VERDICT_HOLD, "is undecided: ratio");
	assert_true(said("hosts on each side are needed"));
	show();
}

/* Surely slower, and surely by less than the margin: the precedence of PROMOTE over ROLLBACK. */
static void test_small_sure_slowdown_promotes(void **state)
{
	(void)state;
	rng_state = SEED + 3;
	struct judge_plan p = plan_of(4, 4, 1);
	const double ratio[ENDPOINT_COUNT] = {1.05, 1, 1};
	run(&p, fill(&p, 0.001, 0, ratio));
	expect(VERDICT_PROMOTE, "closest is p99:");
	assert_true(v.endpoint[ENDPOINT_P99].lower > 1 && !v.endpoint[ENDPOINT_P99].rolls_back);
	assert_true(said("p99 is slower, but surely by less than the margin: ratio 1.050"));
	assert_true(said("known slowdown"));
	show();
}

static void test_second_opinion(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(2, 2, 1);
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_HOLD, "can never be promoted: the randomisation test reaches p = 0.167 at best");
	assert_true(said("Plan 3 of each") && said("second-opinion = welch-alone"));
	show();
	p.alpha_promote = 0.01;
	run(&p, fill(&p, 0, 0, ones));
	assert_true(said("Plan 5 of each"));
	p.alpha_promote = 0.05;
	p.welch_alone = true;
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_PROMOTE, "Proven");
	assert_true(said("The plan accepts Welch's bounds alone (second-opinion = welch-alone)"));
	assert_true(isnan(v.endpoint[0].p_random) && v.endpoint[0].assignments == 0);
	/* A campaign where the two tests disagree: there is one among a few hundred near the limit. */
	p = plan_of(4, 4, 1);
	rng_state = SEED + 4;
	bool found = false;
	for (int i = 0; i < 3000 && !found; i++) {
		run(&p, fill(&p, 0.025, 0, ones));
		const struct verdict_endpoint *ve = &v.endpoint[ENDPOINT_P99];
		if (ve->upper < ve->margin && ve->p_random > p.alpha_promote) {
			assert_false(ve->promotes);
			assert_int_equal(v.kind, VERDICT_HOLD);
			found = said("the randomisation test does not confirm it: p = 0.0");
		}
	}
	assert_true(found);
	show();
}

/* ---- defects ---- */

static void test_no_controls(void **state)
{
	(void)state;
	rng_state = SEED + 5;
	struct judge_plan p = plan_of(4, 0, 2);
	const double ratio[ENDPOINT_COUNT] = {3, 1, 1};
	run(&p, fill(&p, 0.01, 0, ratio));
	expect(VERDICT_HOLD, "No controls");
	assert_true(said("Estimate only: p99 is at 3.0") || said("Estimate only: p99 is at 2.9"));
	const struct verdict_endpoint *ve = &v.endpoint[ENDPOINT_P99];
	assert_true(ve->estimated && ve->canaries == 4 && ve->controls == 0);
	assert_true(isnan(ve->lower) && isnan(ve->upper) && !ve->promotes && !ve->rolls_back);
	show();
	run(&p, 0);
	expect(VERDICT_HOLD, "No controls");
	assert_false(v.endpoint[0].estimated);
	assert_true(isnan(v.endpoint[0].ratio));
}

static void test_roster(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(4, 4, 2);
	size_t n = fill(&p, 0, 0, ones);
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
	run(&p, n - 1);
	expect(VERDICT_HOLD, "3 controls came, the plan has 4");
	assert_true(said("ctl-0, ctl-1, ctl-2"));
	assert_true(v.endpoint[0].estimated && fabs(v.endpoint[0].ratio - 1) < 1e-12);
	/* One more than planned is not better than one fewer. */
	hosts[n] = hosts[0];
	snprintf(hosts[n].name, sizeof(hosts[n].name), "can-extra");
	run(&p, n + 1);
	expect(VERDICT_HOLD, "5 canaries came, the plan has 4");
	assert_true(said("can-extra"));
	/* Twice the same host, in place of another. */
	fill(&p, 0, 0, ones);
	memcpy(hosts[1].name, hosts[0].name, sizeof(hosts[0].name));
	run(&p, n);
	expect(VERDICT_HOLD, "can-0 came twice as canary");
	memcpy(hosts[5].name, hosts[0].name, sizeof(hosts[0].name));
	run(&p, n);
	assert_true(v.kind == VERDICT_HOLD && said("can-0 is both canary and control"));
	run(&p, 0);
	expect(VERDICT_HOLD, "0 canaries came, the plan has 4");
	assert_true(said("none"));
	/* One host on a side can only hold, whatever the plan accepts. */
	p = plan_of(1, 1, 1);
	p.welch_alone = true;
	run(&p, fill(&p, 0, 0, ones));
	expect(VERDICT_HOLD, "1 canaries and 1 controls");
	assert_true(fabs(v.endpoint[0].ratio - 1) < 1e-12 && isnan(v.endpoint[0].upper));
}

static void test_boots_and_storms(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(3, 3, 3);
	size_t n = fill(&p, 0, 0, ones);
	hosts[1].n_new = 2;
	run(&p, n);
	expect(VERDICT_HOLD, "can-1 (canary): 2 boots measured (new arm), the plan has 3");
	fill(&p, 0, 0, ones);
	hosts[4].n_old = 4;
	hosts[4].old_boot[3] = hosts[4].old_boot[2];
	run(&p, n);
	expect(VERDICT_HOLD, "ctl-1 (control): 4 boots measured (first slot), the plan has 3");
	fill(&p, 0, 0, ones);
	hosts[2].old_boot[1].storms = 29;
	run(&p, n);
	expect(VERDICT_HOLD, "can-2, old arm, boot 2: 29 storms, the plan has 30");
	fill(&p, 0, 0, ones);
	hosts[2].new_boot[0].storms = 31;
	run(&p, n);
	expect(VERDICT_HOLD, "can-2, new arm, boot 1: 31 storms, the plan has 30");
	fill(&p, 0, 0, ones);
	hosts[0].n_old = hosts[0].n_new = 0;
	run(&p, n);
	expect(VERDICT_HOLD, "can-0 (canary): 0 boots");
	assert_int_equal(v.endpoint[0].canaries, 2);
	assert_true(v.endpoint[0].estimated && v.endpoint[0].upper > 1 && !v.endpoint[0].promotes);
}

/* Whatever the value, the reason names host, slot, boot, endpoint, and how many samples of how many. */
static void check_bad_value(const struct judge_plan *p, size_t host, int slot, int x, double y)
{
	size_t n = fill(p, 0, 0, ones);
	struct judge_host *h = &hosts[host];
	struct judge_boot *arm = slot & 1 ? h->new_boot : h->old_boot;
	arm[slot / 2].y[x] = y;
	arm[slot / 2].samples[x] = 412;
	run(p, n);
	static const char *const slots[2][2] = {{"old arm", "new arm"}, {"first slot", "second slot"}};
	char want[256];
	snprintf(want, sizeof(want), "%.64s, %s, boot %d: %s has no value (412 samples of %llu", h->name,
		 slots[h->control][slot & 1], slot / 2 + 1, endpoint_name(x), (unsigned long long)p->min_samples[x]);
	expect(VERDICT_HOLD, want);
}

static void test_values(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(3, 3, 2);
	const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, -101};
	size_t n = p.canaries + p.controls;
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		for (size_t i = 0; i < n; i++)
			for (int slot = 0; slot < 4; slot++)
				for (int x = 0; x < ENDPOINT_COUNT; x++)
					check_bad_value(&p, i, slot, x, bad[k]);
	show();
	fill(&p, 0, 0, ones);
	hosts[0].new_boot[1].samples[ENDPOINT_P999] = 9999;
	run(&p, n);
	expect(VERDICT_HOLD, "can-0, new arm, boot 2: p99.9 stands on 9999 samples of 10000 needed: "
			     "measure with more victims or a longer window, or plan more storms.");
	hosts[0].new_boot[1].storms--;
	run(&p, n);
	expect(VERDICT_HOLD, "29 storms, the plan has 30");
	assert_non_null(strstr(v.reason[1], "9999 samples of 10000 needed: measure this boot again."));
	hosts[0].new_boot[1].storms++;
	/* What is not judged need not be there. */
	p.judged[ENDPOINT_P999] = false;
	hosts[0].new_boot[1].y[ENDPOINT_P999] = NAN;
	run(&p, n);
	expect(VERDICT_PROMOTE, "Proven");
}

/* Incomplete data never decide, but what they show is said. */
static void test_defect_with_evidence(void **state)
{
	(void)state;
	rng_state = SEED + 6;
	struct judge_plan p = plan_of(4, 4, 1);
	const double ratio[ENDPOINT_COUNT] = {3, 1, 1};
	size_t n = fill(&p, 0.02, 0, ratio);
	run(&p, n - 1);
	expect(VERDICT_HOLD, "3 controls came");
	assert_true(said("Even so, p99 looks worse: ratio") && said("take the change back by hand"));
	assert_true(v.endpoint[ENDPOINT_P99].rolls_back);
	show();
}

static void test_flood_of_defects(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(256, 256, 2);
	size_t n = fill(&p, 0, 0, ones);
	for (size_t i = 0; i < n; i++) {
		memset(hosts[i].name, 'n', sizeof(hosts[i].name) - 1);
		char number[32];
		snprintf(number, sizeof(number), "%08zu", i);
		memcpy(hosts[i].name + 56, number, 8);
		for (int b = 0; b < 2; b++)
			hosts[i].new_boot[b].y[ENDPOINT_P99] = NAN;
	}
	p.welch_alone = true;
	run(&p, n);
	expect(VERDICT_HOLD, "p99 has no value");
	assert_true(said("And 1006 more defects") && said("welch-alone"));
	run(&p, n - 1);
	expect(VERDICT_HOLD, "255 controls came, the plan has 256");
}

/* ---- arguments ---- */

static void test_refused_arguments(void **state)
{
	(void)state;
	struct judge_plan good = plan_of(3, 3, 1), p;
	size_t n = fill(&good, 0, 0, ones);
	struct err e;
	memset(&v, 0x5a, sizeof(v));
	static struct verdict before;
	before = v;
#define REFUSED(change, word)                                           \
	do {                                                            \
		p = good;                                               \
		fill(&good, 0, 0, ones);                                \
		n = 6;                                                  \
		e = (struct err){0};                                    \
		change;                                                 \
		assert_int_equal(judge(&p, hosts, n, &v, &e), -EINVAL); \
		if (!strstr(e.text, word))                              \
			fail_msg("wanted \"%s\" in: %s", word, e.text); \
		assert_memory_equal(&v, &before, sizeof(v));            \
	} while (0)
	REFUSED(p.canaries = 0, "0 canaries");
	REFUSED(p.canaries = JUDGE_HOSTS_MAX + 1, "10001 canaries");
	REFUSED(p.controls = JUDGE_HOSTS_MAX - 2, "at most 10000");
	REFUSED(p.controls = UINT32_MAX, "at most 10000");
	REFUSED(p.boots = 0, "0 boots");
	REFUSED(p.boots = 17, "must be 1 to 16");
	REFUSED(p.storms = 0, "0 storms");
	REFUSED(p.storms = 10001, "10001 storms");
	REFUSED(memset(p.judged, 0, sizeof(p.judged)), "no endpoint is judged");
	REFUSED(p.margin[ENDPOINT_EXIT] = 0, "margin of exit is 0");
	REFUSED(p.margin[ENDPOINT_P999] = NAN, "margin of p99.9");
	REFUSED(p.margin[ENDPOINT_P99] = INFINITY, "margin of p99");
	REFUSED(p.alpha_promote = 0, "alpha_promote 0");
	REFUSED(p.alpha_promote = NAN, "alpha_promote");
	REFUSED(p.alpha_rollback = 0.5, "alpha_rollback 0.5");
	REFUSED(p.sd_floor = 0, "sd_floor 0");
	REFUSED(p.sd_floor = NAN, "sd_floor");
	REFUSED(n = JUDGE_HOSTS_MAX + 1, "10001 hosts");
	REFUSED(hosts[2].name[0] = '\0', "host 3 of 6 has no name");
	REFUSED(memset(hosts[1].name, 'x', sizeof(hosts[1].name)), "host 2 of 6");
	REFUSED(hosts[1].n_new = 17, "can-1: 1 and 17 boots");
	REFUSED(hosts[1].n_old = UINT32_MAX, "at most 16");
#undef REFUSED
}

/* ---- properties ---- */

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void assert_same_verdict(const struct verdict *a, const struct verdict *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->n_reasons, b->n_reasons);
	for (uint32_t i = 0; i < a->n_reasons; i++)
		assert_string_equal(a->reason[i], b->reason[i]);
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		const struct verdict_endpoint *p = &a->endpoint[x], *q = &b->endpoint[x];
		assert_true(same_number(p->ratio, q->ratio) && same_number(p->lower, q->lower));
		assert_true(same_number(p->upper, q->upper) && same_number(p->p_random, q->p_random));
		assert_true(p->promotes == q->promotes && p->rolls_back == q->rolls_back);
	}
}

/* Small rosters of any outcome, so that properties meet all three verdicts. */
static size_t random_campaign(struct judge_plan *p)
{
	uint32_t k = 2 + (uint32_t)(rng() % 4), m = 2 + (uint32_t)(rng() % 4), boots = 1 + (uint32_t)(rng() % 3);
	*p = plan_of(k, m, boots);
	p->welch_alone = rng() % 2;
	double ratio[ENDPOINT_COUNT];
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		p->judged[x] = x == 0 || rng() % 2;
		ratio[x] = rng() % 3 ? 1 : exp(0.3 * normal());
	}
	return fill(p, rng() % 2 ? 0.01 : 0.08, 0.02, ratio);
}

static void test_order_of_hosts(void **state)
{
	(void)state;
	rng_state = SEED + 7;
	int kinds[3] = {0, 0, 0};
	static struct verdict first;
	for (int i = 0; i < 300; i++) {
		struct judge_plan p;
		size_t n = random_campaign(&p);
		if (i % 5 == 0)
			hosts[0].new_boot[0].y[0] = NAN;
		if (i % 7 == 0)
			memcpy(hosts[1].name, hosts[n - 1].name, sizeof(hosts[1].name));
		if (i % 11 == 0)
			memcpy(hosts[0].name, hosts[1].name, sizeof(hosts[0].name));
		run(&p, n);
		first = v;
		kinds[v.kind]++;
		for (size_t k = n - 1; k > 0; k--) {
			size_t j = rng() % (k + 1);
			struct judge_host swapped = hosts[k];
			hosts[k] = hosts[j];
			hosts[j] = swapped;
		}
		run(&p, n);
		assert_same_verdict(&first, &v);
	}
	print_message("%d HOLD, %d PROMOTE, %d ROLLBACK\n", kinds[0], kinds[1], kinds[2]);
	assert_true(kinds[0] > 20 && kinds[1] > 20 && kinds[2] > 20);
}

static void leave_out(const struct judge_plan *p, size_t *n)
{
	size_t i = rng() % *n;
	struct judge_host *h = &hosts[i];
	bool new_kernel = rng() % 2;
	uint32_t *boots = new_kernel ? &h->n_new : &h->n_old;
	struct judge_boot *arm = new_kernel ? h->new_boot : h->old_boot;
	if (*boots == 0)
		return;
	uint32_t b = (uint32_t)(rng() % *boots);
	switch (rng() % 5) {
	case 0:
		*h = hosts[--*n];
		break;
	case 1:
		arm[b] = arm[--*boots];
		break;
	case 2:
		arm[b].storms = (uint32_t)(rng() % p->storms);
		break;
	case 3:
		arm[b].samples[0] = rng() % p->min_samples[0];
		break;
	default:
		arm[b].y[0] = NAN;
		break;
	}
}

static void test_leaving_out_never_promotes(void **state)
{
	(void)state;
	rng_state = SEED + 8;
	int tried = 0;
	for (int i = 0; i < 400; i++) {
		struct judge_plan p;
		size_t n = random_campaign(&p), whole = n;
		static struct judge_host kept[16];
		memcpy(kept, hosts, n * sizeof(hosts[0]));
		for (int k = 0; k < 4; k++) {
			n = whole;
			memcpy(hosts, kept, n * sizeof(hosts[0]));
			for (uint64_t times = 1 + rng() % 3; times > 0 && n > 0; times--)
				leave_out(&p, &n);
			run(&p, n);
			assert_int_equal(v.kind, VERDICT_HOLD);
			tried++;
		}
	}
	print_message("%d omissions, every one HOLD\n", tried);
}

static void test_scale_changes_nothing(void **state)
{
	(void)state;
	rng_state = SEED + 9;
	static struct verdict first;
	for (int i = 0; i < 200; i++) {
		struct judge_plan p;
		size_t n = random_campaign(&p);
		run(&p, n);
		first = v;
		double c = 8 * (uniform() - 0.5);
		for (size_t k = 0; k < n; k++)
			for (uint32_t b = 0; b < p.boots; b++)
				for (int x = 0; x < ENDPOINT_COUNT; x++) {
					hosts[k].old_boot[b].y[x] += c;
					hosts[k].new_boot[b].y[x] += c;
				}
		run(&p, n);
		assert_int_equal(v.kind, first.kind);
		for (int x = 0; x < ENDPOINT_COUNT; x++) {
			assert_true(fabs(v.endpoint[x].ratio / first.endpoint[x].ratio - 1) < 1e-9);
			assert_true(fabs(v.endpoint[x].upper / first.endpoint[x].upper - 1) < 1e-9);
			assert_true(fabs(v.endpoint[x].lower / first.endpoint[x].lower - 1) < 1e-9);
			assert_true(same_number(v.endpoint[x].p_random, first.endpoint[x].p_random));
		}
	}
}

/* D of +-s on each side: spread s sqrt(4/3) with 4 hosts; checked against the formula worked out by hand. */
static void test_bounds_and_hosts_needed(void **state)
{
	(void)state;
	struct judge_plan p = plan_of(4, 4, 1);
	size_t n = fill(&p, 0, 0, ones);
	double s = 0.1 * sqrt(0.75);
	for (size_t i = 0; i < n; i++)
		for (int x = 0; x < ENDPOINT_COUNT; x++)
			hosts[i].new_boot[0].y[x] += i % 2 ? s : -s;
	run(&p, n);
	const struct verdict_endpoint *ve = &v.endpoint[ENDPOINT_P99];
	assert_true(fabs(ve->delta) < 1e-12 && fabs(ve->nu - 6) < 1e-9);
	assert_true(fabs(ve->se - 0.1 * sqrt(0.5)) < 1e-12);
	/* t(.95, 6) = 1.943180281; t(1 - .01/3, 6) = 3.997 */
	assert_true(fabs(log(ve->upper) - 1.943180281 * 0.1 * sqrt(0.5)) < 1e-9);
	assert_true(log(ve->lower) < -3.9 * 0.1 * sqrt(0.5) && log(ve->lower) > -4.1 * 0.1 * sqrt(0.5));
	/* 2 (1.644854 + .841621)^2 .01 / ln(1.1)^2 = 13.61 */
	assert_true(ve->hosts_needed == 14);
	assert_false(ve->floored_canaries);
	assert_int_equal(v.kind, VERDICT_HOLD);
	/* With one judged endpoint the rollback bound is at alpha itself: t(.99, 6) = 3.142668403. */
	p.judged[ENDPOINT_P999] = p.judged[ENDPOINT_EXIT] = false;
	run(&p, n);
	assert_true(fabs(log(v.endpoint[ENDPOINT_P99].lower) + 3.142668403 * 0.1 * sqrt(0.5)) < 1e-9);
}

/* ---- a short simulation: the published rates, 20,000 campaigns each, within sampling error of our 2,000 ---- */

struct rates {
	double promoted, rolled_back;
};

static struct rates simulate(uint32_t k, uint32_t m, uint32_t boots, double boot_sd, double host_sd, double ratio)
{
	enum { N = 2000 };
	struct judge_plan p = plan_of(k, m, boots);
	const double ratios[ENDPOINT_COUNT] = {ratio, 1, 1};
	p.welch_alone = true;
	p.judged[ENDPOINT_P999] = p.judged[ENDPOINT_EXIT] = false;
	struct rates r = {0, 0};
	for (int i = 0; i < N; i++) {
		size_t n = fill(&p, boot_sd, host_sd, ratios);
		struct err e;
		assert_int_equal(judge(&p, hosts, n, &v, &e), 0);
		r.promoted += v.endpoint[ENDPOINT_P99].promotes;
		/* The two conditions are counted separately: whatever the promotion bound says. */
		r.rolled_back += v.endpoint[ENDPOINT_P99].lower > 1;
	}
	r.promoted /= N;
	r.rolled_back /= N;
	return r;
}

static void near(const char *what, double got, double want)
{
	/* Four standard errors of ours and one of the published rate, and half a digit of its last place. */
	double se = sqrt(fmax(want * (1 - want), 0.001) / 2000);
	print_message("  %-28s %.4f, published %.3f\n", what, got, want);
	assert_true(fabs(got - want) <= 4 * se + se / 3 + 0.005);
}

static void test_simulation(void **state)
{
	(void)state;
	rng_state = SEED + 10;
	const struct {
		uint32_t k, m, boots;
		double boot_sd, host_sd, promoted_100, promoted_110, rolled_100, rolled_120;
	} rows[] = {
	    {4, 8, 1, 0.07, 0.02, .38, .051, .011, .47},
	    {8, 8, 4, 0.07, 0.02, .96, .048, .009, 1.00},
	    {8, 8, 4, 0.15, 0.03, .49, .050, .009, .73},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%u/%u/%u, boot SD %.0f%%\n", rows[i].k, rows[i].m, rows[i].boots, 100 * rows[i].boot_sd);
		struct rates r = simulate(rows[i].k, rows[i].m, rows[i].boots, rows[i].boot_sd, rows[i].host_sd, 1);
		near("promoted at 1.00", r.promoted, rows[i].promoted_100);
		near("rolled back at 1.00", r.rolled_back, rows[i].rolled_100);
		r = simulate(rows[i].k, rows[i].m, rows[i].boots, rows[i].boot_sd, rows[i].host_sd, 1.1);
		near("promoted at 1.10", r.promoted, rows[i].promoted_110);
		r = simulate(rows[i].k, rows[i].m, rows[i].boots, rows[i].boot_sd, rows[i].host_sd, 1.2);
		near("rolled back at 1.20", r.rolled_back, rows[i].rolled_120);
	}
}

int main(void)
{
	printf("seed %#x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_identical_data_promotes),
	    cmocka_unit_test(test_twice_as_slow_rolls_back),
	    cmocka_unit_test(test_undecided_holds),
	    cmocka_unit_test(test_small_sure_slowdown_promotes),
	    cmocka_unit_test(test_second_opinion),
	    cmocka_unit_test(test_no_controls),
	    cmocka_unit_test(test_roster),
	    cmocka_unit_test(test_boots_and_storms),
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_defect_with_evidence),
	    cmocka_unit_test(test_flood_of_defects),
	    cmocka_unit_test(test_refused_arguments),
	    cmocka_unit_test(test_order_of_hosts),
	    cmocka_unit_test(test_leaving_out_never_promotes),
	    cmocka_unit_test(test_scale_changes_nothing),
	    cmocka_unit_test(test_bounds_and_hosts_needed),
	    cmocka_unit_test(test_simulation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
