// SPDX-License-Identifier: Apache-2.0
/* Owns recordings for tests: invented hosts and boots with latencies drawn from a seed, written by lib/core/wire.
 * Must not know kpcp-canary. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "lib/base/opt.h"
#include "lib/core/wire.h"

struct args {
	const char *out, *host, *release, *probe, *layout, *clocksource;
	double scale, exit_scale;
	uint64_t boot, build, storms, samples, missed, seed, burst, planned, cpus;
	int64_t pcp_scale;
	bool no_end;
};

#define TEXT_OPTION(field)                                                \
	static int set_##field(void *t, const char *value, struct err *e) \
	{                                                                 \
		(void)e;                                                  \
		((struct args *)t)->field = value;                        \
		return 0;                                                 \
	}
#define NUMBER_OPTION(field, least, most)                                          \
	static int set_##field(void *t, const char *value, struct err *e)          \
	{                                                                          \
		return num_u64(value, least, most, &((struct args *)t)->field, e); \
	}
#define REAL_OPTION(field)                                                         \
	static int set_##field(void *t, const char *value, struct err *e)          \
	{                                                                          \
		return num_f64(value, 0.001, 1000, &((struct args *)t)->field, e); \
	}

TEXT_OPTION(out)
TEXT_OPTION(host)
TEXT_OPTION(release)
TEXT_OPTION(probe)
TEXT_OPTION(layout)
TEXT_OPTION(clocksource)
NUMBER_OPTION(boot, 0, UINT64_MAX)
NUMBER_OPTION(build, 0, UINT64_MAX)
NUMBER_OPTION(storms, 0, RECORDING_STORMS_MAX)
NUMBER_OPTION(planned, 1, RECORDING_STORMS_MAX)
NUMBER_OPTION(samples, 0, 1000000)
NUMBER_OPTION(missed, 0, 1000000)
NUMBER_OPTION(seed, 0, UINT64_MAX)
NUMBER_OPTION(burst, 1, 65536)
NUMBER_OPTION(cpus, 1, 65536)
REAL_OPTION(scale)
REAL_OPTION(exit_scale)

static int set_pcp_scale(void *t, const char *value, struct err *e)
{
	return num_i64(value, -1, 6, &((struct args *)t)->pcp_scale, e);
}

static int set_no_end(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct args *)t)->no_end = true;
	return 0;
}

static const struct opt options[] = {
    {"out", "FILE", "The recording to write.", set_out},
    {"host", "NAME", "Host.", set_host},
    {"release", "TEXT", "Kernel release.", set_release},
    {"build", "NUMBER", "Kernel build-id, as a number; 0: none.", set_build},
    {"boot", "NUMBER", "Boot id, as a number.", set_boot},
    {"probe", "NAME", "Probe.", set_probe},
    {"layout", "NAME", "Histogram layout, as long a name as the real one.", set_layout},
    {"clocksource", "NAME", "Clock source.", set_clocksource},
    {"pcp-scale", "NUMBER", "vm.pcp_batch_scale_max; -1: none.", set_pcp_scale},
    {"scale", "FACTOR", "Of all latencies.", set_scale},
    {"exit-scale", "FACTOR", "Of the exit's duration.", set_exit_scale},
    {"storms", "COUNT", "Storms.", set_storms},
    {"planned", "COUNT", "Storms that were planned.", set_planned},
    {"samples", "COUNT", "Operations a storm.", set_samples},
    {"missed", "COUNT", "Operations of a storm that started late.", set_missed},
    {"burst", "PAGES", "Pages an operation.", set_burst},
    {"cpus", "COUNT", "CPUs.", set_cpus},
    {"seed", "NUMBER", "Of the latencies.", set_seed},
    {"no-end", NULL, "Leave out the end, as a recording that was cut short.", set_no_end},
};

/* splitmix64 (Steele, Lea and Flood, 2014), to [0, 1). */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Sums and products only, no library function: the same bytes on every machine. */
static double latency_ns(uint64_t *state)
{
	double z = -6, ns;

	for (int i = 0; i < 12; i++)
		z += uniform(state); /* about standard normal */
	ns = 400000 * (1 + 0.2 * z + 0.03 * z * z);
	/* One in eight waits for a lock; dense where p99 lies, so that few hosts tell a tenth more from nothing. */
	if (uniform(state) < 0.125) {
		double u = uniform(state);

		ns *= 3 + 6 * u;
	}
	return ns > 50000 ? ns : 50000;
}

