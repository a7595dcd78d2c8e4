// SPDX-License-Identifier: Apache-2.0
/* Owns what the judge's tests judge: campaigns with a given spread and ratio, and looking at the verdict's sentences.
 * Must not know how the judge decides; the tests test_judge*.c include it, after cmocka. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/judge.h"
#include "rng.h"

static struct judge_host hosts[JUDGE_HOSTS_MAX];
static struct verdict v;

static struct judge_plan plan_of(uint32_t canaries, uint32_t controls, uint32_t boots)
{
	struct judge_plan p = judge_plan_default;
	p.canaries = canaries;
	p.controls = controls;
	p.boots = boots;
	return p;
}

/* Hosts whose boots differ by boot_sd, whose new kernel differs by host_sd, and canaries slower by ratio[]. */
static size_t fill(const struct judge_plan *p, double boot_sd, double host_sd, const double ratio[ENDPOINT_COUNT])
{
	size_t n = p->canaries + p->controls;
	memset(hosts, 0, n * sizeof(hosts[0]));
	for (size_t i = 0; i < n; i++) {
		struct judge_host *h = &hosts[i];
		h->control = i >= p->canaries;
		snprintf(h->name, sizeof(h->name), "%s-%zu", h->control ? "ctl" : "can",
			 h->control ? i - p->canaries : i);
		h->n_old = h->n_new = p->boots;
		for (int x = 0; x < ENDPOINT_COUNT; x++) {
			double d = host_sd * normal() + (h->control ? 0 : log(ratio[x]));
			for (uint32_t b = 0; b < 2 * p->boots; b++) {
				struct judge_boot *boot = b < p->boots ? &h->old_boot[b] : &h->new_boot[b - p->boots];
				boot->y[x] = log(1e-3) + boot_sd * normal() + (b < p->boots ? 0 : d);
				boot->samples[x] = p->min_samples[x];
				boot->storms = p->storms;
			}
		}
	}
	return n;
}

static const double ones[ENDPOINT_COUNT] = {1, 1, 1};

__attribute__((unused)) static void run(const struct judge_plan *p, size_t n)
{
	struct err e = {0};
	if (judge(p, hosts, n, &v, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(v.n_reasons > 0 && v.n_reasons <= JUDGE_REASONS_MAX);
	for (uint32_t i = 0; i < v.n_reasons; i++) {
		size_t len = strnlen(v.reason[i], JUDGE_REASON_MAX);
		/* Whole sentences, none cut. */
		if (len < 10 || len >= JUDGE_REASON_MAX - 1 || v.reason[i][len - 1] != '.')
			fail_msg("reason \"%s\"", v.reason[i]);
	}
}

__attribute__((unused)) static bool said(const char *word)
{
	for (uint32_t i = 0; i < v.n_reasons; i++)
		if (strstr(v.reason[i], word))
			return true;
	return false;
}

__attribute__((unused)) static void show(void)
{
	print_message("%s\n", verdict_name(v.kind));
	for (uint32_t i = 0; i < v.n_reasons; i++)
		print_message("  %s\n", v.reason[i]);
}

__attribute__((unused)) static void expect_(enum verdict_kind kind, const char *first, int line)
{
	if (v.kind == kind && strstr(v.reason[0], first))
		return;
	show();
	fail_msg("line %d: wanted %s, first reason with \"%s\"", line, verdict_name(kind), first);
}
#define expect(kind, first) expect_(kind, first, __LINE__)
