// SPDX-License-Identifier: Apache-2.0
/* Owns the table, the curve and the JSON of a campaign's planning.
 * Must not know files or command lines. */
#include "planning.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "curve.h"
#include "table.h"
#include "text.h"

static const uint32_t boots_shown[] = {1, 2, 4, 8, 16};
static const double ratios_shown[] = {1.6, 1.75, 2, 3, 5, 10};

static double sd_of(const struct planning *p, uint32_t boots)
{
	return power_difference_sd(&p->spread, boots);
}

static double hosts_of(const struct planning *p, uint32_t boots)
{
	return power_hosts(sd_of(p, boots), p->margin, p->ratio, p->alpha, p->power, p->least);
}

static double power_of(const struct planning *p, uint32_t boots, double canaries, double controls)
{
	return power_promote(sd_of(p, boots), canaries, controls, p->margin, p->ratio, p->alpha);
}

static const char *count(double n, char ret[TEXT_MAX])
{
	if (!isfinite(n))
		snprintf(ret, TEXT_MAX, "never");
	else
		text_count((uint64_t)n, ret);
	return ret;
}

static int add_setup(struct buf *out, const struct planning *p, struct err *e)
{
	char text[512];

	snprintf(
	    text, sizeof(text),
	    "%s within %g%% of the old kernel, proven at %g with power %g%% where the truth is %g times the old one. "
	    "Spread (%s): boots %.3g%%, hosts x kernel %.3g%%.",
	    p->endpoint, p->margin * 100, p->alpha, p->power * 100, p->ratio, p->spread_from, p->spread.boot_sd * 100,
	    p->spread.host_sd * 100);
	return text_wrap(out, "", text, TABLE_WIDTH, e);
}

static int add_hosts(struct buf *out, const struct planning *p, struct err *e)
{
	char here[TEXT_MAX];
	int r;

	snprintf(here, sizeof(here), "at %u/%u", p->canaries, p->controls);
	r = buf_addf(out, e, "\n%-16s%10s%14s%16s%14s\n", "boots a kernel", "sd of D", "hosts an arm", "boots in all",
		     here);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(boots_shown); i++) {
		uint32_t b = boots_shown[i];
		double n = hosts_of(p, b);
		char hosts[TEXT_MAX], all[TEXT_MAX];

		/* Two kernels' slots on two arms. */
		r = buf_addf(out, e, "%-16u%9.2f%%%14s%16s%13.1f%%\n", b, sd_of(p, b) * 100, count(n, hosts),
			     count(n * 4 * b, all), power_of(p, b, p->canaries, p->controls) * 100);
	}
	return r < 0 ? r
		     : text_wrap(
			   out, "",
			   "hosts an arm: as many canaries as controls; boots in all: of both kernels on all hosts; "
			   "the last column: the chance of PROMOTE with so many canaries and controls.",
			   TABLE_WIDTH, e);
}

/* The step is chosen so that what is needed lies well inside. */
static int add_curve(struct buf *out, const struct planning *p, const struct picture_style *style, struct err *e)
{
	enum { POINTS = 60 };
	double share[POINTS], need = hosts_of(p, p->boots);
	double step = isfinite(need) ? fmax(1, ceil(1.6 * need / POINTS)) : 10;
	char title[128], unit[64];
	int r = buf_add(out, "\n", 1, e);

	for (int i = 0; i < POINTS; i++) {
		double n = 2 + step * i;

		share[i] = n < p->least ? 0 : power_of(p, p->boots, n, n);
	}
	snprintf(title, sizeof(title), "chance of PROMOTE with %u boot%s a kernel, against hosts an arm", p->boots,
		 p->boots == 1 ? "" : "s");
	snprintf(unit, sizeof(unit), "hosts an arm");
	const struct curve c = {
	    .title = title, .unit = unit, .share = share, .x_first = 2, .x_step = step, .n = POINTS, .mark = p->power};
	return r < 0 ? r : curve_draw(out, &c, style, e);
}

/* Nobody counts an hour in seconds. */
static const char *time_of(double s, char ret[TEXT_MAX])
{
	if (!isfinite(s))
		snprintf(ret, TEXT_MAX, "never");
	else if (s < 120)
		snprintf(ret, TEXT_MAX, "%.0f s", s);
	else if (s < 7200)
		snprintf(ret, TEXT_MAX, "%.0f min", s / 60);
	else
		snprintf(ret, TEXT_MAX, "%.1f h", s / 3600);
	return ret;
}

