// SPDX-License-Identifier: Apache-2.0
/* Owns how the words of a list are told apart in a configuration.
 * Must not know what the words are. */
#pragma once

#include <stddef.h>

#include "err.h"

/* Words have blanks, one comma, or both between them: "a b", "a,b", "a, b". Takes the next one from *at, which moves
 * to the one behind it. 1: there is one; 0: the list is at its end; -EINVAL: a comma without a word before or after
 * it. */
int must_check list_next(const char **at, const char **ret_word, size_t *ret_len, struct err *e);

/* Moves *at over what stands between two words. */
int must_check list_skip(const char **at, struct err *e);
