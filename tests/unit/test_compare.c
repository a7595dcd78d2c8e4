// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/report/compare.c lets nothing be compared that may not be, and groups the rest right.
 * Must not know recordings' bytes, nor how verdicts are reached. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/report/compare.h"
#include "lib/report/table.h"
#include "lib/report/to_json.h"

#define FILES 12 /* three canaries, three controls, both kernels */

struct fixture {
	struct compare_file file[FILES];
	struct judge_plan plan;
	struct comparison c;
	struct err e;
};

static void fill(struct compare_file *f, enum compare_group group, int host, int boot)
{
	static const char *const path[] = {"old.kpcp", "new.kpcp", "control-old.kpcp", "control-new.kpcp"};
	struct recording_header *h = &f->header;
	bool newer = group == GROUP_NEW;

	f->path = path[group];
	f->group = group;
	snprintf(h->shape.probe, sizeof(h->shape.probe), "victim-4k-active/1");
	snprintf(h->shape.layout, sizeof(h->shape.layout), HIST_LAYOUT);
	h->shape.victims = 1;
	h->shape.burst_pages = 128;
	snprintf(h->host, sizeof(h->host), "%s-%d", group >= GROUP_CONTROL_OLD ? "control" : "canary", host);
	snprintf(h->release, sizeof(h->release), newer ? "6.1-new" : "6.1-old");
	snprintf(h->clocksource, sizeof(h->clocksource), "tsc");
	h->build_id[0] = newer ? 2 : 1;
	h->boot_id[0] = (uint8_t)boot;
	h->cpus = 4;
	h->pcp_batch_scale_max = newer ? 5 : -1;
	h->storms_planned = 30;
	summary_init(&f->sum, h);
	f->sum.storms = 30;
	f->sum.exit_pages = 30000;
	f->sum.exit_ns = 3000000000;
	for (int i = 0; i < 12000; i++)
		hist_add(&f->sum.response, 1000000 + (uint64_t)i * 100 + (uint64_t)boot);
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		/* Hosts and kernels differ by half a per cent. */
		f->sum.y[x] = -6 + 0.005 * host + (newer ? 0.005 : 0);
		f->sum.samples[x] = x == ENDPOINT_EXIT ? 30 : 12000;
	}
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (int host = 0; host < 3; host++) /* hosts backwards: the order must not matter */
		for (int g = 0; g < GROUP_COUNT; g++)
			fill(&f->file[host * 4 + g], (enum compare_group)g, 3 - host, host * 4 + g + 1);
	f->plan = judge_plan_default;
	f->plan.canaries = f->plan.controls = 3;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	comparison_free(&f->c);
	free(f);
	return 0;
}

static int run(struct fixture *f, size_t n)
{
	return compare(f->file, n, COMPARE_KERNELS, &f->plan, NULL, &f->c, &f->e);
}

static void test_promote(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run(f, FILES), 0);
	assert_int_equal(f->c.verdict.kind, VERDICT_PROMOTE);
	assert_int_equal(f->c.n_hosts, 6);
	assert_string_equal(f->c.host[0].name, "canary-1");
	assert_string_equal(f->c.host[5].name, "control-3");
	assert_true(f->c.host[5].control);
	assert_int_equal(f->c.host[5].n_old, 1);
	assert_int_equal(f->c.host[5].n_new, 1);
	assert_float_equal(compare_difference(&f->c.host[0], ENDPOINT_P99), 0.005, 1e-12);
	assert_int_equal(f->c.arm[GROUP_NEW].hosts, 3);
	assert_int_equal(f->c.arm[GROUP_NEW].response.count, 36000);
	assert_int_equal(f->c.arm[GROUP_CONTROL_NEW].storms, 90);
	assert_string_equal(compare_decision(&f->c.verdict.endpoint[ENDPOINT_P99]), "no worse");
}

static void test_missing_hosts_hold(void **state)
{
	struct fixture *f = *state;

	/* Host 1's new recording never came. */
	f->file[9] = f->file[11];
	assert_int_equal(run(f, 11), 0);
	assert_int_equal(f->c.verdict.kind, VERDICT_HOLD);
	assert_true(isnan(compare_difference(&f->c.host[0], ENDPOINT_P99)));
}

