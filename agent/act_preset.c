// SPDX-License-Identifier: Apache-2.0
/* Owns a preset on this host: values set in place, kept in a file of /etc/sysctl.d, and put back.
 * Must not know which values are good. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

#define KEPT_FILE  "/etc/sysctl.d/90-kpcp.conf"
#define SAVED_FILE "sysctl-before"
#define FILE_MAX   (64u << 10)

/* "vm.pcp_batch_scale_max" -> its file. Only keys of the closed list come this far, so a dot is always a folder. */
static int key_path(const char *key, char ret[128], struct err *e)
{
	if (!directive_setting_ok(key))
		return err_set(e, EPERM, "%s is no setting that a preset may have", key);
	snprintf(ret, 128, "/proc/sys/%.80s", key);
	for (char *c = ret + strlen("/proc/sys/"); *c; c++)
		*c = *c == '.' ? '/' : *c;
	return 0;
}

static int read_value(struct actor *a, const char *key, char *ret, size_t cap, struct err *e)
{
	char path[128];
	int r = key_path(key, path, e);

	return r < 0 ? r : sys_read_text(&a->sys, path, ret, cap, e);
}

/* Sets one value unless it is that already, and reads it back. */
static int set_value(struct actor *a, const struct directive_setting *s, struct err *e)
{
	char path[128], now[sizeof(s->value)];
	int r;

	if ((r = key_path(s->key, path, e)) < 0 || (r = read_value(a, s->key, now, sizeof(now), e)) < 0)
		return r;
	if (strcmp(now, s->value) == 0)
		return 0;
	say(SAY_NOTICE, "%s: %s -> %s", s->key, now, s->value);
	if ((r = a->sys.hands->set(&a->sys, path, s->value, e)) < 0 ||
	    (r = read_value(a, s->key, now, sizeof(now), e)) < 0)
		return r;
	if (strcmp(now, s->value) != 0)
		return err_set(e, EIO, "%s reads back as %s after %s was set", s->key, now, s->value);
	return 0;
}

/* All of them, whatever becomes of one; the first failure is told. */
static int put_back(struct actor *a, struct err *e)
{
	int result = 0;

	for (uint32_t i = 0; i < a->j.n_old; i++) {
		struct err minor;
		int r = set_value(a, &a->j.old[i], result == 0 ? e : &minor);

		result = result == 0 ? r : result;
	}
	return result;
}

/* Values as they are now, on disk before any is changed; once for each rollout. */
static int note_values(struct actor *a, struct err *e)
{
	const struct directive *d = &a->directive;
	struct directive_setting old[DIRECTIVE_SETTINGS_MAX];
	int r;

	if (a->j.n_old > 0)
		return 0;
	for (uint32_t i = 0; i < d->preset.n; i++) {
		memcpy(old[i].key, d->preset.setting[i].key, sizeof(old[i].key));
		if ((r = read_value(a, old[i].key, old[i].value, sizeof(old[i].value), e)) < 0)
			return err_context(e, "this kernel has no such setting, or keeps it from being read");
	}
	memcpy(a->j.old, old, sizeof(old[0]) * d->preset.n);
	a->j.n_old = d->preset.n;
	return act_store(a, e);
}

int act_apply(struct actor *a, struct act_result *ret, struct err *e)
{
	const struct directive *d = &a->directive;
	struct err back;
	int r = note_values(a, e);

	/* Nothing was set yet. */
	if (r < 0)
		return r == -ENOENT || r == -EPERM ? act_came(ret, EVENT_UNDONE, "%.250s", e->text) : r;
	for (uint32_t i = 0; r == 0 && i < d->preset.n; i++)
		r = set_value(a, &d->preset.setting[i], e);
	if (r == 0)
		return act_came(ret, a->j.order.verb == VERB_MEASURE ? EVENT_APPLIED_MEASURE : EVENT_APPLIED,
				"%s is applied and reads back", d->preset.name);
	if (put_back(a, &back) == 0)
		return act_came(ret, EVENT_UNDONE, "%.180s; all values are as before", e->text);
	return act_came(ret, EVENT_FAILED, "%.120s; and %.120s", e->text, back.text);
}

/* Keeps how the file was, before this agent writes it for the first time. */
static int save_file(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(FILE_MAX);
	char path[PATH_MAX];
	int r;

	if (a->j.file_saved)
		return 0;
	r = a->sys.read(&a->sys, KEPT_FILE, &text, e);
	if (r < 0 && r != -ENOENT)
		return r;
	a->j.file_was = r == 0;
	if ((r = act_path(a->folder, SAVED_FILE, path, e)) < 0)
		return r;
	if (a->j.file_was &&
	    (r = a->sys.hands->write(&a->sys, path, text.data ? text.data : "", text.len, 0600, e)) < 0)
		return r;
	a->j.file_saved = true;
	return act_store(a, e);
}

int act_keep(struct actor *a, struct act_result *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(FILE_MAX);
	const struct directive *d = &a->directive;
	int r;

	for (uint32_t i = 0; i < d->preset.n; i++) {
		if ((r = set_value(a, &d->preset.setting[i], e)) < 0)
			return act_failed(ret, r, e);
	}
	if ((r = save_file(a, e)) < 0)
		return act_failed(ret, r, e);
	r = buf_addf(&text, e, "# Preset %s of rollout %s; written by kpcp-agent.\n", d->preset.name, d->name);
	for (uint32_t i = 0; r == 0 && i < d->preset.n; i++)
		r = buf_addf(&text, e, "%s = %s\n", d->preset.setting[i].key, d->preset.setting[i].value);
	if (r == 0)
		r = a->sys.hands->write(&a->sys, KEPT_FILE, text.data, text.len, 0644, e);
	if (r < 0)
		return act_failed(ret, r, e);
	return act_came(ret, EVENT_KEPT, "%s is in " KEPT_FILE, d->preset.name);
}

static int file_back(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(FILE_MAX);
	char path[PATH_MAX];
	int r;

	if (!a->j.file_saved)
		return 0;
	if (!a->j.file_was)
		return a->sys.hands->remove(&a->sys, KEPT_FILE, e);
	if ((r = act_path(a->folder, SAVED_FILE, path, e)) < 0 || (r = a->sys.read(&a->sys, path, &text, e)) < 0)
		return r;
	return a->sys.hands->write(&a->sys, KEPT_FILE, text.data ? text.data : "", text.len, 0644, e);
}

int act_restore(struct actor *a, bool restored, struct act_result *ret, struct err *e)
{
	/* The file first: a reboot in between must not bring the preset back. */
	int r = file_back(a, e);

	if (r == 0)
		r = put_back(a, e);
	if (r < 0)
		return act_failed(ret, r, e);
	return act_came(ret, restored ? EVENT_RESTORED : EVENT_UNDONE, "all values are as before");
}
