// SPDX-License-Identifier: Apache-2.0
/* Owns what speaks against one kernel's package on this host: room, age, modules.
 * Must not know how a package is installed. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHORT_S    60u
#define ROOM_LEAST (32ull << 20)

/* Room for a kernel and an initramfs like the running ones, and some more for what update-grub writes. */
static int refuse_room(struct actor *a, struct err *e)
{
	char path[PATH_MAX];
	uint64_t room, kernel, initrd = 0, need;
	struct err minor;
	int r;

	snprintf(path, sizeof(path), "/boot/vmlinuz-%s", a->boot.release);
	if ((r = a->sys.hands->size(&a->sys, path, &kernel, e)) < 0)
		return r;
	snprintf(path, sizeof(path), "/boot/initrd.img-%s", a->boot.release);
	if (a->sys.hands->size(&a->sys, path, &initrd, &minor) < 0)
		initrd = 0;
	if ((r = a->sys.hands->free_bytes(&a->sys, "/boot", &room, e)) < 0)
		return r;
	need = 2 * (kernel + initrd) + ROOM_LEAST;
	if (room < need)
		return err_set(e, EPERM,
			       "/boot has %llu MiB free, and a kernel may need %llu: remove kernels that nobody boots "
			       "(apt-get autoremove)",
			       (unsigned long long)(room >> 20), (unsigned long long)(need >> 20));
	return 0;
}

/* "6.1.170-3" -> "6.1.170": what the distribution calls its own builds says nothing about age. */
static void upstream(const char *version, size_t len, char ret[128])
{
	const char *dash = memrchr(version, '-', len);
	size_t n = dash ? (size_t)(dash - version) : len;

	snprintf(ret, 128, "%.*s", (int)n, version);
}

static int is_older(struct actor *a, const char *version, const char *than, bool *ret, struct err *e)
{
	const char *const argv[] = {"dpkg", "--compare-versions", version, "lt", than, NULL};
	struct run_command c = {.argv = argv, .timeout_ns = SHORT_S * ACT_SECOND_NS, .stop = a->stop};
	_cleanup_(run_result_free) struct run_result result = RUN_RESULT(4096);
	int r = a->sys.hands->run(&a->sys, &c, &result, e);

	if (r < 0)
		return r;
	if (result.status > 1)
		return err_set(e, EIO, "dpkg cannot compare versions %s and %s: %s", version, than, result.last);
	*ret = result.status == 0;
	return 0;
}

/* A kernel older than one that is installed lacks its security fixes. */
static int refuse_age(struct actor *a, struct err *e)
{
	static const char *const argv[] = {"dpkg-query", "--show",
					   "--showformat=${db:Status-Status} ${Version} ${Package}\n",
					   "linux-image-[0-9]*", NULL};
	static const char installed[] = "installed ";
	_cleanup_(buf_free) struct buf out = BUF_INIT(ACT_OUTPUT);
	char ours[128], theirs[128];
	struct err minor;
	bool older;
	int r = act_run(a, argv, SHORT_S, &out, &minor);

	/* No such package at all: kernels are installed in another way here. */
	if (r < 0)
		return r == -EIO ? 0 : err_set(e, -r, "%s", minor.text);
	upstream(a->directive.kernel.version, strlen(a->directive.kernel.version), ours);
	for (const char *line = out.data ? out.data : "", *next; *line; line = next) {
		const char *end = strchrnul(line, '\n');

		next = *end ? end + 1 : end;
		if (strncmp(line, installed, sizeof(installed) - 1) != 0)
			continue;
		line += sizeof(installed) - 1;
		upstream(line, strcspn(line, " \n"), theirs);
		if ((r = is_older(a, ours, theirs, &older, e)) < 0)
			return r;
		if (older)
			return err_set(
			    e, EPERM,
			    "kernel %s is older than %s, which this host has, and lacks its fixes: build the "
			    "series on a newer base",
			    ours, theirs);
	}
	return 0;
}

int act_refuse_package(struct actor *a, struct err *e)
{
	int r = refuse_room(a, e);

	return r < 0 ? r : refuse_age(a, e);
}

/* Module names have '_' in /proc/modules and may have '-' in files: "kernel/net/nf-conntrack.ko.xz". */
static bool names_module(const char *line, size_t len, const char *name, size_t name_len)
{
	const char *slash, *base;

	/* modules.dep: "PATH: DEPENDENCIES" */
	const char *colon = memchr(line, ':', len);
	if (colon)
		len = (size_t)(colon - line);
	slash = memrchr(line, '/', len);
	base = slash ? slash + 1 : line;
	size_t base_len = len - (size_t)(base - line);
	if (base_len < name_len + 3 || memcmp(base + name_len, ".ko", 3) != 0)
		return false;
	for (size_t i = 0; i < name_len; i++) {
		if (name[i] != (base[i] == '-' ? '_' : base[i]))
			return false;
	}
	return true;
}

static bool lists_module(const struct buf *list, const char *name, size_t len)
{
	for (const char *line = list->data ? list->data : ""; *line;) {
		const char *end = strchrnul(line, '\n');

		if (names_module(line, (size_t)(end - line), name, len))
			return true;
		line = *end ? end + 1 : end;
	}
	return false;
}

int act_refuse_modules(struct actor *a, const char *release, struct err *e)
{
	_cleanup_(buf_free) struct buf loaded = BUF_INIT(1u << 20), dep = BUF_INIT(8u << 20),
				       builtin = BUF_INIT(1u << 20);
	char path[PATH_MAX];
	int r = a->sys.read(&a->sys, "/proc/modules", &loaded, e);

	if (r == -ENOENT || (r == 0 && loaded.len == 0))
		return 0;
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	if ((r = a->sys.read(&a->sys, path, &dep, e)) < 0)
		return err_context(e, "which modules %s has", release);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", release);
	if ((r = a->sys.read(&a->sys, path, &builtin, e)) < 0 && r != -ENOENT)
		return r;
	for (const char *line = loaded.data; *line;) {
		const char *end = strchrnul(line, '\n');
		size_t n = strcspn(line, " \n");

		if (n > 0 && !lists_module(&dep, line, n) && !lists_module(&builtin, line, n))
			return err_set(e, EPERM,
				       "module %.*s is loaded, and kernel %s has none of that name: build it for that "
				       "kernel (DKMS needs its headers), or unload it",
				       (int)n, line, release);
		line = *end ? end + 1 : end;
	}
	return 0;
}
