// SPDX-License-Identifier: Apache-2.0
/* Owns the answer to "which kernel came up": a table from what is known of two boots to a verdict.
 * Must not know files, nor what is done about the verdict. */
#pragma once

#include <stdbool.h>

#include "lib/base/err.h"

/* What the next boot was meant to be. Only WAY_KEXEC leaves a transaction in the command line. */
enum way {
	WAY_NONE,  /* none was ordered */
	WAY_FRESH, /* firmware boot of the old kernel, before a kexec */
	WAY_KEXEC,
	WAY_PROOF, /* firmware boot of the new kernel, by a one-shot entry */
	WAY_BACK,  /* firmware boot of the old kernel, to stay there */
	WAY_COUNT
};
const char *way_name(enum way w); /* "none", "fresh", ... */
int must_check way_parse(const char *word, enum way *ret, struct err *e);

enum came {
	CAME_SAME,       /* this is still the boot that was known: nothing has happened yet */
	CAME_ARRIVED,    /* it is what was meant */
	CAME_CRASHED,    /* the old kernel, and a crash left its evidence */
	CAME_BACK,       /* the old kernel, after an orderly shutdown that nobody here ordered */
	CAME_POWER_LOSS, /* the old kernel, and nothing tells why: a loss of power until shown otherwise */
	CAME_FOREIGN,    /* a kernel, or a way of starting it, that nobody ordered */
	CAME_COUNT
};
const char *came_name(enum came c);

/* All ids are text; "" where there is none. */
struct classify {
	enum way way;
	const char *known_boot;  /* boot id that the state on disk was last written in */
	const char *boot;        /* this one */
	const char *from;        /* build-id that a host without trouble falls back to: the default entry's */
	const char *to;          /* build-id that was meant; meaningful unless WAY_NONE */
	const char *build;       /* this kernel's build-id */
	const char *transaction; /* that was meant, WAY_KEXEC only */
	const char *seen;        /* the one in this kernel's command line */
	const char *clean_boot;  /* boot id of the last boot that was shut down in order */
	bool evidence;           /* of a crash: pstore, a crash dump, a watchdog's reason */
};

/* The table of DESIGN.md's "which kernel came up", first match:
 * | boot | build-id | more                                                   | verdict    |
 * | same | any      |                                                        | SAME       |
 * | new  | to       | KEXEC: the transaction is the intent's                 | ARRIVED    |
 * | new  | any      | any transaction otherwise                              | FOREIGN    |
 * | new  | to       | FRESH, PROOF, BACK: no evidence, known boot ended clean| ARRIVED    |
 * | new  | from     | evidence of a crash                                    | CRASHED    |
 * | new  | from     | a boot other than the ordering one ended clean (KEXEC, PROOF), or the known one (NONE) | BACK |
 * | new  | from, to | nothing known                                          | POWER_LOSS |
 * | new  | other    |                                                        | FOREIGN    |
 * `to` without the transaction is FOREIGN for KEXEC, unless it is also `from`. The old kernel's own orderly shutdown
 * before a jump says nothing about what came after it, which is why the row BACK looks at the boot in between. */
enum came classify(const struct classify *c);
