// SPDX-License-Identifier: Apache-2.0
/* Owns the order of a recording: victims, warm-ups, storm after storm, and the checks around them.
 * Must not know command lines or files: storms go out by a function that the caller gives. */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "layout.h"
#include "lib/core/recording.h"
#include "sys.h"

struct campaign {
	const struct layout *layout;
	const struct sys *sys;
	uint32_t warmup; /* storms that are measured and thrown away */
	uint32_t storms;
	uint64_t seed; /* of the victims' phases and of the delay before each SIGKILL */
	const volatile sig_atomic_t *interrupted;
	/* Called outside of every window. done: also for warm-ups (storm NULL), so that progress can be shown. */
	int (*done)(void *target, uint32_t number, const struct recording_storm *storm, struct err *e);
	void (*warning)(void *target, const char *text);
	void *target;
};

/* Leaves no process behind, whatever it returns. The caller's process is moved to a CPU of the storm. */
int must_check campaign_run(const struct campaign *c, struct err *e);
