// SPDX-License-Identifier: Apache-2.0
/* Owns the byte form of recordings: strict, canonical, little-endian, every size bounded, every byte checked.
 * Must not know files or what the numbers mean beyond their ranges. */
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "pack.h"

/* As in PNG: a byte over 127, CR LF and ^Z show what text-mode copying does to a file. */
static const uint8_t magic[8] = {0x89, 'K', 'P', 'C', 'P', '\r', '\n', 0x1a};
#define PREAMBLE (sizeof(magic) + 2) /* and the version, u16 */
#define CRC_SIZE 4

enum frame_type { FRAME_HEADER = 1, FRAME_STORM = 2, FRAME_END = 3 };

/* A storm of two full histograms: 960 buckets, 2 bytes of gap and 7 of count (COUNT_MAX) each, makes 17 KiB. */
#define PAYLOAD_MAX 32768u
_Static_assert(PREAMBLE + 1 + PACK_VARINT_MAX + PAYLOAD_MAX + CRC_SIZE <= PACK_OUT_MAX, "a frame fits");

#define COUNT_MAX (1ull << 48) /* of anything in one storm; 10,000 storms of it stay far below 2^64 */
#define DAY_NS    86400000000000ull

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4): reflected polynomial 0x82f63b78, four bits a step. */
static uint32_t crc32c(const uint8_t *data, size_t len)
{
	static const uint32_t nibble[16] = {
	    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = ~0u;
	for (size_t i = 0; i < len; i++) {
		crc = (crc >> 4) ^ nibble[(crc ^ data[i]) & 15];
		crc = (crc >> 4) ^ nibble[(crc ^ (data[i] >> 4)) & 15];
	}
	return ~crc;
}

/* The order is the order on the wire. */
static const struct pack_field header_fields[] = {
    PACK_FIELD_TEXT(recording_header, shape.probe, 1),
    PACK_FIELD_TEXT(recording_header, shape.layout, 1),
    PACK_FIELD(recording_header, shape.victims, PACK_U32, 1, 65536),
    PACK_FIELD(recording_header, shape.burst_pages, PACK_U32, 1, 1u << 20),
    PACK_FIELD(recording_header, shape.period_ns, PACK_U64, 1, DAY_NS),
    PACK_FIELD(recording_header, shape.window_ns, PACK_U64, 1, DAY_NS),
    PACK_FIELD(recording_header, shape.processes, PACK_U32, 1, 1u << 22),
    PACK_FIELD(recording_header, shape.process_pages, PACK_U64, 1, 1ull << 44),
    PACK_FIELD_TEXT(recording_header, host, 1),
    PACK_FIELD_TEXT(recording_header, release, 1),
    PACK_FIELD(recording_header, build_id, PACK_BYTES, 0, 0),
    PACK_FIELD(recording_header, boot_id, PACK_BYTES, 0, 0),
    PACK_FIELD_TEXT(recording_header, tool, 0),
    PACK_FIELD_TEXT(recording_header, clocksource, 0),
    PACK_FIELD(recording_header, start_unix_s, PACK_U64, 0, 1ull << 40),
    PACK_FIELD(recording_header, seed, PACK_U64, 0, UINT64_MAX),
    PACK_FIELD(recording_header, cpus, PACK_U32, 1, 65536),
    PACK_FIELD(recording_header, memory_kib, PACK_U64, 1, 1ull << 44),
    /* Stored plus one: 0 where the kernel has no such sysctl. */
    PACK_FIELD(recording_header, pcp_batch_scale_max, PACK_SCALE, 0, 32),
    PACK_FIELD(recording_header, storms_planned, PACK_U32, 1, RECORDING_STORMS_MAX),
};

static const struct pack_field storm_fields[] = {
    PACK_FIELD(recording_storm, index, PACK_U32, 0, RECORDING_STORMS_MAX - 1),
    PACK_FIELD(recording_storm, exit_ns, PACK_U64, 0, DAY_NS),
    PACK_FIELD(recording_storm, exit_pages, PACK_U64, 0, 1ull << 44),
    PACK_FIELD(recording_storm, missed, PACK_U64, 0, COUNT_MAX),
};

/* ---- encoding ---- */

/* count; unless 0: min, max - min, sum, under, over, non-empty buckets, then for each the gap to the one before and
 * its count. */
static int enc_hist(struct pack_out *w, const char *name, const struct hist *h, struct err *e)
{
	int r = hist_validate(h, e);
	if (r < 0)
		return err_context(e, "%s", name);
	if (h->count > COUNT_MAX)
		return err_set(e, ERANGE, "%s has %" PRIu64 " values, at most %llu fit; nothing was written", name,
			       h->count, COUNT_MAX);
	pack_put_varint(w, h->count);
	if (h->count == 0)
		return 0;
	pack_put_varint(w, h->min_ns);
	pack_put_varint(w, h->max_ns - h->min_ns);
	pack_put_varint(w, h->sum_ns);
	pack_put_varint(w, h->under);
	pack_put_varint(w, h->over);
	unsigned used = 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		used += h->bucket[i] != 0;
	pack_put_varint(w, used);
	unsigned next = 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		pack_put_varint(w, i - next);
		pack_put_varint(w, h->bucket[i]);
		next = i + 1;
	}
	return 0;
}

