// SPDX-License-Identifier: Apache-2.0
/* Owns the edit distance between two short names.
 * Must not know what the names are for. */
#include "near.h"

#include <string.h>

#define NAME_CUT 64

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau-Levenshtein without edits inside a swapped pair), by the usual
 * dynamic programme; rows i-2, i-1 and i are kept. */
static unsigned distance(const char *a, const char *b)
{
	size_t na = strnlen(a, NAME_CUT), nb = strnlen(b, NAME_CUT);
	unsigned rows[3][NAME_CUT + 1];
	unsigned *two_up = rows[0], *up = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nb; j++)
		up[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned substituted = up[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = min2(substituted, min2(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min2(row[j], two_up[j - 2] + 1);
		}
		unsigned *free_row = two_up;
		two_up = up;
		up = row;
		row = free_row;
	}
	return up[nb];
}

const char *near_find(const char *word, const char *const *names, size_t n)
{
	const char *best = NULL;
	unsigned best_distance = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned d = distance(word, names[i]);
		if (!best || d < best_distance) {
			best = names[i];
			best_distance = d;
		}
	}
	return best;
}
