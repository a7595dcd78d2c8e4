// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the wire form: round trips, every truncation, every flipped bit, every malformed kind.
 * Must not know how wire.c works inside: frames are forged here from the written description of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lib/core/wire.h"
#include "rng.h"
#include "wire_forge.h"

#define SEED 0x77697265u

static void random_storm(struct recording_storm *s, uint32_t index)
{
	/* One draw a statement: the order within an initialiser is the compiler's. */
	*s = (struct recording_storm){.index = index};
	s->exit_ns = rng() % 86400000000000ull;
	s->exit_pages = rng() >> 20;
	s->missed = rng() >> 16;
	s->missed >>= rng() % 40;
	hist_init(&s->response);
	hist_init(&s->service);
	unsigned n = (unsigned)(rng() % 400);
	for (unsigned i = 0; i < n; i++) {
		uint64_t ns = 1000 + rng() % 50000;
		if (rng() % 8 == 0) {
			ns = rng();
			ns >>= rng() % 64;
		}
		hist_add(&s->response, ns);
		hist_add(&s->service, ns / 2);
	}
}

static void encode(struct buf *out, const struct recording_header *h, const struct recording_storm *s, uint32_t n)
{
	struct err e = {0};
	int r = wire_add_header(out, h, &e);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = wire_add_storm(out, &s[i], &e);
	if (r == 0)
		r = wire_add_end(out, n, &e);
	if (r < 0)
		fail_msg("%s", e.text);
}

/* 0 when every frame up to the end is accepted; otherwise the first error. */
static int read_all(const void *data, size_t len, uint32_t *storms, struct err *e)
{
	struct wire_reader r;
	struct recording_header h;
	static struct recording_storm s;
	int rc = wire_open(&r, data, len, &h, e);
	while (rc >= 0) {
		rc = wire_next(&r, &s, e);
		if (rc <= 0)
			break;
	}
	*storms = rc == 0 ? r.storms : 0;
	return rc;
}

/* The bytes must be refused with the code, and the message must have each of the words. */
static void assert_refused(const struct bytes *x, int code, const char *word, const char *word2)
{
	struct err e = {0};
	uint32_t storms;
	/* A copy of exactly this size, so that the sanitizer sees a read past its end. */
	uint8_t *copy = malloc(x->len ? x->len : 1);
	assert_non_null(copy);
	memcpy(copy, x->b, x->len);
	int rc = read_all(copy, x->len, &storms, &e);
	free(copy);
	if (rc != code || !strstr(e.text, word) || !strstr(e.text, word2))
		fail_msg("%d instead of %d, wanted \"%s\" and \"%s\" in: %s", rc, code, word, word2, e.text);
}

