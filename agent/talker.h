// SPDX-License-Identifier: Apache-2.0
/* Owns the agent's process without rights: enrolment, polls, uploads.
 * Must not know what orders mean: it hands them to the actor as they came, and repeats the actor's reports. */
#pragma once

#include "agent_conf.h"
#include "lib/base/err.h"

/* Runs as the user kpcp-agent, without capabilities, until the channel closes or *stop is set. A controller that is
 * down or refuses is waited for, with exponential back-off (to 5 minutes) and full jitter, and is never an error. */
int must_check talker_run(const struct agent_conf *c, int channel, const volatile int *stop, struct err *e);
