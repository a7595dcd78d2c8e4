// SPDX-License-Identifier: Apache-2.0
/* Owns what tells one boot from another: ids, the command line's transaction, how the boot before ended.
 * Must not know what was meant to come up (classify.h). */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib/base/num.h"

#define TRANSACTION  "kpcp.transaction="
#define COMMAND_LINE 8192
#define WATCHDOGS    4

/* Letters, digits and dashes; anything else in a command line is not one of ours. */
static void find_transaction(const char *line, char ret[JOURNAL_ID_MAX])
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

	ret[0] = 0;
	for (const char *at = line; (at = strstr(at, TRANSACTION)); at++) {
		if (at != line && at[-1] != ' ')
			continue;
		const char *value = at + strlen(TRANSACTION);
		size_t n = strspn(value, ok);
		/* Without a value that could be ours it is still no firmware boot of ours. */
		if (n == 0 || n >= JOURNAL_ID_MAX)
			snprintf(ret, JOURNAL_ID_MAX, "%s", "?");
		else
			snprintf(ret, JOURNAL_ID_MAX, "%.*s", (int)n, value);
	}
}

static int read_build(struct actor *a, char ret[JOURNAL_ID_MAX], struct err *e)
{
	_cleanup_(buf_free) struct buf notes = BUF_INIT(1u << 20);
	uint8_t id[20];
	int r;

	if ((r = a->sys.read(&a->sys, "/sys/kernel/notes", &notes, e)) < 0 ||
	    (r = host_parse_notes(notes.data, notes.len, id, e)) < 0)
		return err_context(e, "the running kernel does not tell its build-id, by which it is known here");
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
	return 0;
}

int act_read_boot(struct actor *a, struct err *e)
{
	struct act_boot b = {0};
	char line[COMMAND_LINE];
	uint8_t id[16];
	int r;

	if ((r = sys_read_text(&a->sys, "/proc/sys/kernel/random/boot_id", b.boot, sizeof(b.boot), e)) < 0 ||
	    (r = host_parse_uuid(b.boot, id, e)) < 0 ||
	    (r = sys_read_text(&a->sys, "/proc/sys/kernel/osrelease", b.release, sizeof(b.release), e)) < 0 ||
	    (r = sys_read_text(&a->sys, "/proc/cmdline", line, sizeof(line), e)) < 0 ||
	    (r = read_build(a, b.build, e)) < 0)
		return err_context(e, "what kernel is this");
	find_transaction(line, b.transaction);
	a->boot = b;
	return 0;
}

static int count_names(struct actor *a, const char *folder, uint64_t *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(1u << 20);
	int r = a->sys.hands->list(&a->sys, folder, &names, e);

	if (r == -ENOENT)
		return 0;
	/* More than anybody counts: then one more tells nothing. */
	if (r == -EFBIG) {
		*ret += UINT32_MAX;
		return 0;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++)
		*ret += names.data[i] == '\n';
	return 0;
}

/* systemd-pstore moves records from the first folder to the second, kdump writes to the third. A watchdog says why the
 * machine was reset. */
int act_count_crashes(struct actor *a, uint64_t *ret, struct err *e)
{
	static const char *const folders[] = {"/sys/fs/pstore", "/var/lib/systemd/pstore", "/var/crash"};
	uint64_t n = 0, status;
	char path[96], text[32];
	struct err minor;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if ((r = count_names(a, folders[i], &n, e)) < 0)
			return err_context(e, "looking for records of a crash");
	}
	for (unsigned i = 0; i < WATCHDOGS; i++) {
		snprintf(path, sizeof(path), "/sys/class/watchdog/watchdog%u/bootstatus", i);
		if (sys_read_text(&a->sys, path, text, sizeof(text), &minor) == 0 &&
		    num_u64(text, 0, UINT32_MAX, &status, &minor) == 0 && status != 0)
			n++;
	}
	*ret = n;
	return 0;
}

int act_mark_clean(struct actor *a, struct err *e)
{
	char path[PATH_MAX], line[JOURNAL_ID_MAX + 1];
	int r = act_path(a->folder, "clean", path, e);

	if (r < 0)
		return r;
	int n = snprintf(line, sizeof(line), "%s\n", a->boot.boot);
	return a->sys.hands->write(&a->sys, path, line, (size_t)n, 0600, e);
}

int act_take_clean(struct actor *a, char ret[JOURNAL_ID_MAX], struct err *e)
{
	char path[PATH_MAX];
	struct err minor;
	int r = act_path(a->folder, "clean", path, e);

	if (r < 0)
		return r;
	ret[0] = 0;
	/* Whatever is wrong with it: then it says nothing. */
	if (sys_read_text(&a->sys, path, ret, JOURNAL_ID_MAX, &minor) < 0)
		ret[0] = 0;
	return 0;
}