static void test_round_trip(void **state)
{
	(void)state;
	rng_state = SEED;
	enum { N = 5 };
	static struct recording_storm s[N], got;
	for (int round = 0; round < 30; round++) {
		struct recording_header h = a_header(), back;
		h.pcp_batch_scale_max = (int32_t)(rng() % 8) - 1;
		h.reboot = (enum reboot_method)(round % REBOOT_METHODS);
		uint32_t index = 0;
		for (unsigned i = 0; i < N; i++) {
			random_storm(&s[i], index);
			index += 1 + rng() % 3; /* gaps are fine: a storm may have failed */
		}
		_cleanup_(buf_free) struct buf a = BUF_INIT(WIRE_FILE_MAX), b = BUF_INIT(WIRE_FILE_MAX);
		encode(&a, &h, s, N);
		struct wire_reader r;
		struct err e = {0};
		assert_int_equal(wire_open(&r, a.data, a.len, &back, &e), 0);
		assert_string_equal(back.host, h.host);
		assert_int_equal(back.reboot, h.reboot);
		assert_true(back.seed == h.seed && back.pcp_batch_scale_max == h.pcp_batch_scale_max);
		assert_memory_equal(back.boot_id, h.boot_id, sizeof(h.boot_id));
		assert_int_equal(wire_add_header(&b, &back, &e), 0);
		for (unsigned i = 0; i < N; i++) {
			assert_int_equal(wire_next(&r, &got, &e), 1);
			assert_true(got.index == s[i].index && got.exit_ns == s[i].exit_ns);
			assert_true(got.exit_pages == s[i].exit_pages && got.missed == s[i].missed);
			assert_memory_equal(&got.response, &s[i].response, sizeof(got.response));
			assert_memory_equal(&got.service, &s[i].service, sizeof(got.service));
			assert_int_equal(wire_add_storm(&b, &got, &e), 0);
		}
		assert_int_equal(wire_next(&r, &got, &e), 0);
		assert_int_equal(wire_next(&r, &got, &e), 0); /* and stays at the end */
		assert_int_equal(wire_add_end(&b, N, &e), 0);
		assert_true(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	}
}

/* The bytes of version 1, forged here from the description: a change of the format cannot pass unseen. */
static void test_bytes_of_version_1(void **state)
{
	(void)state;
	assert_int_equal(crc_bitwise((const uint8_t *)"123456789", 9), 0xe3069283); /* the check value of CRC-32C */
	static struct bytes want, payload;
	static struct recording_storm s;
	want.len = payload.len = 0;
	put_file_start(&want);
	s = (struct recording_storm){.index = 2, .exit_ns = 300, .exit_pages = 1, .missed = 0};
	hist_init(&s.response);
	hist_init(&s.service);
	hist_add(&s.response, 64);
	hist_add(&s.response, 64);
	hist_add(&s.response, 70);
	const uint8_t storm[] = {2, 0xac, 0x02, 1,    0,       /* index, exit_ns, exit_pages, missed */
				 3, 64,   6,    0xc6, 1, 0, 0, /* count, min, max - min, sum 198, under, over */
				 2, 0,    2,    2,    1,       /* two buckets: 0 has 2; two empty ones, then 3 has 1 */
				 0};                           /* service: empty */
	put(&payload, storm, sizeof(storm));
	put_frame(&want, 2, &payload);
	put_end(&want, 1);
	struct recording_header h = a_header();
	_cleanup_(buf_free) struct buf got = BUF_INIT(WIRE_FILE_MAX);
	encode(&got, &h, &s, 1);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.b, want.len);
}

static void fill_small(struct bytes *x)
{
	static struct recording_storm s[2];
	rng_state = SEED + 1;
	random_storm(&s[0], 0);
	random_storm(&s[1], 1);
	struct recording_header h = a_header();
	_cleanup_(buf_free) struct buf b = BUF_INIT(WIRE_FILE_MAX);
	encode(&b, &h, s, 2);
	x->len = 0;
	put(x, b.data, b.len);
}

static void test_truncated_at_every_byte(void **state)
{
	(void)state;
	static struct bytes x;
	fill_small(&x);
	size_t whole = x.len;
	print_message("%zu truncations\n", whole);
	for (size_t len = 0; len < whole; len++) {
		x.len = len;
		char where[32];
		snprintf(where, sizeof(where), "after byte %zu", len);
		assert_refused(&x, -ENODATA, len ? "truncated" : "empty", len ? where : "record again");
	}
}

static void test_every_bit_flipped(void **state)
{
	(void)state;
	static struct bytes x;
	fill_small(&x);
	struct err e = {0};
	uint32_t storms;
	print_message("%zu flips\n", x.len * 8);
	for (size_t i = 0; i < x.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			x.b[i] ^= (uint8_t)(1 << bit);
			e.text[0] = '\0';
			int rc = read_all(x.b, x.len, &storms, &e);
			if (rc >= 0 || !e.text[0])
				fail_msg("bit %d of byte %zu flipped: accepted", bit, i);
			x.b[i] ^= (uint8_t)(1 << bit);
		}
	}
	assert_int_equal(read_all(x.b, x.len, &storms, &e), 0);
	assert_int_equal(storms, 2);
}

