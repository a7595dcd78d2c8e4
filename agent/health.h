// SPDX-License-Identifier: Apache-2.0
/* Owns the comparison of how a host is with how it was before a jump.
 * Must not know where either comes from, nor what is done about it. */
#pragma once

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define HEALTH_BYTES_MAX (256u << 10)

/* Lists have one name a line, sorted or not. A zeroed one is empty; their bounds are the functions' own. */
struct health {
	uint64_t taint; /* /proc/sys/kernel/tainted */
	uint64_t cpus;  /* online */
	uint64_t memory_kib;
	uint64_t warnings; /* "WARNING:" in the kernel's log */
	uint64_t bugs;     /* BUG, Oops, stalls, lock-ups there */
	struct buf nics;
	struct buf failed; /* units */
};
void health_free(struct health *h); /* for _cleanup_ */

/* Counts what the kernel's log says of its own errors into warnings and bugs. */
void health_count_log(struct health *h, const char *log, size_t len);

int must_check health_encode(const struct health *h, struct buf *ret, struct err *e);
/* Strict; *ret is an empty one, and stays it on failure. */
int must_check health_decode(const char *text, size_t len, struct health *ret, struct err *e);

enum health_verdict {
	HEALTH_GOOD,
	HEALTH_LATER, /* not yet; a boot that still goes on may cure it */
	HEALTH_BAD,
	HEALTH_CRASHED, /* the kernel itself found a bug in itself */
};
/* why: a sentence, for all but HEALTH_GOOD. */
enum health_verdict health_compare(const struct health *before, const struct health *now, char *why, size_t cap);
