// SPDX-License-Identifier: Apache-2.0
/* Owns the counting of log lines of one kind.
 * Must not know where logs go, nor the clock. */
#include "quiet.h"

#include <stdio.h>

#define QUIET_MS 60000u

bool quiet_line(struct quiet *kind, uint64_t now_ms, const char *text, char *out, size_t cap)
{
	if (now_ms < kind->next_ms) {
		kind->left_out++;
		return false;
	}
	if (kind->left_out > 0)
		snprintf(out, cap, "%.400s (and %u times more since the last such line)", text, kind->left_out);
	else
		snprintf(out, cap, "%s", text);
	*kind = (struct quiet){.next_ms = now_ms + QUIET_MS};
	return true;
}
