// SPDX-License-Identifier: Apache-2.0
/* Owns the short form of a comparison: verdict, reasons, each endpoint's ratio with its interval.
 * Must not know how it was compared: it shows the words and numbers of kpcp-canary's JSON. */
#include <math.h>
#include <stdio.h>

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

int view_verdict(const json_t *comparison, struct buf *out, struct err *e)
{
	struct reply r = {.e = e};

	if (!comparison)
		return buf_addf(out, e, "nothing was compared\n");
	const char *verdict = reply_text(&r, comparison, "verdict");
	const json_t *reasons = reply_list(&r, comparison, "reasons");
	int bad = buf_addf(out, e, "verdict: %s; ratios are canaries' over controls', above 1 is worse\n", verdict);

	for (size_t i = 0; bad == 0 && i < json_array_size(reasons); i++)
		bad = text_wrap(out, "  ", reply_element(&r, reasons, i), VIEW_WIDTH, e);
	if (bad == 0)
		bad = add_endpoints(&r, comparison, out, e);
	return r.failed < 0 ? r.failed : bad;
}
