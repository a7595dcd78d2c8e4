// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what is read from small text files: an A/A campaign's spread, published histograms.
 * Must not know how either is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "lib/report/plan.h"
#include "lib/report/published_judge.h"
#include "lib/report/spread_file.h"

static struct spread sample(void)
{
	return (struct spread){.probe = "victim-4k-active/1",
			       .hosts = 12,
			       .boots = 4,
			       .endpoint = {{0.07, 0.0812345678901234, 0.02, 0.053, 0.08, 0.2, 0.23},
					    {NAN, NAN, NAN, NAN, NAN, NAN, NAN},
					    {0, 0, 0, 0, 0, 1e-300, 10}}};
}

static void test_round_trip(void **state)
{
	(void)state;
	struct spread s = sample(), got;
	struct err e = {0};
	_cleanup_(buf_free) struct buf a = BUF_INIT(SPREAD_FILE_MAX), b = BUF_INIT(SPREAD_FILE_MAX);
	assert_int_equal(spread_file_format(&a, &s, &e), 0);
	if (spread_file_parse("x", a.data, a.len, &got, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(spread_file_format(&b, &got, &e), 0);
	assert_string_equal(a.data, b.data);
	assert_true(got.hosts == 12 && got.endpoint[0].boot_sd_upper == s.endpoint[0].boot_sd_upper);
	assert_true(isnan(got.endpoint[1].host_sd) && got.endpoint[2].block_sd == 1e-300);
}

/* Replaces the first `from` in the sample's text by `to`, and wants a refusal that says `word`. */
static void refuses(const char *from, const char *to, int code, const char *word)
{
	struct spread s = sample(), got = {.hosts = 77};
	struct err e = {0};
	_cleanup_(buf_free) struct buf a = BUF_INIT(SPREAD_FILE_MAX), b = BUF_INIT(4 * SPREAD_FILE_MAX);
	assert_int_equal(spread_file_format(&a, &s, &e), 0);
	const char *at = strstr(a.data, from);
	assert_non_null(at);
	assert_int_equal(buf_addf(&b, &e, "%.*s%s%s", (int)(at - a.data), a.data, to, at + strlen(from)), 0);
	int r = spread_file_parse("f.conf", b.data, b.len, &got, &e);
	if (r != code || !strstr(e.text, word) || !strstr(e.text, "f.conf"))
		fail_msg("%d (wanted %d), wanted \"%s\": %s", r, code, word, e.text);
	assert_int_equal(got.hosts, 77);
}

static void test_spread_refusals(void **state)
{
	(void)state;
	refuses("kpcp-spread/1", "kpcp-spread/2", -EPROTONOSUPPORT, "kpcp-spread/2");
	refuses("format = kpcp-spread/1\n", "", -EINVAL, "format");
	refuses("boot-sd = 0.07", "boot-sd = -0.07", -ERANGE, "boot-sd");
	refuses("boot-sd = 0.07", "boot-sd = nan", -EINVAL, "boot-sd");
	refuses("boot-sd = 0.07", "boot-sd = 11", -ERANGE, "boot-sd");
	refuses("boot-sd = 0.07", "boot-sd = 0.07\nboot-sd = 0.07", -EINVAL, "boot-sd");
	refuses("boot-sd = 0.07", "boot-sd = 0.09", -EINVAL, "upper end is below");
	refuses("boot-sd = 0.07", "boot-s = 0.07", -EINVAL, "boot-sd");
	refuses("host-sd = 0.02\n", "", -EINVAL, "host-sd");
	refuses("hosts = 12", "hosts = 1", -ERANGE, "hosts");
	refuses("boots = 4", "boots = 17", -ERANGE, "boots");
	refuses("[exit]", "[exits]", -EINVAL, "exit");
	refuses("victim-4k-active/1", "a-name-that-is-longer-than-any-probe-has", -EINVAL, "probe");
	struct spread got;
	struct err e = {0};
	static char big[SPREAD_FILE_MAX + 1];
	assert_int_equal(spread_file_parse("x", big, sizeof(big), &got, &e), -EFBIG);
	assert_int_equal(spread_file_parse("x", "", 0, &got, &e), -EINVAL);
	assert_int_equal(spread_file_read("/nonexistent/x", &got, &e), -ENOENT);
}

/* Written in one step, and named by a plan beside it. */
static void test_plan_names_it(void **state)
{
	(void)state;
	char dir[] = "/tmp/kpcp-spread-XXXXXX", path[64], plan[64];
	struct spread s = sample();
	struct judge_plan p;
	struct err e = {0};
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.conf", dir);
	snprintf(plan, sizeof(plan), "%s/plan.conf", dir);
	assert_int_equal(spread_file_write(path, &s, &e), 0);
	FILE *f = fopen(plan, "w");
	assert_non_null(f);
	fputs("[judge]\nspread = s.conf\nboots = 4\nmodels = 256cpu-1024G, 64cpu-256G\nprobing = passive\n"
	      "reference-p99 = 1.042 +- 0.011\ncovariance-from = never\n",
	      f);
	fclose(f);
	if (plan_read(plan, &p, &e) < 0)
		fail_msg("%s", e.text);
	/* The number of boots counts wherever it stands in the file. */
	assert_true(fabs(judge_floor(&p, ENDPOINT_P99) - sqrt(.0004 + .0049 / 2)) < 1e-15);
	assert_true(p.n_models == 2 && strcmp(p.model[1], "64cpu-256G") == 0 && p.probing == PROBING_PASSIVE);
	assert_true(p.reference[0].given && fabs(p.reference[0].delta - log(1.042)) < 1e-15 && p.ancova_from == 0);
	unlink(path);
	assert_int_equal(plan_read(plan, &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "s.conf"));
	/* A plan that comes from elsewhere has no files beside it. */
	static const char text[] = "[judge]\nspread = s.conf\n";
	assert_int_equal(plan_parse("p", text, strlen(text), &p, &e), -EINVAL);
	unlink(plan);
	rmdir(dir);
}

static void plan_refuses(const char *line, const char *word)
{
	char text[256];
	struct judge_plan p = {.boots = 77};
	struct err e = {0};
	int len = snprintf(text, sizeof(text), "[judge]\n%s\n", line);
	int r = plan_parse("p.conf", text, (size_t)len, &p, &e);
	if (r >= 0 || !strstr(e.text, word) || p.boots != 77)
		fail_msg("%s: %d, wanted \"%s\": %s", line, r, word, e.text);
}

static void test_plan_refusals(void **state)
{
	(void)state;
	plan_refuses("models = ", "models");
	plan_refuses("models = a,, b", "models");
	plan_refuses("models = a, b, a", "twice");
	plan_refuses("models = a-name-that-is-longer-than-models-have", "longer than 31");
	plan_refuses("models = a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16");
	plan_refuses("probing = pasive", "passive");
	plan_refuses("min-passive-p99 = 0", "min-passive-p99");
	plan_refuses("covariance-from = 2", "covariance-from");
	plan_refuses("reference-p99 = 1.042", "+-");
	plan_refuses("reference-p99 = 0 +- 0.1", "0");
	plan_refuses("reference-exit = 1.0 +- nan", "nan");
}

/* ---- published histograms ---- */

static int parse(const char *text, struct published *ret, struct err *e)
{
	return published_parse("h.txt", text, strlen(text), ret, e);
}

static void test_published(void **state)
{
	(void)state;
	static struct published h;
	struct err e = {0};
	assert_int_equal(parse("# run time, ns\n# source: a list\n# published: avg_ns 3 total_ns 9 count 3\n"
			       "0 1 0\n2 3 90\n\n4 7 9\n8 15 1",
			       &h, &e),
			 0);
	assert_true(h.n == 4 && h.count == 100 && h.totalled && h.total_ns == 9 && h.total_count == 3);
	assert_string_equal(h.note, "run time, ns");
	assert_string_equal(h.source, "a list");
	assert_int_equal(published_quantile(&h, .5).low_ns, 2);
	assert_int_equal(published_quantile(&h, .9).low_ns, 2);
	assert_int_equal(published_quantile(&h, .99).high_ns, 7);
	assert_int_equal(published_quantile(&h, .999).low_ns, 8);
}

static void test_published_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *text, *word;
	} bad[] = {
	    {"", "no values"},
	    {"# only words\n", "no values"},
	    {"0 1 0\n", "no values"},
	    {"0 1\n", "h.txt:1: no count"},
	    {"0 1 2 3\n", "h.txt:1: \"3\" after the count"},
	    {"1 0 5\n", "before it begins"},
	    {"0 1 5\n1 3 5\n", "h.txt:2: the bucket begins at 1"},
	    {"0 1 5\n3 4 5\n", "without gaps"},
	    {"0 1 -5\n", "count"},
	    {"0 1 nan\n", "count"},
	    {"0 1 1e3\n", "count"},
	    {"x 1 5\n", "lowest value"},
	    {"0 99999999999999999999 5\n", "highest value"},
	    {"0 1 9007199254740992\n2 3 1\n", "more than 2^53"},
	    {"0 1 5\001\n", "control character"},
	    {"# published: total_ns 5\n0 1 5\n", "published totals"},
	};
	static struct published h;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};
		h.count = 77;
		if (parse(bad[i].text, &h, &e) >= 0 || !strstr(e.text, bad[i].word) || !strstr(e.text, "h.txt"))
			fail_msg("%zu: wanted \"%s\": %s", i, bad[i].word, e.text);
		assert_int_equal(h.count, 77);
	}
	_cleanup_(buf_free) struct buf many = BUF_INIT(1u << 20);
	struct err e = {0};
	for (unsigned i = 0; i <= PUBLISHED_BUCKETS_MAX; i++)
		assert_int_equal(buf_addf(&many, &e, "%u %u 1\n", i, i), 0);
	assert_int_equal(parse(many.data, &h, &e), -EINVAL);
}

/* However clear it looks. */
static void test_published_never_promotes(void **state)
{
	(void)state;
	static struct published a, b;
	struct err e = {0};
	assert_int_equal(parse("0 1023 0\n1024 2047 1000000\n2048 4095 1000000", &a, &e), 0);
	assert_int_equal(parse("0 1023 1000000\n1024 2047 1000000", &b, &e), 0);
	struct published_pair p = {.path = {"a", "b"}, .hist = {&a, &b}};
	assert_int_equal(published_judge(&p, &e), 0);
	assert_int_equal(p.verdict.kind, VERDICT_HOLD);
	assert_true(p.verdict.n_reasons > 3);
	p.hist[0] = &b;
	p.hist[1] = &a;
	assert_int_equal(published_judge(&p, &e), 0);
	assert_int_equal(p.verdict.kind, VERDICT_HOLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_spread_refusals),
	    cmocka_unit_test(test_plan_names_it),
	    cmocka_unit_test(test_plan_refusals),
	    cmocka_unit_test(test_published),
	    cmocka_unit_test(test_published_refusals),
	    cmocka_unit_test(test_published_never_promotes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
