// SPDX-License-Identifier: Apache-2.0
/* Owns the reading, comparing and judging of a rollout's recordings.
 * Must not know how they came in. */
#include "verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/compare.h"
#include "lib/report/rec_file.h"
#include "lib/report/table.h"
#include "lib/report/to_json.h"

#define JSON_MAX   (16u << 20)
#define TABLES_MAX (1u << 20)

void verdict_free(struct store_verdict *v)
{
	buf_free(&v->json);
	buf_free(&v->text);
}

/* Nothing was compared. The whole of why goes where the tables would be; the reason is cut. */
static int hold(struct store_verdict *ret, const char *why, struct err *e)
{
	verdict_free(ret);
	ret->kind = VERDICT_HOLD;
	snprintf(ret->reason, sizeof(ret->reason), "%.*s", (int)sizeof(ret->reason) - 1, why);
	return buf_addf(&ret->text, e, "%s\n", why);
}

static enum compare_group group_of(const struct store_recording_file *f)
{
	if (f->control)
		return f->arm == ARM_NEW ? GROUP_CONTROL_NEW : GROUP_CONTROL_OLD;
	return f->arm == ARM_NEW ? GROUP_NEW : GROUP_OLD;
}

static int write_out(const struct comparison *c, struct store_verdict *ret, struct err *e)
{
	int r = to_json_comparison(&ret->json, c, e);

	if (r == 0)
		r = table_comparison(&ret->text, c, e);
	return r < 0 ? r : table_verdict(&ret->text, c, false, e);
}

static int judge_files(const struct directive *d, const struct compare_file *file, size_t n, struct store_verdict *ret,
		       struct err *e)
{
	static struct comparison c; /* large */
	int r = compare(file, n, d->factor == FACTOR_KERNEL ? COMPARE_KERNELS : COMPARE_SETTINGS, &d->judge, d->name,
			&c, e);

	if (r < 0)
		return r;
	r = write_out(&c, ret, e);
	ret->kind = c.verdict.kind;
	snprintf(ret->reason, sizeof(ret->reason), "%s", c.verdict.n_reasons > 0 ? c.verdict.reason[0] : "");
	comparison_free(&c);
	return r;
}

int verdict_make(const struct directive *d, const struct store_recording_file *file, size_t n,
		 struct store_verdict *ret, struct err *e)
{
	struct store_verdict v = {.json = BUF_INIT(JSON_MAX), .text = BUF_INIT(TABLES_MAX)};
	struct compare_file *list = calloc(n ? n : 1, sizeof(*list));
	struct err why = {0};
	int r = list ? 0 : err_sys(&why, ENOMEM, "judging %zu recordings", n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		list[i] = (struct compare_file){.path = file[i].path, .group = group_of(&file[i])};
		r = rec_file_read(file[i].path, &list[i].header, &list[i].sum, &why);
	}
	if (r == 0)
		r = judge_files(d, list, n, &v, &why);
	free(list);
	if (r < 0 && r != -ENOMEM && r != -EMFILE && r != -ENFILE)
		r = hold(&v, why.text, e);
	else if (r < 0 && e)
		*e = why;
	if (r < 0) {
		verdict_free(&v);
		return r;
	}
	*ret = v;
	return 0;
}
