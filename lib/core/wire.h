// SPDX-License-Identifier: Apache-2.0
/* Owns the byte form of a recording, version 1: magic, then frames with length and CRC-32C.
 * Must not know files: it reads and writes bytes in memory. */
#pragma once

#include <stddef.h>

#include "lib/base/buf.h"
#include "recording.h"

#define WIRE_FILE_MAX (64u << 20) /* bytes that a whole recording may have */

/* A file is wire_header, any number of wire_storm in rising index, wire_end. Only a file with its end frame is
 * complete: appending storm by storm loses at most the current one in a crash, and a cut file shows. */
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
 * another version, another histogram layout, truncated, checksum mismatch, a field out of its range. */
int must_check wire_open(struct wire_reader *r, const void *data, size_t len, struct recording_header *ret,
			 struct err *e);
/* 1 and *ret filled: a storm; 0: the end frame, and nothing after it; negative: error. A storm's histograms are
 * validated (hist_validate). */
int must_check wire_next(struct wire_reader *r, struct recording_storm *ret, struct err *e);
