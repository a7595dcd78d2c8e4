// SPDX-License-Identifier: Apache-2.0
/* Owns a second, slow implementation of the wire form, written from its description, to forge recordings with.
 * Must not know how wire.c works inside; test_wire.c alone includes it, after cmocka. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "lib/core/recording.h"

static uint32_t crc_bitwise(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffff;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

struct bytes {
	size_t len;
	uint8_t b[70000];
};

static void put(struct bytes *x, const void *p, size_t n)
{
	assert_true(n <= sizeof(x->b) - x->len);
	memcpy(x->b + x->len, p, n);
	x->len += n;
}

static void put_byte(struct bytes *x, unsigned v)
{
	uint8_t b = (uint8_t)v;
	put(x, &b, 1);
}

static void put_varint(struct bytes *x, uint64_t v)
{
	for (; v > 127; v >>= 7)
		put_byte(x, (v & 127) | 128);
	put_byte(x, (unsigned)v);
}

static void put_text(struct bytes *x, const char *s)
{
	put_varint(x, strlen(s));
	put(x, s, strlen(s));
}

static void put_frame(struct bytes *x, unsigned type, const struct bytes *payload)
{
	size_t start = x->len;
	put_byte(x, type);
	put_varint(x, payload->len);
	put(x, payload->b, payload->len);
	uint32_t crc = crc_bitwise(x->b + start, x->len - start);
	for (int i = 0; i < 4; i++)
		put_byte(x, (crc >> (8 * i)) & 255);
}

static const uint8_t preamble[10] = {0x89, 'K', 'P', 'C', 'P', '\r', '\n', 0x1a, 1, 0};

static struct recording_header a_header(void)
{
	struct recording_header h = {
	    .shape = {.probe = "victim-4k-active/1",
		      .layout = HIST_LAYOUT,
		      .victims = 4,
		      .burst_pages = 256,
		      .period_ns = 1000000,
		      .window_ns = 3000000000,
		      .processes = 18,
		      .process_pages = 1572864},
	    .host = "node-7",
	    .release = "6.1.0-13-kpcp",
	    .tool = "0.1.0",
	    .clocksource = "tsc",
	    .start_unix_s = 1700000000,
	    .seed = UINT64_MAX,
	    .cpus = 256,
	    .memory_kib = 1ull << 30,
	    .pcp_batch_scale_max = 5,
	    .storms_planned = 30,
	};
	for (unsigned i = 0; i < sizeof(h.build_id); i++)
		h.build_id[i] = (uint8_t)(i * 13);
	for (unsigned i = 0; i < sizeof(h.boot_id); i++)
		h.boot_id[i] = (uint8_t)(255 - i);
	return h;
}

/* The header's payload as the format's description orders it. */
static void put_header_payload(struct bytes *x, const struct recording_header *h)
{
	put_text(x, h->shape.probe);
	put_text(x, h->shape.layout);
	put_varint(x, h->shape.victims);
	put_varint(x, h->shape.burst_pages);
	put_varint(x, h->shape.period_ns);
	put_varint(x, h->shape.window_ns);
	put_varint(x, h->shape.processes);
	put_varint(x, h->shape.process_pages);
	put_text(x, h->host);
	put_text(x, h->release);
	put(x, h->build_id, 20);
	put(x, h->boot_id, 16);
	put_text(x, h->tool);
	put_text(x, h->clocksource);
	put_varint(x, h->start_unix_s);
	put_varint(x, h->seed);
	put_varint(x, h->cpus);
	put_varint(x, h->memory_kib);
	put_varint(x, (uint64_t)(h->pcp_batch_scale_max + 1));
	put_varint(x, h->storms_planned);
}

static void put_file_start(struct bytes *x)
{
	struct recording_header h = a_header();
	static struct bytes payload;
	payload.len = 0;
	put_header_payload(&payload, &h);
	put(x, preamble, sizeof(preamble));
	put_frame(x, 1, &payload);
}

static void put_end(struct bytes *x, uint64_t storms)
{
	static struct bytes payload;
	payload.len = 0;
	put_varint(&payload, storms);
	put_frame(x, 3, &payload);
}
