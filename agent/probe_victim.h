// SPDX-License-Identifier: Apache-2.0
/* Owns the victim: a pinned bystander process that faults fresh pages in an open loop and notes how long each burst
 * took. Must not know storms, files or what is made of its times. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout.h"
#include "lib/core/recording.h"
#include "sys.h"

/* The probe's name in recordings: 4 KiB pages, the pages that a victim faults come out of zone->lock batch by batch.
 * The number rises with every change that could move a quantile. */
#define VICTIM_PROBE "victim-4k-active/1"

/* The storm means nothing and has to be made again. A code that no system call in here returns: fork, for one, fails
 * with EAGAIN, which is no void storm. */
#define VICTIM_VOID (-ECANCELED)

struct victim_area;

/* One victim process as its parent sees it. A zeroed one is none. */
struct victim {
	pid_t pid;
	int command; /* the pipe that it reads commands from; closed: it exits */
	struct victim_area *area;
	size_t area_bytes;
};

/* Forks victim number i of the layout. Warnings (memory that could not be locked) come by victim_warning. */
int must_check victim_start(struct victim *v, const struct layout *l, uint32_t i, const struct sys *s, struct err *e);
void victim_stop(struct victim *v); /* kills and reaps; for every state */

/* The round of one storm; each step waits for nothing, victim_wait does. */
int must_check victim_drain(struct victim *v, struct err *e);                 /* empty the CPU's list */
int must_check victim_go(struct victim *v, uint64_t start_ns, struct err *e); /* slots at start + k * period */
void victim_killed(struct victim *v, uint64_t kill_ns);                       /* the window begins */
int must_check victim_release(struct victim *v, struct err *e);               /* pages go to another CPU */
/* Until the last step is done, at most until deadline_ns. -EINTR when interrupted, -ETIMEDOUT, -ECHILD when the
 * victim is dead, VICTIM_VOID when it ran out of fresh pages before SIGKILL (a late killer: the storm is void). */
int must_check victim_wait(struct victim *v, uint64_t deadline_ns, const struct sys *s, struct err *e);

/* Adds the operations whose intended start lies in [kill_ns, kill_ns + window) to both histograms; after the wait for
 * the window's end. Returns the slots of the window in which no operation started before the next was due: it started
 * later, and its response counts from the intended start; or, after four more windows, it was given up. */
uint64_t must_check victim_collect(const struct victim *v, const struct layout *l, uint64_t kill_ns,
				   struct hist *response, struct hist *service);

/* NULL, or what this victim could not do. */
const char *victim_warning(const struct victim *v);
