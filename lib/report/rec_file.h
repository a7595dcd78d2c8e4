// SPDX-License-Identifier: Apache-2.0
/* Owns a recording on disk: written storm by storm under a temporary name, read back whole.
 * Must not know how storms are measured, nor what is made of them. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/core/recording.h"
#include "lib/core/summary.h"

/* A recording that is being written: everything goes to <path>.part, which gets its name when it is complete.
 * {.fd = -1} is none. */
struct rec_file {
	int fd;
	int dir_fd;
	bool force;
	uint32_t storms;
	char path[PATH_MAX];
	char part[PATH_MAX];
};

/* -EEXIST, naming it, when path or its .part is there; force replaces both, where they are regular files. -EBUSY when
 * another recording is writing the .part. */
int must_check rec_file_create(struct rec_file *f, const char *path, bool force, const struct recording_header *h,
			       struct err *e);
int must_check rec_file_add(struct rec_file *f, const struct recording_storm *storm, struct err *e);
/* Writes the end and gives the file its name. */
int must_check rec_file_finish(struct rec_file *f, struct err *e);
/* After a failure: closes; leaves a .part that has storms and says so at the end of e, removes one that has none. */
void rec_file_abandon(struct rec_file *f, struct err *e);

/* Reads a whole recording; its storms are merged into *sum. Both outputs untouched on failure; messages name path. */
int must_check rec_file_read(const char *path, struct recording_header *ret_header, struct summary *ret_sum,
			     struct err *e);
/* The same from memory; name stands for the path in messages. */
int must_check rec_file_parse(const char *name, const void *data, size_t len, struct recording_header *ret_header,
			      struct summary *ret_sum, struct err *e);
