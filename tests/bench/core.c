// SPDX-License-Identifier: Apache-2.0
/* Owns the cost of the paths that run in a measuring window or once per recording, as ratios to a plain log2
 * histogram and to memcpy in the same run. Must not assert: a benchmark reports. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/core/hist.h"
#include "lib/core/wire.h"

#define ROUNDS 9
#define VALUES (1u << 20)

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64: any fixed sequence would do. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t value_of(uint64_t r)
{
	return 64 + (r >> (34 + (r & 15)));
}

static uint64_t log2_bucket[64];

static double ns_per_log2(void)
{
	uint64_t state = 1, begin = now_ns();
	for (unsigned i = 0; i < VALUES; i++)
		log2_bucket[63 - __builtin_clzll(value_of(next(&state)))]++;
	return (double)(now_ns() - begin) / VALUES;
}

static double ns_per_add(struct hist *h)
{
	uint64_t state = 1, begin = now_ns();
	for (unsigned i = 0; i < VALUES; i++)
		hist_add(h, value_of(next(&state)));
	return (double)(now_ns() - begin) / VALUES;
}

static int wire_costs(struct recording_storm *s, double *encode_us, double *decode_us, size_t *bytes, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(WIRE_FILE_MAX);
	struct recording_header h = {.shape = {.probe = "bench/1",
					       .layout = HIST_LAYOUT,
					       .victims = 1,
					       .burst_pages = 1,
					       .period_ns = 1,
					       .window_ns = 1,
					       .processes = 1,
					       .process_pages = 1},
				     .host = "bench",
				     .release = "bench",
				     .tool = "bench",
				     .clocksource = "bench",
				     .cpus = 1,
				     .memory_kib = 1,
				     .pcp_batch_scale_max = -1,
				     .storms_planned = 100};
	if (wire_add_header(&out, &h, e) < 0)
		return -e->code;
	size_t header = out.len;
	uint64_t begin = now_ns();
	for (uint32_t i = 0; i < 100; i++) {
		s->index = i;
		if (wire_add_storm(&out, s, e) < 0)
			return -e->code;
	}
	*encode_us = (double)(now_ns() - begin) / 1e5;
	*bytes = (out.len - header) / 100;
	if (wire_add_end(&out, 100, e) < 0)
		return -e->code;
	struct wire_reader r;
	begin = now_ns();
	if (wire_open(&r, out.data, out.len, &h, e) < 0)
		return -e->code;
	int more;
	while ((more = wire_next(&r, s, e)) > 0)
		;
	*decode_us = (double)(now_ns() - begin) / 1e5;
	return more;
}

int main(void)
{
	static struct hist h;
	static struct recording_storm storm;
	double best_add = 1e9, best_log2 = 1e9, encode = 0, decode = 0;
	size_t bytes = 0;
	struct err e = {0};

	for (int i = 0; i < ROUNDS; i++) {
		hist_init(&h);
		double add = ns_per_add(&h), plain = ns_per_log2();
		best_add = add < best_add ? add : best_add;
		best_log2 = plain < best_log2 ? plain : best_log2;
	}
	storm.exit_ns = 1000000;
	storm.exit_pages = 10000;
	storm.response = h;
	storm.service = h;
	if (wire_costs(&storm, &encode, &decode, &bytes, &e) < 0) {
		fprintf(stderr, "bench: %s\n", e.text);
		return 1;
	}
	printf("hist_add: %.2f ns, %.2f times a log2 histogram's %.2f ns\n", best_add, best_add / best_log2, best_log2);
	printf("a storm on the wire: %zu bytes, encode %.1f us, decode %.1f us (%.2f times encode)\n", bytes, encode,
	       decode, decode / encode);
	return 0;
}
