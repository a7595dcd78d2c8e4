// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/fleet/directive.c takes plans and directives as they are meant, and refuses all others with
 * the place and a way out. Must not know signatures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fleet/directive.h"

#define SHA   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BUILD "00000000000000000000000000000000000000ff"

#define ROLLOUT "[rollout]\nname = pcp-6.1-kernel\nclusters = db web\n"
#define KERNEL                                                                                                   \
	"[kernel]\npackage = linux-image-6.1.0-kpcp-amd64\nversion = 1:6.1.158-1~kpcp+1\nrelease = 6.1.0-kpcp\n" \
	"sha256 = " SHA "\nbuild-id = " BUILD "\n"
#define PRESET "[preset]\nname = latency\nsettings = vm.pcp_batch_scale_max=0\n"
#define TAIL   "\n[approval]\nserial = 1796083200123\nexpires = 1796169600\n"

static int parse(const char *text, bool approved, struct directive *ret, struct err *e)
{
	/* Exactly as long as the text: a read behind its end is seen. */
	size_t len = strlen(text);
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	int r = directive_parse("plan.conf", copy, len, approved, ret, e);
	free(copy);
	return r;
}

static void refuses_as(const char *text, bool approved, const char *message)
{
	static struct directive d, before;
	struct err e = {0};

	memset(&d, 0x55, sizeof(d));
	before = d;
	if (parse(text, approved, &d, &e) >= 0)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, message))
		fail_msg("\"%s\" does not say \"%s\"", e.text, message);
	assert_memory_equal(&d, &before, sizeof(d));
}

static void refuses(const char *text, const char *message)
{
	refuses_as(text, false, message);
}

