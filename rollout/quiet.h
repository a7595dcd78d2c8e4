// SPDX-License-Identifier: Apache-2.0
/* Owns the bound on log lines that strangers can cause: one of each kind a minute, and how many were left out.
 * Must not know where logs go, nor the clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One kind of line; zeroed to begin with. */
struct quiet {
	uint64_t next_ms;
	unsigned left_out;
};

/* True: out is the line to write now. False: one was written less than a minute ago, and this one is counted. */
bool quiet_line(struct quiet *kind, uint64_t now_ms, const char *text, char *out, size_t cap);
