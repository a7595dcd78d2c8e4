// SPDX-License-Identifier: Apache-2.0
/* Owns the listening socket, and how many files the process may have open.
 * Must not know what is spoken on connections. */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"

/* Binds to a numeric address and a port (0: a free one); *ret_fd is the caller's, and not listening yet. */
int must_check http_listen(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port, struct err *e);

/* Raises the process's limit of open files as far as it may; returns how many connections it allows, at most wanted. */
uint32_t http_listen_files(uint32_t wanted);
