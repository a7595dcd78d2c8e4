// SPDX-License-Identifier: Apache-2.0
/* Owns what a boot means to a host in a certain state: from the verdict on which kernel came up to an event.
 * Must not know files, nor what is done about the event. */
#pragma once

#include <stdbool.h>

#include "journal.h"
#include "lifecycle.h"

struct arrive {
	enum came came;
	const char *build; /* of the kernel that came up */
};

/* false: the boot means nothing in that state; what was to be done still is. */
bool arrive_event(const struct journal *j, const struct arrive *x, enum event *ret);

/* The new kernel's build-id where that is the one which ran or was meant to run before this boot; NULL otherwise. The
 * old kernel is never denied: it is the way back. */
const char *arrive_suspect(const struct journal *j);
