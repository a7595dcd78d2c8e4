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

/* A person has looked: HELD, FAILED or FOREIGN becomes IDLE. Asks for that in the state directory; an agent that runs
 * takes it up within seconds, one that does not when it starts. -EINVAL when there is nothing to be lifted. */
int must_check actor_lift(const struct agent_conf *c, const struct sys *s, struct err *e);
/* A build-id that crashed here may be ordered again. -ENOENT when it is not denied. */
int must_check actor_lift_denied(const struct agent_conf *c, const struct sys *s, const char *build_id, struct err *e);
