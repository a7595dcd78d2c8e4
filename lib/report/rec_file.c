// SPDX-License-Identifier: Apache-2.0
/* Owns a recording on disk, its temporary name and its final one.
 * Must not know how storms are measured, nor what is made of them. */
#include "rec_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/core/wire.h"

static int write_out(struct rec_file *f, const struct buf *b, const char *what, struct err *e)
{
	int r = fs_write_all(f->fd, b->data, b->len, e);

	if (r < 0)
		return err_context(e, "%s: writing %s", f->part, what);
	if (fsync(f->fd) < 0)
		return err_sys(e, errno, "%s: writing %s", f->part, what);
	return 0;
}

static int open_dir(const char *path, struct err *e)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	const char *dir = dirname(copy);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "cannot write %s: make the folder %s, or name another one", path, dir);
	return fd;
}

/* Only a regular file is ever replaced: as root, a rename would put a recording in the place of a device. */
static int check_target(const char *path, bool force, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EEXIST, "%s is there already and is no regular file: choose another name", path);
	if (!force)
		return err_set(e, EEXIST, "%s is there already: choose another name, or --force to replace it", path);
	return 0;
}

/* What is opened is not followed, waited for or changed before it is known to be a file that nobody else writes. The
 * lock goes with the recorder and its processes, however they end. */
static int lock_part(int fd, const char *part, struct err *e)
{
	struct stat opened, named;

	if (fstat(fd, &opened) < 0)
		return err_sys(e, errno, "%s", part);
	if (!S_ISREG(opened.st_mode))
		return err_set(e, EEXIST, "%s is there already and is no regular file: move it away", part);
	/* Some file systems know no locks; what is left there is the user's care. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(e, EBUSY,
			       "%s is being written by another recording: choose another name, or wait for its end",
			       part);
	/* Between open and lock, the other recording may have ended and given the file its final name. */
	if (lstat(part, &named) < 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return err_set(e, EBUSY, "%s was another recording's, which has just ended: try again", part);
	return ftruncate(fd, 0) < 0 ? err_sys(e, errno, "%s", part) : 0;
}

static int open_part(const char *part, bool force, struct err *e)
{
	int fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (force ? 0 : O_EXCL), 0644);

	if (fd < 0 && errno == EEXIST)
		return err_set(e, EEXIST,
			       "%s is there already, from a recording that was not finished: move it away, or --force "
			       "to replace it",
			       part);
	if (fd < 0)
		return err_sys(e, errno, "cannot create %s; name another file by --out", part);
	int r = lock_part(fd, part, e);
	if (r < 0)
		fs_close(&fd);
	return r < 0 ? r : fd;
}

int rec_file_create(struct rec_file *f, const char *path, bool force, const struct recording_header *h, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	int r, n;

	*f = (struct rec_file){.fd = -1, .dir_fd = -1, .force = force};
	n = snprintf(f->part, sizeof(f->part), "%s.part", path);
	if (path[0] == 0 || n < 0 || (size_t)n >= sizeof(f->part))
		return err_set(e, EINVAL, "\"%s\" cannot be a recording's name: it is empty or too long", path);
	snprintf(f->path, sizeof(f->path), "%s", path);
	if ((r = check_target(path, force, e)) < 0 || (r = wire_add_header(&b, h, e)) < 0)
		return r;
	if ((f->dir_fd = open_dir(path, e)) < 0)
		return f->dir_fd;
	r = f->fd = open_part(f->part, force, e);
	if (r >= 0)
		r = write_out(f, &b, "the header", e);
	if (r < 0)
		rec_file_abandon(f, e);
	return r;
}

int rec_file_add(struct rec_file *f, const struct recording_storm *storm, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(1u << 20);
	char what[32];
	int r = wire_add_storm(&b, storm, e);

	if (r < 0)
		return err_context(e, "%s: storm %u", f->part, storm->index);
	snprintf(what, sizeof(what), "storm %u", storm->index);
	off_t before = lseek(f->fd, 0, SEEK_CUR);
	if ((r = write_out(f, &b, what, e)) < 0) {
		/* What stays must end with a whole storm. */
		if (before < 0 || ftruncate(f->fd, before) < 0)
			err_context(e, "the last storm of the file is cut");
		return r;
	}
	f->storms++;
	return 0;
}

int rec_file_finish(struct rec_file *f, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	int r = wire_add_end(&b, f->storms, e);

	if (r < 0 || (r = write_out(f, &b, "the end", e)) < 0)
		return r;
	/* A file that came in the meantime is not ours to replace; file systems without the flag get a plain rename. */
	r = renameat2(AT_FDCWD, f->part, AT_FDCWD, f->path, f->force ? 0 : RENAME_NOREPLACE);
	if (r < 0 && (errno == EINVAL || errno == ENOSYS))
		r = rename(f->part, f->path);
	if (r < 0)
		return err_sys(e, errno, "naming %s %s", f->part, f->path);
	/* From here on there is no part that could be left behind. */
	fs_close(&f->fd);
	if (fsync(f->dir_fd) < 0)
		return err_sys(e, errno, "%s is written, but its directory could not be synced", f->path);
	fs_close(&f->dir_fd);
	return 0;
}

void rec_file_abandon(struct rec_file *f, struct err *e)
{
	if (f->fd >= 0 && f->storms == 0) {
		unlink(f->part);
	} else if (f->fd >= 0) {
		size_t used = strlen(e->text);

		snprintf(e->text + used, sizeof(e->text) - used, "; %u storm%s measured before %s in %s", f->storms,
			 f->storms == 1 ? "" : "s", f->storms == 1 ? "is" : "are", f->part);
	}
	fs_close(&f->fd);
	fs_close(&f->dir_fd);
}

int rec_file_parse(const char *name, const void *data, size_t len, struct recording_header *ret_header,
		   struct summary *ret_sum, struct err *e)
{
	struct recording_header header;
	struct wire_reader reader;
	int r = wire_open(&reader, data, len, &header, e);

	if (r < 0)
		return err_context(e, "%s", name);
	struct summary *sum = malloc(sizeof(*sum));
	struct recording_storm *storm = malloc(sizeof(*storm));
	if (!sum || !storm) {
		r = err_sys(e, ENOMEM, "%s", name);
	} else {
		summary_init(sum, &header);
		while ((r = wire_next(&reader, storm, e)) > 0)
			summary_add(sum, storm);
		if (r < 0)
			err_context(e, "%s", name);
	}
	if (r == 0) {
		summary_close(sum);
		*ret_sum = *sum;
		*ret_header = header;
	}
	free(sum);
	free(storm);
	return r;
}

int rec_file_read(const char *path, struct recording_header *ret_header, struct summary *ret_sum, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(WIRE_FILE_MAX);
	int r = fs_read(path, &b, e);

	return r < 0 ? r : rec_file_parse(path, b.data, b.len, ret_header, ret_sum, e);
}
