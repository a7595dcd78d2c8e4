// SPDX-License-Identifier: Apache-2.0
/* Owns the ways from one boot to the next: kernels loaded and unloaded, jumps, firmware reboots, one-shot entries.
 * Must not know what is measured in a boot, nor how it is checked. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/trust/trust.h"
#include "say.h"

#define SHORT_S    60u
#define LOAD_S     300u
#define SHUTDOWN_S 600u /* from asking for a reboot to being stopped by it */

int act_unload(struct actor *a, struct err *e)
{
	static const char *const argv[] = {"kexec", "-u", NULL};
	char loaded[8];
	int r = a->sys.hands->kexec_unload(&a->sys, e);

	if (r == -ENOSYS)
		r = act_run(a, argv, SHORT_S, NULL, e);
	if (r < 0 || (r = sys_read_text(&a->sys, "/sys/kernel/kexec_loaded", loaded, sizeof(loaded), e)) < 0)
		return r;
	if (strcmp(loaded, "0") != 0)
		return err_set(e, EIO, "a kernel is still loaded for kexec after it was unloaded");
	return 0;
}

/* Where the kernel has no kexec_file_load(2), the older call is left, through its own tool. */
static int load_by_tool(struct actor *a, const char *kernel, const char *initrd, const char *line, struct err *e)
{
	char append[GRUB_ARGS_MAX + 128], ramdisk[PATH_MAX + 16];
	const char *argv[] = {"kexec", "-c", "-l", kernel, append, initrd ? ramdisk : NULL, NULL};

	say(SAY_WARNING, "the running kernel has no kexec_file_load: loading %s by kexec -c -l", kernel);
	snprintf(append, sizeof(append), "--append=%s", line);
	snprintf(ramdisk, sizeof(ramdisk), "--initrd=%s", initrd ? initrd : "");
	return act_run(a, argv, LOAD_S, NULL, e);
}

int act_load_release(struct actor *a, const char *release, const char *more, struct err *e)
{
	char kernel[PATH_MAX], initrd[PATH_MAX], line[GRUB_ARGS_MAX + 96];
	struct grub_entry entry;
	int r;

	if ((r = act_menu(a, release, &entry, e)) < 0)
		return r;
	int n = snprintf(line, sizeof(line), "%s%s%s", entry.args, *more ? " " : "", more);
	if (n < 0 || n >= GRUB_ARGS_MAX)
		return err_set(e, EINVAL, "the arguments of %s are %d bytes long, the kernel takes %d", release, n,
			       GRUB_ARGS_MAX - 1);
	snprintf(kernel, sizeof(kernel), "/boot/vmlinuz-%s", release);
	snprintf(initrd, sizeof(initrd), "/boot/%s", entry.initrd);
	const char *ramdisk = entry.initrd[0] ? initrd : NULL;
	if ((r = act_unload(a, e)) < 0)
		return r;
	r = a->sys.hands->kexec_load(&a->sys, kernel, ramdisk, line, e);
	if (r == -ENOSYS)
		r = load_by_tool(a, kernel, ramdisk, line, e);
	return r;
}

/* What the next boot is to be, on disk before anything leads there. */
static int intend(struct actor *a, enum way way, bool new, struct err *e)
{
	struct journal *j = &a->j;
	char what[256], digest[65];

	j->intent.way = way;
	snprintf(j->intent.boot, sizeof(j->intent.boot), "%s", a->boot.boot);
	snprintf(j->intent.from_build, sizeof(j->intent.from_build), "%s", a->boot.build);
	snprintf(j->intent.to_build, sizeof(j->intent.to_build), "%s", new ? j->new_build : j->old_build);
	snprintf(j->intent.to_release, sizeof(j->intent.to_release), "%s", new ? j->new_release : j->old_release);
	j->intent.attempt = j->attempts;
	j->intent.verb = j->order.verb;
	j->intent.deadline_s = a->conf->probation_ns / ACT_SECOND_NS;
	j->intent.transaction[0] = 0;
	if (way != WAY_KEXEC)
		return act_store(a, e);
	/* The same for the same attempt from the same boot, so that being killed here changes nothing. */
	snprintf(what, sizeof(what), "%s/%llu/%u/%s", j->order.rollout, (unsigned long long)j->order.epoch, j->attempts,
		 a->boot.boot);
	trust_sha256(what, strlen(what), digest);
	if (!digest[0])
		return err_set(e, ENOMEM, "no transaction can be made");
	snprintf(j->intent.transaction, sizeof(j->intent.transaction), "%.16s", digest);
	return act_store(a, e);
}