static int add_brake(struct buf *out, const struct planning *p, struct err *e)
{
	char text[512];
	int r = buf_add(out, "\n", 1, e);

	if (p->canaries < 2 || p->controls < 1)
		return r < 0 ? r
			     : text_wrap(out, "", "The brake needs at least 2 canaries and 1 control.", TABLE_WIDTH, e);
	snprintf(text, sizeof(text),
		 "The brake with %u canaries, %u controls and blocks of %g s, at most %.3g%% apart from block to block "
		 "of one "
		 "host (%s): within how many blocks a slowdown is taken back, in one of two cases and in nine of ten.",
		 p->canaries, p->controls, p->block_s, p->brake.block_sd * 100,
		 p->brake_bounded ? "the A/A history's upper end" : "assumed; --block-sd or --spread say better");
	if (r == 0)
		r = text_wrap(out, "", text, TABLE_WIDTH, e);
	if (r == 0)
		r = buf_addf(out, e, "%-16s%10s%10s%14s\n", "slowdown", "half", "nine", "nine, in time");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ratios_shown); i++) {
		double half = brake_blocks_needed(&p->brake, ratios_shown[i], 0.5);
		double nine = brake_blocks_needed(&p->brake, ratios_shown[i], 0.9);
		char ratio[TEXT_MAX], a[TEXT_MAX], b[TEXT_MAX], time[TEXT_MAX];

		snprintf(ratio, sizeof(ratio), "%g times", ratios_shown[i]);
		r = buf_addf(out, e, "%-16s%10s%10s%14s\n", ratio, count(half, a), count(nine, b),
			     time_of(nine * p->block_s, time));
	}
	if (r == 0) {
		/* Where the drift of ln E turns: halfway between what is tolerated and what is aimed at. */
		snprintf(
		    text, sizeof(text),
		    "never: at or below %.3g times the brake only fires by chance; such slowdowns are the judge's.",
		    sqrt(p->brake.tolerated * p->brake.aim));
		r = text_wrap(out, "", text, TABLE_WIDTH, e);
	}
	return r;
}

int planning_text(struct buf *out, const struct planning *p, const struct picture_style *style, struct err *e)
{
	int r = add_setup(out, p, e);

	if (r == 0)
		r = add_hosts(out, p, e);
	if (r == 0)
		r = add_curve(out, p, style, e);
	return r < 0 ? r : add_brake(out, p, e);
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *whole(double x)
{
	return isfinite(x) ? json_integer((json_int_t)x) : json_null();
}

int planning_json(struct buf *out, const struct planning *p, struct err *e)
{
	json_t *boots = json_array(), *brake = json_array();
	bool blind = p->canaries < 2 || p->controls < 1;

	for (size_t i = 0; i < ARRAY_SIZE(boots_shown); i++) {
		uint32_t b = boots_shown[i];

		json_array_append_new(
		    boots, json_pack("{si so so so so}", "boots", (int)b, "difference_sd", number(sd_of(p, b)),
				     "hosts_needed", whole(hosts_of(p, b)), "hosts_needed_normal",
				     whole(power_hosts_normal(sd_of(p, b), p->margin, p->ratio, p->alpha, p->power)),
				     "power", number(power_of(p, b, p->canaries, p->controls))));
	}
	for (size_t i = 0; !blind && i < ARRAY_SIZE(ratios_shown); i++)
		json_array_append_new(brake, json_pack("{so so so}", "ratio", number(ratios_shown[i]), "blocks_median",
						       whole(brake_blocks_needed(&p->brake, ratios_shown[i], 0.5)),
						       "blocks_p90",
						       whole(brake_blocks_needed(&p->brake, ratios_shown[i], 0.9))));
	json_t *root =
	    json_pack("{ss ss so so so so so so so si si si so so}", "format", "kpcp-plan/1", "endpoint", p->endpoint,
		      "boot_sd", number(p->spread.boot_sd), "host_sd", number(p->spread.host_sd), "block_sd",
		      number(p->brake.block_sd), "margin", number(p->margin), "ratio", number(p->ratio), "alpha",
		      number(p->alpha), "power", number(p->power), "canaries", (int)p->canaries, "controls",
		      (int)p->controls, "boots", (int)p->boots, "by_boots", boots, "brake", brake);
	char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
	int r = text ? buf_addf(out, e, "%s\n", text)
		     : err_set(e, ENOMEM, "this could not be written as JSON: memory ran out");

	free(text);
	json_decref(root);
	return r;
}
