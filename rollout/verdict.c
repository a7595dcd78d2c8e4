// SPDX-License-Identifier: Apache-2.0
/* Owns the reading, comparing and judging of a rollout's recordings.
 * Must not know how they came in. */
#include "verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/braking.h"
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

/* What the boots of the new arm tell so far, or all of them, goes before the gate. */
static int brake(struct comparison *c, uint32_t blocks, struct brake *ret, struct err *e)
{
	struct brake_plan p;

	if (!braking_plan(c->plan, &p))
		return 0;
	int r = braking_look(c->plan, c->host, c->n_hosts, blocks, ret, e);
	if (r == 0)
		judge_brake(&c->verdict, ret);
	return r;
}

/* The gate, with the brake before it: after so many boots of the new arm, which need not be all. */
static int judge_files(const struct directive *d, const struct compare_file *file, size_t n, uint32_t blocks,
		       struct brake *ret_brake, struct store_verdict *ret, struct err *e)
{
	static struct comparison c; /* large */
	int r = compare(file, n, d->factor == FACTOR_KERNEL ? COMPARE_KERNELS : COMPARE_SETTINGS, &d->judge, d->name,
			&c, e);

	if (r < 0)
		return r;
	r = brake(&c, blocks, ret_brake, e);
	if (r == 0)
		r = write_out(&c, ret, e);
	ret->kind = c.verdict.kind;
	snprintf(ret->reason, sizeof(ret->reason), "%s", c.verdict.n_reasons > 0 ? c.verdict.reason[0] : "");
	comparison_free(&c);
	return r;
}

static int read_files(const struct store_recording_file *file, size_t n, struct compare_file **ret, struct err *e)
{
	struct compare_file *list = calloc(n ? n : 1, sizeof(*list));
	int r = list ? 0 : err_sys(e, ENOMEM, "judging %zu recordings", n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		list[i] = (struct compare_file){.path = file[i].path, .group = group_of(&file[i])};
		r = rec_file_read(file[i].path, &list[i].header, &list[i].sum, e);
	}
	if (r < 0)
		free(list);
	else
		*ret = list;
	return r;
}

/* What may pass by itself, and is no evidence. */
static bool passes(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

int verdict_make(const struct directive *d, const struct store_recording_file *file, size_t n,
		 struct store_verdict *ret, struct err *e)
{
	struct store_verdict v = {.json = BUF_INIT(JSON_MAX), .text = BUF_INIT(TABLES_MAX)};
	struct compare_file *list = NULL;
	struct brake b = {0};
	struct err why = {0};
	int r = read_files(file, n, &list, &why);

	if (r == 0)
		r = judge_files(d, list, n, d->judge.boots, &b, &v, &why);
	free(list);
	if (r < 0 && !passes(r))
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

int verdict_look(const struct directive *d, const struct store_recording_file *file, size_t n, uint32_t blocks,
		 struct verdict_look *ret, struct err *e)
{
	struct verdict_look look = {.verdict = {.json = BUF_INIT(JSON_MAX), .text = BUF_INIT(TABLES_MAX)}};
	struct compare_file *list = NULL;
	struct err why = {0};
	int r = read_files(file, n, &list, &why);

	if (r == 0)
		r = judge_files(d, list, n, blocks, &look.brake, &look.verdict, &why);
	free(list);
	/* Not all boots are there, so that of the gate nothing but HOLD can be meant. */
	look.fired = r == 0 && look.brake.state == BRAKE_FIRED;
	if (!look.fired)
		verdict_free(&look.verdict);
	if (r < 0 && passes(r)) {
		if (e)
			*e = why;
		return r;
	}
	if (r < 0)
		snprintf(look.blind, sizeof(look.blind), "%.*s", (int)sizeof(look.blind) - 1, why.text);
	*ret = look;
	return 0;
}
