// SPDX-License-Identifier: Apache-2.0
/* Owns how the controller's events are shown: one line each.
 * Must not know what an event means. */
#include "reply.h"
#include "view.h"

int view_events(const json_t *list, size_t max, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {
	    {"TIME", VIEW_LEFT}, {"ROLLOUT", VIEW_LEFT}, {"HOST", VIEW_LEFT}, {"WHAT HAPPENED", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	struct reply r = {.e = e};
	char at[VIEW_TEXT_MAX];
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(list, i, x)
	{
		if (i >= max)
			break;
		const char *const cell[] = {view_time(reply_int(&r, x, "at_unix_s"), at), reply_text(&r, x, "rollout"),
					    reply_text(&r, x, "host"), reply_text(&r, x, "text")};
		view_row(&v, cell);
	}
	int bad = view_end(&v, "no events", out, e);
	return r.failed < 0 ? r.failed : bad;
}
