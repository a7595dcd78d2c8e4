// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp kernel`: the section [kernel] of a plan from a package.
 * Must not know what a plan does with it, nor how the package was built beyond the files that stand beside it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deb.h"
#include "kpcp.h"
#include "lib/base/fs.h"
#include "lib/fleet/form.h"
#include "lib/trust/trust.h"
#include "section.h"

#define DEB_BYTES_MAX (4ull << 30)
#define VALUE_MAX     256

/* The line of the file name beside the package; "" where there is none. */
static int read_beside(const char *deb, const char *name, char ret[VALUE_MAX], struct err *e)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT(VALUE_MAX - 1);
	const char *slash = strrchr(deb, '/');
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - deb) + 1 : 0, deb, name) >= (int)sizeof(path))
		return err_sys(e, ENAMETOOLONG, "%s", deb);
	*ret = 0;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	int r = fs_read_line(path, &line, e);
	if (r == 0)
		snprintf(ret, VALUE_MAX, "%s", line.len ? line.data : "");
	return r;
}

/* "linux-image-6.1.158-kpcp" -> "6.1.158-kpcp"; Debian's own have "-unsigned" behind it, before they are signed. */
static int release_of(const char *path, const struct deb *d, char ret[VALUE_MAX], struct err *e)
{
	static const char prefix[] = "linux-image-", unsigned_[] = "-unsigned", debug[] = "-dbg";
	size_t at = sizeof(prefix) - 1, len = strlen(d->package), tail = sizeof(unsigned_) - 1, dbg = sizeof(debug) - 1;

	if (strncmp(d->package, prefix, at) != 0 || len == at ||
	    (len > dbg && strcmp(d->package + len - dbg, debug) == 0))
		return err_set(
		    e, EINVAL,
		    "%s is the package %s, whose name is not linux-image-RELEASE: if it holds a kernel, give "
		    "what 'uname -r' says of it by --release",
		    path, d->package);
	if (len > at + tail && strcmp(d->package + len - tail, unsigned_) == 0)
		len -= tail;
	snprintf(ret, VALUE_MAX, "%.*s", (int)(len - at), d->package + at);
	return 0;
}

/* The kernel's own build-id is in no package: kernel/build.sh writes it beside, with the release that it is of. */
static int build_id_of(const char *path, const char *release, char ret[VALUE_MAX], struct err *e)
{
	char beside[VALUE_MAX];
	int r = read_beside(path, "build-id", ret, e);

	if (r == 0)
		r = read_beside(path, "release", beside, e);
	if (r < 0)
		return r;
	if (!*ret)
		return err_set(
		    e, ENOENT,
		    "no file 'build-id' stands beside %s: give by --build-id what 'file' says of this kernel's "
		    "vmlinux, or what a host that runs it has in its report (kpcp hosts --json)",
		    path);
	if (*beside && strcmp(beside, release) != 0)
		return err_set(
		    e, EINVAL,
		    "the files beside %s are of release %s, the package is of %s: give the right build-id by "
		    "--build-id",
		    path, beside, release);
	return 0;
}

static int add_section(int fd, const char *path, const struct kpcp *a, struct buf *out, struct err *e)
{
	char release[VALUE_MAX], build_id[VALUE_MAX], sha256[65];
	struct deb d;
	int r = deb_read(fd, path, &d, e);

	if (r < 0)
		return r;
	if (a->kernel.release)
		snprintf(release, sizeof(release), "%s", a->kernel.release);
	else
		r = release_of(path, &d, release, e);
	if (r == 0 && a->kernel.build_id)
		snprintf(build_id, sizeof(build_id), "%s", a->kernel.build_id);
	else if (r == 0)
		r = build_id_of(path, release, build_id, e);
	if (r == 0)
		r = trust_sha256_fd(fd, DEB_BYTES_MAX, sha256, e);
	if (r == 0)
		r = buf_addf(out, e, "[kernel]\npackage = %s\nversion = %s\nrelease = %s\nsha256 = %s\nbuild-id = %s\n",
			     d.package, d.version, release, sha256, build_id);
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(16u << 10);
	struct stat st;

	if (argc != 1)
		return err_set(e, EINVAL, "kernel reads one package, but got %d; the form is: kpcp kernel DEB", argc);
	/* Without O_NONBLOCK a named pipe would wait for its writer. */
	_cleanup_(fs_close) int fd = open(argv[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot read %s", argv[0]);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is no file, so no package either", argv[0]);
	int r = add_section(fd, argv[0], target, &out, e);
	return r < 0 ? r : section_print(argv[0], &out, e);
}

static int set_build_id(void *t, const char *value, struct err *e)
{
	((struct kpcp *)t)->kernel.build_id = value;
	return form_check(&form_build_id, value, e);
}

static int set_release(void *t, const char *value, struct err *e)
{
	((struct kpcp *)t)->kernel.release = value;
	return form_check(&form_release, value, e);
}

static const struct opt options[] = {
    {"build-id", "HEX", "The kernel's build-id, 40 digits (default: the file build-id beside the package).",
     set_build_id},
    {"release", "TEXT", "What 'uname -r' says of the kernel (default: from the package's name, linux-image-RELEASE).",
     set_release},
};

const struct opt_command cmd_kernel = {
    .name = "kernel",
    .operands = "DEB",
    .help = "Prints the section [kernel] of a plan from a package.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
