// SPDX-License-Identifier: Apache-2.0
/* Owns a main for the fuzz targets that runs the files of one directory through them, once each: an ordinary test.
 * Must not know any target, and needs no fuzzing engine. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"

#define INPUT_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *x)
{
	return x->d_name[0] != '.';
}

static int replay(const char *dir, const char *name, struct err *e)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT(4096);
	_cleanup_(buf_free) struct buf input = BUF_INIT(INPUT_MAX);
	int r = buf_addf(&path, e, "%s/%s", dir, name);
	if (r == 0)
		r = fs_read(path.data, &input, e);
	if (r < 0)
		return r;
	/* Named before it runs: an abort in the target leaves the culprit on the last line. */
	printf("%s\n", path.data);
	fflush(stdout);
	LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.len);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "Usage: %s DIRECTORY\n", argv[0]);
		return 1;
	}
	struct dirent **list;
	int n = scandir(argv[1], &list, is_input, alphasort);
	if (n <= 0) {
		fprintf(stderr, "replay: no inputs in %s: %s\n", argv[1], n < 0 ? strerror(errno) : "it is empty");
		return 1;
	}

	struct err e = {0};
	int r = 0;
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = replay(argv[1], list[i]->d_name, &e);
		free(list[i]);
	}
	free(list);
	if (r < 0) {
		fprintf(stderr, "replay: %s\n", e.text);
		return 1;
	}
	printf("%d inputs replayed\n", n);
	return 0;
}
