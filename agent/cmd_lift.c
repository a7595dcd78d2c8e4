// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-agent lift`: a person's word that a host which was stopped may go on.
 * Must not know how the acting process takes it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "agent.h"
#include "split.h"

static int set_build_id(void *target, const char *value, struct err *e)
{
	size_t len = strlen(value);

	if (len != 40 || strspn(value, "0123456789abcdef") != len)
		return err_set(e, EINVAL, "'%.60s' is no build-id, which has 40 hexadecimal digits", value);
	((struct agent_args *)target)->build_id = value;
	return 0;
}

static const struct opt opts[] = {
    {"config", "FILE", "The configuration (default: " AGENT_CONFIG ").", agent_set_config},
    {"build-id", "ID", "A kernel that crashed here once, and may be tried again; the host's state is left alone.",
     set_build_id},
};

static int lift(void *target, int argc, char **argv, struct err *e)
{
	const struct agent_args *args = target;
	static struct agent_conf c; /* large */
	struct sys s = sys_linux("");
	struct split_pair pair;

	if (argc > 0)
		return err_set(e, EINVAL, "'%s' is not expected; see kpcp-agent lift --help", argv[0]);
	if (geteuid() != 0)
		return err_set(e, EPERM, "kpcp-agent lift needs root, whose the host's state is");
	int r = agent_conf_read(args->config, &c, e);
	if (r < 0)
		return r;
	if (args->build_id) {
		r = actor_lift_denied(&c, &s, args->build_id, e);
		if (r == 0)
			printf("build-id %s may be tried on this host again\n", args->build_id);
		return r;
	}
	r = actor_lift(&c, &s, e);
	if (r == 0)
		r = split_running(&c, &pair, e);
	if (r >= 0)
		printf(
		    r > 0
			? "the agent goes on within seconds; see kpcp-agent status\n"
			: "noted; the agent, which does not run, goes on when it starts: systemctl start kpcp-agent\n");
	return r < 0 ? r : 0;
}

const struct opt_command agent_cmd_lift = {
    .name = "lift",
    .operands = "",
    .help = "Lets a host that is held go on, once a person has looked at it; what it has of a rollout stays as it is.",
    .opts = opts,
    .n_opts = ARRAY_SIZE(opts),
    .run = lift,
};
