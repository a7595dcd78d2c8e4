// SPDX-License-Identifier: Apache-2.0
/* Owns the hands on the real machine: files, programs, the loading of kernels.
 * Must not know what any file or program means. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kexec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/trust/trust.h"
#include "run.h"
#include "sys.h"

#define RECORD_MAX 8192 /* one of /dev/kmsg; the kernel's own bound */

static int full_path(const struct sys *s, const char *path, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s%s", s->root, path);

	if (n < 0 || n >= PATH_MAX)
		return err_set(e, ENAMETOOLONG, "%s%s: the path is too long", s->root, path);
	return 0;
}

static int hand_write(const struct sys *s, const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	char full[PATH_MAX];
	int r = full_path(s, path, full, e);

	return r < 0 ? r : fs_write_atomic(full, data, len, mode, e);
}

static int hand_set(const struct sys *s, const char *path, const char *text, struct err *e)
{
	char full[PATH_MAX];
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	_cleanup_(fs_close) int fd = open(full, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s to set it", full);
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);
	if (n < 0)
		return err_sys(e, errno, "cannot set %s to %s", full, text);
	if ((size_t)n != len)
		return err_set(e, EIO, "cannot set %s to %s: %zd of %zu bytes were taken", full, text, n, len);
	return 0;
}

/* fsync of the folder that path is in. */
static int sync_parent(const char *full, struct err *e)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(full, '/');
	size_t len = slash && slash != full ? (size_t)(slash - full) : 1;

	memcpy(folder, full, len);
	folder[len] = 0;
	_cleanup_(fs_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_sys(e, errno, "%s did not reach the disk", folder);
	return 0;
}

static int hand_remove(const struct sys *s, const char *path, struct err *e)
{
	char full[PATH_MAX];
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	if (unlink(full) < 0)
		return errno == ENOENT ? 0 : err_sys(e, errno, "cannot remove %s", full);
	return sync_parent(full, e);
}

static int hand_make_dir(const struct sys *s, const char *path, unsigned mode, struct err *e)
{
	char full[PATH_MAX];
	struct stat st;
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	if (mkdir(full, (mode_t)mode) == 0)
		return sync_parent(full, e);
	if (errno != EEXIST)
		return err_sys(e, errno, "cannot make the folder %s", full);
	if (lstat(full, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "%s is no folder; move away what is there", full);
	return 0;
}

static bool has_control(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return true;
	return false;
}

static int hand_list(const struct sys *s, const char *path, struct buf *ret, struct err *e)
{
	char full[PATH_MAX];
	struct dirent **names;
	size_t old = ret->len;
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	int n = scandir(full, &names, NULL, alphasort);
	if (n < 0)
		return err_sys(e, errno, "cannot list %s", full);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (r == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !has_control(name))
			r = buf_addf(ret, e, "%s\n", name);
		free(names[i]);
	}
	free(names);
	if (r < 0) {
		ret->len = old;
		return err_context(e, "cannot list %s", full);
	}
	return 0;
}

/* A regular file, open for reading, and its size. */
static int open_regular(const struct sys *s, const char *path, int *ret, uint64_t *size, struct err *e)
{
	char full[PATH_MAX];
	struct stat st;
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	_cleanup_(fs_close) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s", full);
	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot look at %s", full);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is no regular file", full);
	*size = (uint64_t)st.st_size;
	*ret = fd;
	fd = -1;
	return 0;
}

static int hand_size(const struct sys *s, const char *path, uint64_t *ret, struct err *e)
{
	_cleanup_(fs_close) int fd = -1;

	return open_regular(s, path, &fd, ret, e);
}

static int hand_free_bytes(const struct sys *s, const char *path, uint64_t *ret, struct err *e)
{
	char full[PATH_MAX];
	struct statvfs v;
	int r = full_path(s, path, full, e);

	if (r < 0)
		return r;
	if (statvfs(full, &v) < 0)
		return err_sys(e, errno, "cannot tell how much room there is in %s", full);
	*ret = (uint64_t)v.f_bavail * v.f_frsize;
	return 0;
}