/* One change to the last new canary or to another file, and what the refusal must say. */
static void refuses(struct fixture *f, const char *message)
{
	memset(&f->e, 0, sizeof(f->e));
	assert_int_equal(run(f, FILES), -EINVAL);
	if (!strstr(f->e.text, message))
		fail_msg("\"%s\" does not say \"%s\"", f->e.text, message);
}

static void test_refuses_other_shapes(void **state)
{
	struct fixture *f = *state;

	f->file[9].header.shape.burst_pages = 256;
	refuses(f, "old.kpcp and new.kpcp cannot be compared");
	assert_non_null(strstr(f->e.text, "128"));
	assert_non_null(strstr(f->e.text, "256"));
	f->file[9].header.shape.burst_pages = 128;
	snprintf(f->file[7].header.shape.probe, 32, "victim-thp/1");
	refuses(f, "old.kpcp and control-new.kpcp cannot be compared");
	assert_non_null(strstr(f->e.text, "victim-thp/1"));
}

static void test_refuses_mixed_kernels(void **state)
{
	struct fixture *f = *state;
	struct recording_header *canary = &f->file[9].header, *control = &f->file[11].header, *old = &f->file[8].header;

	snprintf(canary->release, sizeof(canary->release), "6.1-newer");
	refuses(f,
		"one new kernel, but the first ran 6.1-new (build-id 020000000000, pcp_batch_scale_max 5), the second "
		"6.1-newer");
	snprintf(canary->release, sizeof(canary->release), "6.1-new");
	canary->build_id[19] = 1;
	refuses(f, "one new kernel");
	canary->build_id[19] = 0;
	canary->pcp_batch_scale_max = 0;
	refuses(f, "pcp_batch_scale_max 0");
	canary->pcp_batch_scale_max = 5;
	old->build_id[0] = 7;
	refuses(f, "one old kernel");
	old->build_id[0] = 1;
	control->build_id[0] = 2;
	refuses(f, "controls must stay on the canaries' old kernel");
	control->build_id[0] = 0; /* shows none: its release is the old kernel's */
	assert_int_equal(run(f, FILES), 0);
}

/* The canaries' new kernel did not come up, or the wrong files were named. */
static void test_refuses_one_kernel(void **state)
{
	struct fixture *f = *state;

	for (int i = 1; i < FILES; i += 4) {
		struct recording_header *h = &f->file[i].header;

		snprintf(h->release, sizeof(h->release), "6.1-old");
		h->build_id[0] = 1;
	}
	assert_int_equal(run(f, FILES), 0); /* the sysctl is set in the new one only */
	comparison_free(&f->c);
	for (int i = 1; i < FILES; i += 4)
		f->file[i].header.pcp_batch_scale_max = -1;
	refuses(f, "old.kpcp and new.kpcp: old and new are one kernel, 6.1-old");
}

static void test_refuses_other_reboots(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < FILES; i++)
		f->file[i].header.reboot = REBOOT_KEXEC;
	assert_int_equal(run(f, FILES), 0);
	comparison_free(&f->c);
	for (int i = 0; i < FILES; i++)
		if (f->file[i].group == GROUP_CONTROL_OLD || f->file[i].group == GROUP_CONTROL_NEW)
			f->file[i].header.reboot = REBOOT_FIRMWARE;
	refuses(f, "was rebooted by kexec, host control-");
	for (int i = 0; i < FILES; i++)
		f->file[i].header.reboot = i > 0 ? REBOOT_UNKNOWN : REBOOT_KEXEC;
	assert_int_equal(run(f, FILES), 0);
}

