// SPDX-License-Identifier: Apache-2.0
/* Owns the steps by which a file comes into being whole, and never over one that is there.
 * Must not know what is in it. */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "trust.h"

static int refuse_existing(const char *path, struct err *e)
{
	return err_set(e, EEXIST, "%s is there already and stays as it is; name another file, or move that one away",
		       path);
}

static int sync_directory_of(const char *path)
{
	char copy[PATH_MAX];
	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return -ENAMETOOLONG;
	_cleanup_(fs_close) int dir = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || fsync(dir) < 0 ? -errno : 0;
}

int newfile_write(const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	struct stat st;
	if (lstat(path, &st) == 0)
		return refuse_existing(path, e);

	char tag[17], tmp[PATH_MAX];
	int r = trust_random_hex(8, tag, e);
	if (r < 0)
		return r;
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.new-%s", path, tag) >= sizeof(tmp))
		return err_sys(e, ENAMETOOLONG, "cannot write %s", path);
	r = fs_write_atomic(tmp, data, len, mode, e);
	if (r < 0) {
		unlink(tmp);
		return r;
	}

	/* A link, unlike a rename, never replaces: of two who make the same file at once, one is refused. */
	int failed = link(tmp, path) < 0 ? errno : 0;
	unlink(tmp);
	if (failed == EEXIST)
		return refuse_existing(path, e);
	if (failed)
		return err_sys(e, failed, "cannot put the new file in its place as %s", path);
	r = sync_directory_of(path);
	if (r < 0) {
		unlink(path);
		return err_sys(e, -r, "cannot bring %s to the disk, and it is removed again", path);
	}
	return 0;
}
