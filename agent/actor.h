// SPDX-License-Identifier: Apache-2.0
/* Owns the agent's process with rights: it verifies each order against the signed directive and the host's state, and
 * acts. Must not know the network: orders come in and reports go out through the channel. */
#pragma once

#include "agent_conf.h"
#include "lib/base/err.h"
#include "sys.h"

/* Resumes whatever the state on disk says was under way, then serves the channel until it closes or *stop is set.
 * Returns 0 after a stop, negative on errors that a restart may cure. A reboot that it asked for ends in it being
 * stopped. */
int must_check actor_run(const struct agent_conf *c, const struct sys *s, int channel, const volatile int *stop,
			 struct err *e);