static void test_refuses_wrong_hosts(void **state)
{
	struct fixture *f = *state;
	struct recording_header *h = &f->file[9].header;

	h->boot_id[0] = f->file[0].header.boot_id[0];
	refuses(f, "are the same recording (boot id 01000000-");
	h->seed++;
	refuses(f, "of the same boot (boot id 01000000-");
	h->boot_id[0] = 99;
	snprintf(h->clocksource, sizeof(h->clocksource), "hpet");
	refuses(f, "two clocks, tsc and hpet");
	snprintf(h->clocksource, sizeof(h->clocksource), "tsc");
	h->cpus = 3;
	refuses(f, "4 CPUs online, then 3");
	h->cpus = 4;
	snprintf(f->file[10].header.host, RECORDING_NAME_MAX, "canary-1");
	refuses(f, "both a canary and a control");
}

/* ---- settings: one kernel, perhaps one boot ---- */

static int run_settings(struct fixture *f, size_t n)
{
	return compare(f->file, n, COMPARE_SETTINGS, &f->plan, NULL, &f->c, &f->e);
}

/* All on one kernel with a setting of 5; each host's recordings in one boot, one after the other; canaries end at
 * scale. */
static void make_settings(struct fixture *f, int scale)
{
	for (int i = 0; i < FILES; i++) {
		struct recording_header *h = &f->file[i].header;

		snprintf(h->release, sizeof(h->release), "6.1-kpcp");
		h->build_id[0] = 1;
		h->pcp_batch_scale_max = f->file[i].group == GROUP_NEW ? scale : 5;
		h->boot_id[0] = (uint8_t)(i / 4 * 2 + (f->file[i].group >= GROUP_CONTROL_OLD) + 1);
		h->start_unix_s = 1000 + (uint64_t)i;
		h->seed = 7;
		h->cpus = 4;
	}
}

static void refuses_settings(struct fixture *f, const char *message)
{
	memset(&f->e, 0, sizeof(f->e));
	assert_int_equal(run_settings(f, FILES), -EINVAL);
	if (!strstr(f->e.text, message))
		fail_msg("\"%s\" does not say \"%s\"", f->e.text, message);
}

static void test_settings(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_free) struct buf table = BUF_INIT(1 << 20), json = BUF_INIT(1 << 20);

	make_settings(f, 0);
	assert_int_equal(run_settings(f, FILES), 0);
	assert_int_equal(f->c.verdict.kind, VERDICT_PROMOTE);
	assert_int_equal(f->c.factor, COMPARE_SETTINGS);
	assert_int_equal(table_comparison(&table, &f->c, &f->e), 0);
	assert_non_null(strstr(table.data, "kernel      6.1-kpcp (build-id 010000000000)\n"
					   "old setting pcp_batch_scale_max 5\n"
					   "new setting pcp_batch_scale_max 0\n"));
	assert_non_null(strstr(table.data, "1 recording a setting, 30 storms a recording"));
	assert_null(strstr(table.data, "new kernel"));
	assert_int_equal(to_json_comparison(&json, &f->c, &f->e), 0);
	assert_non_null(strstr(json.data, "\"factor\": \"setting\""));
	assert_non_null(strstr(json.data, "\"new_setting\": {\n    \"pcp_batch_scale_max\": 0\n  }"));
	assert_null(strstr(json.data, "new_kernel"));
}

/* A preset may set what no recording tells; and a kernel without the sysctl can have one, too. */
static void test_settings_that_recordings_do_not_tell(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_free) struct buf table = BUF_INIT(1 << 20);

	make_settings(f, 5);
	assert_int_equal(run_settings(f, FILES), 0);
	assert_int_equal(table_comparison(&table, &f->c, &f->e), 0);
	assert_non_null(strstr(table.data, "new setting pcp_batch_scale_max 5, as before"));
	comparison_free(&f->c);
	for (int i = 0; i < FILES; i++)
		f->file[i].header.pcp_batch_scale_max = -1;
	assert_int_equal(run_settings(f, FILES), 0);
	comparison_free(&f->c);
	make_settings(f, 0);
	refuses(f, "of the same boot"); /* a kernel takes a boot of its own */
}

