// SPDX-License-Identifier: Apache-2.0
/* Owns the running of other programs: no shell, a clean environment, bounded in time and output, never left behind.
 * Must not know what any program is for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define RUN_ENV_MAX 16

struct run_command {
	const char *const *argv; /* argv[0] is looked for in the system's folders for programs, or is a path */
	const char *const *env;  /* "NAME=VALUE" beside the fixed few, up to a NULL; NULL: none */
	const char *folder;      /* where it starts; NULL: "/" */
	uint64_t timeout_ns;
	const volatile int *stop; /* not 0: the program is ended, too; NULL: no such flag */
};

/* What a program said is cut at the bounds that the caller has set; it is never stopped by that. */
struct run_result {
	int status;     /* what it exited with; 128 + the signal that ended it */
	bool cut;       /* out is not everything */
	struct buf out; /* standard output, from its beginning */
	char last[256]; /* the last line of standard error that is not blank, else of standard output */
};
#define RUN_RESULT(out_max) ((struct run_result){.out = {.max = (out_max)}})
void run_result_free(struct run_result *r); /* for _cleanup_ */

/* 0: it ran and ended; look at ret->status. -ENOENT: there is no such program; -ETIMEDOUT, -EINTR (stop): it and all
 * that it started in its process group were ended, first by SIGTERM, ten seconds later by SIGKILL. */
int must_check run_program(const struct run_command *c, struct run_result *ret, struct err *e);
