// SPDX-License-Identifier: Apache-2.0
/* Owns the storm: processes that populate memory and die together.
 * Must not know victims, files or what the death of a storm does to others. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "layout.h"
#include "sys.h"

struct storm_area;

/* A storm as its parent sees it. A zeroed one is none. */
struct storm {
	uint32_t n;     /* processes that were started and not reaped */
	uint32_t slots; /* length of pid */
	pid_t *pid;     /* 0: reaped */
	pid_t group;    /* all of them are in this process group */
	struct storm_area *area;
	size_t area_bytes;
};

/* Starts the processes over the storm's CPUs and returns when each has populated its memory. -EINTR when interrupted;
 * -ENOMEM when one died or memory went to swap; -ETIMEDOUT when nothing advanced for two minutes. */
int must_check storm_start(struct storm *st, const struct layout *l, const struct sys *s, struct err *e);

/* SIGKILL to all in one system call. *ret_kill_ns is the clock just before it. */
int must_check storm_kill(struct storm *st, const struct sys *s, uint64_t *ret_kill_ns, struct err *e);
/* Waits until the last one is gone; *ret_gone_ns is the clock then. Goes on over signals: the dying cannot be stopped.
 */
int must_check storm_reap(struct storm *st, const struct sys *s, uint64_t *ret_gone_ns, struct err *e);

void storm_stop(struct storm *st); /* kills and reaps what is left, frees; for every state */
