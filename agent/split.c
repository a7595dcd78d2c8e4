// SPDX-License-Identifier: Apache-2.0
/* Owns the system calls that make two processes, folders and a lock out of a configuration.
 * Must not know what either process does. */
#include "split.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "say.h"

#define END_TRIES 40 /* of 50 ms */

static int path_in(char ret[PATH_MAX], const struct agent_conf *c, const char *name, struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s%s", c->state_dir, name);

	return n < 0 || n >= PATH_MAX ? err_sys(e, ENAMETOOLONG, "%s%s", c->state_dir, name) : 0;
}

/* Owner and mode are set through a descriptor: what a path leads to may change, a descriptor does not. */
static int folder(const struct agent_conf *c, const char *name, uid_t uid, gid_t gid, mode_t mode, struct err *e)
{
	char path[PATH_MAX];
	int r = path_in(path, c, name, e);

	if (r < 0)
		return r;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make the folder %s", path);
	_cleanup_(fs_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "%s has to be a folder, and no link to one", path);
	if (fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(e, errno, "cannot set owner and mode of %s", path);
	return 0;
}

int split_folders(const struct agent_conf *c, const struct drop_user *u, struct err *e)
{
	int r = folder(c, "", 0, 0, 0755, e);

	if (r == 0)
		r = folder(c, "/actor", 0, 0, 0700, e);
	if (r == 0)
		r = folder(c, "/talker", u->uid, u->gid, 0700, e);
	if (r == 0)
		r = folder(c, "/spool", 0, u->gid, 02750, e);
	return r;
}

static _Noreturn void unprivileged(const struct drop_user *u, pid_t parent, int channel,
				   int (*fn)(int channel, void *target), void *target)
{
	struct err e = {0};
	int r = drop_descriptors(channel, &e);

	if (r == 0)
		r = drop_rights(u, parent, &e);
	if (r < 0) {
		say(SAY_ERROR, "the process without rights cannot start: %s", e.text);
		_exit(1);
	}
	/* Proxies, authorities, resolvers' options: nothing of it is for this process. */
	clearenv();
	/* A connection or a log that breaks off is an error of a call, not the end. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	_exit(fn(3, target));
}

int split_start(const struct drop_user *u, int (*fn)(int channel, void *target), void *target, pid_t *ret_pid,
		int *ret_channel, struct err *e)
{
	pid_t parent = getpid();
	int pair[2];
	int r = channel_pair(pair, e);

	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid < 0) {
		r = err_sys(e, errno, "cannot start the process without rights");
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	if (pid == 0)
		unprivileged(u, parent, pair[1], fn, target);
	close(pair[1]);
	*ret_pid = pid;
	*ret_channel = pair[0];
	return 0;
}

int split_end(pid_t pid)
{
	int status = 0;

	kill(pid, SIGTERM);
	for (int i = 0; i < END_TRIES; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int split_lock(const struct agent_conf *c, struct err *e)
{
	char path[PATH_MAX];
	int r = path_in(path, c, "/actor/lock", e);

	if (r < 0)
		return r;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? err_set(e, EBUSY,
						   "another agent runs on %s; end it first: systemctl stop "
						   "kpcp-agent",
						   c->state_dir)
					 : err_sys(e, errno, "cannot lock %s", path);
		close(fd);
		return r;
	}
	if (ftruncate(fd, 0) < 0) {
		r = err_sys(e, errno, "cannot empty %s", path);
		close(fd);
		return r;
	}
	return fd;
}

int split_lock_name(int lock, const struct split_pair *p, struct err *e)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d\n%d\n", (int)p->actor, (int)p->talker);

	if (lseek(lock, 0, SEEK_SET) < 0)
		return err_sys(e, errno, "cannot note the agent's processes");
	return fs_write_all(lock, text, (size_t)n, e);
}

/* Two lines, a number each. A file that is being written says nothing yet. */
static void parse_pair(char *text, struct split_pair *ret)
{
	char *feed = strchr(text, '\n');
	char *end = feed ? strchr(feed + 1, '\n') : NULL;
	uint64_t actor, talker;

	*ret = (struct split_pair){0};
	if (!end)
		return;
	*feed = *end = 0;
	if (num_u64(text, 1, INT_MAX, &actor, NULL) == 0 && num_u64(feed + 1, 1, INT_MAX, &talker, NULL) == 0)
		*ret = (struct split_pair){.actor = (pid_t)actor, .talker = (pid_t)talker};
}

int split_running(const struct agent_conf *c, struct split_pair *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(64);
	char path[PATH_MAX];
	int r = path_in(path, c, "/actor/lock", e);

	if (r < 0)
		return r;
	_cleanup_(fs_close) int fd = fs_open(path, O_NOFOLLOW, e);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_sys(e, errno, "cannot look at the lock %s", path);
	r = fs_read(path, &text, e);
	if (r < 0)
		return r;
	parse_pair(text.len > 0 ? text.data : (char[]){""}, ret);
	return 1;
}
