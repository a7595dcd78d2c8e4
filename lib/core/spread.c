// SPDX-License-Identifier: Apache-2.0
/* Owns the estimation of the parts that an A/A campaign's spread is made of.
 * Must not know recordings, files or words. */
#include "spread.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "draw.h"
#include "special.h"

#define UPPER_ALPHA 0.05

void spread_add_blocks(struct spread_blocks *into, const struct summary_blocks *boot)
{
	if (boot->n < 2)
		return;
	into->nu += boot->n - 1;
	into->square += boot->square;
}

static double upper(double sd, double nu)
{
	return nu > 0 ? sd * sqrt(nu / special_chi2_quantile(UPPER_ALPHA, nu)) : NAN;
}

/* One slot of one host: the number of values, their mean, the sum of squares about it. */
struct slot {
	uint32_t n;
	double mean, square;
};

static struct slot slot_of(const struct judge_boot *b, uint32_t n, enum endpoint x)
{
	struct slot s = {0};
	for (uint32_t i = 0; i < n; i++) {
		if (!isfinite(b[i].y[x]))
			continue;
		double before = b[i].y[x] - s.mean;
		s.n++;
		s.mean += before / s.n;
		s.square += before * (b[i].y[x] - s.mean);
	}
	return s;
}

static struct spread_endpoint estimate(const struct judge_host *hosts, size_t n, enum endpoint x,
				       const struct spread_blocks *blocks)
{
	struct spread_endpoint e = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double boot_nu = 0, boot_square = 0, shares = 0, mean = 0, square = 0;
	double used = 0;
	for (size_t i = 0; i < n; i++) {
		struct slot a = slot_of(hosts[i].old_boot, hosts[i].n_old, x);
		struct slot b = slot_of(hosts[i].new_boot, hosts[i].n_new, x);
		if (a.n == 0 || b.n == 0)
			continue;
		boot_nu += a.n - 1 + b.n - 1;
		boot_square += a.square + b.square;
		shares += 1.0 / a.n + 1.0 / b.n;
		double d = b.mean - a.mean, before = d - mean;
		used++;
		mean += before / used;
		square += before * (d - mean);
	}
	if (blocks->nu > 0) {
		e.block_sd = sqrt(blocks->square / blocks->nu);
		e.block_sd_upper = upper(e.block_sd, blocks->nu);
	}
	if (used < 2)
		return e;
	double variance = square / (used - 1);
	shares /= used;
	e.difference_sd = sqrt(variance);
	e.difference_sd_upper = upper(e.difference_sd, used - 1);
	/* Without a second boot nobody can tell boots from hosts: boots then take all, which plans more boots. */
	e.boot_sd = boot_nu > 0 ? sqrt(boot_square / boot_nu) : sqrt(variance / shares);
	e.boot_sd_upper = upper(e.boot_sd, boot_nu > 0 ? boot_nu : used - 1);
	e.host_sd = sqrt(fmax(0, variance - e.boot_sd * e.boot_sd * shares));
	return e;
}

int spread_estimate(const struct judge_host *hosts, size_t n, const struct spread_blocks blocks[ENDPOINT_COUNT],
		    const char *probe, struct spread *ret, struct err *e)
{
	struct spread s = {.boots = JUDGE_BOOTS_MAX};
	size_t len = strnlen(probe, SPREAD_PROBE_MAX - 1);
	memcpy(s.probe, probe, len);
	for (size_t i = 0; i < n; i++) {
		uint32_t least = hosts[i].n_old < hosts[i].n_new ? hosts[i].n_old : hosts[i].n_new;
		if (least == 0)
			return err_set(
			    e, EINVAL,
			    "host %s was measured in one of the two slots only: measure it in both, or leave it "
			    "out of this A/A campaign",
			    hosts[i].name);
		s.hosts++;
		s.boots = least < s.boots ? least : s.boots;
	}
	if (s.hosts < 2)
		return err_set(e, EINVAL,
			       "%u host%s in both slots: how far hosts differ takes at least 2, and is known well from "
			       "some 10 on",
			       s.hosts, s.hosts == 1 ? "" : "s");
	for (int x = 0; x < ENDPOINT_COUNT; x++)
		s.endpoint[x] = estimate(hosts, n, (enum endpoint)x, &blocks[x]);
	*ret = s;
	return 0;
}

double spread_difference_sd(const struct spread_endpoint *s, uint32_t boots)
{
	return power_difference_sd(&(struct power_spread){.boot_sd = s->boot_sd, .host_sd = s->host_sd}, boots);
}

void spread_apply(const struct spread *s, struct judge_plan *p)
{
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		double sd = spread_difference_sd(&s->endpoint[x], p->boots);
		/* NaN compares false: what is not known raises nothing. A plan's history is at most 10. */
		if (sd > p->sd_history[x])
			p->sd_history[x] = fmin(sd, 10);
	}
}

int spread_split(const struct judge_plan *plan, struct judge_host *hosts, size_t n, uint32_t splits, uint64_t seed,
		 struct spread_splits *ret, struct err *e)
{
	struct spread_splits s = {.n = splits};
	struct judge_plan p = *plan;
	p.canaries = (uint32_t)(n / 2);
	p.controls = (uint32_t)(n - n / 2);
	for (uint32_t i = 0; i < splits; i++) {
		struct draw d = draw_start(seed, i);
		struct verdict v;
		uint32_t left = p.canaries;
		/* Each host in turn with the probability that is left: every choice of n / 2 is as likely (Knuth 3.4.2
		 * S). */
		for (size_t h = 0; h < n; h++) {
			bool canary = draw_uniform(&d) * (double)(n - h) < left;
			hosts[h].control = !canary;
			left -= canary;
		}
		int r = judge(&p, hosts, n, &v, e);
		if (r < 0)
			return r;
		s.verdict[v.kind]++;
	}
	*ret = s;
	return 0;
}
