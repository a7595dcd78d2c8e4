// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that zoneinfo is read right, and refused where it cannot be.
 * Must not know the model that uses it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/zoneinfo.h"

static const char two_zones[] = "Node 1, zone    DMA32\n"
				"  per-node stats\n"
				"      nr_inactive_anon 5\n"
				"  pages free     2\n"
				"        boost    10\n"
				"        min      30\n"
				"        low      40\n"
				"        high     50\n"
				"        managed  7000\n"
				"        protection: (0, 0, 0, 0)\n"
				"  pagesets\n"
				"    cpu: 3\n"
				"              count: 320\n"
				"              high:  9000\n"
				"              batch: 63\n"
				"              high_min: 5\n"
				"              high_max: 45056\n"
				"  vm stats threshold: 24\n"
				"    cpu: 17\n"
				"              count: 320\n"
				"              high:  423\n"
				"              batch: 63\n"
				"              high_min: 5\n"
				"              high_max: 45056\n"
				"Node 1, zone  Movable\n"
				"  pages free     0\n"
				"        managed  0\n"
				"Node 2, zone   Normal\n"
				"        min      1\n"
				"        low      2\n"
				"        high     3\n"
				"        managed  9\n"
				"  pagesets\n"
				"    cpu: 3\n"
				"              high:  4\n"
				"              batch: 1\n";

static void test_reads(void **state)
{
	static struct zoneinfo z;
	struct err e;

	(void)state;
	assert_int_equal(zoneinfo_parse(two_zones, strlen(two_zones), &z, &e), 0);
	assert_int_equal(z.n, 2);
	const struct zoneinfo_zone *a = &z.zone[0], *b = &z.zone[1];
	assert_string_equal(a->name, "DMA32");
	assert_int_equal(a->node, 1);
	assert_int_equal(a->managed, 7000);
	assert_int_equal(a->boost, 10);
	assert_int_equal(a->low, 40);
	assert_int_equal(a->cpus, 2);
	assert_int_equal(a->pcp_high.from, 423);
	assert_int_equal(a->pcp_high.to, 9000);
	assert_int_equal(a->pcp_batch.from, 63);
	assert_true(a->has_bounds);
	assert_int_equal(a->high_max.to, 45056);
	assert_int_equal(b->node, 2);
	assert_int_equal(b->cpus, 1);
	assert_int_equal(b->high, 3);
	assert_false(b->has_bounds);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *text, *says;
		int code;
	} cases[] = {
	    {"", "no zone", -ENODATA},
	    {"MemTotal: 5 kB\n", "no zone", -ENODATA},
	    {"Node 0, zone DMA\n managed 0\n", "no zone", -ENODATA},
	    {"Node x, zone DMA\n", "line 1", -EINVAL},
	    {"Node 0 zone DMA\n", "line 1", -EINVAL},
	    {"Node 0, zone\n", "line 1", -EINVAL},
	    {"Node 5000, zone DMA\n", "line 1", -ERANGE},
	    {"Node 0, zone DMA\n managed many\n", "line 2", -EINVAL},
	    {"Node 0, zone DMA\n managed\n", "line 2", -EINVAL},
	    {"Node 0, zone DMA\n managed -1\n", "line 2", -EINVAL},
	    {"Node 0, zone DMA\n managed 99999999999999999999999\n", "line 2", -ERANGE},
	    {"Node 0, zone DMA\n managed 5\n", "0 CPUs", -EINVAL},
	    {"Node 0, zone DMA\n managed 5\n pagesets\n cpu: 0\n high: 4\n", "0 with batch", -EINVAL},
	    {"Node 0, zone DMA\n managed 5\n low 9\n min 10\n high 11\n pagesets\n cpu: 0\n high: 4\n batch: 1\n",
	     "do not rise", -EINVAL},
	    {"Node 0, zone DMA\n boost 11\n managed 5\n min 10\n low 12\n high 14\n pagesets\n cpu: 0\n high: 4\n "
	     "batch: 1\n",
	     "boost is above min", -EINVAL},
	    {"Node 0, zone DMA\n managed 5\n pagesets\n cpu: 0\n high: 4\n batch: 1\n"
	     "Node 0, zone DMA\n managed 5\n pagesets\n cpu: 0\n high: 4\n batch: 1\n",
	     "is there twice", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct zoneinfo z;
		struct err e;
		int r = zoneinfo_parse(cases[i].text, strlen(cases[i].text), &z, &e);

		if (r != cases[i].code || !strstr(e.text, cases[i].says))
			fail_msg("case %zu: %d, \"%s\"", i, r, r < 0 ? e.text : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads), cmocka_unit_test(test_refuses)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
