// SPDX-License-Identifier: Apache-2.0
/* Owns the two slots of an A/A campaign, from file names to hosts with their boots.
 * Must not know what is learnt from them. */
#include "recordings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/rec_file.h"

void recordings_free(struct recordings *r)
{
	if (r->comparison.host)
		comparison_free(&r->comparison);
	free(r->file);
	*r = (struct recordings){0};
}

/* Hosts that stay as they are: what a comparison calls controls. */
static int split(struct recordings *r, int argc, char **argv, const char *command, struct err *e)
{
	enum compare_group group = GROUP_CONTROL_OLD;
	size_t in_group = 0;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0) {
			r->file[r->n++] = (struct compare_file){.path = argv[i], .group = group};
			in_group++;
			continue;
		}
		if (in_group == 0 || group == GROUP_CONTROL_NEW)
			break;
		group = GROUP_CONTROL_NEW;
		in_group = 0;
	}
	if (group == GROUP_CONTROL_OLD || in_group == 0)
		return err_set(
		    e, EINVAL,
		    "the two slots of unchanged hosts are needed, one -- between them; the form is: kpcp-canary "
		    "%s FIRST... -- SECOND...",
		    command);
	return 0;
}

int recordings_read_aa(struct recordings *ret, int argc, char **argv, const char *command, struct err *e)
{
	struct recordings r = {.plan = judge_plan_default};
	int code;

	r.file = calloc((size_t)argc + 1, sizeof(*r.file));
	code = r.file ? split(&r, argc, argv, command, e) : err_sys(e, ENOMEM, "reading %d recordings", argc);
	for (size_t i = 0; code == 0 && i < r.n; i++)
		code = rec_file_read(r.file[i].path, &r.file[i].header, &r.file[i].sum, e);
	*ret = r;
	if (code == 0)
		code = compare(ret->file, ret->n, COMPARE_KERNELS, &ret->plan, NULL, &ret->comparison, e);
	if (code < 0)
		recordings_free(ret);
	return code;
}

int recordings_spread(const struct recordings *r, struct spread *ret, struct err *e)
{
	struct spread_blocks blocks[ENDPOINT_COUNT] = {{0}};
	char probe[sizeof(r->file[0].header.shape.probe) + 1] = {0};

	memcpy(probe, r->file[0].header.shape.probe, sizeof(r->file[0].header.shape.probe));
	for (size_t i = 0; i < r->n; i++)
		for (int x = 0; x < ENDPOINT_COUNT; x++)
			spread_add_blocks(&blocks[x], &r->file[i].sum.block[x]);
	return spread_estimate(r->comparison.host, r->comparison.n_hosts, blocks, probe, ret, e);
}