static void takes(const char *text, struct directive *d)
{
	struct err e = {0};

	if (parse(text, false, d, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_kernel_with_defaults(void **state)
{
	struct directive d;

	(void)state;
	takes(ROLLOUT KERNEL, &d);
	assert_string_equal(d.name, "pcp-6.1-kernel");
	assert_int_equal(d.n_clusters, 2);
	assert_string_equal(d.cluster[0], "db");
	assert_string_equal(d.cluster[1], "web");
	assert_int_equal(d.evidence, EVIDENCE_MEASURED);
	assert_int_equal(d.deadline_s, 4 * 3600);
	assert_int_equal(d.order_timeout_s, 1800);
	assert_int_equal(d.factor, FACTOR_KERNEL);
	assert_string_equal(d.kernel.package, "linux-image-6.1.0-kpcp-amd64");
	assert_string_equal(d.kernel.version, "1:6.1.158-1~kpcp+1");
	assert_string_equal(d.kernel.release, "6.1.0-kpcp");
	assert_string_equal(d.kernel.sha256, SHA);
	assert_string_equal(d.kernel.build_id, BUILD);
	assert_string_equal(d.canaries_from, "db");
	assert_string_equal(d.controls_from, "db");
	assert_memory_equal(&d.judge, &judge_plan_default, sizeof(d.judge));
	assert_int_equal(d.measure.warmup, 2);
	assert_int_equal(d.measure.processes, 0);
	assert_string_equal(d.measure.storm_cpus, "");
	assert_int_equal(d.n_waves, 1);
	assert_int_equal(d.wave_percent[0], 100);
	assert_int_equal(d.soak_s, 1800);
	assert_int_equal(d.budget, 1);
	assert_false(d.approved);
}

static void test_every_key(void **state)
{
	struct directive d;

	(void)state;
	takes("; what it is for: ein Überblick\n"
	      "[rollout]\nname = 0-latency\nclusters = db\tweb  cache\nevidence = measured\ndeadline = 90min\n"
	      "order-timeout = 45s\n"
	      "[preset]\nname = latency\n"
	      "settings = vm.pcp_batch_scale_max = 0,vm.percpu_pagelist_high_fraction=-1 , vm.min_free_kbytes=0067584\n"
	      "[canaries]\nfrom = web\ncontrols-from = cache\n"
	      "[judge]\ncanaries = 3\ncontrols = 3\nboots = 2\nstorms = 40\nmargin-p99 = 15%\nseed = 9\n"
	      "[measure]\nwarmup = 0\nstorm = 2x32M\nburst = 96\nperiod = 5ms\nwindow = 100ms\nstorm-cpus = 1-3\n"
	      "victim-cpus = 0\n"
	      "[waves]\npercent = 25 50\t100\nsoak = 10s\nbudget = 7\n",
	      &d);
	assert_string_equal(d.name, "0-latency");
	assert_int_equal(d.n_clusters, 3);
	assert_string_equal(d.cluster[2], "cache");
	assert_int_equal(d.deadline_s, 5400);
	assert_int_equal(d.order_timeout_s, 45);
	assert_int_equal(d.factor, FACTOR_PRESET);
	assert_string_equal(d.preset.name, "latency");
	assert_int_equal(d.preset.n, 3);
	assert_string_equal(d.preset.setting[0].key, "vm.pcp_batch_scale_max");
	assert_string_equal(d.preset.setting[0].value, "0");
	assert_string_equal(d.preset.setting[1].value, "-1");
	assert_string_equal(d.preset.setting[2].value, "67584"); /* as the kernel prints it */
	assert_string_equal(d.canaries_from, "web");
	assert_string_equal(d.controls_from, "cache");
	assert_int_equal(d.judge.canaries, 3);
	assert_int_equal(d.judge.boots, 2);
	assert_int_equal(d.judge.seed, 9);
	assert_float_equal(d.judge.margin[ENDPOINT_P99], 0.15, 1e-12);
	assert_int_equal(d.measure.warmup, 0);
	assert_int_equal(d.measure.processes, 2);
	assert_int_equal(d.measure.process_bytes, 32 << 20);
	assert_int_equal(d.measure.burst_pages, 96);
	assert_int_equal(d.measure.period_ns, 5000000);
	assert_int_equal(d.measure.window_ns, 100000000);
	assert_string_equal(d.measure.storm_cpus, "1-3");
	assert_string_equal(d.measure.victim_cpus, "0");
	assert_int_equal(d.n_waves, 3);
	assert_int_equal(d.wave_percent[1], 50);
	assert_int_equal(d.soak_s, 10);
	assert_int_equal(d.budget, 7);
}

/* One rule for all of them. */
static void test_lists(void **state)
{
	static const char *const lists[][4] = {
	    {"db web", "25 50 100", "p99 exit", "vm.pcp_batch_scale_max=0 vm.zone_reclaim_mode = 1"},
	    {"db,web", "25%,50%,100%", "p99,exit", "vm.pcp_batch_scale_max=0,vm.zone_reclaim_mode=1"},
	    {"db, web", "25%, 50, 100%", "p99 ,exit", "vm.pcp_batch_scale_max = 0 , vm.zone_reclaim_mode=1"},
	};
	struct directive d;
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		snprintf(
		    text, sizeof(text),
		    "[rollout]\nname = x\nclusters = %s\n[waves]\npercent = %s\n[judge]\nendpoints = %s\n[preset]\n"
		    "name = x\nsettings = %s\n",
		    lists[i][0], lists[i][1], lists[i][2], lists[i][3]);
		takes(text, &d);
		assert_int_equal(d.n_clusters, 2);
		assert_string_equal(d.cluster[1], "web");
		assert_int_equal(d.n_waves, 3);
		assert_int_equal(d.wave_percent[0], 25);
		assert_true(d.judge.judged[ENDPOINT_P99] && d.judge.judged[ENDPOINT_EXIT]);
		assert_false(d.judge.judged[ENDPOINT_P999]);
		assert_int_equal(d.preset.n, 2);
		assert_string_equal(d.preset.setting[0].value, "0");
		assert_string_equal(d.preset.setting[1].key, "vm.zone_reclaim_mode");
	}
}

static void test_health(void **state)
{
	struct directive d;

	(void)state;
	takes(ROLLOUT "evidence = health\n" PRESET "[judge]\ncanaries = 1\n", &d);
	assert_int_equal(d.evidence, EVIDENCE_HEALTH);
	assert_int_equal(d.judge.canaries, 1);
	assert_int_equal(d.judge.controls, 0);
	takes(ROLLOUT "evidence = health\n" PRESET "[judge]\ncanaries = 1\ncontrols = 0\n", &d);
	refuses(ROLLOUT "evidence = health\n" PRESET "[judge]\ncontrols = 4\n",
		"plan.conf:8: [judge]: controls = 4, but evidence = health");
	refuses(ROLLOUT "evidence = health\n" PRESET "[judge]\ncanaries = 0\n", "plan.conf:9: canaries");
}

static void test_one_factor(void **state)
{
	(void)state;
	refuses(ROLLOUT KERNEL PRESET, "line 4 has [kernel] and line 10 has [preset]");
	refuses(ROLLOUT PRESET "  [kernel] ; none\n", "line 7 has [kernel] and line 4 has [preset]");
	refuses(ROLLOUT, "neither [kernel] nor [preset]");
	refuses(ROLLOUT "; [kernel]\n", "`kpcp kernel DEB`");
	refuses(ROLLOUT "[kernel]\npackage = linux-image\n", "plan.conf:4: key 'version' of [kernel] is required");
	refuses(ROLLOUT "[preset]\nname = x\n", "plan.conf:4: key 'settings' of [preset] is required");
	refuses(ROLLOUT "[preset]\nsettings = vm.zone_reclaim_mode=0\n", "key 'name' of [preset]");
}

static void test_refuses_values(void **state)
{
	static const struct {
		const char *text, *message;
	} row[] = {
	    {"[rolout]\n", "plan.conf:1: unknown section [rolout]; did you mean [rollout]?"},
	    {"[rollout]\nnmae = x\n", "plan.conf:2: unknown key 'nmae' in [rollout]; did you mean 'name'?"},
	    {"[rollout]\nname = x\nname = y\n", "plan.conf:3: key 'name' stands in line 2"},
	    {"[rollout]\ncanaries = 3\n", "is not one of [rollout] but of [judge]"},
	    {"[rollout]\nclusters = db\n" PRESET, "key 'name' of [rollout] is required"},
	    {"[rollout]\nname = x\n" PRESET, "key 'clusters' of [rollout] is required"},
	    {"[rollout]\nname = Pcp\n", "plan.conf:2: name: 'Pcp' is not a name"},
	    {"[rollout]\nname = ../x\n", "is not a name"},
	    {"[rollout]\nname = .x\n", "is not a name"},
	    {"[rollout]\nname = -x\n", "is not a name"},
	    {"[rollout]\nname = a/b\n", "is not a name"},
	    {"[rollout]\nname =\n", "is not a name"},
	    {"[rollout]\nname = 1234567890123456789012345678901234567890123456789\n", "49 characters"},
	    {"[rollout]\nclusters = db,,web\n", "plan.conf:2: clusters: a comma"},
	    {"[rollout]\nclusters = db web db\n", "db is named twice"},
	    {"[rollout]\nclusters =\n", "names no cluster"},
	    {"[rollout]\nclusters = 1234567890123456789012345678901234567890123456789\n", "is not a name"},
	    {"[rollout]\nclusters = a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6\n",
	     "32 clusters"},
	    {"[rollout]\nevidence = helth\n", "did you mean \"health\"?"},
	    {"[rollout]\ndeadline = 4 h\n", "plan.conf:2: deadline"},
	    {"[rollout]\ndeadline = 0s\n", "plan.conf:2: deadline"},
	    {"[rollout]\ndeadline = 1500ms\n", "a whole number of seconds"},
	    {"[rollout]\norder-timeout = 86401s\n", "plan.conf:2: order-timeout"},
	    {"[kernel]\npackage = -o=x\n", "plan.conf:2: package"},
	    {"[kernel]\npackage = linux image\n", "plan.conf:2: package"},
	    {"[kernel]\nversion = 6.1/../x\n", "plan.conf:2: version"},
	    {"[kernel]\nrelease = ../../x\n", "plan.conf:2: release"},
	    {"[kernel]\nrelease = 6.1.0 quiet\n", "plan.conf:2: release"},
	    {"[kernel]\nsha256 = 0123\n", "plan.conf:2: sha256: '0123' is not a SHA-256"},
	    {"[kernel]\nsha256 = " SHA "0\n", "plan.conf:2: sha256"},
	    {"[kernel]\nsha256 = ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", "lower-case"},
	    {"[kernel]\nbuild-id = 0000000000000000000000000000000000000000\n", "not all 0"},
	    {"[kernel]\nbuild-id = 00ff\n", "plan.conf:2: build-id"},
	    {"[canaries]\nfrom = a b\n", "plan.conf:2: from"},
	    {"[judge]\ncanarys = 3\n", "did you mean 'canaries'?"},
	    {"[judge]\nmargin-p99 = 10\n", "plan.conf:2: margin-p99"},
	    {"[measure]\nwarmup = 1001\n", "plan.conf:2: warmup"},
	    {"[measure]\nstorm = 2\n", "PROCESSESxSIZE"},
	    {"[measure]\nstorm = 4097x1M\n", "plan.conf:2: storm"},
	    {"[measure]\nstorm = 2x1\n", "plan.conf:2: storm"},
	    {"[measure]\nburst = 0\n", "plan.conf:2: burst"},
	    {"[measure]\nperiod = 49us\n", "plan.conf:2: period"},
	    {"[measure]\nwindow = 601s\n", "plan.conf:2: window"},
	    {"[measure]\nstorm-cpus = 3-1\n", "plan.conf:2: storm-cpus"},
	    {"[measure]\nvictim-cpus = 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24\n",
	     "at most 63"},
	    {"[waves]\npercent = 100 100\n", "plan.conf:2: percent: 100 after 100"},
	    {"[waves]\npercent = 50 25 100\n", "25 after 50"},
	    {"[waves]\npercent = 25 50\n", "the last wave must be 100"},
	    {"[waves]\npercent =\n", "the last wave must be 100"},
	    {"[waves]\npercent = 25,, 100\n", "plan.conf:2: percent: a comma"},
	    {"[waves]\npercent = ,25 100\n", "plan.conf:2: percent: a comma"},
	    {"[waves]\npercent = 25 100,\n", "plan.conf:2: percent: a comma"},
	    {"[waves]\npercent = % 100\n", "plan.conf:2: percent"},
	    {"[waves]\npercent = 25%% 100\n", "plan.conf:2: percent"},
	    {"[waves]\npercent = 0 100\n", "plan.conf:2: percent"},
	    {"[waves]\npercent = 50 101\n", "plan.conf:2: percent"},
	    {"[waves]\npercent = 1 2 3 4 5 6 7 8 100\n", "more than 8 waves"},
	    {"[waves]\npercent = 000000000000000000000000000100\n", "plan.conf:2: percent"},
	    {"[waves]\nbudget = 0\n", "plan.conf:2: budget"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		refuses(row[i].text, row[i].message);
}

static void test_refuses_settings(void **state)
{
	static const struct {
		const char *list, *message;
	} row[] = {
	    {"vm.pcp_batch_scale=0", "did you mean 'vm.pcp_batch_scale_max'?"},
	    {"vm.overcommit_memory=2", "a preset cannot set 'vm.overcommit_memory'"},
	    {"kernel.core_pattern=1", "a preset cannot set 'kernel.core_pattern'"},
	    {"VM.pcp_batch_scale_max=0", "a preset cannot set"},
	    {"vm/pcp_batch_scale_max=0", "a preset cannot set"},
	    {"vm.pcp_batch_scale_max=0, vm.pcp_batch_scale_max=1", "set twice"},
	    {"vm.pcp_batch_scale_max=7", "'7' is out of range"},
	    {"vm.pcp_batch_scale_max=-1", "out of range"},
	    {"vm.pcp_batch_scale_max=|x", "not understood"},
	    {"vm.pcp_batch_scale_max=", "not understood"},
	    {"vm.pcp_batch_scale_max", "is not key=value"},
	    {"", "is not key=value"},
	    {"vm.pcp_batch_scale_max=0,", "a comma has nothing after it"},
	    {"vm.pcp_batch_scale_max=0,,vm.zone_reclaim_mode=0", "a comma has nothing after it"},
	    {"vm.percpu_pagelist_high_fraction=7", "takes -1, 0 and 8 or more"},
	    {"vm.percpu_pagelist_high_fraction=-2", "out of range"},
	    {"vm.min_free_kbytes=16777217", "out of range"},
	    {"vm.watermark_scale_factor=0", "out of range"},
	    {"vm.zone_reclaim_mode=8", "out of range"},
	    {"vm.pcp_batch_scale_max=00000000000000000000000000000000000000000000", "too long"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		snprintf(text, sizeof(text), ROLLOUT "[preset]\nname = x\nsettings = %s\n", row[i].list);
		refuses(text, row[i].message);
		refuses(text, "plan.conf:6: settings");
	}
	assert_true(directive_setting_ok("vm.watermark_boost_factor"));
	assert_false(directive_setting_ok("vm.watermark_boost_facto"));
	assert_false(directive_setting_ok(""));
}

/* Nobody should lend hosts to a rollout that can only end in HOLD. */
static void test_refuses_what_cannot_be_promoted(void **state)
{
	struct directive d;

	(void)state;
	refuses(ROLLOUT PRESET "[judge]\ncanaries = 1\n", "at least 2 of each");
	refuses(ROLLOUT PRESET "[judge]\ncontrols = 0\n", "evidence = health");
	refuses(ROLLOUT PRESET "[judge]\ncanaries = 2\ncontrols = 2\n", "can never be promoted");
	takes(ROLLOUT PRESET "[judge]\ncanaries = 2\ncontrols = 2\nsecond-opinion = welch-alone\n", &d);
	takes(ROLLOUT PRESET "[judge]\ncanaries = 3\ncontrols = 3\n", &d);
	refuses(ROLLOUT PRESET "[judge]\ncanaries = 3\ncontrols = 3\nalpha-promote = 0.04\n", "p = 0.05 at best");
	refuses(ROLLOUT PRESET "[judge]\nstorms = 20\n", "min-samples-exit is 30");
	takes(ROLLOUT PRESET "[judge]\nstorms = 20\nendpoints = p99\n", &d);
	refuses(ROLLOUT PRESET "[judge]\ncanaries = 10000\n", "at most 4096 hosts");
	refuses(ROLLOUT PRESET "[judge]\ncanaries = 4000\ncontrols = 97\n", "at most 4096 hosts");
	takes(ROLLOUT PRESET "[judge]\ncanaries = 4000\ncontrols = 96\n", &d);
	refuses(ROLLOUT PRESET "[measure]\nwindow = 10ms\nperiod = 20ms\n", "must hold at least one period (20 ms)");
	takes(ROLLOUT PRESET "[measure]\nwindow = 20ms\nperiod = 20ms\n", &d);
}

/* What people read must be what is signed. */
static void test_refuses_what_cannot_be_seen(void **state)
{
	static const struct {
		const char *text, *message;
	} row[] = {
	    {"; a\n; b\r\n", "plan.conf:2: byte 0x0d"},
	    {"; \x1b[2K\n", "plan.conf:1: byte 0x1b"},
	    {"; \x7f\n", "byte 0x7f"},
	    {"; \xff\n", "byte 0xff"},
	    {"; \xc0\xaf\n", "byte 0xc0"},                       /* not the shortest form */
	    {"; \xed\xa0\x80\n", "byte 0xed"},                   /* a surrogate */
	    {"; \xf4\x90\x80\x80\n", "byte 0xf4"},               /* past the last character */
	    {"; \xc2\x85\n", "byte 0xc2"},                       /* next line */
	    {"; \xe2\x80\xae evil\n", "plan.conf:1: byte 0xe2"}, /* right to left */
	    {"; a\xe2\x80\x8b\n", "byte 0xe2"},                  /* no width */
	    {"\xef\xbb\xbf[rollout]\n", "byte 0xef"},            /* byte order mark */
	    {"; \xe4", "byte 0xe4"},                             /* cut */
	};
	static const char nul[] = ROLLOUT "; \0\n" PRESET;
	struct directive d;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		refuses(row[i].text, row[i].message);
	assert_int_equal(directive_parse("plan.conf", nul, sizeof(nul) - 1, false, &d, &e), -EINVAL);
	assert_non_null(strstr(e.text, "plan.conf:4: byte 0x00"));
	takes("; \xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7\n" ROLLOUT PRESET, &d);
	assert_int_equal(directive_parse("plan.conf", NULL, 0, false, &d, &e), -EINVAL);
}

static void test_bounds_the_size(void **state)
{
	static char text[DIRECTIVE_BYTES_MAX + 1];
	static const char end[] = "\n" ROLLOUT PRESET;
	_cleanup_(buf_free) struct buf b = BUF_INIT(DIRECTIVE_BYTES_MAX);
	const size_t most = DIRECTIVE_BYTES_MAX - 128;
	struct directive d;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 100 == 0 ? ';' : i % 100 == 99 ? '\n' : 'x';
	memcpy(text + most - strlen(end), end, strlen(end));
	assert_int_equal(directive_parse("plan.conf", text, most, false, &d, &e), 0);
	assert_int_equal(directive_approve("plan.conf", text, most, INT64_MAX, 253402300799, &b, &e), 0);
	text[most] = '\n';
	assert_int_equal(directive_parse("plan.conf", text, most + 1, false, &d, &e), -EFBIG);
	assert_int_equal(directive_parse("plan.conf", text, sizeof(text), true, &d, &e), -EFBIG);
}

static void approves(const char *plan, const char *expected)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct directive d;
	struct err e = {0};

	if (directive_approve("plan.conf", plan, strlen(plan), 1796083200123, 1796169600, &b, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(b.data, expected);
	assert_int_equal(parse(b.data, true, &d, &e), 0);
	assert_true(d.approved);
	assert_true(d.serial == 1796083200123);
	assert_true(d.expires_unix_s == 1796169600);
}

static void test_approval(void **state)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(DIRECTIVE_BYTES_MAX), small = BUF_INIT(100);
	struct err e;

	(void)state;
	approves(ROLLOUT KERNEL, ROLLOUT KERNEL TAIL);
	approves(ROLLOUT PRESET "[waves]\nsoak = 5s", ROLLOUT PRESET "[waves]\nsoak = 5s" TAIL); /* no last line feed */
	assert_int_equal(buf_add(&b, "x", 1, &e), 0);
	assert_int_equal(directive_approve("p", ROLLOUT PRESET, strlen(ROLLOUT PRESET), 0, 1, &b, &e), -ERANGE);
	assert_int_equal(directive_approve("p", ROLLOUT PRESET, strlen(ROLLOUT PRESET), 1, 0, &b, &e), -ERANGE);
	assert_int_equal(directive_approve("p", ROLLOUT PRESET, strlen(ROLLOUT PRESET), 1ull << 63, 1, &b, &e),
			 -ERANGE);
	assert_int_equal(directive_approve("p", ROLLOUT, strlen(ROLLOUT), 1, 1, &b, &e), -EINVAL);
	assert_int_equal(directive_approve("p", ROLLOUT PRESET TAIL, strlen(ROLLOUT PRESET TAIL), 1, 1, &b, &e),
			 -EINVAL);
	assert_int_equal(b.len, 1);
	assert_int_equal(directive_approve("p", ROLLOUT PRESET, strlen(ROLLOUT PRESET), 1, 1, &small, &e), -EFBIG);
	assert_int_equal(small.len, 0);
}

static void test_refuses_approvals(void **state)
{
	(void)state;
	refuses(ROLLOUT PRESET TAIL, "plan.conf:8: [approval] is not for plans");
	refuses_as(ROLLOUT PRESET, true, "nobody approved");
	/* Another form of the same, or anything behind it. */
	refuses_as(ROLLOUT PRESET TAIL "\n", true, "is not the end that `kpcp approve` writes");
	refuses_as(ROLLOUT PRESET TAIL "[waves]\nbudget = 100\n", true, "is not the end");
	refuses_as(ROLLOUT PRESET "\n[approval]\nserial = 01796083200123\nexpires = 1796169600\n", true,
		   "is not the end");
	refuses_as(ROLLOUT PRESET "\n[approval]\nexpires = 1796169600\nserial = 1796083200123\n", true,
		   "is not the end");
	refuses_as(ROLLOUT PRESET "\n [approval]\nserial = 1\nexpires = 1\n", true, "is not the end");
	refuses_as(ROLLOUT PRESET "\n[approval]\nserial = 1\nexpires = 1", true, "is not the end");
	refuses_as(ROLLOUT PRESET "\n[approval] ; two\n" TAIL, true, "plan.conf:8: [approval] is not the end");
	refuses_as("[approval]\nserial = 1\nexpires = 1\n" ROLLOUT PRESET, true, "is not the end");
	refuses_as(ROLLOUT PRESET "\n[approval]\nserial = 1\n", true, "key 'expires' of [approval] is required");
	refuses_as(ROLLOUT PRESET "\n[approval]\nserial = 9223372036854775808\nexpires = 1\n", true, "serial");
	refuses_as(ROLLOUT PRESET TAIL "serial = 5\n", true, "stands in line 9");
	/* What is no heading to the reader of the keys is none here. */
	refuses_as(ROLLOUT PRESET "; [approval]\n", true, "nobody approved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kernel_with_defaults),
	    cmocka_unit_test(test_every_key),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_health),
	    cmocka_unit_test(test_one_factor),
	    cmocka_unit_test(test_refuses_values),
	    cmocka_unit_test(test_refuses_settings),
	    cmocka_unit_test(test_refuses_what_cannot_be_promoted),
	    cmocka_unit_test(test_refuses_what_cannot_be_seen),
	    cmocka_unit_test(test_bounds_the_size),
	    cmocka_unit_test(test_approval),
	    cmocka_unit_test(test_refuses_approvals),
	};

	return cmocka_run_group_tests_name("directive", tests, NULL, NULL);
}
