// SPDX-License-Identifier: Apache-2.0
/* Owns probation: what a boot is looked at for before it counts as healthy, and how long it may take.
 * Must not know what is worse than before (health.h), nor what follows. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "health.h"
#include "host.h"
#include "lib/base/num.h"

#define SHORT_S   60u
#define AGAIN_S   5u
#define LOG_MAX   (16u << 20)
#define NAMES_MAX (64u << 10)

/* Only interfaces of devices: those of containers come and go. */
static int read_nics(struct actor *a, struct buf *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(NAMES_MAX);
	int r = a->sys.hands->list(&a->sys, "/sys/class/net", &names, e);

	for (const char *line = names.data ? names.data : ""; r == 0 && *line;) {
		_cleanup_(buf_free) struct buf device = BUF_INIT(NAMES_MAX);
		const char *end = strchrnul(line, '\n');
		char path[PATH_MAX];
		struct err minor;

		snprintf(path, sizeof(path), "/sys/class/net/%.*s/device", (int)(end - line), line);
		if (a->sys.hands->list(&a->sys, path, &device, &minor) == 0)
			r = buf_addf(ret, e, "%.*s\n", (int)(end - line), line);
		line = *end ? end + 1 : end;
	}
	return r;
}

/* "ssh.service loaded failed failed OpenBSD Secure Shell server": the first word of each line. */
static int read_failed(struct actor *a, struct buf *ret, struct err *e)
{
	static const char *const argv[] = {"systemctl",  "list-units", "--state=failed", "--no-legend", "--plain",
					   "--no-pager", "--full",     "--all",          NULL};
	_cleanup_(buf_free) struct buf out = BUF_INIT(ACT_OUTPUT);
	int r = act_run(a, argv, SHORT_S, &out, e);

	for (const char *line = out.data ? out.data : ""; r == 0 && *line;) {
		const char *end = strchrnul(line, '\n');
		size_t n = strcspn(line, " \n");

		if (n > 0)
			r = buf_addf(ret, e, "%.*s\n", (int)n, line);
		line = *end ? end + 1 : end;
	}
	return r;
}

static int read_health(struct actor *a, struct health *h, struct err *e)
{
	static struct host host; /* 100 KiB */
	_cleanup_(buf_free) struct buf log = BUF_INIT(LOG_MAX);
	char text[32];
	int r;

	if ((r = host_read(&a->sys, &host, e)) < 0 ||
	    (r = sys_read_text(&a->sys, "/proc/sys/kernel/tainted", text, sizeof(text), e)) < 0 ||
	    (r = num_u64(text, 0, UINT64_MAX, &h->taint, e)) < 0 ||
	    (r = a->sys.hands->kernel_log(&a->sys, &log, e)) < 0)
		return r;
	h->cpus = host.online.n;
	h->memory_kib = host.memory_kib;
	health_count_log(h, log.data ? log.data : "", log.len);
	if ((r = read_nics(a, &h->nics, e)) < 0)
		return r;
	return read_failed(a, &h->failed, e);
}

#define HEALTH_EMPTY ((struct health){.nics.max = NAMES_MAX, .failed.max = NAMES_MAX})

int act_note_health(struct actor *a, struct err *e)
{
	_cleanup_(health_free) struct health h = HEALTH_EMPTY;
	_cleanup_(buf_free) struct buf text = BUF_INIT(HEALTH_BYTES_MAX);
	char path[PATH_MAX];
	int r;

	if ((r = read_health(a, &h, e)) < 0 || (r = health_encode(&h, &text, e)) < 0 ||
	    (r = act_path(a->folder, "health", path, e)) < 0)
		return err_context(e, "how this host is before the jump");
	return a->sys.hands->write(&a->sys, path, text.data, text.len, 0600, e);
}

static int read_before(struct actor *a, struct health *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(HEALTH_BYTES_MAX);
	char path[PATH_MAX];
	int r;

	if ((r = act_path(a->folder, "health", path, e)) < 0 || (r = a->sys.read(&a->sys, path, &text, e)) < 0 ||
	    (r = health_decode(text.data ? text.data : "", text.len, ret, e)) < 0)
		return err_context(e, "how this host was before the jump");
	return 0;
}

/* "36 35 98:0 / / rw,noatime ... - ext4 /dev/sda1 rw,errors=remount-ro": both lists of options have to begin with rw.
 */
static bool root_writable(struct actor *a)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(4u << 20);
	struct err minor;
	bool writable = false;

	if (a->sys.read(&a->sys, "/proc/self/mountinfo", &text, &minor) < 0)
		return false;
	for (char *line = text.data, *next; line && *line; line = next) {
		char *end = strchrnul(line, '\n');

		next = *end ? end + 1 : end;
		*end = 0;
		const char *rest = strstr(line, " - "), *super = rest ? strrchr(rest, ' ') : NULL;
		if (strstr(line, " / / ") && super)
			writable = strstr(line, " / / rw") && strncmp(super + 1, "rw", 2) == 0;
	}
	return writable;
}

