// SPDX-License-Identifier: Apache-2.0
/* Owns what the way back needs: which kernel and default entry were there before, and that this kernel's package stays.
 * Must not know where the host goes from there. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

#define SHORT_S 60u

int act_unpin(struct actor *a, struct err *e)
{
	const char *const argv[] = {"apt-mark", "unhold", a->j.pinned, NULL};
	struct err minor;

	if (!a->j.pinned[0])
		return 0;
	/* A package that is gone meanwhile needs no release. */
	int r = act_run(a, argv, SHORT_S, NULL, &minor);
	if (r == -EINTR)
		return r;
	if (r < 0)
		say(SAY_WARNING, "%s", minor.text);
	a->j.pinned[0] = 0;
	return act_store(a, e);
}

/* "linux-image-6.1.0-44-amd64: /boot/vmlinuz-6.1.0-44-amd64" -> the first word; "" for a kernel that is no package's.
 */
static int find_package(struct actor *a, char ret[JOURNAL_PACKAGE_MAX], struct err *e)
{
	_cleanup_(buf_free) struct buf owner = BUF_INIT(4096);
	char vmlinuz[PATH_MAX];
	const char *const query[] = {"dpkg-query", "--search", vmlinuz, NULL};
	struct err minor;

	ret[0] = 0;
	snprintf(vmlinuz, sizeof(vmlinuz), "/boot/vmlinuz-%s", a->boot.release);
	int r = act_run(a, query, SHORT_S, &owner, &minor);
	if (r == -EINTR)
		return r;
	if (r < 0) {
		say(SAY_WARNING, "%s belongs to no package, so there is none to be pinned", vmlinuz);
		return 0;
	}
	size_t n = strcspn(owner.data ? owner.data : "", ":,\n");
	if (n == 0 || n >= JOURNAL_PACKAGE_MAX)
		return err_set(e, EINVAL, "the package of %s has an odd name", vmlinuz);
	snprintf(ret, JOURNAL_PACKAGE_MAX, "%.*s", (int)n, owner.data);
	return 0;
}

/* By a hold, not by apt-mark manual: that one keeps autoremove away, but neither apt remove nor an upgrade which puts
 * another kernel under the same name. Noted first, so that it is released even when this is cut short. */
static int pin(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf held = BUF_INIT(65536);
	char package[JOURNAL_PACKAGE_MAX];
	const char *const show[] = {"apt-mark", "showhold", package, NULL};
	const char *const hold[] = {"apt-mark", "hold", package, NULL};
	int r;

	if ((r = find_package(a, package, e)) < 0)
		return r;
	if (strcmp(package, a->j.pinned) != 0 && (r = act_unpin(a, e)) < 0)
		return r;
	if (!package[0])
		return 0;
	if (!a->j.pinned[0]) {
		if ((r = act_run(a, show, SHORT_S, &held, e)) < 0)
			return r;
		/* Held by somebody else: it stays theirs to release. */
		if (held.len > 0)
			return 0;
		snprintf(a->j.pinned, sizeof(a->j.pinned), "%s", package);
		if ((r = act_store(a, e)) < 0)
			return r;
	}
	return act_run(a, hold, SHORT_S, NULL, e);
}

int act_note_home(struct actor *a, struct err *e)
{
	struct grub_entry entry;
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	int r;

	if ((r = act_entries(a, saved, next, e)) < 0)
		return r;
	if (next[0])
		return err_set(
		    e, EPERM,
		    "the one-shot entry \"%.60s\" is set: somebody's reboot is under way; reboot, or clear it "
		    "by grub-editenv /boot/grub/grubenv unset next_entry",
		    next);
	if (a->j.old_build[0]) {
		if (strcmp(saved, a->j.old_entry) != 0)
			return err_set(e, EPERM, "the default entry is \"%s\" where it was \"%s\" before rollout %s",
				       saved, a->j.old_entry, a->j.rollout);
		return 0;
	}
	if ((r = act_menu(a, a->boot.release, &entry, e)) < 0)
		return r;
	if (strcmp(saved, entry.id) != 0)
		return err_set(e, EPERM,
			       "the default entry \"%.60s\" is not the running kernel's: run grub-set-default '%s'",
			       saved, entry.id);
	if ((r = pin(a, e)) < 0)
		return r;
	snprintf(a->j.old_release, sizeof(a->j.old_release), "%s", a->boot.release);
	snprintf(a->j.old_build, sizeof(a->j.old_build), "%s", a->boot.build);
	snprintf(a->j.old_entry, sizeof(a->j.old_entry), "%s", saved);
	return act_store(a, e);
}
