// SPDX-License-Identifier: Apache-2.0
/* Owns the agent's lines in the log: standard error, with the level in front where a journal reads it.
 * Must not know what is said. */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"

enum say_level { SAY_ERROR = 3, SAY_WARNING = 4, SAY_NOTICE = 5, SAY_INFO = 6 }; /* as syslog(3) */

/* Looks who reads: levels are for the journal. Once, at the start: the environment, which tells, is not for all that
 * comes later. Without it lines have no level. */
void say_open(void);

/* One line; control characters become blanks. */
void say(enum say_level level, const char *fmt, ...) printf_like(2, 3);

/* What was said last of a thing that is tried again and again. Zeroed: nothing. */
struct say_memory {
	uint64_t at_ns;
	char text[ERR_TEXT_MAX];
};
/* Says text only when it is not what was said last, or an hour ago: a controller that is away for a day fills no log.
 */
void say_change(struct say_memory *m, uint64_t now_ns, enum say_level level, const char *text);
