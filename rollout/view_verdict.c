// SPDX-License-Identifier: Apache-2.0
/* Owns the short form of a comparison: verdict, reasons, each endpoint's ratio with its interval.
 * Must not know how it was compared: it shows the words and numbers of kpcp-canary's JSON. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/report/text.h"
#include "reply.h"
#include "view.h"

static void endpoint_row(struct view *v, struct reply *r, const json_t *x)
{
	char ratio[TEXT_MAX], lower[TEXT_MAX], upper[TEXT_MAX], limit[TEXT_MAX], interval[2 * TEXT_MAX + 8];
	double low = reply_real(r, x, "lower"), high = reply_real(r, x, "upper");
	bool judged = reply_bool(r, x, "judged");

	text_ratio(reply_real(r, x, "ratio"), ratio);
	text_ratio(reply_real(r, x, "limit"), limit);
	snprintf(interval, sizeof(interval), "%s to %s", text_ratio(low, lower), text_ratio(high, upper));
	const char *const cell[] = {reply_text(r, x, "name"), ratio, isnan(low) && isnan(high) ? "" : interval,
				    judged ? limit : "", reply_text(r, x, "decision")};
	view_row(v, cell);
}

static int add_endpoints(struct reply *r, const json_t *comparison, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {{"ENDPOINT", VIEW_LEFT},
						    {"RATIO", VIEW_RIGHT},
						    {"INTERVAL", VIEW_RIGHT},
						    {"LIMIT", VIEW_RIGHT},
						    {"DECISION", VIEW_LEFT}};
	_cleanup_(view_free) struct view v;
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(r, comparison, "endpoints"), i, x) endpoint_row(&v, r, x);
	return view_end(&v, "no endpoint was compared", out, e);
}

/* "p99: ratio 0.970 to the controls, ...": the table has it, too. */
static bool in_table(const json_t *endpoints, const char *reason)
{
	const json_t *x;
	size_t i;

	json_array_foreach(endpoints, i, x)
	{
		const char *name = json_string_value(json_object_get(x, "name"));
		size_t len = name ? strlen(name) : 0;

		if (len > 0 && strncmp(reason, name, len) == 0 && strncmp(reason + len, ": ratio ", 8) == 0)
			return true;
	}
	return false;
}

static int add_reasons(struct reply *r, const json_t *comparison, struct buf *out, struct err *e)
{
	const json_t *reasons = reply_list(r, comparison, "reasons"), *x = reply_list(r, comparison, "endpoints");
	int bad = 0;

	for (size_t i = 0; bad == 0 && i < json_array_size(reasons); i++) {
		const char *reason = reply_element(r, reasons, i);

		if (!in_table(x, reason))
			bad = text_wrap(out, "  ", reason, VIEW_WIDTH, e);
	}
	return bad;
}

int view_verdict(const json_t *comparison, struct buf *out, struct err *e)
{
	struct reply r = {.e = e};

	if (!comparison)
		return buf_addf(out, e, "nothing was compared\n");
	const char *verdict = reply_text(&r, comparison, "verdict");
	int bad = buf_addf(out, e, "verdict: %s; ratios are canaries' over controls', above 1 is worse\n", verdict);

	if (bad == 0)
		bad = add_reasons(&r, comparison, out, e);
	if (bad == 0)
		bad = add_endpoints(&r, comparison, out, e);
	return r.failed < 0 ? r.failed : bad;
}
