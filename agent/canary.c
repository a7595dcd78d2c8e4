// SPDX-License-Identifier: Apache-2.0
/* Owns the main of kpcp-canary: the table of its subcommands.
 * Must not know what any of them does. */
#include "canary.h"

#include <locale.h>

int main(int argc, char **argv)
{
	static struct canary args;
	const struct opt_command commands[] = {cmd_record, cmd_compare, cmd_report,   cmd_aa,
					       cmd_plan,   cmd_import,  cmd_simulate, cmd_explain};

	args = CANARY_DEFAULTS;
	setlocale(LC_CTYPE, ""); /* only to know whether the terminal takes UTF-8; numbers stay as in C */
	cmd_compare_mark_control(argc, argv);
	return opt_main(
	    "kpcp-canary",
	    "Measures what a bystander waits for its pages while big processes exit, and judges kernels by it.",
	    KPCP_VERSION, argc, argv, commands, ARRAY_SIZE(commands), &args);
}