static void fill_header(const struct args *a, struct recording_header *h)
{
	memset(h, 0, sizeof(*h));
	snprintf(h->shape.probe, sizeof(h->shape.probe), "%s", a->probe);
	snprintf(h->shape.layout, sizeof(h->shape.layout), "%s", HIST_LAYOUT);
	h->shape.victims = 2;
	h->shape.burst_pages = (uint32_t)a->burst;
	h->shape.period_ns = 10000000;
	h->shape.window_ns = 1700000000;
	h->shape.processes = 2;
	h->shape.process_pages = 8192;
	snprintf(h->host, sizeof(h->host), "%s", a->host);
	snprintf(h->release, sizeof(h->release), "%s", a->release);
	memcpy(h->build_id, &a->build, sizeof(a->build));
	memcpy(h->boot_id, &a->boot, sizeof(a->boot));
	snprintf(h->tool, sizeof(h->tool), "0.1.0");
	snprintf(h->clocksource, sizeof(h->clocksource), "%s", a->clocksource);
	h->start_unix_s = 1796066762;
	h->seed = a->seed;
	h->cpus = (uint32_t)a->cpus;
	h->memory_kib = 1 << 20;
	h->pcp_batch_scale_max = (int32_t)a->pcp_scale;
	h->storms_planned = (uint32_t)(a->planned ? a->planned : a->storms ? a->storms : 1);
}

static int add_storm(struct buf *b, const struct args *a, uint32_t index, uint64_t *state, struct err *e)
{
	static struct recording_storm s;

	s.index = index;
	s.exit_pages = 2 * 8192;
	s.exit_ns = (uint64_t)(5000000 * a->exit_scale * (0.95 + 0.1 * uniform(state)));
	s.missed = a->missed;
	hist_init(&s.response);
	hist_init(&s.service);
	for (uint64_t i = 0; i < a->samples; i++) {
		double ns = latency_ns(state) * a->scale;

		hist_add(&s.response, (uint64_t)ns);
		hist_add(&s.service, (uint64_t)(ns * 0.75));
	}
	return wire_add_storm(b, &s, e);
}

/* CRC-32C, bit by bit: the format's, for a header that lib/core/wire refuses to write. */
static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

/* Puts another layout's name into the header frame, which is all that b holds: 10 bytes of preamble, the frame, its
 * CRC in the last four. */
static int change_layout(struct buf *b, const char *layout, struct err *e)
{
	char *at = memmem(b->data, b->len, HIST_LAYOUT, strlen(HIST_LAYOUT));

	if (!at || strlen(layout) != strlen(HIST_LAYOUT))
		return err_set(e, EINVAL, "--layout: \"%s\" is not as long as %s", layout, HIST_LAYOUT);
	memcpy(at, layout, strlen(layout));
	uint32_t crc = crc32c((const uint8_t *)b->data + 10, b->len - 14);
	for (int i = 0; i < 4; i++)
		b->data[b->len - 4 + (size_t)i] = (char)(crc >> (8 * i));
	return 0;
}

static int make(const struct args *a, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(WIRE_FILE_MAX);
	struct recording_header h;
	uint64_t state = a->seed;

	fill_header(a, &h);
	int r = wire_add_header(&b, &h, e);
	if (r == 0 && a->layout)
		r = change_layout(&b, a->layout, e);
	for (uint32_t i = 0; r == 0 && i < a->storms; i++)
		r = add_storm(&b, a, i, &state, e);
	if (r == 0 && !a->no_end)
		r = wire_add_end(&b, (uint32_t)a->storms, e);
	return r < 0 ? r : fs_write_atomic(a->out, b.data, b.len, 0644, e);
}

int main(int argc, char **argv)
{
	struct args a = {.host = "host-a",
			 .release = "6.1.0-old",
			 .probe = "victim-4k-active/1",
			 .clocksource = "tsc",
			 .scale = 1,
			 .exit_scale = 1,
			 .boot = 1,
			 .build = 1,
			 .storms = 30,
			 .samples = 340,
			 .seed = 1,
			 .burst = 128,
			 .cpus = 4,
			 .pcp_scale = -1};
	struct err e = {0};
	bool help = false;
	int operands = 0, r = opt_parse(argc, argv, options, ARRAY_SIZE(options), &a, &operands, &help, &e);

	if (r == 0 && (help || operands > 0 || !a.out))
		r = err_set(&e, EINVAL, "use: make_recording --out FILE [OPTION...]; see its table of options");
	if (r == 0)
		r = make(&a, &e);
	if (r < 0)
		fprintf(stderr, "make_recording: %s\n", e.text);
	return r < 0;
}
