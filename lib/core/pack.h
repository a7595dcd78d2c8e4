// SPDX-License-Identifier: Apache-2.0
/* Owns the form of single fields for wire.c: little-endian integers, varints, texts, and tables that describe them.
 * Must not know which fields there are, nor frames and checksums; no other file uses it. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define PACK_VARINT_MAX 10
#define PACK_OUT_MAX    33000u

/* One table of fields serves both directions, so that they cannot drift apart. PACK_SCALE is an int32_t from -1 up,
 * stored plus one. */
enum pack_kind { PACK_TEXT, PACK_BYTES, PACK_U32, PACK_U64, PACK_SCALE };

struct pack_field {
	const char *name;
	const char *length_name; /* "length of <name>", for messages on texts */
	enum pack_kind kind;
	size_t offset;
	size_t size;
	uint64_t min, max; /* of the stored value; of the length for text */
};

/* The row of a member of struct type. Laid out by hand: clang-format 14 and 19 disagree on a macro that is a list. */
/* clang-format off */
#define PACK_FIELD(type, member, kind, min, max) \
	{#member, "length of " #member, kind, offsetof(struct type, member), \
	 sizeof(((struct type *)NULL)->member), min, max}
/* clang-format on */
#define PACK_FIELD_TEXT(type, member, min) \
	PACK_FIELD(type, member, PACK_TEXT, min, sizeof(((struct type *)NULL)->member) - 1)

/* Bytes that grow; set len = 0 before the first put. What does not fit fills it, and pack_room(w, 1) is false then. */
struct pack_out {
	size_t len;
	uint8_t data[PACK_OUT_MAX];
};

bool pack_room(const struct pack_out *w, size_t n);
void pack_put_bytes(struct pack_out *w, const void *p, size_t n);
void pack_put_le(struct pack_out *w, uint64_t v, unsigned bytes);
/* LEB128: seven bits a byte, least significant first, the top bit says that more follow. */
void pack_put_varint(struct pack_out *w, uint64_t v);
/* -EINVAL or -ERANGE and the field's name where a value is out of its range or a text cannot be stored. */
int must_check pack_put_fields(struct pack_out *w, const struct pack_field *f, size_t n, const void *base,
			       struct err *e);

/* Reads data[at..end); at is the offset in the whole recording, so that messages can name it. */
struct pack_in {
	const uint8_t *data;
	size_t at;
	size_t end;
};

/* A varint in its shortest form. -EPIPE where the bytes end; -EBADMSG and what is wrong with it in *fault. */
int must_check pack_get_leb(struct pack_in *d, uint64_t *ret, const char **fault);
/* The others: -EBADMSG, the message names byte and field. */
int must_check pack_get_varint(struct pack_in *d, const char *name, uint64_t min, uint64_t max, uint64_t *ret,
			       struct err *e);
int must_check pack_get_bytes(struct pack_in *d, const char *name, void *ret, size_t n, struct err *e);
int must_check pack_get_fields(struct pack_in *d, const struct pack_field *f, size_t n, void *base, struct err *e);
/* Whether everything was read. */
int must_check pack_get_end(const struct pack_in *d, struct err *e);

/* Sets -EBADMSG, "byte N: <what>; <what to do>". what is a literal, with its arguments behind it. */
#define pack_damaged(e, at, what, ...)                                                                            \
	err_set(e, EBADMSG,                                                                                       \
		"byte %zu: " what "; the recording is damaged: copy it again from its host, or record again", at, \
		##__VA_ARGS__)
