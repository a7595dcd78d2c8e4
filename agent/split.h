// SPDX-License-Identifier: Apache-2.0
/* Owns the split of the agent into its two processes, the folders of each, and what is known of a running pair.
 * Must not know what either process does. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent_conf.h"
#include "drop.h"

/* Makes the folders where they are missing, and sets owners and modes: state directory root 0755, actor/ root 0700,
 * talker/ the user 0700, spool/ root, the user's group, 2750. Refuses folders that are symbolic links. */
int must_check split_folders(const struct agent_conf *c, const struct drop_user *u, struct err *e);

/* A process without rights (drop_rights), with an empty environment and no descriptor besides 0, 1, 2 and its end of
 * the channel; it runs fn and ends with what fn returns. */
int must_check split_start(const struct drop_user *u, int (*fn)(int channel, void *target), void *target,
			   pid_t *ret_pid, int *ret_channel, struct err *e);

/* Ends the process: SIGTERM, and SIGKILL after two seconds. Returns its wait status. */
int split_end(pid_t pid);

/* The lock that says that an agent runs on this state directory, and its processes. */
struct split_pair {
	pid_t actor;
	pid_t talker;
};
/* Returns the lock's descriptor, to be kept open; -EBUSY when another agent has it. */
int must_check split_lock(const struct agent_conf *c, struct err *e);
int must_check split_lock_name(int lock, const struct split_pair *p, struct err *e);
/* 1: an agent runs, *ret says its processes (0: not known yet); 0: none does. */
int must_check split_running(const struct agent_conf *c, struct split_pair *ret, struct err *e);
