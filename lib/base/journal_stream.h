// SPDX-License-Identifier: Apache-2.0
/* Owns the question whether systemd's journal reads what is written to a descriptor.
 * Must not know what is written. */
#pragma once

#include <stdbool.h>

/* By JOURNAL_STREAM, "DEVICE:INODE" (systemd.exec(5)): the variable alone says nothing, for it is handed down to
 * programs whose output goes elsewhere. Only the journal makes priorities of "<3>" at the beginning of a line; people
 * would have to read past it. */
bool journal_stream(int fd);