/* The machine goes down now, and this process with it: -EINTR is what is hoped for. */
static int await_end(struct actor *a, enum event stuck, struct act_result *ret)
{
	int r = act_sleep(a, SHUTDOWN_S);

	return r < 0 ? r : act_came(ret, stuck, "the host was asked to reboot and still runs after %u s", SHUTDOWN_S);
}

/* A firmware reboot: nothing may be loaded, and systemd must not make a kexec of it. A second attempt at the way back
 * does not wait for services that do not stop. */
static int reboot(struct actor *a, enum event stuck, struct act_result *ret, struct err *e)
{
	static const char *const env[] = {"SYSTEMCTL_SKIP_AUTO_KEXEC=1", NULL};
	static const char *const plain[] = {"systemctl", "reboot", NULL};
	static const char *const force[] = {"systemctl", "reboot", "--force", NULL};
	struct run_command c = {.argv = stuck == EVENT_STUCK_BACK && a->j.attempts > 1 ? force : plain,
				.env = env,
				.timeout_ns = SHORT_S * ACT_SECOND_NS,
				.stop = a->stop};
	int r = act_unload(a, e);

	if (r < 0)
		return act_failed(ret, r, e);
	say(SAY_NOTICE, "rebooting by firmware, attempt %u", a->j.attempts);
	/* Its answer is not trusted: without a D-Bus it complains and reboots all the same. */
	if ((r = act_run_in(a, &c, NULL, e)) == -EINTR)
		return r;
	if (r < 0)
		say(SAY_WARNING, "%s", e->text);
	return await_end(a, stuck, ret);
}

/* The kernel that the order is about. */
static bool wants_new(const struct actor *a)
{
	return a->j.order.verb != VERB_MEASURE || a->j.order.target_new;
}

int act_prepare(struct actor *a, struct act_result *ret, struct err *e)
{
	bool denied = false;
	int r = act_refuse(a, e);

	if (r == 0)
		r = act_note_home(a, e);
	if (r == 0 && wants_new(a))
		r = journal_is_denied(&a->sys, a->folder, a->j.new_build, &denied, e);
	if (r == 0 && denied)
		r = err_set(e, EPERM, "the kernel with build-id %s crashed on this host", a->j.new_build);
	if (r < 0)
		return r == -EINTR ? r : act_came(ret, EVENT_REFUSED, "%.250s", e->text);
	if (a->j.order.verb == VERB_PROVE)
		return act_came(ret, EVENT_PROVE_NEXT, "a cold boot of the new kernel");
	if (act_at_home(a) && strcmp(a->j.used, a->boot.boot) != 0)
		return act_came(ret, EVENT_LOAD_NEXT, "this is a fresh firmware boot");
	return act_came(ret, EVENT_REBOOT_FIRST, "each measured boot is a firmware boot and one kexec");
}

int act_reboot_fresh(struct actor *a, struct act_result *ret, struct err *e)
{
	int r = intend(a, WAY_FRESH, false, e);

	return r < 0 ? r : reboot(a, EVENT_STUCK, ret, e);
}

int act_load(struct actor *a, struct act_result *ret, struct err *e)
{
	char argument[128];
	int r;

	if ((r = act_note_health(a, e)) < 0)
		return act_failed(ret, r, e);
	if ((r = intend(a, WAY_KEXEC, wants_new(a), e)) < 0)
		return r;
	snprintf(argument, sizeof(argument), "kpcp.transaction=%s", a->j.intent.transaction);
	if ((r = act_load_release(a, a->j.intent.to_release, argument, e)) < 0)
		return act_failed(ret, r, e);
	return act_came(ret, EVENT_LOADED, "loaded %s", a->j.intent.to_release);
}

