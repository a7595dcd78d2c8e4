// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that rollout/forecast.c tells each role's steps, and each problem of a fleet once.
 * Must not know HTTP or the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rollout/forecast.h"

#define HEX40   "0123456789012345678901234567890123456789"
#define HEX64   HEX40 "012345678901234567890123"
#define ROLLOUT "[rollout]\nname = r1\nclusters = a b\norder-timeout = 30min\n"
#define KERNEL                                                                                       \
	"[kernel]\npackage = linux-image-6.1.9-x\nversion = 1.0\nrelease = 6.1.9-x\nsha256 = " HEX64 \
	"\nbuild-id = " HEX40 "\n"
#define PRESET   "[preset]\nname = latency\nsettings = vm.pcp_batch_scale_max=0\n"
#define MEASURED "[judge]\ncanaries = 3\ncontrols = 3\nboots = 2\n[waves]\nsoak = 90s\n"
#define NOW      100000u

static void parse(const char *text, struct directive *d)
{
	struct err e = {0};
	if (directive_parse("plan", text, strlen(text), false, d, &e) < 0)
		fail_msg("%s", e.text);
}

static void steps_are(const struct directive *d, enum role role, uint32_t wave, const char *const *want)
{
	char text[FORECAST_STEPS_MAX][FORECAST_TEXT_MAX];
	unsigned n = forecast_steps(d, role, wave, text), i;

	for (i = 0; i < n && want[i]; i++)
		assert_string_equal(text[i], want[i]);
	assert_int_equal(i, n);
	assert_null(want[i]);
}

static void test_steps_of_a_kernel(void **state)
{
	static struct directive d;
	(void)state;

	parse(ROLLOUT KERNEL MEASURED, &d);
	steps_are(
	    &d, ROLE_CANARY, 0,
	    (const char *const[]){"install linux-image-6.1.9-x 1.0 and check it",
				  "before: 2 boots, each from the firmware and then by kexec into the old kernel; "
				  "measure",
				  "after: 2 boots, each from the firmware and then by kexec into the new kernel; "
				  "measure",
				  "if promoted: boot it once from the firmware", "stay healthy for 90 s",
				  "make it the default", NULL});
	steps_are(
	    &d, ROLE_CONTROL, 1,
	    (const char *const[]){"before: 2 boots, each from the firmware and then by kexec into the old kernel; "
				  "measure",
				  "after: 2 boots, each from the firmware and then by kexec into the old kernel; "
				  "measure",
				  "in wave 1: install linux-image-6.1.9-x 1.0 and check it",
				  "kexec into it and check it", "stay healthy for 90 s", "make it the default", NULL});
	steps_are(&d, ROLE_WAVE, 2,
		  (const char *const[]){"in wave 2: install linux-image-6.1.9-x 1.0 and check it",
					"kexec into it and check it", "stay healthy for 90 s", "make it the default",
					NULL});
	steps_are(&d, ROLE_NONE, 0, (const char *const[]){NULL});
}

static void test_steps_of_a_preset(void **state)
{
	static struct directive d;
	(void)state;

	parse(ROLLOUT PRESET MEASURED, &d);
	steps_are(&d, ROLE_CANARY, 0,
		  (const char *const[]){"before: measure 2 times in place, with the old settings",
					"set vm.pcp_batch_scale_max = 0 in place and read it back",
					"after: measure 2 times in place, with the new settings",
					"stay healthy for 90 s", "write the settings into their file", NULL});
	parse("[rollout]\nname = r1\nclusters = a\nevidence = health\n" PRESET
	      "[judge]\ncanaries = 1\ncontrols = 0\n[waves]\nsoak = 120min\n",
	      &d);
	steps_are(&d, ROLE_CANARY, 0,
		  (const char *const[]){"set vm.pcp_batch_scale_max = 0 in place and read it back",
					"stay healthy for 2 h", "write the settings into their file", NULL});
}

static struct store_host host(const char *name, const char *cluster)
{
	struct store_host h = {.reported = true, .seen_unix_s = NOW - 10};
	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.cluster, sizeof(h.cluster), "%s", cluster);
	snprintf(h.report.release, sizeof(h.report.release), "6.1.8");
	return h;
}

static void says(const struct forecast_problems *p, uint32_t n, const char *word)
{
	bool found = !word;
	for (uint32_t i = 0; i < p->n; i++)
		found |= word && strstr(p->text[i], word);
	if (!found || p->n != n)
		fail_msg("%u problems, \"%s\" %s; the first: %s", p->n, word ? word : "", found ? "said" : "not said",
			 p->n ? p->text[0] : "");
}

