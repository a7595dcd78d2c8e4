// SPDX-License-Identifier: Apache-2.0
/* Owns the form of a judge's plan as a configuration file.
 * Must not know how a plan is judged by. */
#pragma once

#include "lib/core/judge.h"

/* Reads section [judge] of path into *ret; keys that are not there keep judge_plan_default's values. ret untouched on
 * failure; messages name file, line and key. */
int must_check plan_read(const char *path, struct judge_plan *ret, struct err *e);
/* The same from memory; name stands for the path in messages. */
int must_check plan_parse(const char *name, const char *text, size_t len, struct judge_plan *ret, struct err *e);
