// SPDX-License-Identifier: Apache-2.0
/* Owns the search for bytes that the wire reader takes wrongly: accepted without being what the writer writes for them,
 * refused without a reason, outputs changed on failure. Must not know the fields of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PREAMBLE 10

static void require(int condition)
{
	if (!condition)
		abort();
}

static void require_refusal(int r, const struct err *e)
{
	require(r == -EINVAL || r == -EPROTONOSUPPORT || r == -ENODATA || r == -EBADMSG || r == -EFBIG);
	require(e->code == -r);
	require(strlen(e->text) > 0 && !strpbrk(e->text, "\n\r\t\033\177"));
	require(strchr(e->text, ';') || strchr(e->text, '?'));
}

/* Everything up to the end, or to the first refusal. What was accepted must encode to the very bytes it came from. */
static void check(const uint8_t *data, size_t size)
{
	static struct recording_storm s, before;
	struct recording_header h, h_before;
	struct wire_reader r, r_before;
	struct err e = {0};
	memset(&r, 0x5a, sizeof(r));
	memset(&h, 0x5a, sizeof(h));
	r_before = r;
	h_before = h;
	int rc = wire_open(&r, data, size, &h, &e);
	if (rc < 0) {
		require(memcmp(&r, &r_before, sizeof(r)) == 0 && memcmp(&h, &h_before, sizeof(h)) == 0);
		require_refusal(rc, &e);
		return;
	}
	struct buf out = BUF_INIT(WIRE_FILE_MAX);
	require(wire_add_header(&out, &h, &e) == 0);
	for (;;) {
		require(out.len == r.at && memcmp(out.data, data, out.len) == 0);
		r_before = r;
		before = s;
		rc = wire_next(&r, &s, &e);
		if (rc <= 0)
			break;
		require(wire_add_storm(&out, &s, &e) == 0);
	}
	if (rc < 0) {
		require(memcmp(&r, &r_before, sizeof(r)) == 0 && memcmp(&s, &before, sizeof(s)) == 0);
		require_refusal(rc, &e);
	} else {
		require(wire_add_end(&out, r.storms, &e) == 0);
		require(out.len == size && memcmp(out.data, data, size) == 0);
		require(wire_next(&r, &s, &e) == 0);
	}
	buf_free(&out);
}

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffff;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* Gives every frame a right checksum: no fuzzer finds one by chance, and behind it is where the parser is. */
static void mend(uint8_t *data, size_t size)
{
	size_t at = PREAMBLE;
	while (at + 2 < size) {
		size_t start = at++, len = 0;
		for (unsigned shift = 0; at < size && shift < 28; shift += 7) {
			uint8_t byte = data[at++];
			len |= (size_t)(byte & 0x7f) << shift;
			if (!(byte & 0x80))
				break;
		}
		if (len > size - at || size - at - len < 4)
			return;
		uint32_t crc = crc32c(data + start, at + len - start);
		for (int i = 0; i < 4; i++)
			data[at + len + i] = (uint8_t)(crc >> (8 * i));
		at += len + 4;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap and no larger than the input, so that a read behind its end is seen. */
	uint8_t *copy = calloc(1, size ? size : 1);
	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	check(copy, size);
	mend(copy, size);
	check(copy, size);
	free(copy);
	return 0;
}