static void test_not_a_recording(void **state)
{
	(void)state;
	static struct bytes x;
	x.len = 0;
	put(&x, "{\"json\": 1}", 11);
	assert_refused(&x, -EINVAL, "not a kpcp recording", "kpcp-canary record");
	fill_small(&x);
	x.b[8] = 2;
	assert_refused(&x, -EPROTONOSUPPORT, "byte 8", "version 2");
	x.b[8] = 1;
	x.b[9] = 1;
	assert_refused(&x, -EPROTONOSUPPORT, "version 257", "version of kpcp-canary that recorded it");
	struct err e = {0};
	struct wire_reader r = {.at = 77};
	struct recording_header h;
	static uint8_t one;
	/* Refused before a byte is read. */
	assert_int_equal(wire_open(&r, &one, WIRE_FILE_MAX + 1ul, &h, &e), -EFBIG);
	assert_int_equal(r.at, 77);
}

/* A header with one thing changed, in a frame with a right checksum. */
static void forge_header(struct bytes *x, const struct recording_header *h, const char *tail, size_t tail_len)
{
	static struct bytes payload;
	payload.len = 0;
	put_header_payload(&payload, h);
	put(&payload, tail, tail_len);
	x->len = 0;
	put(x, preamble, sizeof(preamble));
	put_frame(x, 1, &payload);
	put_end(x, 0);
}

static void test_header_fields(void **state)
{
	(void)state;
	static struct bytes x;
	struct recording_header h = a_header();
	struct err e = {0};
	uint32_t storms;
	forge_header(&x, &h, "", 0);
	assert_int_equal(read_all(x.b, x.len, &storms, &e), 0);
	forge_header(&x, &h, "\2x", 2);
	assert_refused(&x, -EBADMSG, "1 bytes more", "recording header");
	/* Not known is left out, never written: one recording has one form. */
	forge_header(&x, &h, "\0", 1);
	assert_refused(&x, -EBADMSG, "reboot", "recording header");
	forge_header(&x, &h, "\3", 1);
	assert_refused(&x, -EBADMSG, "reboot", "recording header");
#define BAD(change, code, word, word2)                               \
	do {                                                         \
		h = a_header();                                      \
		change;                                              \
		forge_header(&x, &h, "", 0);                         \
		assert_refused(&x, code, word, word2);               \
		_cleanup_(buf_free) struct buf out = BUF_INIT(4096); \
		assert_true(wire_add_header(&out, &h, &e) < 0);      \
		assert_int_equal(out.len, 0);                        \
		assert_non_null(strstr(e.text, "recording header")); \
	} while (0)
	BAD(h.shape.layout[0] = 'L', -EPROTONOSUPPORT, "layout \"Log-linear-32x30-64ns\"", "never mixes");
	BAD(h.shape.layout[3] = '\t', -EBADMSG, "shape.layout", "0x09");
	BAD(h.host[0] = '\0', -EBADMSG, "length of host is 0", "must be 1 to 64");
	BAD(h.host[1] = '\x7f', -EBADMSG, "host has an unprintable byte", "0x7f");
	BAD(h.release[1] = '\n', -EBADMSG, "release has an unprintable byte", "0x0a");
	BAD(h.tool[0] = (char)0xc3, -EBADMSG, "tool", "0xc3");
	BAD(h.shape.victims = 0, -EBADMSG, "shape.victims is 0", "must be 1 to 65536");
	BAD(h.shape.victims = 65537, -EBADMSG, "shape.victims is 65537", "byte ");
	BAD(h.shape.burst_pages = 0, -EBADMSG, "burst_pages", "damaged");
	BAD(h.shape.period_ns = 0, -EBADMSG, "period_ns", "damaged");
	BAD(h.shape.window_ns = 86400000000001ull, -EBADMSG, "window_ns", "damaged");
	BAD(h.shape.processes = 0, -EBADMSG, "processes", "damaged");
	BAD(h.shape.process_pages = UINT64_MAX, -EBADMSG, "process_pages", "damaged");
	BAD(h.start_unix_s = UINT64_MAX, -EBADMSG, "start_unix_s", "damaged");
	BAD(h.cpus = 0, -EBADMSG, "cpus", "damaged");
	BAD(h.memory_kib = 0, -EBADMSG, "memory_kib", "damaged");
	BAD(h.pcp_batch_scale_max = 32, -EBADMSG, "pcp_batch_scale_max", "damaged");
	BAD(h.storms_planned = 0, -EBADMSG, "storms_planned", "damaged");
	BAD(h.storms_planned = 3001, -EBADMSG, "storms_planned is 3001", "must be 1 to 3000");
#undef BAD
	/* What only a struct can have: no final 0, a sysctl below -1. */
	_cleanup_(buf_free) struct buf out = BUF_INIT(4096);
	h = a_header();
	memset(h.host, 'h', sizeof(h.host));
	assert_int_equal(wire_add_header(&out, &h, &e), -EINVAL);
	assert_non_null(strstr(e.text, "host has no terminating 0"));
	h = a_header();
	h.pcp_batch_scale_max = -2;
	assert_int_equal(wire_add_header(&out, &h, &e), -ERANGE);
	assert_int_equal(out.len, 0);
	/* The longest names there are. */
	h = a_header();
	memset(h.host, 'h', sizeof(h.host) - 1);
	memset(h.release, 'r', sizeof(h.release) - 1);
	memset(h.tool, 't', sizeof(h.tool) - 1);
	assert_int_equal(wire_add_header(&out, &h, &e), 0);
}

