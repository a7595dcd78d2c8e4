// SPDX-License-Identifier: Apache-2.0
/* Owns the main of kpcp-canary: the table of its subcommands.
 * Must not know what any of them does. */
#include "canary.h"

int main(int argc, char **argv)
{
	static struct canary args;
	const struct opt_command commands[] = {cmd_record};

	args = CANARY_DEFAULTS;
	return opt_main(
	    "kpcp-canary",
	    "Measures what a bystander waits for its pages while big processes exit, and judges kernels by it.",
	    KPCP_VERSION, argc, argv, commands, ARRAY_SIZE(commands), &args);
}
