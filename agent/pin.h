// SPDX-License-Identifier: Apache-2.0
/* Owns where a process may run: its CPU mask, on machines with any number of CPUs.
 * Must not know why it should run there. */
#pragma once

#include "host.h"

/* Moves the calling thread to one CPU; it runs there when this returns. */
int must_check pin_self(unsigned cpu, struct err *e);
/* The CPUs that the calling thread may use. */
int must_check pin_allowed(struct host_cpus *ret, struct err *e);
