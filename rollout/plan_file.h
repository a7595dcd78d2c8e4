// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of a plan's or a directive's file, with the check that needs no controller.
 * Must not know what is done with it. */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/fleet/directive.h"

/* Adds the file's exact bytes to text, and what they say to ret. approved: it is a directive. */
int must_check plan_file_read(const char *path, bool approved, struct buf *text, struct directive *ret, struct err *e);

/* Adds one sentence on what would be changed where: "kernel linux-image-x 1.0 on clusters a b". */
int must_check plan_file_describe(const struct directive *d, struct buf *out, struct err *e);
