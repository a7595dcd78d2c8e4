// SPDX-License-Identifier: Apache-2.0
/* Owns the byte form of a recording, version 1: magic, then frames with length and CRC-32C.
 * Must not know files: it reads and writes bytes in memory. */
#pragma once

#include <stddef.h>

#include "lib/base/buf.h"
#include "recording.h"

#define WIRE_VERSION  1
#define WIRE_FILE_MAX (64u << 20) /* bytes that a whole recording may have */

/* On the wire: 8 bytes of magic, the version as u16, then frames of
 *   type (1 byte), length of the payload (varint), payload, CRC-32C over type, length and payload (u32).
 * Fixed-size integers are little-endian; varints are unsigned LEB128 in their shortest form; texts are length (varint)
 * and printable ASCII without a final 0. One recording has one form: what decodes encodes to the same bytes. */

/* A file is wire_header, any number of wire_storm in rising index, wire_end. Only a file with its end frame is
 * complete: appending storm by storm loses at most the current one in a crash, and a cut file shows. */
/* The writers append in one step: on failure out is as it was. -EINVAL and -ERANGE name the field that is out of its
 * range or a histogram's fault. They keep no state: the caller numbers the storms. */
int must_check wire_add_header(struct buf *out, const struct recording_header *h, struct err *e);
int must_check wire_add_storm(struct buf *out, const struct recording_storm *s, struct err *e);
int must_check wire_add_end(struct buf *out, uint32_t storms, struct err *e);

/* Reads frame after frame. data stays the caller's and must outlive the reader. */
struct wire_reader {
	const uint8_t *data;
	size_t len;
	size_t at;       /* byte offset of the next frame, named in messages */
	uint32_t storms; /* read so far */
	uint32_t next_index;
	_Bool ended;
};

/* Reads magic, version and header. Errors say what is wrong at which byte and what to do: not a recording,
 * another version, another histogram layout, truncated, checksum mismatch, a field out of its range. Codes: -EINVAL no
 * recording, -EPROTONOSUPPORT another version or layout, -ENODATA truncated, -EBADMSG damaged, -EFBIG over
 * WIRE_FILE_MAX. r and *ret are untouched on failure. */
int must_check wire_open(struct wire_reader *r, const void *data, size_t len, struct recording_header *ret,
			 struct err *e);
/* 1 and *ret filled: a storm; 0: the end frame, and nothing after it; negative: error, with the
 * same codes; then r stays at the frame that failed and *ret is untouched. A storm's histograms are validated
 * (hist_validate). */
int must_check wire_next(struct wire_reader *r, struct recording_storm *ret, struct err *e);