/* Appends preamble (where wanted) and frame in one step: out is as it was when anything fails. */
static int enc_frame(struct buf *out, bool preamble, enum frame_type type, const struct pack_out *payload,
		     struct err *e)
{
	struct pack_out w;
	w.len = 0;
	if (preamble) {
		pack_put_bytes(&w, magic, sizeof(magic));
		pack_put_le(&w, WIRE_VERSION, 2);
	}
	size_t start = w.len;
	pack_put_le(&w, type, 1);
	pack_put_varint(&w, payload->len);
	if (payload->len > PAYLOAD_MAX || !pack_room(&w, payload->len + CRC_SIZE))
		return err_set(e, EFBIG, "a frame of %zu bytes is over the bound of %u; nothing was written",
			       payload->len, PAYLOAD_MAX);
	pack_put_bytes(&w, payload->data, payload->len);
	pack_put_le(&w, crc32c(w.data + start, w.len - start), CRC_SIZE);
	return buf_add(out, w.data, w.len, e);
}

int wire_add_header(struct buf *out, const struct recording_header *h, struct err *e)
{
	struct pack_out w;
	w.len = 0;
	int r = pack_put_fields(&w, header_fields, ARRAY_SIZE(header_fields), h, e);
	if (r < 0)
		return err_context(e, "recording header");
	if (strcmp(h->shape.layout, HIST_LAYOUT) != 0)
		return err_set(e, EINVAL, "recording header: histogram layout \"%s\", this program writes \"%s\"",
			       h->shape.layout, HIST_LAYOUT);
	if ((unsigned)h->reboot >= REBOOT_METHODS)
		return err_set(e, EINVAL, "recording header: %u is no way to reboot", (unsigned)h->reboot);
	/* The last field, left out where it is not known: so were recordings before there was one. */
	if (h->reboot != REBOOT_UNKNOWN)
		pack_put_varint(&w, h->reboot);
	return enc_frame(out, true, FRAME_HEADER, &w, e);
}

int wire_add_storm(struct buf *out, const struct recording_storm *s, struct err *e)
{
	struct pack_out w;
	w.len = 0;
	int r = pack_put_fields(&w, storm_fields, ARRAY_SIZE(storm_fields), s, e);
	if (r == 0)
		r = enc_hist(&w, "response", &s->response, e);
	if (r == 0)
		r = enc_hist(&w, "service", &s->service, e);
	if (r < 0)
		return err_context(e, "storm %" PRIu32, s->index);
	return enc_frame(out, false, FRAME_STORM, &w, e);
}

int wire_add_end(struct buf *out, uint32_t storms, struct err *e)
{
	if (storms > RECORDING_STORMS_MAX)
		return err_set(e, ERANGE, "%" PRIu32 " storms, a recording has at most %d; nothing was written", storms,
			       RECORDING_STORMS_MAX);
	struct pack_out w;
	w.len = 0;
	pack_put_varint(&w, storms);
	return enc_frame(out, false, FRAME_END, &w, e);
}

/* ---- decoding ---- */

