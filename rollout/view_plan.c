// SPDX-License-Identifier: Apache-2.0
/* Owns how a plan is shown before it is approved: host by host what would happen, and what stands against it.
 * Must not know how hosts are drawn or checked. */
#include "lib/report/text.h"
#include "reply.h"
#include "view.h"

static int join_steps(struct reply *r, const json_t *steps, struct buf *out, struct err *e)
{
	int bad = buf_add(out, "", 0, e);

	for (size_t i = 0; bad == 0 && i < json_array_size(steps); i++)
		bad = buf_addf(out, e, "%s%s", i ? "; " : "", reply_element(r, steps, i));
	return bad;
}

static int host_row(struct view *v, struct reply *r, const json_t *x, struct err *e)
{
	_cleanup_(buf_free) struct buf steps = BUF_INIT(1u << 20);
	char wave[VIEW_TEXT_MAX];
	int bad = join_steps(r, reply_list(r, x, "steps"), &steps, e);

	if (bad < 0)
		return bad;
	int64_t n = reply_int(r, x, "wave");
	const char *const cell[] = {reply_text(r, x, "name"), reply_text(r, x, "cluster"), reply_text(r, x, "role"),
				    n > 0 ? view_number(n, wave) : "", steps.data ? steps.data : ""};
	view_row(v, cell);
	return 0;
}

static int add_problems(struct reply *r, const json_t *problems, struct buf *out, struct err *e)
{
	size_t n = json_array_size(problems);
	int bad =
	    n == 0 ? buf_addf(out, e, "\nno problems\n") : buf_addf(out, e, "\n%zu problem%s:\n", n, n == 1 ? "" : "s");

	for (size_t i = 0; bad == 0 && i < n; i++)
		bad = text_wrap(out, "  - ", reply_element(r, problems, i), VIEW_WIDTH, e);
	return bad;
}

int view_plan(const json_t *plan, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {{"HOST", VIEW_LEFT},
						    {"CLUSTER", VIEW_LEFT},
						    {"ROLE", VIEW_LEFT},
						    {"WAVE", VIEW_RIGHT},
						    {"WHAT WOULD HAPPEN", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	struct reply r = {.e = e};
	const json_t *x;
	size_t i;
	int bad =
	    buf_addf(out, e, "%s changes the %s\n\n", reply_text(&r, plan, "name"), reply_text(&r, plan, "factor"));

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(&r, plan, "hosts"), i, x)
	{
		if (bad == 0)
			bad = host_row(&v, &r, x, e);
	}
	if (bad == 0)
		bad = view_end(&v, "no host is concerned", out, e);
	if (bad == 0)
		bad = add_problems(&r, reply_list(&r, plan, "problems"), out, e);
	return r.failed < 0 ? r.failed : bad;
}
