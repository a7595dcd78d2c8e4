// SPDX-License-Identifier: Apache-2.0
/* Owns what every step needs: programs, GRUB's menu and environment block, waiting, results.
 * Must not know what any step is for. */
#include "act.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

#define GRUB_CFG    "/boot/grub/grub.cfg"
#define GRUB_ENV    "/boot/grub/grubenv"
#define SHORT_S     60u
#define COMMAND_MAX 160

int act_came(struct act_result *ret, enum event event, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret->why, sizeof(ret->why), fmt, ap);
	va_end(ap);
	ret->event = event;
	return 0;
}

int act_failed(struct act_result *ret, int r, const struct err *e)
{
	return r == -EINTR ? r : act_came(ret, EVENT_FAILED, "%.250s", e->text);
}

int act_store(struct actor *a, struct err *e)
{
	int r = journal_store(&a->sys, a->folder, &a->j, e);

	return r < 0 ? err_context(e, "nothing is done before it is noted; make room or repair the disk") : 0;
}

int act_path(const char *folder, const char *name, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s", folder, name);

	if (n < 0 || n >= PATH_MAX)
		return err_set(e, ENAMETOOLONG, "%s/%s: the path is too long", folder, name);
	return 0;
}

/* The command as people would type it, for messages. */
static void show(const char *const *argv, char ret[COMMAND_MAX])
{
	size_t at = 0;

	ret[0] = 0;
	for (size_t i = 0; argv[i] && at < COMMAND_MAX - 1; i++) {
		int n = snprintf(ret + at, COMMAND_MAX - at, "%s%s", i > 0 ? " " : "", argv[i]);
		at += n > 0 ? (size_t)n : 0;
	}
}

int act_run_in(struct actor *a, const struct run_command *c, struct buf *out, struct err *e)
{
	_cleanup_(run_result_free) struct run_result result = RUN_RESULT(out ? out->max : ACT_OUTPUT);
	char command[COMMAND_MAX];
	int r = a->sys.hands->run(&a->sys, c, &result, e);

	show(c->argv, command);
	if (r < 0)
		return r;
	if (result.status != 0)
		return err_set(e, EIO, "\"%s\" ended with status %d: %s", command, result.status,
			       result.last[0] ? result.last : "it said nothing");
	if (!out)
		return 0;
	if (result.cut)
		return err_set(e, EFBIG, "\"%s\" printed more than %zu bytes", command, out->max);
	return buf_add(out, result.out.data, result.out.len, e);
}

int act_run(struct actor *a, const char *const *argv, uint64_t timeout_s, struct buf *out, struct err *e)
{
	struct run_command c = {.argv = argv, .timeout_ns = timeout_s * ACT_SECOND_NS, .stop = a->stop};

	return act_run_in(a, &c, out, e);
}

int act_menu(struct actor *a, const char *release, struct grub_entry *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf cfg = BUF_INIT(ACT_MENU_MAX);
	int r = a->sys.read(&a->sys, GRUB_CFG, &cfg, e);

	return r < 0 ? r : grub_find(cfg.data ? cfg.data : "", cfg.len, release, ret, e);
}

int act_entries(struct actor *a, char saved[GRUB_ENTRY_MAX], char next[GRUB_ENTRY_MAX], struct err *e)
{
	static const char *const argv[] = {"grub-editenv", GRUB_ENV, "list", NULL};
	_cleanup_(buf_free) struct buf out = BUF_INIT(4096);
	int r;

	if ((r = act_run(a, argv, SHORT_S, &out, e)) < 0)
		return r;
	const char *text = out.data ? out.data : "";
	if ((r = grub_env_get(text, out.len, "saved_entry", saved, GRUB_ENTRY_MAX, e)) < 0)
		return r;
	return grub_env_get(text, out.len, "next_entry", next, GRUB_ENTRY_MAX, e);
}

/* GRUB's programs write their block without fsync. */
static int sync_env(struct actor *a, struct err *e)
{
	static const char *const argv[] = {"sync", GRUB_ENV, NULL};

	return act_run(a, argv, SHORT_S, NULL, e);
}

int act_set_default(struct actor *a, const char *entry, struct err *e)
{
	const char *const argv[] = {"grub-set-default", entry, NULL};
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	int r;

	if ((r = act_run(a, argv, SHORT_S, NULL, e)) < 0 || (r = sync_env(a, e)) < 0 ||
	    (r = act_entries(a, saved, next, e)) < 0)
		return r;
	if (strcmp(saved, entry) != 0)
		return err_set(e, EIO, "the default entry reads back as \"%s\" where \"%s\" was set", saved, entry);
	say(SAY_NOTICE, "the default entry is \"%s\"", entry);
	return 0;
}

int act_set_next(struct actor *a, const char *entry, struct err *e)
{
	const char *const set[] = {"grub-reboot", entry, NULL};
	static const char *const clear[] = {"grub-editenv", GRUB_ENV, "unset", "next_entry", NULL};
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	int r;

	if ((r = act_run(a, entry ? set : clear, SHORT_S, NULL, e)) < 0 || (r = sync_env(a, e)) < 0 ||
	    (r = act_entries(a, saved, next, e)) < 0)
		return r;
	if (strcmp(next, entry ? entry : "") != 0)
		return err_set(e, EIO, "the one-shot entry reads back as \"%s\" where \"%s\" was set", next,
			       entry ? entry : "");
	return 0;
}

bool act_at_home(const struct actor *a)
{
	return a->j.old_build[0] && !a->boot.transaction[0] && strcmp(a->boot.build, a->j.old_build) == 0;
}

int act_sleep(struct actor *a, uint64_t s)
{
	uint64_t end = a->sys.now_ns(&a->sys) + s * ACT_SECOND_NS;

	/* In short pieces: a signal between the look at the flag and the sleep would else be slept over. */
	for (uint64_t now; !*a->stop && (now = a->sys.now_ns(&a->sys)) < end;) {
		uint64_t piece = now + ACT_SECOND_NS / 2;

		if (a->sys.sleep_until(&a->sys, piece < end ? piece : end) < 0)
			continue;
	}
	return *a->stop ? -EINTR : 0;
}
