// SPDX-License-Identifier: Apache-2.0
/* Owns the use of libsmartcols, and the writing of times and ages.
 * Must not know what is shown. */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/report/text.h"

void view_start(struct view *v, const struct view_column *column, size_t n)
{
	*v = (struct view){.table = scols_new_table(), .n = n};
	if (!v->table) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int flags = column[i].kind == VIEW_RIGHT  ? SCOLS_FL_RIGHT
			    : column[i].kind == VIEW_LONG ? SCOLS_FL_WRAP
							  : 0;

		if (!scols_table_new_column(v->table, column[i].name, 0, flags))
			v->failed = true;
	}
}

void view_row(struct view *v, const char *const *cell)
{
	struct libscols_line *line = v->failed ? NULL : scols_table_new_line(v->table, NULL);

	if (!line) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < v->n; i++)
		if (scols_line_set_data(line, i, *cell[i] ? cell[i] : "-") < 0)
			v->failed = true;
}

void view_free(struct view *v)
{
	if (v->table)
		scols_unref_table(v->table);
	v->table = NULL;
}

int view_end(struct view *v, const char *none, struct buf *out, struct err *e)
{
	char *text = NULL;

	if (!v->failed && scols_table_is_empty(v->table))
		return buf_addf(out, e, "%s\n", none);
	if (v->failed || scols_print_table_to_string(v->table, &text) < 0 || !text || !*text)
		return err_sys(e, ENOMEM, "a table cannot be made");
	/* Most versions of libsmartcols leave the last line open. */
	int r = buf_addf(out, e, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
	free(text);
	return r;
}

int view_field(struct buf *out, const char *name, const char *value, struct err *e)
{
	char first[16];

	if (!*value)
		return 0;
	snprintf(first, sizeof(first), "%-10s", name);
	return text_wrap(out, first, value, VIEW_WIDTH, e);
}

const char *view_time(int64_t unix_s, char ret[VIEW_TEXT_MAX])
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	*ret = 0;
	if (unix_s > 0 && localtime_r(&t, &tm))
		strftime(ret, VIEW_TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm);
	return ret;
}

const char *view_age(int64_t age_s, char ret[VIEW_TEXT_MAX])
{
	*ret = 0;
	if (age_s >= 2 * 86400)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 " d", age_s / 86400);
	else if (age_s >= 2 * 3600)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 " h", age_s / 3600);
	else if (age_s >= 2 * 60)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 " min", age_s / 60);
	else if (age_s >= 0)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 " s", age_s);
	return ret;
}

const char *view_number(int64_t value, char ret[VIEW_TEXT_MAX])
{
	*ret = 0;
	if (value >= 0)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64, value);
	return ret;
}
