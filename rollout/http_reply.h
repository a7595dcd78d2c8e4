// SPDX-License-Identifier: Apache-2.0
/* Owns the text of a reply's head.
 * Must not know connections, nor why the reply is what it is. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "http.h"

/* Appends status line and headers, the empty line included. last: the connection ends after it. now: for Date. */
int must_check http_reply_head(const struct http_reply *r, bool last, time_t now, struct buf *ret, struct err *e);
