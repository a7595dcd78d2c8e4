// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of what counts as worse than before a jump, and that what was before reads back.
 * Must not know machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/health.h"

static void list(struct buf *b, const char *text)
{
	struct err e;

	b->max = 4096;
	b->len = 0;
	assert_int_equal(buf_addf(b, &e, "%s", text), 0);
}

static void usual(struct health *h)
{
	*h = (struct health){.taint = 1, .cpus = 8, .memory_kib = 1000000, .warnings = 1, .bugs = 1};
	list(&h->nics, "eth0\neth1\n");
	list(&h->failed, "old.service\n");
}

static void test_log(void **state)
{
	static const char log[] = "Linux version 6.1\nBUG: unable to handle page fault\nWARNING: CPU: 1 PID: 2 at x\n"
				  "rcu: INFO: rcu_sched self-detected stall on CPU\n"
				  "watchdog: BUG: soft lockup - CPU#1 stuck\n"
				  "INFO: task a:1 blocked for more than 120 seconds\ndebug: all is well\n"
				  "Oops: 0000 [#1]\nkernel BUG at mm/x.c:1!\nWARNING: cut";
	struct health h = {0};

	(void)state;
	health_count_log(&h, log, strlen(log));
	assert_int_equal(h.bugs, 6);
	assert_int_equal(h.warnings, 2);
	health_count_log(&h, "", 0);
	assert_int_equal(h.bugs, 6);
}

static void test_reads_back(void **state)
{
	_cleanup_(health_free) struct health h, back = {0};
	_cleanup_(buf_free) struct buf a = BUF_INIT(4096), b = BUF_INIT(4096);
	struct err e;
	struct health bad = {0};

	(void)state;
	usual(&h);
	assert_int_equal(health_encode(&h, &a, &e), 0);
	assert_int_equal(health_decode(a.data, a.len, &back, &e), 0);
	assert_int_equal(health_encode(&back, &b, &e), 0);
	assert_string_equal(a.data, b.data);
	for (size_t n = 0; n < a.len; n++)
		assert_int_equal(health_decode(a.data, n, &bad, &e), -EINVAL);
	assert_int_equal(health_decode("cpus x\nend\n", 11, &bad, &e), -EINVAL);
	assert_int_equal(health_decode("disk sda\nend\n", 13, &bad, &e), -EINVAL);
	assert_int_equal(health_decode("end\nend\n", 8, &bad, &e), -EINVAL);
	assert_null(bad.nics.data);
}

/* One thing changed. */
static void compare(void (*change)(struct health *h), enum health_verdict want, const char *why)
{
	_cleanup_(health_free) struct health before, now;
	char text[256] = "";

	usual(&before);
	usual(&now);
	change(&now);
	enum health_verdict got = health_compare(&before, &now, text, sizeof(text));
	if (got != want || !strstr(text, why))
		fail_msg("%d, not %d: \"%s\" does not say \"%s\"", (int)got, (int)want, text, why);
}

static void nothing(struct health *h)
{
	(void)h;
}

static void better(struct health *h)
{
	h->taint = h->warnings = h->bugs = 0;
	h->memory_kib += 5000;
	list(&h->nics, "eth1\neth2\neth0\n");
	list(&h->failed, "");
}

static void bug(struct health *h)
{
	h->bugs++;
	h->warnings++;
}

static void warning(struct health *h)
{
	h->warnings++;
}

static void taint(struct health *h)
{
	h->taint = 513;
}

static void cpu(struct health *h)
{
	h->cpus--;
}

static void little_memory(struct health *h)
{
	h->memory_kib -= 65536;
}

static void memory(struct health *h)
{
	h->memory_kib -= 65537;
}

static void unit(struct health *h)
{
	list(&h->failed, "old.service\nnew.service\n");
}

static void nic(struct health *h)
{
	list(&h->nics, "eth0\neth10\n");
}

static void test_compare(void **state)
{
	(void)state;
	compare(nothing, HEALTH_GOOD, "");
	compare(better, HEALTH_GOOD, "");
	compare(little_memory, HEALTH_GOOD, "");
	compare(bug, HEALTH_CRASHED, "has 2 bugs");
	compare(warning, HEALTH_BAD, "2 warnings");
	compare(taint, HEALTH_BAD, "tainted by 512");
	compare(cpu, HEALTH_BAD, "7 CPUs are online, before there were 8");
	compare(memory, HEALTH_BAD, "KiB of memory");
	compare(unit, HEALTH_BAD, "unit new.service failed");
	compare(nic, HEALTH_LATER, "interface eth1 is not there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_reads_back),
	    cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
