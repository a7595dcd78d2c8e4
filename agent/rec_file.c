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

	return fd < 0 ? err_sys(e, errno, "%s", dir) : fd;
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
	if (!force && access(path, F_OK) == 0)
		return err_set(e, EEXIST, "%s is there already: choose another name, or --force to replace it", path);
	if ((r = wire_add_header(&b, h, e)) < 0)
		return r;
	if ((f->dir_fd = open_dir(path, e)) < 0)
		return f->dir_fd;
	f->fd = open(f->part, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0644);
	if (f->fd < 0 && errno == EEXIST)
		r = err_set(e, EEXIST,
			    "%s is there already, from a recording that was not finished: move it away, or --force to "
			    "replace it",
			    f->part);
	else if (f->fd < 0)
		r = err_sys(e, errno, "%s", f->part);
	else
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
	if (fsync(f->dir_fd) < 0)
		return err_sys(e, errno, "%s is written, but its directory could not be synced", f->path);
	fs_close(&f->fd);
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

int rec_file_read(const char *path, struct recording_header *ret_header, struct summary *ret_sum, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(WIRE_FILE_MAX);
	struct recording_header header;
	struct wire_reader reader;
	int r = fs_read(path, &b, e);

	if (r < 0)
		return r;
	if ((r = wire_open(&reader, b.data, b.len, &header, e)) < 0)
		return err_context(e, "%s", path);
	struct summary *sum = malloc(sizeof(*sum));
	struct recording_storm *storm = malloc(sizeof(*storm));
	if (!sum || !storm) {
		r = err_sys(e, ENOMEM, "%s", path);
	} else {
		summary_init(sum, &header);
		while ((r = wire_next(&reader, storm, e)) > 0)
			summary_add(sum, storm);
		if (r < 0)
			err_context(e, "%s", path);
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
