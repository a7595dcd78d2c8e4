// SPDX-License-Identifier: Apache-2.0
/* Owns the system calls that take rights away, in the order in which they can still be made.
 * Must not know what the process is for. */
#include "drop.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel refuses numbers that it does not know with EINVAL, which ends the loop; capabilities have 64 bits. */
#define CAPABILITIES_MAX 64

int drop_user_find(const char *name, struct drop_user *ret, struct err *e)
{
	struct passwd p, *found = NULL;
	char text[16384];
	int r = getpwnam_r(name, &p, text, sizeof(text), &found);

	if (r != 0)
		return err_sys(e, r, "cannot look up the user %s", name);
	if (!found)
		return err_set(e, ENOENT,
			       "there is no user %s; make it with systemd-sysusers, or name another in [state] "
			       "user",
			       name);
	if (p.pw_uid == 0 || p.pw_gid == 0)
		return err_set(e, EINVAL, "the user %s has root's rights; the network's process needs one without",
			       name);
	if (strlen(name) >= sizeof(ret->name))
		return err_sys(e, ENAMETOOLONG, "the user %s", name);
	*ret = (struct drop_user){.uid = p.pw_uid, .gid = p.pw_gid};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return 0;
}

int drop_descriptors(int keep, struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_sys(e, errno, "cannot open /dev/null");
	if (dup2(null, 0) < 0)
		return err_sys(e, errno, "cannot put /dev/null in the place of standard input");
	if (keep != 3 && dup3(keep, 3, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot keep the channel open");
	if (close_range(4, ~0u, 0) < 0)
		return err_sys(e, errno, "cannot close the descriptors that are not needed");
	return 0;
}

static int limit(__rlimit_resource_t what, const char *name, rlim_t most, struct err *e)
{
	struct rlimit l = {.rlim_cur = most, .rlim_max = most};

	if (setrlimit(what, &l) < 0)
		return err_sys(e, errno, "cannot set %s", name);
	return 0;
}

/* Enough for a TLS client with a resolver's thread and one recording in its memory. */
static int set_limits(struct err *e)
{
	static const struct {
		__rlimit_resource_t what;
		const char *name;
		rlim_t most;
	} want[] = {
	    {RLIMIT_CORE, "RLIMIT_CORE", 0},       {RLIMIT_NOFILE, "RLIMIT_NOFILE", 64},
	    {RLIMIT_NPROC, "RLIMIT_NPROC", 64},    {RLIMIT_FSIZE, "RLIMIT_FSIZE", 16u << 20},
	    {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		int r = limit(want[i].what, want[i].name, want[i].most, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int clear_capabilities(struct err *e)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(e, errno, "cannot clear the ambient capabilities");
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(e, errno, "cannot clear the capabilities");
	return 0;
}

/* While the process still has CAP_SETPCAP: no program that it runs can gain any capability. */
static int close_ways_back(struct err *e)
{
	for (unsigned long c = 0; c < CAPABILITIES_MAX; c++) {
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
			continue;
		if (errno != EINVAL || c == 0)
			return err_sys(e, errno, "cannot take capability %lu out of the bounding set", c);
		break;
	}
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0) < 0)
		return err_sys(e, errno, "cannot lock the capabilities");
	return 0;
}

static int change_user(const struct drop_user *u, struct err *e)
{
	if (setgroups(0, NULL) < 0)
		return err_sys(e, errno, "cannot leave root's groups");
	if (setresgid(u->gid, u->gid, u->gid) < 0)
		return err_sys(e, errno, "cannot change to the group of the user %s", u->name);
	if (setresuid(u->uid, u->uid, u->uid) < 0)
		return err_sys(e, errno, "cannot change to the user %s", u->name);
	return 0;
}

static int check_ids(const struct drop_user *u, struct err *e)
{
	uid_t real, effective, saved;
	gid_t g_real, g_effective, g_saved;

	if (getresuid(&real, &effective, &saved) < 0 || getresgid(&g_real, &g_effective, &g_saved) < 0)
		return err_sys(e, errno, "cannot read the process's own user");
	if (real != u->uid || effective != u->uid || saved != u->uid || g_real != u->gid || g_effective != u->gid ||
	    g_saved != u->gid || getgroups(0, NULL) != 0)
		return err_set(e, EPERM, "the process kept a user or group besides %s", u->name);
	if (setuid(0) == 0 || setgid(0) == 0)
		return err_set(e, EPERM, "the process can become root again");
	return 0;
}

static int check_rights(struct err *e)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &head, has) < 0)
		return err_sys(e, errno, "cannot read the process's own capabilities");
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		if (has[i].effective || has[i].permitted || has[i].inheritable)
			return err_set(e, EPERM, "the process kept a capability");
	}
	for (unsigned long c = 0; c < CAPABILITIES_MAX; c++) {
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1)
			return err_set(e, EPERM, "the process kept capability %lu in its bounding set", c);
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return err_set(e, EPERM, "the process can gain rights by running a program");
	return 0;
}

int drop_rights(const struct drop_user *u, pid_t parent, struct err *e)
{
	int r = set_limits(e);

	umask(077);
	if (r == 0)
		r = close_ways_back(e);
	if (r == 0)
		r = change_user(u, e);
	if (r == 0)
		r = clear_capabilities(e);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = err_sys(e, errno, "cannot forbid new privileges");
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = err_sys(e, errno, "cannot forbid dumps");
	/* Last: a change of user takes this setting back. */
	if (r == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		r = err_sys(e, errno, "cannot end with the parent process");
	if (r == 0)
		r = check_ids(u, e);
	if (r == 0)
		r = check_rights(e);
	/* Not before the setting: from here on it sees the parent's end. */
	if (r == 0 && getppid() != parent)
		r = err_set(e, ESRCH, "the parent process has ended");
	return r < 0 ? err_context(e, "dropping rights") : 0;
}

int drop_briefly(const struct drop_user *u, int (*fn)(void *target, struct err *e), void *target, struct err *e)
{
	gid_t gid = getegid();
	uid_t uid = geteuid();
	gid_t group[64];
	int n = getgroups(ARRAY_SIZE(group), group);
	int r;

	if (n < 0)
		return err_sys(e, errno, "cannot read root's groups");
	if (setgroups(0, NULL) < 0 || setegid(u->gid) < 0 || seteuid(u->uid) < 0)
		r = err_sys(e, errno, "cannot act as the user %s", u->name);
	else
		r = fn(target, e);
	if (seteuid(uid) < 0 || setegid(gid) < 0 || setgroups((size_t)n, group) < 0)
		return err_sys(e, errno, "cannot act as root again");
	return r;
}
