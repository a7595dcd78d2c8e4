// SPDX-License-Identifier: Apache-2.0
/* Owns what the command line of kpcp-agent fills in, and the table of its subcommands.
 * Must not know what the subcommands do with it. */
#pragma once

#include "lib/base/opt.h"

#define AGENT_CONFIG "/etc/kpcp/agent.conf"

struct agent_args {
	const char *config;
	const char *build_id; /* of lift; NULL: the host itself */
};

extern const struct opt_command agent_cmd_run;
extern const struct opt_command agent_cmd_status;
extern const struct opt_command agent_cmd_lift;
extern const struct opt_command agent_cmd_self;

/* The one option that all of them have. */
int agent_set_config(void *target, const char *value, struct err *e);
extern const struct opt agent_opts[1];
