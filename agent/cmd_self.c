// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-agent self`: what the process that talks may do, looked at from outside and tried from inside.
 * Must not know how it got there (drop.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "channel.h"
#include "drop.h"
#include "lib/base/fs.h"
#include "split.h"

#define LOOK_MS 10000

/* Each attempt returns 0 when it is allowed, -1 and errno when not, and does no harm where it is allowed. */
struct attempt {
	const char *what;
	int (*try)(const struct agent_conf *c);
};

static int opened(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int in_state(const struct agent_conf *c, const char *name, int flags)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", c->state_dir, name);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0 && flags & O_CREAT)
		unlink(path);
	return opened(fd);
}

static int try_root(const struct agent_conf *c)
{
	(void)c;
	return setresuid(0, 0, 0);
}

static int try_shadow(const struct agent_conf *c)
{
	(void)c;
	return opened(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
}

static int try_actor(const struct agent_conf *c)
{
	return in_state(c, "actor", O_RDONLY | O_DIRECTORY);
}

static int try_spool(const struct agent_conf *c)
{
	return in_state(c, "spool/.kpcp-self", O_WRONLY | O_CREAT | O_EXCL);
}

static int try_state(const struct agent_conf *c)
{
	return in_state(c, ".kpcp-self", O_WRONLY | O_CREAT | O_EXCL);
}

static int try_trust(const struct agent_conf *c)
{
	return opened(open(c->approver, O_WRONLY | O_CLOEXEC));
}

static int try_sysctl(const struct agent_conf *c)
{
	(void)c;
	return opened(open("/proc/sys/vm/percpu_pagelist_high_fraction", O_WRONLY | O_CLOEXEC));
}

/* Without a kernel, and below without a module: a process with the right is told that the descriptor is bad. */
static int try_kexec(const struct agent_conf *c)
{
	(void)c;
	syscall(SYS_kexec_file_load, -1, -1, 1UL, "", 0UL);
	return errno == EBADF ? 0 : -1;
}

static int try_module(const struct agent_conf *c)
{
	(void)c;
	syscall(SYS_finit_module, -1, "", 0);
	return errno == EBADF ? 0 : -1;
}

static int try_reboot(const struct agent_conf *c)
{
	(void)c;
	/* The right is checked before the magic numbers, and these are none. */
	syscall(SYS_reboot, 0, 0, 0, NULL);
	return errno == EINVAL ? 0 : -1;
}

static int try_parent(const struct agent_conf *c)
{
	(void)c;
	return kill(getppid(), 0);
}

static int try_memory(const struct agent_conf *c)
{
	char path[64];

	(void)c;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	return opened(open(path, O_RDWR | O_CLOEXEC));
}

static int try_raw(const struct agent_conf *c)
{
	(void)c;
	return opened(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1));
}

static const struct attempt attempts[] = {
    {"become root", try_root},
    {"read /etc/shadow", try_shadow},
    {"read the actor's state", try_actor},
    {"write into the spool", try_spool},
    {"write into the state directory", try_state},
    {"replace the approver's key", try_trust},
    {"write a sysctl", try_sysctl},
    {"load a kernel", try_kexec},
    {"load a module", try_module},
    {"reboot", try_reboot},
    {"send signals to the actor", try_parent},
    {"write the actor's memory", try_memory},
    {"send raw packets", try_raw},
};

/* Runs without rights: one line for each attempt, as one frame; then waits to be looked at. */
static int probe(int channel, void *target)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(CHANNEL_BODY_MAX);
	struct err e = {0};
	enum channel_kind kind;

	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		int r = attempts[i].try(target);
		const char *answer = r == 0 ? "ALLOWED" : strerror(errno);
		if (buf_addf(&text, &e, "%-32s %s\n", attempts[i].what, answer) < 0)
			return 1;
	}
	if (channel_send(channel, CHANNEL_REPORT, text.data, text.len, &e) < 0)
		return 1;
	buf_free(&text);
	while (channel_receive(channel, -1, &kind, &text, &e) == 0)
		;
	return 0;
}

/* The lines of /proc/PID/status that say what a process may do, as the kernel has them. */
static int print_status(pid_t pid, struct err *e)
{
	static const char *const wanted[] = {"Name:",   "Uid:",    "Gid:",    "Groups:",     "CapInh:", "CapPrm:",
					     "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:"};
	_cleanup_(buf_free) struct buf text = BUF_INIT(65536);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	int r = fs_read(path, &text, e);
	if (r < 0)
		return r;
	char *at = text.data;
	for (char *line; (line = strsep(&at, "\n"));) {
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				printf("  %s\n", line);
		}
	}
	return 0;
}

static int print_descriptors(pid_t pid, struct err *e)
{
	char path[64], link[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	if (!dir)
		return err_sys(e, errno, "cannot look at the descriptors in %s", path);
	for (struct dirent *d; (d = readdir(dir));) {
		ssize_t n = *d->d_name == '.' ? -1 : readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = 0;
		printf("  descriptor %s: %s\n", d->d_name, link);
	}
	closedir(dir);
	return 0;
}

static int print_process(const char *title, pid_t pid, struct err *e)
{
	printf("%s (process %d):\n", title, (int)pid);
	int r = print_status(pid, e);
	return r < 0 ? r : print_descriptors(pid, e);
}

/* The process made for this look: what it is, then what it tried. */
static int look(pid_t pid, int channel, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(CHANNEL_BODY_MAX);
	enum channel_kind kind;
	int r = channel_receive(channel, LOOK_MS, &kind, &text, e);

	if (r == 0)
		r = err_set(e, ETIMEDOUT, "the process without rights does not answer");
	if (r < 0)
		return r;
	r = print_process("a process made as the one that talks", pid, e);
	if (r < 0)
		return r;
	printf("what it is refused:\n");
	bool allowed = strstr(text.data, "ALLOWED") != NULL;
	char *at = text.data;
	for (char *line; (line = strsep(&at, "\n"));) {
		if (*line)
			printf("  %s\n", line);
	}
	return allowed ? err_set(e, EPERM, "the process without rights was allowed what it must not do, see above") : 0;
}

static int self(void *target, int argc, char **argv, struct err *e)
{
	const struct agent_args *args = target;
	static struct agent_conf c; /* large */
	_cleanup_(fs_close) int channel = -1;
	struct drop_user u;
	struct split_pair pair;
	pid_t pid;

	if (argc > 0)
		return err_set(e, EINVAL, "'%s' is not expected; see kpcp-agent self --help", argv[0]);
	if (geteuid() != 0)
		return err_set(e, EPERM, "kpcp-agent self needs root, to give its rights up before your eyes");
	int r = agent_conf_read(args->config, &c, e);
	if (r == 0)
		r = drop_user_find(c.user, &u, e);
	if (r == 0)
		r = split_start(&u, probe, &c, &pid, &channel, e);
	if (r < 0)
		return r;
	r = look(pid, channel, e);
	fs_close(&channel);
	split_end(pid);
	if (r < 0)
		return r;
	r = split_running(&c, &pair, e);
	if (r > 0 && pair.talker > 0)
		return print_process("the process that talks, running now", pair.talker, e);
	return r < 0 ? r : 0;
}

const struct opt_command agent_cmd_self = {
    .name = "self",
    .operands = "",
    .help = "Shows what the process that talks may do, and tries what it must be refused. Exit code: 0 all of that was "
	    "refused; 1 something was allowed.",
    .opts = agent_opts,
    .n_opts = ARRAY_SIZE(agent_opts),
    .run = self,
};