/* systemd is still at it: what it says of units is not its last word. */
static bool still_starting(struct actor *a)
{
	static const char *const argv[] = {"systemctl", "is-system-running", NULL};
	struct run_command c = {.argv = argv, .timeout_ns = SHORT_S * ACT_SECOND_NS, .stop = a->stop};
	_cleanup_(run_result_free) struct run_result result = RUN_RESULT(256);
	struct err minor;

	if (a->sys.hands->run(&a->sys, &c, &result, &minor) < 0 || !result.out.data)
		return false;
	return strncmp(result.out.data, "starting", 8) == 0 || strncmp(result.out.data, "initializing", 12) == 0;
}

/* Is it the kernel that was meant, started in the way that was meant, with the way back as it was? */
static enum health_verdict check_boot(struct actor *a, char *why, size_t cap)
{
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX], text[32];
	const struct journal *j = &a->j;
	struct err e;

	if (strcmp(a->boot.build, j->intent.to_build) != 0 || strcmp(a->boot.release, j->intent.to_release) != 0)
		snprintf(why, cap, "%s with build-id %.12s... runs where %s with %.12s... was meant", a->boot.release,
			 a->boot.build, j->intent.to_release, j->intent.to_build);
	else if (strcmp(a->boot.boot, j->intent.boot) == 0)
		snprintf(why, cap, "the boot id is still %s", a->boot.boot);
	else if (strcmp(a->boot.transaction, j->intent.transaction) != 0)
		snprintf(why, cap, "the transaction is \"%s\" where \"%s\" was meant", a->boot.transaction,
			 j->intent.transaction);
	else if (act_entries(a, saved, next, &e) < 0)
		snprintf(why, cap, "%.200s", e.text);
	else if (strcmp(saved, j->old_entry) != 0)
		snprintf(why, cap, "the default entry is \"%.100s\" instead of \"%.100s\"", saved, j->old_entry);
	else if (next[0])
		snprintf(why, cap, "GRUB did not clear the one-shot entry \"%.150s\"", next);
	else if (strstr(a->boot.release, "+kpcp") &&
		 sys_read_text(&a->sys, "/proc/sys/vm/pcp_batch_scale_max", text, sizeof(text), &e) < 0)
		snprintf(why, cap, "vm.pcp_batch_scale_max is missing in a kernel of this project");
	else
		return HEALTH_GOOD;
	return HEALTH_BAD;
}

static int check_once(struct actor *a, enum health_verdict *ret, char *why, size_t cap, struct err *e)
{
	_cleanup_(health_free) struct health before = {0}, now = HEALTH_EMPTY;
	int r;

	*ret = check_boot(a, why, cap);
	if (*ret != HEALTH_GOOD)
		return 0;
	if (still_starting(a)) {
		snprintf(why, cap, "systemd is still starting units");
		*ret = HEALTH_LATER;
		return 0;
	}
	if (!root_writable(a)) {
		snprintf(why, cap, "the root file system is read-only");
		*ret = HEALTH_LATER;
		return 0;
	}
	if ((r = read_before(a, &before, e)) < 0 || (r = read_health(a, &now, e)) < 0)
		return r;
	*ret = health_compare(&before, &now, why, cap);
	return 0;
}

/* EVENT_HEALTHY, or what it is instead once deadline_ns is over. */
static int check_until(struct actor *a, uint64_t deadline_ns, struct act_result *ret, struct err *e)
{
	enum health_verdict v = HEALTH_GOOD;
	char why[MESSAGE_TEXT_MAX] = "";

	for (;;) {
		int r = check_once(a, &v, why, sizeof(why), e);

		if (*a->stop)
			return -EINTR;
		if (r < 0)
			return act_failed(ret, r, e);
		if (v == HEALTH_GOOD)
			return act_came(ret, EVENT_HEALTHY, "%s is healthy", a->boot.release);
		if (v == HEALTH_CRASHED)
			return act_came(ret, EVENT_CRASHED, "%s", why);
		if (v == HEALTH_BAD || a->sys.now_ns(&a->sys) >= deadline_ns)
			return act_came(ret, EVENT_FAILED, "%s", why);
		if ((r = act_sleep(a, AGAIN_S)) < 0)
			return r;
	}
}

int act_check(struct actor *a, struct act_result *ret, struct err *e)
{
	/* The clock counts from this boot, as the deadline does. */
	int r = check_until(a, a->j.intent.deadline_s * ACT_SECOND_NS, ret, e);

	if (r == 0 && ret->event == EVENT_HEALTHY && a->j.order.verb == VERB_MEASURE)
		ret->event = EVENT_HEALTHY_MEASURE;
	return r;
}

int act_check_again(struct actor *a, struct act_result *ret, struct err *e)
{
	return check_until(a, a->sys.now_ns(&a->sys) + SHORT_S * ACT_SECOND_NS, ret, e);
}