static int dec_buckets(struct pack_in *d, struct hist *h, struct err *e)
{
	uint64_t used, gap;
	int r = pack_get_varint(d, "number of buckets", 0, HIST_BUCKETS, &used, e);
	uint64_t next = 0;
	for (uint64_t i = 0; r == 0 && i < used; i++) {
		if (next >= HIST_BUCKETS)
			return pack_damaged(e, d->at, "a bucket after the last one");
		r = pack_get_varint(d, "gap between buckets", 0, HIST_BUCKETS - 1 - next, &gap, e);
		if (r < 0)
			return r;
		next += gap;
		/* An empty bucket is not written: one histogram has one form. */
		r = pack_get_varint(d, "count of a bucket", 1, COUNT_MAX, &h->bucket[next], e);
		next++;
	}
	return r;
}

static int dec_hist(struct pack_in *d, const char *name, struct hist *h, struct err *e)
{
	size_t at = d->at;
	uint64_t span = 0;
	hist_init(h);
	int r = pack_get_varint(d, "count", 0, COUNT_MAX, &h->count, e);
	if (r == 0 && h->count == 0)
		return 0;
	if (r == 0)
		r = pack_get_varint(d, "min", 0, UINT64_MAX, &h->min_ns, e);
	if (r == 0)
		r = pack_get_varint(d, "max - min", 0, UINT64_MAX - h->min_ns, &span, e);
	if (r == 0)
		r = pack_get_varint(d, "sum", 0, UINT64_MAX, &h->sum_ns, e);
	if (r == 0)
		r = pack_get_varint(d, "under", 0, COUNT_MAX, &h->under, e);
	if (r == 0)
		r = pack_get_varint(d, "over", 0, COUNT_MAX, &h->over, e);
	if (r == 0)
		r = dec_buckets(d, h, e);
	if (r < 0)
		return err_context(e, "%s", name);
	h->max_ns = h->min_ns + span;
	struct err why = {0};
	if (hist_validate(h, &why) < 0)
		return pack_damaged(e, at, "%s: %s", name, why.text);
	return 0;
}

static int truncated(struct err *e, size_t len, size_t frame_at)
{
	return err_set(e, ENODATA,
		       "truncated after byte %zu, inside or before the frame at byte %zu: the copy is not whole or the "
		       "recording was cut short; copy it again from its host, or record again",
		       len, frame_at);
}

/* Checks the frame at r->at and gives its type, its payload and where the next one starts. */
static int dec_frame(const struct wire_reader *r, uint8_t *ret_type, struct pack_in *ret, size_t *ret_next,
		     struct err *e)
{
	if (r->at >= r->len)
		return truncated(e, r->len, r->at);
	struct pack_in d = {r->data, r->at + 1, r->len};
	uint64_t len;
	const char *fault = NULL;
	int rc = pack_get_leb(&d, &len, &fault);
	if (rc == -EPIPE)
		return truncated(e, r->len, r->at);
	if (rc < 0)
		return pack_damaged(e, r->at + 1, "the frame's length %s", fault);
	if (len > PAYLOAD_MAX)
		return pack_damaged(e, r->at + 1, "a frame of %" PRIu64 " bytes, at most %u are possible", len,
				    PAYLOAD_MAX);
	if (len + CRC_SIZE > r->len - d.at)
		return truncated(e, r->len, r->at);
	size_t end = d.at + len;
	uint32_t stored = 0;
	for (unsigned i = 0; i < CRC_SIZE; i++)
		stored |= (uint32_t)r->data[end + i] << (8 * i);
	uint32_t computed = crc32c(r->data + r->at, end - r->at);
	if (stored != computed)
		return pack_damaged(e, r->at,
				    "checksum mismatch in the frame of bytes %zu to %zu: %08" PRIx32
				    " is stored, its bytes give %08" PRIx32,
				    r->at, end + CRC_SIZE - 1, stored, computed);
	*ret_type = r->data[r->at];
	*ret = (struct pack_in){r->data, d.at, end};
	*ret_next = end + CRC_SIZE;
	return 0;
}

static int dec_preamble(const uint8_t *data, size_t len, struct err *e)
{
	if (len > WIRE_FILE_MAX)
		return err_set(e, EFBIG, "%zu bytes, a recording has at most %u; is this the right file?", len,
			       WIRE_FILE_MAX);
	if (len == 0)
		return err_set(e, ENODATA, "empty: no byte of a recording; record again");
	size_t head = len < sizeof(magic) ? len : sizeof(magic);
	if (memcmp(data, magic, head) != 0)
		return err_set(
		    e, EINVAL,
		    "byte 0: not a kpcp recording (it does not start with the recording's mark); name a file "
		    "that kpcp-canary record wrote");
	if (len < PREAMBLE)
		return truncated(e, len, 0);
	unsigned version = data[sizeof(magic)] | (unsigned)data[sizeof(magic) + 1] << 8;
	if (version != WIRE_VERSION)
		return err_set(e, EPROTONOSUPPORT,
			       "byte %zu: recording format version %u, this program reads version %d; use the version "
			       "of kpcp-canary that recorded it",
			       sizeof(magic), version, WIRE_VERSION);
	return 0;
}

