// SPDX-License-Identifier: Apache-2.0
/* Owns the way from root to a process that has no rights, and the proof that it is one.
 * Must not know what the process is for. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/err.h"

struct drop_user {
	char name[33];
	uid_t uid;
	gid_t gid;
};

/* The user of that name. -ENOENT when there is none; -EINVAL when it is root or in root's group. */
int must_check drop_user_find(const char *name, struct drop_user *ret, struct err *e);

/* Closes every descriptor but 0, 1, 2 and keep, which becomes 3; standard input is /dev/null from now on. */
int must_check drop_descriptors(int keep, struct err *e);

/* For good: no other groups, user and group real, effective, saved and for files, no capability in any set, none to
 * gain by running a program, not to be traced or dumped, bounded in memory, files, descriptors and processes; ends
 * when the parent does. Then looks whether all that is so. Whoever gets an error ends the process at once. */
int must_check drop_rights(const struct drop_user *u, pid_t parent, struct err *e);

/* Runs fn as the user as far as files go, and is root again. For files in a folder that the user may have filled with
 * symbolic links. One thread only. */
int must_check drop_briefly(const struct drop_user *u, int (*fn)(void *target, struct err *e), void *target,
			    struct err *e);
