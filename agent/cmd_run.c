// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-agent run`: preparation as root, the two processes, and that neither outlives the other.
 * Must not know what they do. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "agent.h"
#include "drop.h"
#include "enrol.h"
#include "left.h"
#include "lib/base/fs.h"
#include "notify.h"
#include "say.h"
#include "split.h"
#include "sys.h"
#include "talker.h"

static volatile int stop;

static void on_stop(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

/* No SA_RESTART: whoever waits looks at the flag. */
static int catch_signals(struct err *e)
{
	struct sigaction a = {.sa_handler = on_stop};

	sigemptyset(&a.sa_mask);
	if (sigaction(SIGTERM, &a, NULL) < 0 || sigaction(SIGINT, &a, NULL) < 0)
		return err_sys(e, errno, "cannot catch signals");
	return 0;
}

static int talk(int channel, void *target)
{
	struct err e = {0};
	int r = talker_run(target, channel, &stop, &e);

	if (r < 0)
		say(SAY_ERROR, "the process that talks ends: %s", e.text);
	return r < 0;
}

static void say_talkers_end(int status)
{
	if (WIFSIGNALED(status))
		say(SAY_WARNING, "the process that talks was ended by signal %d (%s)", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		say(SAY_WARNING, "the process that talks ended with status %d", WEXITSTATUS(status));
}

static int run_pair(const struct agent_conf *c, const struct drop_user *u, int lock, struct err *e)
{
	_cleanup_(fs_close) int channel = -1;
	struct split_pair p = {.actor = getpid()};
	struct sys s = sys_linux("");
	int r = split_start(u, talk, (void *)c, &p.talker, &channel, e);

	if (r < 0)
		return r;
	r = split_lock_name(lock, &p, e);
	if (r == 0) {
		notify("READY=1");
		say(SAY_NOTICE, "running: this process acts; process %d, as %s, talks to %s", (int)p.talker, u->name,
		    c->url);
		r = actor_run(c, &s, channel, &stop, e);
		notify("STOPPING=1");
	}
	say_talkers_end(split_end(p.talker));
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct agent_args *args = target;
	static struct agent_conf c; /* large */
	struct drop_user u;

	if (argc > 0)
		return err_set(e, EINVAL, "'%s' is not expected; see kpcp-agent run --help", argv[0]);
	if (geteuid() != 0)
		return err_set(e, EPERM,
			       "kpcp-agent run needs root: it installs kernels; start it by systemctl start "
			       "kpcp-agent");
	say_open();
	int r = agent_conf_read(args->config, &c, e);
	if (r == 0)
		r = drop_user_find(c.user, &u, e);
	if (r == 0)
		r = split_folders(&c, &u, e);
	if (r < 0)
		return r;
	_cleanup_(fs_close) int lock = split_lock(&c, e);
	if (lock < 0)
		return lock;
	struct err token = {0};
	/* A host that has its certificate works on without the token. */
	if (enrol_hand_over(&c, &u, &token) < 0)
		say(SAY_WARNING, "%s", token.text);
	r = catch_signals(e);
	if (r == 0)
		r = left_settle("kpcp-agent.service", &stop, e);
	if (r == 0 && !stop)
		r = run_pair(&c, &u, lock, e);
	return r;
}

const struct opt_command agent_cmd_run = {
    .name = "run",
    .operands = "",
    .help = "Serves this host's controller until it is told to stop; what systemd starts.",
    .opts = agent_opts,
    .n_opts = ARRAY_SIZE(agent_opts),
    .run = run,
};
