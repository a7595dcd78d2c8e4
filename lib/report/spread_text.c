// SPDX-License-Identifier: Apache-2.0
/* Owns the words, columns and JSON names of an A/A campaign's result.
 * Must not know files or how a spread is estimated. */
#include "spread_text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"
#include "text.h"

static const char *percent(double sd, char ret[TEXT_MAX])
{
	snprintf(ret, TEXT_MAX, isnan(sd) ? "-" : "%.2f%%", sd * 100);
	return ret;
}

static int add_row(struct buf *out, const char *name, const struct spread_endpoint *s, struct err *e)
{
	char boot[TEXT_MAX], boot_up[TEXT_MAX], host[TEXT_MAX], d[TEXT_MAX], d_up[TEXT_MAX], b[TEXT_MAX],
	    b_up[TEXT_MAX];

	return buf_addf(out, e, "%-9s%8s%9s%10s%10s%10s%10s%10s\n", name, percent(s->boot_sd, boot),
			percent(s->boot_sd_upper, boot_up), percent(s->host_sd, host), percent(s->difference_sd, d),
			percent(s->difference_sd_upper, d_up), percent(s->block_sd, b),
			percent(s->block_sd_upper, b_up));
}

static int add_splits(struct buf *out, const struct spread_report *r, struct err *e)
{
	const struct spread_splits *s = &r->splits;
	char text[512];

	if (s->n == 0)
		return text_wrap(out, "",
				 "Fewer than 4 hosts: they cannot be divided into canaries and controls to be judged "
				 "against each other.",
				 TABLE_WIDTH, e);
	snprintf(
	    text, sizeof(text),
	    "Judged against each other, divided by lot %u times: %u PROMOTE, %u ROLLBACK, %u HOLD. ROLLBACK is a false "
	    "alarm here, and rare where the judge is right (at most %.3g of all); HOLD means that so many hosts cannot "
	    "prove so small a margin (`kpcp-canary plan` says how many can).",
	    s->n, s->verdict[VERDICT_PROMOTE], s->verdict[VERDICT_ROLLBACK], s->verdict[VERDICT_HOLD],
	    r->plan->alpha_rollback);
	return text_wrap(out, "", text, TABLE_WIDTH, e);
}

/* A rollout's plan is signed, so what the brake takes hosts to be like stands in it, not beside it. Var of a block is
 * boot_sd^2, and what all of a host's B blocks share, boot_sd^2 / B of its baseline and host_sd^2, counts B times, for
 * it does not average out: 2 boot_sd^2 + B host_sd^2, of the endpoint that spreads most and for the most boots. */
static int add_brake(struct buf *out, const struct spread *s, struct err *e)
{
	double most = 0;

	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		const struct spread_endpoint *p = &s->endpoint[x];
		double v = 2 * p->boot_sd_upper * p->boot_sd_upper + JUDGE_BOOTS_MAX * p->host_sd * p->host_sd;

		if (isfinite(v))
			most = fmax(most, v);
	}
	/* Rounded up: it is a bound. */
	return most > 0 ? buf_addf(out, e, "for the brake, in a rollout's plan under [judge]: brake-sd = %.2f%%\n",
				   fmax(ceil(sqrt(most) * 1e4) / 100, 0.1))
			: 0;
}

int spread_text(struct buf *out, const struct spread_report *r, struct err *e)
{
	const struct spread *s = r->spread;
	int code = buf_addf(out, e,
			    "%u unchanged hosts, %u boot%s or more in each of two slots, by %s\n"
			    "standard deviations of ln, as shares of the value; \"up to\": one-sided, 95%%\n\n"
			    "%-9s%8s%9s%10s%10s%10s%10s%10s\n",
			    s->hosts, s->boots, s->boots == 1 ? "" : "s", s->probe, "", "boots", "up to", "hosts",
			    "old-new", "up to", "storms", "up to");

	for (int x = 0; code == 0 && x < ENDPOINT_COUNT; x++)
		code = add_row(out, endpoint_name((enum endpoint)x), &s->endpoint[x], e);
	if (code == 0 && s->boots < 2)
		code =
		    text_wrap(out, "",
			      "With one boot in each slot, boots and hosts cannot be told apart: all spread counts as "
			      "the boots'.",
			      TABLE_WIDTH, e);
	if (code == 0)
		code = buf_add(out, "\n", 1, e);
	if (code == 0)
		code = add_splits(out, r, e);
	if (code < 0)
		return code;
	code = r->file ? buf_addf(out, e, "\nwritten to %s: a judge's plan names it by spread = FILE\n", r->file)
		       : buf_addf(out, e, "\nnothing is written; --out FILE keeps it for plans\n");
	return code < 0 ? code : add_brake(out, s, e);
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

int spread_json(struct buf *out, const struct spread_report *r, struct err *e)
{
	const struct spread *s = r->spread;
	json_t *root = json_object(), *list = json_array(), *splits = json_null();
	int failed = 0;

	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		const struct spread_endpoint *p = &s->endpoint[x];

		failed |= json_array_append_new(
		    list, json_pack("{ss so so so so so so so}", "name", endpoint_name((enum endpoint)x), "boot_sd",
				    number(p->boot_sd), "boot_sd_upper", number(p->boot_sd_upper), "host_sd",
				    number(p->host_sd), "difference_sd", number(p->difference_sd),
				    "difference_sd_upper", number(p->difference_sd_upper), "block_sd",
				    number(p->block_sd), "block_sd_upper", number(p->block_sd_upper)));
	}
	if (r->splits.n > 0)
		splits = json_pack(
		    "{si si si si}", "n", (int)r->splits.n, "promote", (int)r->splits.verdict[VERDICT_PROMOTE],
		    "rollback", (int)r->splits.verdict[VERDICT_ROLLBACK], "hold", (int)r->splits.verdict[VERDICT_HOLD]);
	failed |= json_object_set_new(root, "format", json_string("kpcp-aa/1"));
	failed |= json_object_set_new(root, "probe", json_string(s->probe));
	failed |= json_object_set_new(root, "hosts", json_integer(s->hosts));
	failed |= json_object_set_new(root, "boots", json_integer(s->boots));
	failed |= json_object_set_new(root, "endpoints", list);
	failed |= json_object_set_new(root, "splits", splits);
	failed |= json_object_set_new(root, "file", r->file ? json_string(r->file) : json_null());
	char *text = failed ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	int code = text ? buf_addf(out, e, "%s\n", text)
			: err_set(e, ENOMEM,
				  "this could not be written as JSON: memory ran out, or a file's name is "
				  "not UTF-8");

	free(text);
	json_decref(root);
	return code;
}
