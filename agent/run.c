// SPDX-License-Identifier: Apache-2.0
/* Owns the life of one program from posix_spawn to the end of its process group.
 * Must not know what any program is for. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fs.h"

#define GRACE_NS 10000000000ull
#define POLL_MS  50

/* Two ends of output and what is still open of them. */
struct pipes {
	int out, err;
	char line[sizeof(((struct run_result *)0)->last)]; /* of standard error, not ended yet */
	size_t len;
};

static void pipes_close(struct pipes *p)
{
	fs_close(&p->out);
	fs_close(&p->err);
}

void run_result_free(struct run_result *r)
{
	buf_free(&r->out);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What decides how programs speak and where they are looked for; nothing of the caller's environment. */
static size_t fill_env(const struct run_command *c, const char *env[RUN_ENV_MAX])
{
	size_t n = 0;

	env[n++] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	env[n++] = "LC_ALL=C.UTF-8";
	env[n++] = "HOME=/nonexistent";
	for (size_t i = 0; c->env && c->env[i] && n < RUN_ENV_MAX - 1; i++)
		env[n++] = c->env[i];
	env[n] = NULL;
	return n;
}

/* The rest of what posix_spawn needs; its functions fail with -ENOMEM alone. */
static int spawn_with(const struct run_command *c, int out, int err, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	const char *env[RUN_ENV_MAX];
	int r;

	fill_env(c, env);
	sigemptyset(&none);
	sigfillset(&all);
	if ((r = posix_spawn_file_actions_init(&files)) != 0)
		return -r;
	if ((r = posix_spawnattr_init(&attr)) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return -r;
	}
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	if ((r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)) == 0 &&
	    (r = posix_spawn_file_actions_adddup2(&files, out, 1)) == 0 &&
	    (r = posix_spawn_file_actions_adddup2(&files, err, 2)) == 0 &&
	    (r = posix_spawn_file_actions_addclosefrom_np(&files, 3)) == 0 &&
	    (r = posix_spawn_file_actions_addchdir_np(&files, c->folder ? c->folder : "/")) == 0)
		r = posix_spawnp(ret, c->argv[0], &files, &attr, (char *const *)c->argv, (char *const *)env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

static int start(const struct run_command *c, struct pipes *p, pid_t *ret, struct err *e)
{
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot start %s", c->argv[0]);
	if (pipe2(err, O_CLOEXEC) < 0) {
		int code = errno;
		close(out[0]);
		close(out[1]);
		return err_sys(e, code, "cannot start %s", c->argv[0]);
	}
	p->out = out[0];
	p->err = err[0];
	/* Only this end: the other one is the program's, which may not know how to wait. */
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	fcntl(p->err, F_SETFL, O_NONBLOCK);
	int r = spawn_with(c, out[1], err[1], ret);
	close(out[1]);
	close(err[1]);
	return r < 0 ? err_sys(e, -r, "cannot start %s", c->argv[0]) : 0;
}

/* Keeps the last line that has something in it. */
static void keep_line(struct pipes *p, struct run_result *ret, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool end = data[i] == '\n' || data[i] == '\r';

		if (!end && p->len < sizeof(p->line) - 1)
			p->line[p->len++] = (unsigned char)data[i] < 0x20 ? ' ' : data[i];
		if (!end || p->len == 0)
			continue;
		p->line[p->len] = 0;
		if (p->line[strspn(p->line, " ")])
			memcpy(ret->last, p->line, p->len + 1);
		p->len = 0;
	}
}

/* Reads what is there now; an end that is over is closed. */
static int drain(int *fd, struct pipes *p, struct run_result *ret, struct err *e)
{
	char chunk[4096];

	while (*fd >= 0) {
		ssize_t n = read(*fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			fs_close(fd);
			return 0;
		}
		if (fd == &p->err) {
			keep_line(p, ret, chunk, (size_t)n);
			continue;
		}
		size_t room = ret->out.max - ret->out.len, take = (size_t)n < room ? (size_t)n : room;
		ret->cut |= take < (size_t)n;
		int r = buf_add(&ret->out, chunk, take, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int drain_both(struct pipes *p, struct run_result *ret, struct err *e)
{
	int r = drain(&p->out, p, ret, e);

	return r < 0 ? r : drain(&p->err, p, ret, e);
}

/* Not reaped yet, so that its number, which is its group's, stays its own. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void wait_output(const struct pipes *p)
{
	struct pollfd fds[2] = {{.fd = p->out, .events = POLLIN}, {.fd = p->err, .events = POLLIN}};

	if (p->out < 0 && p->err < 0)
		poll(NULL, 0, POLL_MS);
	else
		poll(fds, 2, POLL_MS);
}

/* 0 when it ended by itself; -ETIMEDOUT, -EINTR and others when it was ended. */
static int watch(const struct run_command *c, pid_t pid, struct pipes *p, struct run_result *ret, struct err *e)
{
	uint64_t end = now_ns() + c->timeout_ns, kill_at = UINT64_MAX;
	int why = 0;

	while (!has_ended(pid)) {
		wait_output(p);
		int r = drain_both(p, ret, e);
		uint64_t now = now_ns();

		if (why == 0 && r < 0)
			why = r;
		else if (why == 0 && c->stop && *c->stop)
			why = -EINTR;
		else if (why == 0 && now >= end)
			why = -ETIMEDOUT;
		if (why < 0 && kill_at == UINT64_MAX) {
			kill(-pid, SIGTERM);
			kill_at = now + GRACE_NS;
		} else if (now >= kill_at) {
			kill(-pid, SIGKILL);
			kill_at = now + GRACE_NS;
		}
	}
	return why;
}

static void end_line(struct pipes *p, struct run_result *ret)
{
	keep_line(p, ret, "\n", 1);
	if (ret->last[0] || ret->out.len == 0)
		return;
	size_t from = ret->out.len > sizeof(p->line) ? ret->out.len - sizeof(p->line) : 0;
	keep_line(p, ret, ret->out.data + from, ret->out.len - from);
	keep_line(p, ret, "\n", 1);
}

int run_program(const struct run_command *c, struct run_result *ret, struct err *e)
{
	_cleanup_(pipes_close) struct pipes p = {.out = -1, .err = -1};
	int status = 0;
	pid_t pid;
	int r = start(c, &p, &pid, e);

	if (r < 0)
		return r;
	r = watch(c, pid, &p, ret, e);
	/* What it left running in its group is not wanted. */
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (drain_both(&p, ret, e) < 0 && r == 0)
		r = -ENOMEM;
	end_line(&p, ret);
	ret->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (r == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "%s did not end within %llu s and was ended", c->argv[0],
			       (unsigned long long)(c->timeout_ns / 1000000000u));
	if (r == -EINTR)
		return err_set(e, EINTR, "%s was ended, because the agent was asked to stop", c->argv[0]);
	return r;
}