/* Texts that are too long, hold a 0, or end with the frame; numbers in a longer form than needed. */
static void test_header_bytes(void **state)
{
	(void)state;
	static struct bytes x, payload;
	const struct {
		const char *bytes;
		size_t len;
		const char *word, *word2;
	} cases[] = {
	    {"\x20xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 33, "length of shape.probe is 32", "must be 1 to 31"},
	    {"\x05"
	     "ab\0cd",
	     6, "shape.probe has a 0 byte inside", "byte 12"},
	    {"\x05"
	     "abc",
	     4, "the frame ends inside shape.probe", "byte 13"},
	    {"", 0, "the frame ends inside length of shape.probe", "byte 12"},
	    {"\x85\x00"
	     "abcde",
	     7, "is longer than its value needs", "byte 12"},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, "does not fit in 64 bits", "shape.probe"},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, "does not fit in 64 bits", "shape.probe"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		payload.len = x.len = 0;
		put(&payload, cases[i].bytes, cases[i].len);
		put(&x, preamble, sizeof(preamble));
		put_frame(&x, 1, &payload);
		assert_refused(&x, -EBADMSG, cases[i].word, cases[i].word2);
	}
}

static void test_frames(void **state)
{
	(void)state;
	static struct bytes x, payload;
	payload.len = x.len = 0;
	put(&x, preamble, sizeof(preamble));
	put_frame(&x, 2, &payload);
	assert_refused(&x, -EBADMSG, "byte 10: a frame of type 2", "header must be");
	x.len = 0;
	put_file_start(&x);
	size_t at = x.len;
	put_frame(&x, 9, &payload);
	assert_refused(&x, -EBADMSG, "a frame of type 9", "storm or the end");
	x.len = at;
	put_end(&x, 1);
	assert_refused(&x, -EBADMSG, "counts 1 storms", "0 were read");
	x.len = at;
	put_end(&x, 0);
	size_t end = x.len;
	put_byte(&x, 0);
	char where[32];
	snprintf(where, sizeof(where), "byte %zu: 1 bytes follow", end);
	assert_refused(&x, -EBADMSG, where, "end of the recording");
	x.len = at;
	put_end(&x, 3001);
	assert_refused(&x, -EBADMSG, "number of storms is 3001", "0 to 3000");
	payload.len = 0;
	put(&payload, "\0\0", 2);
	x.len = at;
	put_frame(&x, 3, &payload);
	assert_refused(&x, -EBADMSG, "1 bytes more", "end frame");
	/* A length over the bound is no reason to look for more bytes. */
	x.len = at;
	put_byte(&x, 2);
	put_varint(&x, 32769);
	assert_refused(&x, -EBADMSG, "a frame of 32769 bytes", "at most 32768");
	/* The length in a longer form, everything else right. */
	x.len = at;
	const uint8_t end_frame[] = {3, 0x81, 0, 0};
	put(&x, end_frame, sizeof(end_frame));
	uint32_t crc = crc_bitwise(end_frame, sizeof(end_frame));
	for (int i = 0; i < 4; i++)
		put_byte(&x, (crc >> (8 * i)) & 255);
	assert_refused(&x, -EBADMSG, "the frame's length is longer", "damaged");
	x.len = at;
	put_end(&x, 0);
	x.b[x.len - 1] ^= 1;
	assert_refused(&x, -EBADMSG, "checksum mismatch", "copy it again");
}

