// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that agent/layout.c spreads victims and storms as promised and stays within its memory.
 * Must not know the machine that it runs on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/layout.h"

struct fixture {
	struct host host;
	struct layout_want want;
	struct host_cpus allowed;
	struct host_pcp pcp;
	struct layout layout;
	struct err e;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->want = (struct layout_want){
	    .burst_pages = 128, .period_ns = 10000000, .window_ns = 500000000, .memory_share = 0.5};
	f->pcp = (struct host_pcp){.batch = 63, .high = 1000};
	f->host.memory_kib = 16u << 20;
	f->host.available_kib = 15u << 20;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* CPUs first..first + n, in caches of per_cache. */
static void add_cpus(struct fixture *f, unsigned first, unsigned n, unsigned per_cache)
{
	struct host_cpus *c = &f->host.online;

	for (unsigned i = 0; i < n; i++) {
		f->host.llc[c->n] = per_cache ? first + i / per_cache * per_cache : HOST_CPUS_MAX;
		c->cpu[c->n++] = first + i;
	}
	f->allowed = *c;
}

static void test_small(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 2, 2);
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(f->layout.n_victims, 1);
	assert_int_equal(f->layout.victim[0], 1);
	assert_int_equal(f->layout.storm.n, 1);
	assert_int_equal(f->layout.storm.cpu[0], 0);
}

static void test_large(void **state)
{
	struct fixture *f = *state;

	/* 256 CPUs, 32 caches of 8: one victim in 16 CPUs, each in a cache of its own. */
	add_cpus(f, 0, 256, 8);
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(f->layout.n_victims, 16);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(f->layout.victim[i] / 16, i);
	assert_int_equal(f->layout.storm.n, 240);
}

static void test_one_cache(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 64, 64);
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(f->layout.n_victims, 1);
	assert_int_equal(f->layout.victim[0], 63);
}

static void test_holes_and_no_caches(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 12, 0);
	add_cpus(f, 1016, 12, 0);
	add_cpus(f, 2048, 8, 0);
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(f->layout.n_victims, 2);
	assert_int_equal(f->layout.storm.n, 30);
	assert_int_not_equal(f->layout.victim[0], f->layout.victim[1]);
}

static void test_asked_for(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 8, 4);
	f->want.victims = (struct host_cpus){.n = 2, .cpu = {2, 3}};
	f->want.storm = (struct host_cpus){.n = 2, .cpu = {0, 1}};
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(f->layout.n_victims, 2);
	assert_int_equal(f->layout.victim[1], 3);
	assert_int_equal(f->layout.storm.n, 2);
	/* The storm's alone: the victim is chosen among the others. */
	f->want.victims.n = 0;
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_true(f->layout.victim[0] > 1);
}

static void refuses(struct fixture *f, const char *message)
{
	struct layout *l = &f->layout;
	int r = layout_cpus(&f->want, &f->host, &f->allowed, l, &f->e);

	if (r == 0)
		r = layout_memory(&f->want, &f->host, &f->pcp, 4096, l, &f->e);
	assert_true(r < 0);
	if (!strstr(f->e.text, message))
		fail_msg("\"%s\" does not say \"%s\"", f->e.text, message);
}

static void test_refuses_cpus(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 1, 1);
	refuses(f, "may use 1 CPU");
	add_cpus(f, 1, 1, 1);
	f->want.victims = (struct host_cpus){.n = 1, .cpu = {5}};
	refuses(f, "--victim-cpus: CPU 5 is not online");
	f->want.victims = (struct host_cpus){.n = 2, .cpu = {0, 1}};
	refuses(f, "--victim-cpus leaves no CPU");
	f->want.victims = (struct host_cpus){.n = 1, .cpu = {1}};
	f->want.storm = (struct host_cpus){.n = 2, .cpu = {0, 1}};
	refuses(f, "CPU 1 is both");
	f->want.victims.n = 0;
	refuses(f, "--storm-cpus leaves no CPU");
}

static void test_memory(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 4, 4);
	assert_int_equal(layout_cpus(&f->want, &f->host, &f->allowed, &f->layout, &f->e), 0);
	assert_int_equal(layout_memory(&f->want, &f->host, &f->pcp, 4096, &f->layout, &f->e), 0);
	const struct layout *l = &f->layout;
	assert_int_equal(l->lead_ns, 100000000);
	/* Enough to empty the list; the window's slots and one more at either end; time for a late kill. */
	assert_true(l->drain_bursts * l->burst_pages >= f->pcp.high + f->pcp.batch);
	assert_int_equal(l->window_slots, 52);
	assert_int_equal(l->lead_slots, 12);
	assert_int_equal(l->region_pages, 128u * (l->drain_bursts + 52u + 12u + l->spare_slots));
	assert_int_equal(l->processes, 3);
	/* 16 GiB: 3/4 of the half, in three: 2 GiB less the victim, in coarse steps 1.5 GiB. */
	assert_int_equal(l->process_pages, 1536u << 8);
	/* What is free at the moment does not move the default. */
	f->host.available_kib -= 1u << 20;
	f->pcp.high = 2000;
	assert_int_equal(layout_memory(&f->want, &f->host, &f->pcp, 4096, &f->layout, &f->e), 0);
	assert_int_equal(l->process_pages, 1536u << 8);
	/* Lists of any length are emptied up to a bound only. */
	f->pcp.high = 10000000;
	assert_int_equal(layout_memory(&f->want, &f->host, &f->pcp, 4096, &f->layout, &f->e), 0);
	assert_int_equal(l->drain_bursts * l->burst_pages, LAYOUT_DRAIN_MAX);
}

static void test_refuses_memory(void **state)
{
	struct fixture *f = *state;

	add_cpus(f, 0, 4, 4);
	f->want.processes = 18;
	f->want.process_bytes = 6ull << 30;
	refuses(f, "the storm 18 x 6144 MiB, and 50% of the 15360 MiB available is 7680 MiB");
	assert_int_equal(f->e.code, ENOMEM);
	f->want.process_bytes = 1000;
	refuses(f, "not even one page");
	f->want.process_bytes = UINT64_MAX;
	refuses(f, "not enough memory");
	f->want.processes = 0;
	f->want.process_bytes = 0;
	f->host.available_kib = 10000;
	refuses(f, "not enough memory");
	f->host.memory_kib = 10000;
	refuses(f, "not enough memory");
	f->want.period_ns = 600000000;
	refuses(f, "at least one period");
	f->want.period_ns = 50000;
	f->want.window_ns = 600000000000;
	refuses(f, "slots");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_small, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_one_cache, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_holes_and_no_caches, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_asked_for, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_cpus, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_memory, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