static int hand_sha256(const struct sys *s, const char *path, uint64_t max, char ret[65], struct err *e)
{
	_cleanup_(fs_close) int fd = -1;
	uint64_t size;
	int r = open_regular(s, path, &fd, &size, e);

	if (r == 0)
		r = trust_sha256_fd(fd, max, ret, e);
	return r < 0 ? err_context(e, "%s", path) : 0;
}

static int hand_run(const struct sys *s, const struct run_command *c, struct run_result *ret, struct err *e)
{
	(void)s;
	return run_program(c, ret, e);
}

static int hand_kexec_load(const struct sys *s, const char *kernel, const char *initrd, const char *command_line,
			   struct err *e)
{
	_cleanup_(fs_close) int kernel_fd = -1, initrd_fd = -1;
	uint64_t size;
	int r;

	if ((r = open_regular(s, kernel, &kernel_fd, &size, e)) < 0 ||
	    (initrd && (r = open_regular(s, initrd, &initrd_fd, &size, e)) < 0))
		return r;
	if (syscall(SYS_kexec_file_load, kernel_fd, initrd_fd, strlen(command_line) + 1, command_line,
		    initrd ? 0ul : (unsigned long)KEXEC_FILE_NO_INITRAMFS) < 0)
		return err_sys(e, errno, "the running kernel does not load %s", kernel);
	return 0;
}

static int hand_kexec_unload(const struct sys *s, struct err *e)
{
	(void)s;
	/* ENOSYS: a kernel that cannot load by file has nothing loaded by file; kexec -u is the caller's then. */
	if (syscall(SYS_kexec_file_load, -1, -1, 0ul, NULL, (unsigned long)KEXEC_FILE_UNLOAD) < 0)
		return err_sys(e, errno, "cannot unload the kernel that is loaded for kexec");
	return 0;
}

/* "6,339,5140900,-;text" and lines with fields, which begin with a blank. What user space wrote has a facility. */
static int add_record(const char *record, size_t len, struct buf *ret, struct err *e)
{
	const char *text = memchr(record, ';', len),
		   *end = text ? memchr(text, '\n', len - (size_t)(text - record)) : NULL;
	unsigned priority = 0;

	if (!end)
		return 0;
	for (const char *c = record; c < text && *c >= '0' && *c <= '9' && priority < 1000; c++)
		priority = priority * 10 + (unsigned)(*c - '0');
	if (priority >= 8)
		return 0;
	return buf_add(ret, text + 1, (size_t)(end - text), e);
}

static int hand_kernel_log(const struct sys *s, struct buf *ret, struct err *e)
{
	char full[PATH_MAX], record[RECORD_MAX];
	int r = full_path(s, "/dev/kmsg", full, e);

	if (r < 0)
		return r;
	_cleanup_(fs_close) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s", full);
	for (;;) {
		ssize_t n = read(fd, record, sizeof(record));

		/* EPIPE: records were overwritten under the reader, which goes on with the oldest that is left. */
		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_sys(e, errno, "cannot read %s", full);
		if (n == 0)
			return 0;
		if ((r = add_record(record, (size_t)n, ret, e)) == -EFBIG)
			return 0;
		if (r < 0)
			return r;
	}
}

const struct sys_hands sys_hands_linux = {
    .write = hand_write,
    .set = hand_set,
    .remove = hand_remove,
    .make_dir = hand_make_dir,
    .list = hand_list,
    .size = hand_size,
    .free_bytes = hand_free_bytes,
    .sha256 = hand_sha256,
    .run = hand_run,
    .kexec_load = hand_kexec_load,
    .kexec_unload = hand_kexec_unload,
    .kernel_log = hand_kernel_log,
};
