// SPDX-License-Identifier: Apache-2.0
/* Owns the installation of one exact package: fetched, compared with the directive's hash, installed as that file, and
 * its kernel loaded on trial. Must not know what the kernel is for, nor when it will boot. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

#define APT_S       1800u
#define UPDATE_S    600u
#define PACKAGE_MAX (2ull << 30) /* bytes of a .deb */

static const char *const apt_env[] = {"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical",
				      "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1", NULL};

/* Before each verb: how apt behaves where nobody can be asked. */
#define APT                                                                                                     \
	"apt-get", "-q", "-o", "APT::Get::Assume-Yes=true", "-o", "APT::Get::AllowUnauthenticated=false", "-o", \
	    "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=60", "-o",     \
	    "Acquire::https::Timeout=60"

static int apt(struct actor *a, const char *const *argv, const char *folder, uint64_t timeout_s, struct err *e)
{
	struct run_command c = {
	    .argv = argv, .env = apt_env, .folder = folder, .timeout_ns = timeout_s * ACT_SECOND_NS, .stop = a->stop};

	return act_run_in(a, &c, NULL, e);
}

/* Only our own source where it has a file of its own: other mirrors that are down are no matter of ours. */
static int update(struct actor *a, struct err *e)
{
	static const char *const files[] = {"/etc/apt/sources.list.d/kpcp.sources",
					    "/etc/apt/sources.list.d/kpcp.list"};
	static const char *const all[] = {APT, "update", NULL};
	uint64_t size;
	struct err minor;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char option[128];
		const char *const one[] = {
		    APT,      "-o", option, "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Get::List-Cleanup=0",
		    "update", NULL};

		if (a->sys.hands->size(&a->sys, files[i], &size, &minor) < 0)
			continue;
		snprintf(option, sizeof(option), "Dir::Etc::sourcelist=%s", files[i]);
		return apt(a, one, NULL, UPDATE_S, e);
	}
	return apt(a, all, NULL, UPDATE_S, e);
}

/* Empties the private folder, and makes it where it is missing. */
static int clear_folder(struct actor *a, const char *folder, struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(65536);
	char path[PATH_MAX], name[256];
	int r;

	if ((r = a->sys.hands->make_dir(&a->sys, folder, 0700, e)) < 0 ||
	    (r = a->sys.hands->list(&a->sys, folder, &names, e)) < 0)
		return r;
	for (const char *line = names.data ? names.data : ""; *line;) {
		const char *end = strchrnul(line, '\n');

		snprintf(name, sizeof(name), "%.*s", (int)(end - line), line);
		if ((r = act_path(folder, name, path, e)) < 0 || (r = a->sys.hands->remove(&a->sys, path, e)) < 0)
			return r;
		line = *end ? end + 1 : end;
	}
	return 0;
}

/* The one .deb that apt has left there. */
static int find_deb(struct actor *a, const char *folder, char ret[PATH_MAX], struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(65536);
	char name[256];
	int r = a->sys.hands->list(&a->sys, folder, &names, e);

	if (r < 0)
		return r;
	const char *text = names.data ? names.data : "", *end = strchrnul(text, '\n');
	size_t n = (size_t)(end - text);
	if (n < 5 || n >= sizeof(name) || memcmp(end - 4, ".deb", 4) != 0 || end[0] != '\n' || end[1] != 0)
		return err_set(e, EIO, "apt-get download left no single package in %s", folder);
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	return act_path(folder, name, ret, e);
}

/* The package's file, hashed by one descriptor in a folder that nobody else can write. -EBADMSG: another hash. */
static int fetch(struct actor *a, char ret[PATH_MAX], struct err *e)
{
	const struct directive *d = &a->directive;
	char folder[PATH_MAX], what[300], digest[65];
	const char *const argv[] = {APT, "download", what, NULL};
	int r;

	snprintf(what, sizeof(what), "%s=%s", d->kernel.package, d->kernel.version);
	if ((r = act_path(a->folder, "download", folder, e)) < 0 || (r = clear_folder(a, folder, e)) < 0 ||
	    (r = apt(a, argv, folder, APT_S, e)) < 0 || (r = find_deb(a, folder, ret, e)) < 0 ||
	    (r = a->sys.hands->sha256(&a->sys, ret, PACKAGE_MAX, digest, e)) < 0)
		return r;
	if (strcmp(digest, d->kernel.sha256) == 0)
		return 0;
	say(SAY_ERROR, "%s has SHA-256 %s, the directive says %s", what, digest, d->kernel.sha256);
	if ((r = clear_folder(a, folder, e)) < 0)
		return r;
	return err_set(
	    e, EBADMSG,
	    "%.80s in the repository has SHA-256 %.12s..., the directive %.12s...: not installed; find out who "
	    "changed it",
	    what, digest, d->kernel.sha256);
}