static void put_storm(struct bytes *x, const struct bytes *payload)
{
	x->len = 0;
	put_file_start(x);
	put_frame(x, 2, payload);
	put_end(x, 1);
}

static void test_storm_order(void **state)
{
	(void)state;
	static struct bytes x, payload;
	const uint32_t orders[][2] = {{0, 0}, {5, 5}, {5, 4}, {2999, 0}};
	for (size_t i = 0; i < 4; i++) {
		x.len = 0;
		put_file_start(&x);
		for (int k = 0; k < 2; k++) {
			payload.len = 0;
			put_varint(&payload, orders[i][k]);
			put(&payload, "\0\0\0\0\0", 5);
			put_frame(&x, 2, &payload);
		}
		put_end(&x, 2);
		assert_refused(&x, -EBADMSG, "or a later one must be", "damaged");
	}
	payload.len = 0;
	put_varint(&payload, 3000);
	put(&payload, "\0\0\0\0\0", 5);
	put_storm(&x, &payload);
	assert_refused(&x, -EBADMSG, "index is 3000", "must be 0 to 2999");
}

static void test_storm_histograms(void **state)
{
	(void)state;
	static struct bytes x, payload;
#define STORM(word, word2, ...)                            \
	do {                                               \
		const uint8_t bytes[] = {__VA_ARGS__};     \
		payload.len = 0;                           \
		put(&payload, bytes, sizeof(bytes));       \
		put_storm(&x, &payload);                   \
		assert_refused(&x, -EBADMSG, word, word2); \
	} while (0)
	/* index, exit_ns, exit_pages, missed, then count, min, span, sum, under, over, buckets, gap, count... */
	STORM("the frame ends inside count", "response", 0, 0, 0, 0);
	STORM("the frame ends inside count", "service", 0, 0, 0, 0, 0);
	STORM("1 bytes more", "storm frame", 0, 0, 0, 0, 0, 0, 0);
	STORM("its buckets hold 1 values", "count says 2", 0, 0, 0, 0, 2, 64, 0, 64, 0, 0, 1, 0, 1, 0);
	STORM("count of a bucket is 0", "must be 1", 0, 0, 0, 0, 1, 64, 0, 64, 0, 0, 1, 0, 0, 0);
	STORM("number of buckets is 961", "0 to 960", 0, 0, 0, 0, 1, 64, 0, 64, 0, 0, 0xc1, 7, 0, 1, 0);
	STORM("gap between buckets is 960", "0 to 959", 0, 0, 0, 0, 1, 64, 0, 64, 0, 0, 1, 0xc0, 7, 1, 0);
	STORM("a bucket after the last one", "response", 0, 0, 0, 0, 2, 64, 0, 64, 0, 0, 2, 0xbf, 7, 1, 0, 1, 0);
	STORM("gap between buckets is 959", "0 to 958", 0, 0, 0, 0, 2, 64, 0, 64, 0, 0, 2, 0, 1, 0xbf, 7, 1, 0);
	STORM("min 70 ns", "first part", 0, 0, 0, 0, 1, 70, 0, 70, 0, 0, 1, 0, 1, 0);
	STORM("max 70 ns", "last part", 0, 0, 0, 0, 1, 64, 6, 70, 0, 0, 1, 0, 1, 0);
	STORM("its sum, 1 ns", "service", 0, 0, 0, 0, 0, 1, 64, 0, 1, 0, 0, 1, 0, 1);
	STORM("max - min is", "must be 0 to 0", 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
	      1, 0, 0, 1, 0, 0);
	/* 2^48 + 1 values, storms' other numbers over their bounds. */
	STORM("count is 281474976710657", "must be 0 to 281474976710656", 0, 0, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x80,
	      0x80, 0x40);
	STORM("missed is", "must be", 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0);
	STORM("exit_ns is", "must be", 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0);
	STORM("exit_pages is", "must be", 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0);
#undef STORM
}

