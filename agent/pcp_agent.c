// SPDX-License-Identifier: Apache-2.0
/* Owns the main of kpcp-agent: the table of its subcommands.
 * Must not know what any of them does. */
#include "agent.h"

int agent_set_config(void *target, const char *value, struct err *e)
{
	(void)e;
	((struct agent_args *)target)->config = value;
	return 0;
}

const struct opt agent_opts[1] = {
    {"config", "FILE", "The configuration (default: " AGENT_CONFIG ").", agent_set_config}};

int main(int argc, char **argv)
{
	const struct opt_command commands[] = {agent_cmd_run, agent_cmd_status, agent_cmd_lift, agent_cmd_self};
	struct agent_args args = {.config = AGENT_CONFIG};

	return opt_main("kpcp-agent",
			"Carries out a controller's signed orders on this host: kernels by kexec, presets in place.",
			KPCP_VERSION, argc, argv, commands, ARRAY_SIZE(commands), &args);
}
