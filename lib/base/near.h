// SPDX-License-Identifier: Apache-2.0
/* Owns "did you mean": the valid name that is nearest to a mistyped one.
 * Must not know what the names are for. */
#pragma once

#include <stddef.h>

/* The name with the least edit distance (insertions, deletions, substitutions, neighbours swapped) to word;
 * the first one where several tie; NULL when n is 0. Words and names over 64 characters are cut there. */
const char *near_find(const char *word, const char *const *names, size_t n);
