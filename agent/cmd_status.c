// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-agent status`: where this host is, in lines for a person.
 * Must not know how it got there, and changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "agent.h"
#include "agent_conf.h"
#include "enrol.h"
#include "journal.h"
#include "lib/base/fs.h"
#include "split.h"

static int print_processes(const struct agent_conf *c, struct err *e)
{
	struct split_pair p;
	int r = split_running(c, &p, e);

	if (r < 0)
		return r;
	if (r > 0 && p.actor > 0)
		printf("agent        running: process %d acts, process %d talks as %s\n", (int)p.actor, (int)p.talker,
		       c->user);
	else if (r > 0)
		printf("agent        starting\n");
	else
		printf("agent        not running: systemctl start kpcp-agent\n");
	return 0;
}

static int print_enrolment(const struct agent_conf *c, struct err *e)
{
	struct enrol_files f;
	int r = enrol_paths(c, &f, e);
	bool cert = enrol_has_cert(&f), token = enrol_has_token(&f);

	if (r < 0)
		return r;
	printf("controller   %s, as %s: %s\n", c->url, c->name,
	       token  ? (cert ? "enrolled, and about to enrol again" : "enrolling")
	       : cert ? "enrolled"
		      : "not enrolled, a token is needed");
	return 0;
}

static void print_order(const struct journal *j)
{
	if (*j->rollout)
		printf("rollout      %s, a %s\n", j->rollout, j->factor == FACTOR_KERNEL ? "kernel" : "preset");
	/* The journal keeps the newest order that was accepted, and the answer to the newest that was seen. */
	if (j->epoch > 0 && j->order.epoch == j->epoch)
		printf("last order   %s of %s, ", verb_name(j->order.verb), j->order.rollout);
	else if (j->epoch > 0)
		printf("last order   not accepted, ");
	if (j->epoch > 0)
		printf("epoch %" PRIu64 ": %s%s%s\n", j->epoch, outcome_name(j->outcome), *j->reason ? ": " : "",
		       j->reason);
	if (*j->old_release)
		printf("kernels      before %s, new %s\n", j->old_release,
		       *j->new_release ? j->new_release : "none yet");
}

static int print_state(const struct agent_conf *c, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(JOURNAL_BYTES_MAX);
	static struct journal j; /* large */
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/actor/state", c->state_dir);

	if (n < 0 || n >= PATH_MAX)
		return err_sys(e, ENAMETOOLONG, "%s/actor/state", c->state_dir);
	int r = fs_read(path, &text, e);
	if (r == -ENOENT) {
		printf("state        IDLE: no order has reached this host\n");
		return 0;
	}
	if (r == 0)
		r = journal_decode(path, text.data ? text.data : "", text.len, &j, e);
	if (r < 0)
		return r;
	printf("state        %s, next: %s\n", host_state_name(j.state), act_name(j.act));
	print_order(&j);
	if (j.state == HOST_HELD || j.state == HOST_FOREIGN)
		printf("             a person must look at this host; then: kpcp-agent lift\n");
	return 0;
}

static int status(void *target, int argc, char **argv, struct err *e)
{
	const struct agent_args *args = target;
	static struct agent_conf c; /* large */

	if (argc > 0)
		return err_set(e, EINVAL, "'%s' is not expected; see kpcp-agent status --help", argv[0]);
	if (geteuid() != 0)
		return err_set(e, EPERM, "kpcp-agent status needs root, whose the host's state is");
	int r = agent_conf_read(args->config, &c, e);
	if (r == 0)
		r = print_processes(&c, e);
	if (r == 0)
		r = print_enrolment(&c, e);
	return r == 0 ? print_state(&c, e) : r;
}

const struct opt_command agent_cmd_status = {
    .name = "status",
    .operands = "",
    .help = "Says where this host is: the agent's processes, its enrolment, its state and its last order.",
    .opts = agent_opts,
    .n_opts = ARRAY_SIZE(agent_opts),
    .run = status,
};