static void test_writers_refuse(void **state)
{
	(void)state;
	static struct recording_storm s;
	struct err e = {0};
	_cleanup_(buf_free) struct buf out = BUF_INIT(WIRE_FILE_MAX);
	rng_state = SEED + 2;
	random_storm(&s, 3);
	s.response.count++;
	assert_int_equal(wire_add_storm(&out, &s, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "storm 3: response: "));
	random_storm(&s, RECORDING_STORMS_MAX);
	assert_int_equal(wire_add_storm(&out, &s, &e), -ERANGE);
	random_storm(&s, 0);
	hist_init(&s.service);
	hist_add(&s.service, 64);
	s.service.bucket[0] = s.service.count = (1ull << 48) + 1;
	s.service.sum_ns = 64 * s.service.count;
	assert_int_equal(wire_add_storm(&out, &s, &e), -ERANGE);
	assert_int_equal(wire_add_end(&out, RECORDING_STORMS_MAX + 1, &e), -ERANGE);
	assert_int_equal(out.len, 0);
	/* A full buffer: the frame is not there in part. */
	_cleanup_(buf_free) struct buf small = BUF_INIT(100);
	struct recording_header h = a_header();
	assert_int_equal(wire_add_header(&small, &h, &e), -EFBIG);
	assert_int_equal(small.len, 0);
}

/* The largest storm that the bounds allow fits a frame and comes back. */
static void test_largest_storm(void **state)
{
	(void)state;
	static struct recording_storm s, got;
	s = (struct recording_storm){
	    .index = RECORDING_STORMS_MAX - 1, .exit_ns = 86400000000000ull, .exit_pages = 1ull << 44};
	s.missed = 1ull << 48;
	hist_init(&s.response);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		hist_add(&s.response, hist_lower_ns(i));
		s.response.bucket[i] = (1ull << 48) / HIST_BUCKETS;
	}
	s.response.count = (1ull << 48) / HIST_BUCKETS * HIST_BUCKETS;
	s.response.sum_ns = UINT64_MAX;
	s.service = s.response;
	struct recording_header h = a_header();
	_cleanup_(buf_free) struct buf out = BUF_INIT(WIRE_FILE_MAX);
	encode(&out, &h, &s, 1);
	struct wire_reader r;
	struct err e = {0};
	assert_int_equal(wire_open(&r, out.data, out.len, &h, &e), 0);
	assert_int_equal(wire_next(&r, &got, &e), 1);
	assert_memory_equal(&got.response, &s.response, sizeof(s.response));
	assert_int_equal(wire_next(&r, &got, &e), 0);
	/* What may be written may be read: the most of the largest storms is within what a file may have. */
	assert_true((uint64_t)out.len * RECORDING_STORMS_MAX < WIRE_FILE_MAX);
}

static void test_failure_leaves_the_reader(void **state)
{
	(void)state;
	static struct bytes x;
	static struct recording_storm s, before;
	fill_small(&x);
	struct recording_header h;
	struct wire_reader r;
	struct err e = {0};
	assert_int_equal(wire_open(&r, x.b, x.len - 20, &h, &e), 0);
	assert_int_equal(wire_next(&r, &s, &e), 1);
	before = s;
	struct wire_reader then = r;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wire_next(&r, &s, &e), -ENODATA);
		assert_memory_equal(&r, &then, sizeof(r));
		assert_memory_equal(&s, &before, sizeof(s));
	}
}

int main(void)
{
	printf("seed %#x\n", SEED);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_bytes_of_version_1),
	    cmocka_unit_test(test_truncated_at_every_byte),
	    cmocka_unit_test(test_every_bit_flipped),
	    cmocka_unit_test(test_not_a_recording),
	    cmocka_unit_test(test_header_fields),
	    cmocka_unit_test(test_header_bytes),
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_storm_order),
	    cmocka_unit_test(test_storm_histograms),
	    cmocka_unit_test(test_writers_refuse),
	    cmocka_unit_test(test_largest_storm),
	    cmocka_unit_test(test_failure_leaves_the_reader),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