static void test_problems_of_a_plan(void **state)
{
	static struct directive d;
	static struct forecast_problems p;
	struct store_host all[] = {host("a1", "a"), host("b1", "b")};
	(void)state;

	parse(ROLLOUT KERNEL MEASURED, &d);
	forecast_plan(&d, all, 2, &p);
	says(&p, 0, NULL);
	forecast_plan(&d, all, 1, &p);
	says(&p, 1, "no host of cluster b");
	p.n = 0;
	all[1].retired = true;
	forecast_plan(&d, all, 2, &p);
	says(&p, 1, "no host of cluster b");
	p.n = 0;
	all[1].retired = false;
	snprintf(d.canaries_from, sizeof(d.canaries_from), "c");
	snprintf(d.controls_from, sizeof(d.controls_from), "c");
	forecast_plan(&d, all, 2, &p);
	says(&p, 1, "no host of cluster c");
	p.n = 0;
	parse(ROLLOUT KERNEL MEASURED, &d);
	snprintf(d.kernel.release, sizeof(d.kernel.release), "6.1.10-x");
	forecast_plan(&d, all, 2, &p);
	says(&p, 1, "do not belong together");
}

static void test_problems_of_a_host(void **state)
{
	static struct directive d;
	static struct forecast_problems p;
	struct store_host h = host("a1", "a");
	(void)state;

	parse(ROLLOUT KERNEL MEASURED, &d);
	forecast_host(&d, &h, ROLE_CANARY, NOW, &p);
	says(&p, 0, NULL);
	h.seen_unix_s = NOW - d.order_timeout_s; /* at the bound it is fine */
	forecast_host(&d, &h, ROLE_CANARY, NOW, &p);
	says(&p, 0, NULL);
	h.seen_unix_s--;
	forecast_host(&d, &h, ROLE_CANARY, NOW, &p);
	says(&p, 1, "a1 (canary) was last seen 1801 s ago, and orders may take 30 min");
	for (int i = 0; i < 2; i++) {
		p.n = 0;
		h = host("a1", "a");
		h.report.state = i ? HOST_HELD : HOST_FOREIGN;
		forecast_host(&d, &h, ROLE_WAVE, NOW, &p);
		says(&p, 1, i ? "HELD" : "FOREIGN");
	}
	p.n = 0;
	h = host("a1", "a");
	snprintf(h.report.release, sizeof(h.report.release), "6.1.9-x");
	forecast_host(&d, &h, ROLE_WAVE, NOW, &p);
	says(&p, 1, "another build");
	p.n = 0;
	snprintf(h.report.build_id, sizeof(h.report.build_id), HEX40);
	forecast_host(&d, &h, ROLE_WAVE, NOW, &p);
	says(&p, 1, "already");
	p.n = 0;
	h.reported = false;
	forecast_host(&d, &h, ROLE_WAVE, NOW, &p);
	says(&p, 1, "never reported");
	p.n = 0;
	parse(ROLLOUT PRESET MEASURED, &d);
	h = host("a1", "a");
	h.report.pcp_batch_scale_max = -1;
	forecast_host(&d, &h, ROLE_CANARY, NOW, &p);
	says(&p, 1, "has no vm.pcp_batch_scale_max");
}

static void test_problems_of_a_pair(void **state)
{
	static struct forecast_problems p;
	struct store_host a = host("a1", "a"), b = host("b1", "b");
	(void)state;

	forecast_pair(&a, &b, &p);
	says(&p, 0, NULL);
	b.report.pcp_batch_scale_max = a.report.pcp_batch_scale_max + 1;
	forecast_pair(&a, &b, &p);
	says(&p, 1, "a1 (");
	says(&p, 1, "cannot be compared");
	p.n = 0;
	b.reported = false; /* that is a problem of its own */
	forecast_pair(&a, &b, &p);
	says(&p, 0, NULL);
	b = host("b1", "b");
	snprintf(b.report.build_id, sizeof(b.report.build_id), "another");
	forecast_pair(&a, &b, &p);
	says(&p, 1, "and b1 (");
}

static void test_problems_are_bounded(void **state)
{
	static struct forecast_problems p;
	(void)state;

	for (int i = 0; i < FORECAST_PROBLEMS_MAX + 3; i++)
		forecast_problem(&p, "%d", i);
	assert_int_equal(p.n, FORECAST_PROBLEMS_MAX);
	assert_int_equal(p.left_out, 3);
	assert_string_equal(p.text[FORECAST_PROBLEMS_MAX - 1], "63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_of_a_kernel),  cmocka_unit_test(test_steps_of_a_preset),
	    cmocka_unit_test(test_problems_of_a_plan), cmocka_unit_test(test_problems_of_a_host),
	    cmocka_unit_test(test_problems_of_a_pair), cmocka_unit_test(test_problems_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
