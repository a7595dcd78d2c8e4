// SPDX-License-Identifier: Apache-2.0
/* Owns the printing of one section of a plan, once it is sure that a plan can have it.
 * Must not know where its values come from. */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Prints section ("[kernel]\n...") to standard output if a plan that has it would be accepted; source is named in
 * messages, as what the values are from. */
int must_check section_print(const char *source, const struct buf *section, struct err *e);
