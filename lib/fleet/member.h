// SPDX-License-Identifier: Apache-2.0
/* Owns the step between a struct and a JSON object by a table of its members: the same table writes and reads.
 * Must not know what any member means. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "form.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

enum member_kind {
	MEMBER_TEXT,   /* char[size], 0-terminated, of a form */
	MEMBER_WORD,   /* an enum or a bool: an index into words */
	MEMBER_NUMBER, /* a whole number of 4 or 8 bytes from min to max; never above 2^63 - 1 */
	MEMBER_FLAG,   /* a bool: true or false */
};

struct member {
	const char *name;
	enum member_kind kind;
	size_t offset, size;
	const struct form *form;
	bool may_be_empty; /* "" is right, too, where the form asks for more */
	const char *const *words;
	size_t n_words;
	int64_t min, max;
};

#define MEMBER_AT(type, field) .offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

/* Adds all n members of *from. Texts of form_text are cleaned; any other value that would not read back is an error
 * which names the member. */
int must_check member_write(const struct member *m, size_t n, const void *from, json_t *object, struct err *e);
/* Fills all n members of *to, which may be half filled on failure; a missing one is an error, one that is not in the
 * table is not. */
int must_check member_read(const struct member *m, size_t n, const json_t *object, void *to, struct err *e);
/* A member that is in none of the lists is -EINVAL, with the nearest name; lists are ended by a NULL name. */
int must_check member_only(const json_t *object, const struct member *const *lists, size_t n_lists, struct err *e);

/* Reads one JSON object of at most max bytes and MEMBER_DEPTH_MAX levels; no member twice, nothing after it. The
 * caller decrefs *ret. */
#define MEMBER_DEPTH_MAX 4
int must_check member_parse(const char *text, size_t len, size_t max, json_t **ret, struct err *e);
/* Appends in one step. Takes object (NULL: memory ran out). */
int must_check member_dump(json_t *object, size_t max, struct buf *ret, struct err *e);

/* object[name] as text of the form; *ret stays object's. */
int must_check member_text(const json_t *object, const char *name, const struct form *form, const char **ret,
			   struct err *e);