static int install(struct actor *a, const char *deb, struct err *e)
{
	const char *const argv[] = {APT,
				    "-o",
				    "Dpkg::Options::=--force-confold",
				    "-o",
				    "Dpkg::Options::=--force-confdef",
				    "--no-install-recommends",
				    "--no-remove",
				    "install",
				    deb,
				    NULL};
	static const char *const update_grub[] = {"update-grub", NULL};
	const struct directive *d = &a->directive;
	struct grub_entry entry;
	struct err minor;
	int r = apt(a, argv, NULL, APT_S, e);

	if (r < 0)
		return r;
	/* The kernel's hooks write the menu; a host without them gets it here. */
	if (act_menu(a, d->kernel.release, &entry, &minor) == 0)
		return 0;
	if ((r = act_run(a, update_grub, UPDATE_S, NULL, e)) < 0)
		return r;
	return act_menu(a, d->kernel.release, &entry, e);
}

/* The kernel can be loaded, and the default is still the old one. */
static int verify(struct actor *a, struct err *e)
{
	char saved[GRUB_ENTRY_MAX], next[GRUB_ENTRY_MAX];
	struct err minor;
	int r;

	if ((r = act_refuse_modules(a, a->directive.kernel.release, e)) < 0)
		return r;
	r = act_load_release(a, a->directive.kernel.release, "", e);
	int unloaded = act_unload(a, r < 0 ? &minor : e);
	if (r < 0 || unloaded < 0)
		return r < 0 ? r : unloaded;
	if ((r = act_entries(a, saved, next, e)) < 0)
		return r;
	if (strcmp(saved, a->j.old_entry) == 0 && !next[0])
		return 0;
	return err_set(e, EPERM, "the installation changed the default entry from \"%s\" to \"%s\"", a->j.old_entry,
		       next[0] ? next : saved);
}

/* What can be said before anything is changed. */
static int refuse(struct actor *a, struct err *e)
{
	int r = act_refuse(a, e);

	if (r == 0)
		r = act_note_home(a, e);
	return r < 0 ? r : act_refuse_package(a, e);
}

int act_stage(struct actor *a, struct act_result *ret, struct err *e)
{
	static const char *const configure[] = {"dpkg", "--configure", "-a", "--force-confold", "--force-confdef",
						NULL};
	const struct directive *d = &a->directive;
	char deb[PATH_MAX];
	int r = refuse(a, e);

	if (r < 0)
		return r == -EINTR ? r : act_came(ret, EVENT_REFUSED, "%.250s", e->text);
	say(SAY_NOTICE, "installing %s %s", d->kernel.package, d->kernel.version);
	/* Of a run that was cut short, ours or another's. */
	if ((r = apt(a, configure, NULL, APT_S, e)) < 0)
		return act_failed(ret, r, e);
	if ((r = update(a, e)) < 0 || (r = fetch(a, deb, e)) < 0)
		return r == -EINTR ? r : act_came(ret, EVENT_REFUSED, "%.250s", e->text);
	if ((r = install(a, deb, e)) < 0 || (r = verify(a, e)) < 0 || (r = a->sys.hands->remove(&a->sys, deb, e)) < 0)
		return act_failed(ret, r, e);
	snprintf(a->j.new_release, sizeof(a->j.new_release), "%s", d->kernel.release);
	snprintf(a->j.new_build, sizeof(a->j.new_build), "%s", d->kernel.build_id);
	return act_came(ret, EVENT_VERIFIED, "installed, and the trial load was right");
}