static void test_refuses_settings(void **state)
{
	struct fixture *f = *state;
	struct recording_header *canary = &f->file[9].header, *control = &f->file[11].header, *old = &f->file[8].header;

	make_settings(f, 0);
	canary->build_id[0] = 2;
	refuses_settings(f, "settings are compared on one kernel, but the first ran 6.1-kpcp (build-id 010000000000");
	canary->build_id[0] = 0; /* shows none */
	snprintf(canary->release, sizeof(canary->release), "6.1-other");
	refuses_settings(f, "6.1-other (no build-id");
	make_settings(f, 0);
	canary->pcp_batch_scale_max = 3;
	refuses_settings(f, "all canaries must have one new setting");
	assert_non_null(strstr(f->e.text, "pcp_batch_scale_max 3"));
	make_settings(f, 0);
	control->pcp_batch_scale_max = 0;
	refuses_settings(f, "controls must stay on the canaries' old setting");
	make_settings(f, 0);
	old->pcp_batch_scale_max = 4;
	refuses_settings(f, "one old setting");
	make_settings(f, 0);
	canary->start_unix_s = old->start_unix_s;
	refuses_settings(f, "are the same recording (boot id 05000000-");
	canary->seed = 8; /* two in one second are two */
	assert_int_equal(run_settings(f, FILES), 0);
	comparison_free(&f->c);
	make_settings(f, 0);
	canary->boot_id[0] = f->file[0].header.boot_id[0];
	refuses_settings(f, "but of hosts canary-3 and canary-1: one machine is one host");
	make_settings(f, 0);
	canary->cpus = 3;
	refuses_settings(f, "4 CPUs online, then 3");
}

static void test_refuses_too_many_boots(void **state)
{
	static struct compare_file file[JUDGE_BOOTS_MAX + 1];
	struct fixture *f = *state;

	for (int i = 0; i <= JUDGE_BOOTS_MAX; i++)
		fill(&file[i], GROUP_OLD, 1, i + 1);
	assert_int_equal(compare(file, JUDGE_BOOTS_MAX + 1, COMPARE_KERNELS, &f->plan, NULL, &f->c, &f->e), -EINVAL);
	assert_non_null(strstr(f->e.text, "boots of host canary-1"));
}

static void test_decisions(void **state)
{
	struct verdict_endpoint x = {0};

	(void)state;
	assert_string_equal(compare_decision(&x), "not judged");
	x.judged = true;
	assert_string_equal(compare_decision(&x), "no estimate");
	x.estimated = true;
	x.upper = NAN;
	assert_string_equal(compare_decision(&x), "estimate only");
	x.upper = 1.5;
	assert_string_equal(compare_decision(&x), "undecided");
	x.rolls_back = true;
	assert_string_equal(compare_decision(&x), "worse");
}

/* NaN and missing arms are null, never a number and never a broken text; the same input gives the same bytes. */
static void test_json_without_data(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_free) struct buf one = BUF_INIT(1 << 20), two = BUF_INIT(1 << 20), table = BUF_INIT(1 << 20);

	f->file[1].sum.y[ENDPOINT_P99] = NAN;
	f->plan.seed = UINT64_MAX;
	assert_int_equal(run(f, 2), 0);
	assert_int_equal(f->c.verdict.kind, VERDICT_HOLD);
	assert_int_equal(to_json_comparison(&one, &f->c, &f->e), 0);
	assert_int_equal(to_json_comparison(&two, &f->c, &f->e), 0);
	assert_string_equal(one.data, two.data);
	assert_null(strstr(one.data, "nan"));
	assert_non_null(strstr(one.data, "\"p99\": null"));
	assert_non_null(strstr(one.data, "\"seed\": \"18446744073709551615\""));
	assert_int_equal(table_comparison(&table, &f->c, &f->e), 0);
	assert_int_equal(table_verdict(&table, &f->c, false, &f->e), 0);
	assert_null(strstr(table.data, "nan"));
	assert_non_null(strstr(table.data, "There are no controls"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_promote, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_missing_hosts_hold, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_other_shapes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_mixed_kernels, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_one_kernel, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_other_reboots, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_wrong_hosts, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_settings_that_recordings_do_not_tell, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_settings, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses_too_many_boots, set_up, tear_down),
	    cmocka_unit_test(test_decisions),
	    cmocka_unit_test_setup_teardown(test_json_without_data, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
