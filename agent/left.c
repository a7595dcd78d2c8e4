// SPDX-License-Identifier: Apache-2.0
/* Owns the look into the control group of the unit, and what is done to whom.
 * Must not know what the programs were for. */
#include "left.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "say.h"

#define LEFT_MAX  1024 /* processes looked at in one round; those behind come in the next */
#define ROUND_MS  200
#define ROUNDS    (20 * 60 * 1000 / ROUND_MS)
#define PROCS_MAX (1u << 20)

bool left_is_packaging(const struct left_process *p, size_t n, size_t i)
{
	static const char *const managers[] = {"apt-get", "apt", "dpkg"};

	for (size_t k = 0; k < n; k++) {
		for (size_t m = 0; m < ARRAY_SIZE(managers); m++) {
			if (p[k].group == p[i].group && strcmp(p[k].name, managers[m]) == 0)
				return true;
		}
	}
	return false;
}

int left_group_of(const char *text, const char *unit, char *ret, size_t cap, struct err *e)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n");
		/* "0::/PATH" of the unified hierarchy, "N:name=systemd:/PATH" of the older one */
		const char *path = memchr(line, '/', len);
		if (!path || (strncmp(line, "0::", 3) != 0 && !memmem(line, len, ":name=systemd:", 14)))
			continue;
		size_t n = len - (size_t)(path - line), u = strlen(unit);
		if (n <= u || memcmp(path + n - u, unit, u) != 0 || path[n - u - 1] != '/')
			continue;
		if (n >= cap)
			return err_sys(e, ENAMETOOLONG, "the control group of %s", unit);
		memcpy(ret, path, n);
		ret[n] = 0;
		return 0;
	}
	return err_set(e, ENOENT, "this process is not in the control group of %s", unit);
}

/* "PID (NAME) STATE PPID PGRP ...": the name may have anything in it. False for a process that has ended. */
static bool look_at(pid_t pid, struct left_process *ret)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(4096);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fs_read(path, &text, NULL) < 0 || text.len == 0)
		return false;
	char *open = strchr(text.data, '('), *close = strrchr(text.data, ')');
	if (!open || !close || close < open || strlen(close) < 5 || close[2] == 'Z')
		return false;
	*close = 0;
	char *at = close + 4;
	strsep(&at, " "); /* the parent */
	char *group = strsep(&at, " ");
	uint64_t number;
	if (!group || num_u64(group, 0, INT_MAX, &number, NULL) < 0)
		return false;
	*ret = (struct left_process){.pid = pid, .group = (pid_t)number};
	snprintf(ret->name, sizeof(ret->name), "%s", open + 1);
	return true;
}

/* The other processes of the group. *ret_n 0: none is left. */
static int others(const char *procs, struct left_process *ret, size_t *ret_n, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(PROCS_MAX);
	size_t n = 0;
	int r = fs_read(procs, &text, e);

	if (r < 0)
		return r;
	char *at = text.data;
	for (char *line; at && (line = strsep(&at, "\n")) && n < LEFT_MAX;) {
		uint64_t pid;
		if (num_u64(line, 1, INT_MAX, &pid, NULL) < 0 || (pid_t)pid == getpid())
			continue;
		n += look_at((pid_t)pid, &ret[n]);
	}
	*ret_n = n;
	return 0;
}

/* What may not go on is ended; the names of what is waited for are said once. */
static void one_round(const struct left_process *p, size_t n, bool all, bool *said)
{
	for (size_t i = 0; i < n; i++) {
		if (!all && left_is_packaging(p, n, i)) {
			if (!*said)
				say(SAY_WARNING,
				    "an agent before this one was killed while it installed a package; "
				    "waiting for %s (process %d) to end",
				    p[i].name, (int)p[i].pid);
			*said = true;
			continue;
		}
		say(SAY_WARNING, "ending %s (process %d), which an agent before this one left", p[i].name,
		    (int)p[i].pid);
		kill(p[i].pid, SIGKILL);
	}
}

static int find_procs(const char *unit, char procs[PATH_MAX], struct err *e)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"};
	_cleanup_(buf_free) struct buf text = BUF_INIT(65536);
	char group[PATH_MAX - 64];
	int r = fs_read("/proc/self/cgroup", &text, e);

	if (r < 0)
		return -ENOENT; /* no control groups at all */
	r = left_group_of(text.data ? text.data : "", unit, group, sizeof(group), e);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(mounts); i++) {
		snprintf(procs, PATH_MAX, "%s%s/cgroup.procs", mounts[i], group);
		if (access(procs, R_OK) == 0)
			return 0;
	}
	return r < 0 ? r : err_set(e, ENOENT, "the control group %s is nowhere mounted", group);
}

int left_settle(const char *unit, const volatile int *stop, struct err *e)
{
	static struct left_process p[LEFT_MAX];
	char procs[PATH_MAX];
	bool said = false;
	struct err none = {0};
	int r = find_procs(unit, procs, &none);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_set(e, none.code, "%s", none.text);
	for (int round = 0; !*stop; round++) {
		size_t n = 0;
		r = others(procs, p, &n, e);
		if (r < 0 || n == 0)
			return r;
		one_round(p, n, round >= ROUNDS, &said);
		nanosleep(&(struct timespec){.tv_nsec = ROUND_MS * 1000000}, NULL);
	}
	return 0;
}
