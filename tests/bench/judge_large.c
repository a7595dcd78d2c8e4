// SPDX-License-Identifier: Apache-2.0
/* Owns the cost of judging a fleet of 10,000 hosts over 100 blocks: gate, second opinion, brake. Must not assert: a
 * benchmark reports. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "lib/core/draw.h"
#include "lib/core/judge.h"

#define HOSTS  10000
#define BLOCKS 100

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fill(const struct judge_plan *p, struct judge_host *h, uint32_t number)
{
	struct draw d = draw_start(1, number);
	double level = log(1e-3) + 0.3 * draw_normal(&d);
	snprintf(h->name, sizeof(h->name), "host-%05u", number);
	h->control = number >= p->canaries;
	h->n_old = h->n_new = p->boots;
	for (uint32_t b = 0; b < 2 * p->boots; b++) {
		struct judge_boot *boot = b < p->boots ? &h->old_boot[b] : &h->new_boot[b - p->boots];
		for (int x = 0; x < ENDPOINT_COUNT; x++) {
			boot->y[x] = level + 0.07 * draw_normal(&d);
			boot->samples[x] = p->min_samples[x];
		}
		boot->storms = p->storms;
	}
}

/* Values that a fleet would send: none is kept longer than its block. */
static void look(struct brake *brake, double *x, uint32_t block)
{
	struct draw d = draw_start(2, block);
	for (size_t i = 0; i < HOSTS; i++)
		x[i] = 0.2 * draw_normal(&d);
	const struct brake_plan *p = &brake->plan;
	struct brake_x seen = brake_difference(p, x, p->canaries, x + p->canaries, p->controls);
	brake_look(brake, &seen, 0);
}

int main(void)
{
	struct judge_plan p = judge_plan_default;
	struct judge_host *hosts = calloc(HOSTS, sizeof(*hosts));
	double *x = calloc(HOSTS, sizeof(*x));
	struct brake_plan bp = brake_plan_default;
	struct brake brake;
	struct verdict v;
	struct rusage use;
	struct err e = {0};
	int r = hosts && x ? 0 : -1;
	p.canaries = p.controls = HOSTS / 2;
	p.boots = 4;
	bp.canaries = p.canaries;
	bp.controls = p.controls;
	for (uint32_t i = 0; r == 0 && i < HOSTS; i++)
		fill(&p, &hosts[i], i);
	double begin = now_s();
	if (r == 0)
		r = brake_start(&bp, &brake, &e);
	for (uint32_t b = 0; r == 0 && b < BLOCKS; b++)
		look(&brake, x, b);
	double braked = now_s();
	if (r == 0)
		r = judge(&p, hosts, HOSTS, &v, &e);
	double judged = now_s();
	if (r < 0) {
		fprintf(stderr, "judge_large: %s\n", hosts && x ? e.text : "memory ran out");
		return 1;
	}
	judge_brake(&v, &brake);
	getrusage(RUSAGE_SELF, &use);
	printf("%d hosts, %d boots, %d endpoints: %s in %.2f s; the brake over %d blocks (values drawn with it): %s in "
	       "%.2f "
	       "s; together %.2f s, %ld MiB\n",
	       HOSTS, 2 * (int)p.boots, ENDPOINT_COUNT, verdict_name(v.kind), judged - braked, BLOCKS,
	       brake_state_name(brake.state), braked - begin, judged - begin, use.ru_maxrss / 1024);
	printf("theta of p99 %.3f, assignments %llu, sizeof(struct verdict) %zu\n", v.endpoint[0].theta,
	       (unsigned long long)v.endpoint[0].assignments, sizeof(v));
	free(hosts);
	free(x);
	return 0;
}
