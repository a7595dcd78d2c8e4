// SPDX-License-Identifier: Apache-2.0
/* Owns the making of a file that must not be there yet.
 * Must not know what is in it; not for use outside lib/trust. */
#pragma once

#include <stddef.h>

#include "lib/base/err.h"

/* Makes path with the whole content and mode, or not at all, on disk when it returns 0. -EEXIST where anything of that
 * name is there, and then leaves it alone. */
int must_check newfile_write(const char *path, const void *data, size_t len, unsigned mode, struct err *e);