int wire_open(struct wire_reader *r, const void *data, size_t len, struct recording_header *ret, struct err *e)
{
	int rc = dec_preamble(data, len, e);
	if (rc < 0)
		return rc;
	struct wire_reader reader = {.data = data, .len = len, .at = PREAMBLE};
	struct pack_in d;
	uint8_t type;
	size_t next;
	rc = dec_frame(&reader, &type, &d, &next, e);
	if (rc < 0)
		return rc;
	if (type != FRAME_HEADER)
		return pack_damaged(e, reader.at, "a frame of type %u where the header must be", type);
	struct recording_header h;
	memset(&h, 0, sizeof(h));
	rc = pack_get_fields(&d, header_fields, ARRAY_SIZE(header_fields), &h, e);
	uint64_t reboot = REBOOT_UNKNOWN;
	if (rc == 0 && d.at < d.end)
		rc = pack_get_varint(&d, "reboot", REBOOT_FIRMWARE, REBOOT_METHODS - 1, &reboot, e);
	h.reboot = (enum reboot_method)reboot;
	if (rc == 0)
		rc = pack_get_end(&d, e);
	if (rc < 0)
		return err_context(e, "recording header");
	if (strcmp(h.shape.layout, HIST_LAYOUT) != 0)
		return err_set(e, EPROTONOSUPPORT,
			       "recording header, byte %zu: histogram layout \"%s\", this program reads \"%s\" and "
			       "never mixes two; record again with this version of kpcp-canary",
			       reader.at, h.shape.layout, HIST_LAYOUT);
	reader.at = next;
	*r = reader;
	*ret = h;
	return 0;
}

static int next_storm(struct wire_reader *r, struct pack_in *d, size_t next, struct recording_storm *ret, struct err *e)
{
	struct recording_storm s;
	memset(&s, 0, sizeof(s));
	int rc = pack_get_fields(d, storm_fields, ARRAY_SIZE(storm_fields), &s, e);
	if (rc == 0)
		rc = dec_hist(d, "response", &s.response, e);
	if (rc == 0)
		rc = dec_hist(d, "service", &s.service, e);
	if (rc == 0)
		rc = pack_get_end(d, e);
	if (rc < 0)
		return err_context(e, "storm frame at byte %zu", r->at);
	if (s.index < r->next_index)
		return pack_damaged(e, r->at, "storm %" PRIu32 " comes where storm %" PRIu32 " or a later one must be",
				    s.index, r->next_index);
	r->at = next;
	r->storms++;
	r->next_index = s.index + 1;
	*ret = s;
	return 1;
}

static int next_end(struct wire_reader *r, struct pack_in *d, size_t next, struct err *e)
{
	uint64_t storms;
	int rc = pack_get_varint(d, "number of storms", 0, RECORDING_STORMS_MAX, &storms, e);
	if (rc == 0)
		rc = pack_get_end(d, e);
	if (rc < 0)
		return err_context(e, "end frame at byte %zu", r->at);
	if (storms != r->storms)
		return pack_damaged(e, r->at, "the end frame counts %" PRIu64 " storms, %" PRIu32 " were read", storms,
				    r->storms);
	if (next != r->len)
		return pack_damaged(e, next, "%zu bytes follow the end of the recording", r->len - next);
	r->at = next;
	r->ended = true;
	return 0;
}

int wire_next(struct wire_reader *r, struct recording_storm *ret, struct err *e)
{
	if (r->ended)
		return 0;
	struct pack_in d;
	uint8_t type;
	size_t next;
	int rc = dec_frame(r, &type, &d, &next, e);
	if (rc < 0)
		return rc;
	if (type == FRAME_STORM)
		return next_storm(r, &d, next, ret, e);
	if (type == FRAME_END)
		return next_end(r, &d, next, e);
	return pack_damaged(e, r->at, "a frame of type %u where a storm or the end must be", type);
}
