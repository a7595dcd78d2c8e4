// SPDX-License-Identifier: Apache-2.0
/* Owns what an agent that was killed left running: a package manager is waited for, all else is ended.
 * Must not know what the programs were for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"

struct left_process {
	pid_t pid;
	pid_t group;
	char name[17]; /* as the kernel has it */
};

/* Whether process i belongs to a package manager: a member of its process group is one. Ending one of those half way
 * leaves a package half installed; ending what measures or loads harms nothing, and letting it go on would spoil what
 * begins now. */
bool left_is_packaging(const struct left_process *p, size_t n, size_t i);

/* The path of the unit's control group out of the text of /proc/self/cgroup; -ENOENT when the process is in none of
 * that name: then it shares its group with strangers, and nothing may be ended. */
int must_check left_group_of(const char *text, const char *unit, char *ret, size_t cap, struct err *e);

/* Ends or waits for all other processes of this unit's control group. Returns at once where there is none, and when
 * *stop is set. A package manager that has not ended after 20 minutes is ended, too. */
int must_check left_settle(const char *unit, const volatile int *stop, struct err *e);
