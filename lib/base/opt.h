// SPDX-License-Identifier: Apache-2.0
/* Owns the command line: one table of options that parses, prints --help and names the nearest valid option.
 * Must not know what an option does. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "err.h"

struct opt {
	const char *name; /* long name without dashes: "storms" */
	const char *arg;  /* what the value is called in the help, "COUNT"; NULL: a flag */
	const char *help; /* one sentence with unit and default */
	int (*set)(void *target, const char *value, struct err *e); /* value is NULL for a flag */
};

/* One subcommand of a program: a row names it, its operands and its options. */
struct opt_command {
	const char *name;
	const char *operands; /* as the usage line shows them, "OLD... -- NEW..."; "" for none */
	const char *help;     /* one sentence */
	const struct opt *opts;
	size_t n_opts;
	/* Runs after the options were set; operands that are left are argv[0..argc). Returns the exit code, or
	 * a negative errno with e set. */
	int (*run)(void *target, int argc, char **argv, struct err *e);
};

/* Parses argv[1..argc) against opts ("--name VALUE", "--name=VALUE"; no abbreviations; "--" does not end
 * parsing, it is handed on as an operand because compare uses it between groups). A value that starts with "--" needs
 * the form with "=". A single "-" is an operand; "-x" is an unknown option. An option given twice is set twice.
 * Operands are moved to argv[0..*n_operands), NULL after them. Unknown options, missing and superfluous values are
 * -EINVAL with the nearest valid option named; errors of set() get "--name: " in front. "--help" gives *help = 1 and
 * stops. On failure target and argv may be half changed. */
int must_check opt_parse(int argc, char **argv, const struct opt *opts, size_t n_opts, void *target, int *n_operands,
			 _Bool *help, struct err *e);

/* Finds argv[1] in commands (or --help, --version), parses, runs. Prints errors as "<program>: <text>" to stderr,
 * once. Returns the process's exit code: 0 for help, 1 for errors (output that could not be written among them),
 * otherwise what run returned. */
int opt_main(const char *program, const char *summary, const char *version, int argc, char **argv,
	     const struct opt_command *commands, size_t n, void *target);

void opt_print_help(FILE *out, const char *program, const struct opt_command *c);
