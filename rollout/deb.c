// SPDX-License-Identifier: Apache-2.0
/* Owns the run of dpkg-deb (without a shell, bounded in time and output) and the reading of the fields that it prints.
 * Must not know what the package is for. */
#include "deb.h"

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

#include "lib/base/buf.h"
#include "lib/base/fs.h"

#define OUTPUT_MAX   (64u << 10)
#define TIME_MS_MAX  60000
#define READ_CHUNK   4096
#define PACKAGE_FD   0 /* in the child: its standard input */
#define PACKAGE_PATH "/proc/self/fd/0"

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int start(int package, int out, pid_t *ret, struct err *e)
{
	char *const argv[] = {(char[]){"dpkg-deb"},
			      (char[]){"-f"},
			      (char[]){PACKAGE_PATH},
			      (char[]){"Package"},
			      (char[]){"Version"},
			      (char[]){"Architecture"},
			      NULL};
	posix_spawn_file_actions_t actions;
	int bad = posix_spawn_file_actions_init(&actions);

	if (bad == 0) {
		bad = posix_spawn_file_actions_adddup2(&actions, package, PACKAGE_FD);
		if (bad == 0)
			bad = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
		/* It would speak of /proc/self/fd/0, which tells nobody anything. */
		if (bad == 0)
			bad = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (bad == 0)
			bad = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	if (bad == ENOENT)
		return err_set(e, ENOENT, "dpkg-deb, which reads packages, is not there: install the package dpkg");
	return bad == 0 ? 0 : err_sys(e, bad, "cannot run dpkg-deb");
}

/* Reads until the other end is closed. */
static int take_output(int fd, struct buf *out, struct err *e)
{
	int64_t end = now_ms() + TIME_MS_MAX;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = end - now_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;
		char *at;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, errno, "cannot wait for dpkg-deb");
		if (n == 0)
			return err_set(e, ETIMEDOUT, "dpkg-deb did not end in %d s; is the disk well?",
				       TIME_MS_MAX / 1000);
		int r = buf_reserve(out, READ_CHUNK, &at, e);
		if (r < 0)
			return r;
		ssize_t got = read(fd, at, READ_CHUNK);
		if (got < 0 && errno != EINTR)
			return err_sys(e, errno, "cannot read what dpkg-deb says");
		if (got == 0)
			return 0;
		if (got > 0)
			out->len += (size_t)got;
	}
}

static int run(int package, const char *path, struct buf *out, struct err *e)
{
	_cleanup_(fs_close) int from = -1;
	_cleanup_(fs_close) int to = -1;
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot run dpkg-deb");
	from = ends[0];
	to = ends[1];
	int r = start(package, to, &pid, e);
	if (r < 0)
		return r;
	fs_close(&to);
	r = take_output(from, out, e);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, EINVAL, "%s is no Debian package, or is damaged; 'dpkg-deb -I %s' says more", path,
			       path);
	return 0;
}

/* Of text such as "Package: linux-image-x\nVersion: 1\n"; exactly one line of this name. */
static int field(const char *text, const char *path, const char *name, char ret[DEB_TEXT_MAX], struct err *e)
{
	size_t n = strlen(name);

	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "\n");

		if (len > n + 2 && strncmp(at, name, n) == 0 && at[n] == ':' && at[n + 1] == ' ') {
			if (len - n - 2 >= DEB_TEXT_MAX)
				return err_set(e, EINVAL, "%s: the field %s is longer than %d characters", path, name,
					       DEB_TEXT_MAX - 1);
			memcpy(ret, at + n + 2, len - n - 2);
			ret[len - n - 2] = 0;
			return 0;
		}
		at += len + (at[len] == '\n');
	}
	return err_set(e, EINVAL, "%s: the package has no field %s; is it damaged?", path, name);
}

int deb_read(int fd, const char *path, struct deb *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(OUTPUT_MAX);
	struct deb d;
	int r = run(fd, path, &out, e);

	if (r == 0)
		r = buf_add(&out, "", 0, e);
	const char *text = r == 0 && out.data ? out.data : "";
	if (r == 0)
		r = field(text, path, "Package", d.package, e);
	if (r == 0)
		r = field(text, path, "Version", d.version, e);
	if (r == 0)
		r = field(text, path, "Architecture", d.architecture, e);
	if (r < 0)
		return r;
	*ret = d;
	return 0;
}
