// SPDX-License-Identifier: Apache-2.0
/* Owns the picture of latency distributions: its axis, its columns, its marks.
 * Must not know terminals, recordings or verdicts. */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define MARGIN     1u /* blank columns on the left */
#define HEIGHT     5u /* lines of a panel */
#define PANELS_MAX 4u
#define RANGE_MIN  2.0 /* the axis spans at least this factor */

/* How one picture is drawn. */
struct canvas {
	const struct picture_style *style;
	unsigned columns;
	double low, high; /* ln of ns at the left edge and at the right one */
	double peak;      /* the largest share of a column in any panel */
};

struct glyphs {
	const char *fill[9]; /* of a cell, by eighths */
	const char *mark, *line, *tick, *pointer;
};

static const struct glyphs blocks = {
    .fill = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
    .mark = "┊",
    .line = "─",
    .tick = "┬",
    .pointer = "▲",
};

/* Three heights in a cell are what ASCII has: low, half, full. */
static const struct glyphs ascii = {
    .fill = {" ", ".", ".", ".", ":", ":", ":", "#", "#"},
    .mark = "|",
    .line = "-",
    .tick = "+",
    .pointer = "^",
};

static const struct glyphs *glyphs(const struct canvas *c)
{
	return c->style->utf8 ? &blocks : &ascii;
}

static const char *paint(const struct canvas *c, unsigned panel)
{
	static const char *const colour[PANELS_MAX] = {"\033[36m", "\033[35m", "\033[34m", "\033[33m"};

	return c->style->colour ? colour[panel] : "";
}

static const char *plain(const struct canvas *c)
{
	return c->style->colour ? "\033[0m" : "";
}

/* The axis spans all panels' buckets, and a little more on both sides. */
static void choose_range(struct canvas *c, const struct picture_panel *panel, size_t n)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t p = 0; p < n; p++) {
		for (unsigned i = 0; i < HIST_BUCKETS; i++) {
			if (panel[p].hist->bucket[i] == 0)
				continue;
			low = fmin(low, log((double)hist_lower_ns(i)));
			high = fmax(high, log((double)hist_lower_ns(i + 1)));
		}
	}
	if (!isfinite(low)) {
		low = log(1e3);
		high = log(1e6);
	}
	double pad = fmax(0.03 * (high - low), (log(RANGE_MIN) - (high - low)) / 2);
	c->low = low - pad;
	c->high = high + pad;
}

static double column_of(const struct canvas *c, double ln_ns)
{
	return (ln_ns - c->low) / (c->high - c->low) * c->columns;
}

/* Each bucket's count is spread evenly over the columns that the bucket covers: with columns finer than buckets
 * there are neither gaps nor combs. */
static void fill_shares(const struct canvas *c, const struct hist *h, double *share)
{
	memset(share, 0, c->columns * sizeof(*share));
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		double from = column_of(c, log((double)hist_lower_ns(i)));
		double to = column_of(c, log((double)hist_lower_ns(i + 1)));
		double density = (double)h->bucket[i] / (double)h->count / (to - from);

		for (unsigned x = (unsigned)from; x < c->columns && x < to; x++)
			share[x] += density * (fmin(to, x + 1) - fmax(from, x));
	}
}

/* Column of the p99; -1 where there is none. */
static int p99_column(const struct canvas *c, const struct hist *h)
{
	struct err e;
	double ns;

	if (hist_quantile(h, 0.99, &ns, &e) < 0 || ns <= 0)
		return -1;
	int x = (int)column_of(c, log(ns));
	return x >= 0 && x < (int)c->columns ? x : -1;
}

