// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the roster's draw.
 * Must not know the hash: only what follows from one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "rng.h"
#include "rollout/roster.h"

#define SEED 0x726f7374u
#define N    60

static struct roster_host fleet[N];
static struct directive d;

/* h00 .. h59: 30 of cluster a, 20 of b, 10 of c, which the rollout does not name. */
static void make(const char *name)
{
	d = (struct directive){.n_clusters = 2,
			       .cluster = {"a", "b"},
			       .canaries_from = "a",
			       .controls_from = "a",
			       .judge = {.canaries = 4, .controls = 6},
			       .n_waves = 3,
			       .wave_percent = {10, 50, 100}};
	snprintf(d.name, sizeof(d.name), "%s", name);
	for (unsigned i = 0; i < N; i++) {
		fleet[i] = (struct roster_host){.wave = 77};
		snprintf(fleet[i].name, sizeof(fleet[i].name), "h%02u", i);
		snprintf(fleet[i].cluster, sizeof(fleet[i].cluster), "%s", i < 30 ? "a" : i < 50 ? "b" : "c");
	}
}

static void draw(void)
{
	struct err e = {0};

	if (roster_draw(&d, fleet, N, &e) < 0)
		fail_msg("%s", e.text);
}

static unsigned count(enum role role, const char *cluster, uint32_t wave)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += fleet[i].role == role && strcmp(fleet[i].cluster, cluster) == 0 && fleet[i].wave == wave;
	return n;
}

static void test_roles_and_waves(void **state)
{
	(void)state;
	make("r1");
	draw();
	assert_int_equal(count(ROLE_CANARY, "a", 0), 4);
	assert_int_equal(count(ROLE_CONTROL, "a", 1), 6);
	assert_int_equal(count(ROLE_NONE, "c", 0), 10);
	/* 40 are left in clusters: 4, 20 and 40 of them by the end of each wave. */
	for (uint32_t w = 1; w <= 3; w++)
		assert_int_equal(count(ROLE_WAVE, "a", w) + count(ROLE_WAVE, "b", w), w == 1 ? 4 : w == 2 ? 16 : 20);
	/* Controls from elsewhere stay where they are; canaries from elsewhere are canaries all the same. */
	make("r1");
	snprintf(d.controls_from, sizeof(d.controls_from), "c");
	draw();
	assert_int_equal(count(ROLE_CONTROL, "c", 0), 6);
	assert_int_equal(count(ROLE_NONE, "c", 0), 4);
	make("r1");
	snprintf(d.canaries_from, sizeof(d.canaries_from), "c");
	draw();
	assert_int_equal(count(ROLE_CANARY, "c", 0), 4);
	assert_int_equal(count(ROLE_CONTROL, "a", 1), 6);
}

static void test_small_fleets(void **state)
{
	(void)state;
	/* A first wave of 10% of three hosts is one host; then two, then none. */
	make("r1");
	d.judge.canaries = 27;
	d.judge.controls = 0;
	snprintf(d.cluster[1], sizeof(d.cluster[1]), "a");
	draw();
	assert_int_equal(count(ROLE_WAVE, "a", 1), 1);
	assert_int_equal(count(ROLE_WAVE, "a", 2), 1);
	assert_int_equal(count(ROLE_WAVE, "a", 3), 1);
	/* Everybody is a canary or a control: the waves hold the controls alone. */
	make("r1");
	d.n_clusters = 1;
	d.judge.canaries = d.judge.controls = 15;
	draw();
	assert_int_equal(count(ROLE_CONTROL, "a", 1), 15);
	assert_int_equal(count(ROLE_WAVE, "a", 1), 0);
}

static void test_repeatable_and_independent_of_order(void **state)
{
	(void)state;
	static struct roster_host first[N];
	rng_state = SEED;

	make("r1");
	draw();
	memcpy(first, fleet, sizeof(first));
	for (int round = 0; round < 20; round++) {
		make("r1");
		for (unsigned i = N - 1; i > 0; i--) {
			unsigned j = (unsigned)(rng() % (i + 1));
			struct roster_host h = fleet[i];
			fleet[i] = fleet[j];
			fleet[j] = h;
		}
		draw();
		for (unsigned i = 0; i < N; i++) {
			unsigned at = (unsigned)(fleet[i].name[1] - '0') * 10 + (unsigned)(fleet[i].name[2] - '0');
			assert_int_equal(fleet[i].role, first[at].role);
			assert_int_equal(fleet[i].wave, first[at].wave);
		}
	}
}

/* Over many rollouts each host of a is a canary in 4 of 30: no host is spared, none always taken. */
static void test_other_rollouts_draw_other_hosts(void **state)
{
	(void)state;
	unsigned drawn[N] = {0};

	for (unsigned i = 0; i < 3000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "kernel-%u", i);
		make(name);
		draw();
		for (unsigned h = 0; h < N; h++)
			drawn[h] += fleet[h].role == ROLE_CANARY;
	}
	for (unsigned h = 0; h < 30; h++)
		assert_in_range(drawn[h], 400 - 93, 400 + 93); /* 5 standard deviations of 18.6 */
	for (unsigned h = 30; h < N; h++)
		assert_int_equal(drawn[h], 0);
}

static void test_too_few_hosts(void **state)
{
	(void)state;
	struct err e = {0};

	make("r1");
	d.judge.canaries = 31;
	assert_int_equal(roster_draw(&d, fleet, N, &e), -EINVAL);
	assert_string_equal(e.text,
			    "rollout r1: cluster a has 30 hosts for 31 canaries; enrol more, or ask for fewer in "
			    "the plan");
	d.judge.canaries = 28;
	assert_int_equal(roster_draw(&d, fleet, N, &e), -EINVAL);
	assert_string_equal(e.text, "rollout r1: cluster a has 2 hosts for 6 controls beside its canaries; enrol more, "
				    "or ask for fewer in the plan");
	for (unsigned i = 0; i < N; i++) /* untouched */
		assert_true(fleet[i].role == ROLE_NONE && fleet[i].wave == 77);
	assert_int_equal(roster_draw(&d, fleet, 0, &e), -EINVAL);
	assert_int_equal(roster_draw(&d, fleet, DECIDE_HOSTS_MAX + 1, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_roles_and_waves),
	    cmocka_unit_test(test_small_fleets),
	    cmocka_unit_test(test_repeatable_and_independent_of_order),
	    cmocka_unit_test(test_other_rollouts_draw_other_hosts),
	    cmocka_unit_test(test_too_few_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
