// SPDX-License-Identifier: Apache-2.0
/* Owns the main of kpcp: the table of its subcommands.
 * Must not know what any of them does. */
#include "kpcp.h"

#include <locale.h>
#include <signal.h>

int main(int argc, char **argv)
{
	static struct kpcp args;
	const struct opt_command commands[] = {
	    cmd_init,   cmd_kernel, cmd_preset, cmd_plan,  cmd_approve, cmd_submit, cmd_token, cmd_start,   cmd_pause,
	    cmd_resume, cmd_abort,  cmd_status, cmd_hosts, cmd_retire,  cmd_why,    cmd_table, cmd_history,
	};

	args = KPCP_DEFAULTS;
	setlocale(LC_CTYPE, "");  /* only for the width of what tables show; numbers stay as in C */
	signal(SIGPIPE, SIG_IGN); /* a controller that closes the connection is an error to report */
	return opt_main("kpcp",
			"Rolls kernels and presets out over a fleet: the operator's side of kpcp-rolloutd. Exit code: "
			"0 done; 1 an error; what else there is, a command's own help tells.",
			KPCP_VERSION, argc, argv, commands, ARRAY_SIZE(commands), &args);
}
