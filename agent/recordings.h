// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of an A/A campaign's recordings from a command line's FIRST... -- SECOND....
 * Must not know what is done with them. */
#pragma once

#include "lib/core/spread.h"
#include "lib/report/compare.h"

/* Zeroed is empty. */
struct recordings {
	struct compare_file *file;
	size_t n;
	struct judge_plan plan; /* what comparison points to; its verdict means nothing */
	struct comparison comparison;
};

/* Reads both slots and checks that they may be compared: one shape, one kernel, one setting, each boot once. command
 * names the subcommand in messages. */
int must_check recordings_read_aa(struct recordings *ret, int argc, char **argv, const char *command, struct err *e);
int must_check recordings_spread(const struct recordings *r, struct spread *ret, struct err *e);
void recordings_free(struct recordings *r);