static int draw_bars(struct buf *out, const struct canvas *c, unsigned number, const double *share, int p99,
		     struct err *e)
{
	for (unsigned line = HEIGHT; line-- > 0;) {
		char text[PICTURE_WIDTH_MAX * 4 + 1];
		size_t len = 0, used = 0;

		for (unsigned x = 0; x < c->columns; x++) {
			double height = share[x] > 0 ? fmax(1, round(sqrt(share[x] / c->peak) * HEIGHT * 8)) : 0;
			int eighths = (int)fmin(8, fmax(0, height - 8.0 * line));
			const char *g = glyphs(c)->fill[eighths];

			if (eighths == 0 && (int)x == p99)
				g = glyphs(c)->mark;
			memcpy(text + len, g, strlen(g));
			len += strlen(g);
			if (strcmp(g, " ") != 0)
				used = len; /* no blanks at the ends of lines */
		}
		text[used] = 0;
		int r = used ? buf_addf(out, e, "%*s%s%s%s\n", (int)MARGIN, "", paint(c, number), text, plain(c))
			     : buf_add(out, "\n", 1, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Decades; 2 and 5 of each where few are shown; all digits where not even one is. */
static bool is_tick(const struct canvas *c, int digit)
{
	double span = c->high - c->low;

	return digit == 1 || ((digit == 2 || digit == 5) && span < log(300)) || span < log(8);
}

/* Calls fn for every tick inside, from left to right. */
static void each_tick(const struct canvas *c, void (*fn)(const struct canvas *c, unsigned x, double ns, void *target),
		      void *target)
{
	for (int decade = 1; decade < 12; decade++) {
		for (int digit = 1; digit < 10; digit++) {
			double ns = digit * pow(10, decade), x = column_of(c, log(ns));

			if (is_tick(c, digit) && x >= 0 && x < c->columns)
				fn(c, (unsigned)x, ns, target);
		}
	}
}

static void mark_tick(const struct canvas *c, unsigned x, double ns, void *target)
{
	const char **cell = target;

	(void)ns;
	cell[x] = glyphs(c)->tick;
}

static int draw_axis(struct buf *out, const struct canvas *c, int p99, struct err *e)
{
	const char *cell[PICTURE_WIDTH_MAX];
	int r = buf_addf(out, e, "%*s", (int)MARGIN, "");

	for (unsigned x = 0; x < c->columns; x++)
		cell[x] = glyphs(c)->line;
	each_tick(c, mark_tick, cell);
	if (p99 >= 0)
		cell[p99] = glyphs(c)->pointer;
	for (unsigned x = 0; r == 0 && x < c->columns; x++)
		r = buf_add(out, cell[x], strlen(cell[x]), e);
	return r < 0 ? r : buf_add(out, "\n", 1, e);
}

struct label_line {
	char text[PICTURE_WIDTH_MAX + TEXT_MAX];
	size_t len;
};

/* Under its tick and centred, where the one before leaves room. */
static void add_label(const struct canvas *c, unsigned x, double ns, void *target)
{
	struct label_line *l = target;
	char label[TEXT_MAX];
	const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
	double size = ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9;
	size_t len = (size_t)snprintf(label, sizeof(label), "%.0f %s", ns / size, unit);
	size_t at = MARGIN + x > len / 2 ? MARGIN + x - len / 2 : 0;

	if (at + len > MARGIN + c->columns)
		at = MARGIN + c->columns - len;
	if (l->len > 0 && at < l->len + 2)
		return;
	memset(l->text + l->len, ' ', at - l->len);
	memcpy(l->text + at, label, len);
	l->len = at + len;
	l->text[l->len] = 0;
}

static int draw_labels(struct buf *out, const struct canvas *c, struct err *e)
{
	struct label_line l = {.len = 0};

	each_tick(c, add_label, &l);
	return buf_addf(out, e, "%s\n", l.text);
}

/* The label on the left, the quantiles on the right. */
static int draw_title(struct buf *out, const struct canvas *c, unsigned number, const struct picture_panel *p,
		      struct err *e)
{
	char p50[TEXT_MAX], p99[TEXT_MAX], p999[TEXT_MAX], right[4 * TEXT_MAX + 64];
	uint64_t outside = p->hist->under + p->hist->over;
	char n[TEXT_MAX];

	if (p->hist->count == 0)
		snprintf(right, sizeof(right), "no operations");
	else
		snprintf(right, sizeof(right), "%s%sp50 %s  p99 %s  p99.9 %s", outside ? text_count(outside, n) : "",
			 outside ? " out of range  " : "", text_quantile(p->hist, 0.5, p50),
			 text_quantile(p->hist, 0.99, p99), text_quantile(p->hist, 0.999, p999));
	size_t room = c->columns > strlen(right) + 2 ? c->columns - strlen(right) - 2 : 8;
	return buf_addf(out, e, "%*s%s%-*.*s%s  %s\n", (int)MARGIN, "", paint(c, number), (int)room, (int)room,
			p->label, plain(c), right);
}

static int draw_panel(struct buf *out, const struct canvas *c, unsigned number, const struct picture_panel *p,
		      struct err *e)
{
	double share[PICTURE_WIDTH_MAX];
	int p99 = p99_column(c, p->hist);
	int r = draw_title(out, c, number, p, e);

	fill_shares(c, p->hist, share);
	if (r == 0)
		r = draw_bars(out, c, number, share, p99, e);
	return r < 0 ? r : draw_axis(out, c, p99, e);
}

int picture_draw(struct buf *out, const struct picture_panel *panel, size_t n, const struct picture_style *style,
		 struct err *e)
{
	struct canvas c = {.style = style, .columns = style->width - MARGIN, .peak = 0};
	double share[PICTURE_WIDTH_MAX];
	int r = 0;

	if (n < 1 || n > PANELS_MAX || style->width < PICTURE_WIDTH_MIN || style->width > PICTURE_WIDTH_MAX)
		return err_set(e, EINVAL, "a picture of %zu panels, %u columns wide, cannot be drawn", n, style->width);
	choose_range(&c, panel, n);
	for (size_t p = 0; p < n; p++) {
		fill_shares(&c, panel[p].hist, share);
		for (unsigned x = 0; x < c.columns; x++)
			c.peak = fmax(c.peak, share[x]);
	}
	for (size_t p = 0; r == 0 && p < n; p++)
		r = draw_panel(out, &c, (unsigned)p, &panel[p], e);
	if (r == 0)
		r = draw_labels(out, &c, e);
	if (r == 0)
		r = buf_addf(out, e, "%*sheight: square root of the share of operations, one scale for all; %s p99\n",
			     (int)MARGIN, "", glyphs(&c)->mark);
	return r;
}