int act_jump(struct actor *a, struct act_result *ret, struct err *e)
{
	static const char *const argv[] = {"systemctl", "kexec", NULL};
	char loaded[8];
	int r = sys_read_text(&a->sys, "/sys/kernel/kexec_loaded", loaded, sizeof(loaded), e);

	if (r < 0)
		return act_failed(ret, r, e);
	if (strcmp(loaded, "1") != 0 || a->j.intent.way != WAY_KEXEC)
		return act_came(ret, EVENT_NOT_LOADED, "no kernel is loaded any more");
	say(SAY_NOTICE, "jumping into %s, transaction %s, attempt %u", a->j.intent.to_release, a->j.intent.transaction,
	    a->j.attempts);
	if ((r = act_run(a, argv, SHORT_S, NULL, e)) == -EINTR)
		return r;
	if (r < 0)
		say(SAY_WARNING, "%s", e->text);
	return await_end(a, EVENT_STUCK, ret);
}

int act_prove(struct actor *a, struct act_result *ret, struct err *e)
{
	struct grub_entry entry;
	int r;

	if (act_at_home(a) && (r = act_note_health(a, e)) < 0)
		return act_failed(ret, r, e);
	if ((r = act_menu(a, a->j.new_release, &entry, e)) < 0)
		return act_failed(ret, r, e);
	if ((r = intend(a, WAY_PROOF, true, e)) < 0)
		return r;
	if ((r = act_set_next(a, entry.id, e)) < 0)
		return act_failed(ret, r, e);
	return reboot(a, EVENT_STUCK, ret, e);
}

int act_commit(struct actor *a, struct act_result *ret, struct err *e)
{
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	struct grub_entry entry, old;
	int r;

	if (strcmp(a->boot.build, a->j.new_build) != 0)
		return act_came(ret, EVENT_FAILED, "only a running kernel becomes the default, and this is %s",
				a->boot.release);
	/* The way back has to be there still. */
	if ((r = act_menu(a, a->j.old_release, &old, e)) < 0 || (r = act_menu(a, a->j.new_release, &entry, e)) < 0 ||
	    (r = act_entries(a, saved, next, e)) < 0)
		return act_failed(ret, r, e);
	/* Unless this was cut short after the default was set: what the soak has brought to light counts. */
	if (strcmp(saved, entry.id) != 0 && ((r = act_check_again(a, ret, e)) < 0 || ret->event != EVENT_HEALTHY))
		return r;
	if ((r = act_set_default(a, entry.id, e)) < 0)
		return act_failed(ret, r, e);
	return act_came(ret, EVENT_COMMITTED, "%s is the default", a->j.new_release);
}

/* The default entry as it was, read back, and no one-shot one; only what differs is written. */
static int default_back(struct actor *a, struct err *e)
{
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	struct grub_entry entry;
	int r = act_entries(a, saved, next, e);

	if (r == 0 && next[0])
		r = act_set_next(a, NULL, e);
	/* A default that names no entry boots the first one, whatever that is. */
	if (r == 0 && (strcmp(saved, a->j.old_entry) != 0 || !act_at_home(a)))
		r = act_menu(a, a->j.old_release, &entry, e);
	if (r == 0 && strcmp(saved, a->j.old_entry) != 0)
		r = act_set_default(a, a->j.old_entry, e);
	return r;
}

int act_revert(struct actor *a, struct act_result *ret, struct err *e)
{
	int r;

	/* Nothing was noted, so nothing was changed. */
	if (!a->j.old_build[0])
		return act_came(ret, EVENT_AT_HOME, "nothing was changed");
	if ((r = default_back(a, e)) < 0)
		return act_failed(ret, r, e);
	if (!act_at_home(a)) {
		if ((r = intend(a, WAY_BACK, false, e)) < 0)
			return r;
		return reboot(a, EVENT_STUCK_BACK, ret, e);
	}
	if ((r = act_unload(a, e)) < 0)
		return act_failed(ret, r, e);
	if ((r = act_unpin(a, e)) < 0)
		return r;
	return act_came(ret, EVENT_AT_HOME, "on %s, from firmware, default as before", a->j.old_release);
}
