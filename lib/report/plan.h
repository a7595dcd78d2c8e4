// SPDX-License-Identifier: Apache-2.0
/* Owns the form of a judge's plan as a configuration file.
 * Must not know how a plan is judged by. */
#pragma once

#include "lib/base/conf.h"
#include "lib/core/judge.h"

/* The keys of [judge], for files that have more sections; their target begins with a struct judge_plan. */
#define PLAN_KEYS 26
extern const struct conf_key plan_keys[PLAN_KEYS];

/* Reads section [judge] of path into *ret; keys that are not there keep judge_plan_default's values. One key more than
 * plan_keys: "spread" names the file of an A/A campaign, beside the plan unless the name begins with a slash. ret
 * untouched on failure; messages name file, line and key. */
int must_check plan_read(const char *path, struct judge_plan *ret, struct err *e);
/* The same from memory, without that key; name stands for the path in messages. */
int must_check plan_parse(const char *name, const char *text, size_t len, struct judge_plan *ret, struct err *e);
