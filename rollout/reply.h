// SPDX-License-Identifier: Apache-2.0
/* Owns the strict reading of members of the controller's replies.
 * Must not know what members there are, nor how they are shown. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* The first member that is missing or of another type sets e; later ones change nothing, so that a view reads all and
 * asks once. Texts belong to the object. */
struct reply {
	struct err *e;
	int failed; /* negative errno once e is set */
};

/* "" for null. */
const char *reply_text(struct reply *r, const json_t *o, const char *name);
/* -1 for null. */
int64_t reply_int(struct reply *r, const json_t *o, const char *name);
bool reply_bool(struct reply *r, const json_t *o, const char *name);
/* NaN for null. */
double reply_real(struct reply *r, const json_t *o, const char *name);
/* An array; NULL, which has no elements, where it is none. */
json_t *reply_list(struct reply *r, const json_t *o, const char *name);
/* NULL for null. */
json_t *reply_object(struct reply *r, const json_t *o, const char *name);
/* An element of a list as text. */
const char *reply_element(struct reply *r, const json_t *list, size_t i);

/* Replaces, in every text of the tree, by '?' what is not plain (lib/fleet/form.h; line feeds and tabs are): reasons
 * come from hosts, and no host shall move the cursor of an operator's terminal. */
int must_check reply_clean(json_t *root, struct err *e);
