// SPDX-License-Identifier: Apache-2.0
/* Owns the system calls that read a whole file and replace one without a moment at which it is half written.
 * Must not know what is in files, nor where the project keeps them. */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define READ_CHUNK   (64u << 10)
#define TMP_NAME_MAX 32
#define TMP_ATTEMPTS 16

void fs_close(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static ssize_t read_some(int fd, void *to, size_t len)
{
	ssize_t n;
	do
		n = read(fd, to, len);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Reads to the end of the file. One byte more than the bound allows is asked for, to tell a file that just fits
 * from one that is too long; the size that stat reports cannot, it is 0 in /proc. */
static int read_to_end(int fd, const char *path, struct buf *b, struct err *e)
{
	for (;;) {
		size_t room = b->max > b->len ? b->max - b->len : 0;
		size_t want = room < READ_CHUNK ? room : READ_CHUNK;
		char *at, probe;
		int r = buf_reserve(b, want, &at, e);
		if (r < 0)
			return err_context(e, "cannot read %s", path);
		ssize_t n = want > 0 ? read_some(fd, at, want) : read_some(fd, &probe, 1);
		if (n < 0)
			return err_sys(e, errno, "cannot read %s", path);
		if (n == 0)
			return 0;
		if (want == 0)
			return err_set(e, EFBIG, "%s is larger than the %zu bytes that are read of it at most", path,
				       b->max);
		b->len += (size_t)n;
	}
}

/* A pipe of the caller's shell, as /dev/stdin or <(...) leads to; a named one belongs to the file system of its name.
 */
static bool is_shell_pipe(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

/* Waits again for what has somebody at its other end, of which the caller knows: a pipe of the shell, a terminal. */
static int check_kind(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot look at %s", path);
	if (S_ISFIFO(st.st_mode) && !is_shell_pipe(fd))
		return err_set(e, EINVAL, "%s is a named pipe, which may never end; give a regular file", path);
	if (S_ISBLK(st.st_mode))
		return err_set(e, EINVAL, "%s is a block device; give a regular file", path);
	if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(fd)))
		return 0;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return err_sys(e, errno, "cannot wait for %s", path);
	return 0;
}

int fs_open(const char *path, int more, struct err *e)
{
	/* A named pipe without a writer, or a device that is not ready, would keep a plain open(2) for ever. */
	_cleanup_(fs_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s", path);
	int r = check_kind(fd, path, e);
	if (r < 0)
		return r;
	r = fd;
	fd = -1;
	return r;
}

int fs_read(const char *path, struct buf *ret, struct err *e)
{
	_cleanup_(fs_close) int fd = fs_open(path, 0, e);
	if (fd < 0)
		return fd;

	size_t old = ret->len;
	int r = read_to_end(fd, path, ret, e);
	if (r < 0) {
		ret->len = old;
		if (ret->data)
			ret->data[old] = 0;
	}
	return r;
}

int fs_read_line(const char *path, struct buf *ret, struct err *e)
{
	size_t old = ret->len;
	int r = fs_read(path, ret, e);
	if (r < 0)
		return r;
	if (ret->len > old && ret->data[ret->len - 1] == '\n')
		ret->data[--ret->len] = 0;
	return 0;
}

int fs_write_all(int fd, const void *data, size_t len, struct err *e)
{
	const char *p = data;
	size_t done = 0;
	while (done < len) {
		ssize_t n = write(fd, p + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(e, n < 0 ? errno : EIO, "writing stopped after %zu of %zu bytes", done, len);
		done += (size_t)n;
	}
	return 0;
}

/* Splits path into its directory (opened, for the caller to close) and its last part (points into path). */
static int open_directory(const char *path, const char **base, struct err *e)
{
	const char *slash = strrchr(path, '/');
	*base = slash ? slash + 1 : path;
	if (**base == 0)
		return err_set(e, EINVAL, "cannot write '%s': it names no file", path);

	char dir[PATH_MAX] = ".";
	if (slash) {
		size_t len = slash == path ? 1 : (size_t)(slash - path);
		if (len >= sizeof(dir))
			return err_sys(e, ENAMETOOLONG, "cannot write %s", path);
		memcpy(dir, path, len);
		dir[len] = 0;
	}
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "cannot write %s: cannot open its directory %s", path, dir);
	return fd;
}

/* Not mkostemp: that gives 0600, and the umask cannot be read to give mode without changing it for all threads. */
static int create_temporary(int dir, unsigned mode, char name[TMP_NAME_MAX])
{
	for (int i = 0; i < TMP_ATTEMPTS; i++) {
		uint64_t number;
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			return -errno;
		snprintf(name, TMP_NAME_MAX, ".tmp-%016llx", (unsigned long long)number);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int fill_and_rename(int dir, int fd, const char *tmp, const char *base, const void *data, size_t len,
			   struct err *e)
{
	int r = fs_write_all(fd, data, len, e);
	if (r < 0)
		return r;
	if (fsync(fd) < 0)
		return err_sys(e, errno, "its data did not reach the disk");
	if (renameat(dir, tmp, dir, base) < 0)
		return err_sys(e, errno, "cannot put the new file in its place");
	return 0;
}

int fs_write_atomic(const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	const char *base;
	_cleanup_(fs_close) int dir = open_directory(path, &base, e);
	if (dir < 0)
		return dir;

	char tmp[TMP_NAME_MAX];
	_cleanup_(fs_close) int fd = create_temporary(dir, mode, tmp);
	if (fd < 0)
		return err_sys(e, -fd, "cannot write %s: cannot create a file in its directory", path);

	int r = fill_and_rename(dir, fd, tmp, base, data, len, e);
	if (r < 0) {
		unlinkat(dir, tmp, 0);
		return err_context(e, "cannot write %s, which stays as it was", path);
	}
	if (fsync(dir) < 0)
		return err_sys(e, errno, "%s is replaced, but may be the old one again after a power loss", path);
	return 0;
}
