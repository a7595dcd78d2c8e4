// SPDX-License-Identifier: Apache-2.0
/* Owns the columns, the axis and the labels of a curve.
 * Must not know what is drawn. */
#include "curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEIGHT 10
#define LEFT   5 /* "100% " */

static const char *const blocks[9] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii[9] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};

/* How much of a cell is filled, in eighths; what is above 0 shows in the lowest line. */
static int eighths(double share, int line)
{
	if (!(share > 0))
		return 0;
	double filled = fmin(1, share) * HEIGHT - line;
	return filled >= 1 ? 8 : filled <= 0 ? (line == 0) : (int)fmax(line == 0, floor(filled * 8));
}

static int draw_line(struct buf *out, const struct curve *c, const struct picture_style *style, int line, struct err *e)
{
	const char *const *fill = style->utf8 ? blocks : ascii;
	bool marked = c->mark > 0 && (int)floor(c->mark * HEIGHT - 1e-9) == line;
	/* Labels stand at the top of a line: what fills all below it is their share. */
	int r = line % 2 ? buf_addf(out, e, "%3d%% ", (line + 1) * 100 / HEIGHT) : buf_addf(out, e, "%*s", LEFT, "");
	size_t used = out->len;

	if (r == 0 && style->colour)
		r = buf_addf(out, e, "\033[36m");
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		int n = eighths(c->share[i], line);
		const char *cell = n == 0 && marked ? (style->utf8 ? "┄" : "-") : fill[n];

		r = buf_add(out, cell, strlen(cell), e);
		if (r == 0 && strcmp(cell, " ") != 0)
			used = out->len;
	}
	if (r < 0)
		return r;
	out->len = used; /* no blanks at the ends of lines */
	out->data[used] = 0;
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = 0;
	return buf_addf(out, e, "%s\n", style->colour ? "\033[0m" : "");
}

/* A tick every ten columns, and its number below. */
static int draw_axis(struct buf *out, const struct curve *c, const struct picture_style *style, struct err *e)
{
	char label[LEFT + CURVE_POINTS_MAX + 32];
	size_t len = 0;
	int r = buf_addf(out, e, "%*s", LEFT, "");

	memset(label, ' ', sizeof(label));
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		bool tick = i % 10 == 0;

		r = buf_addf(out, e, "%s", tick ? (style->utf8 ? "┬" : "+") : (style->utf8 ? "─" : "-"));
		if (tick) {
			char number[24];
			int n = snprintf(number, sizeof(number), "%g", c->x_first + c->x_step * (double)i);

			memcpy(label + LEFT + i, number, (size_t)n);
			len = LEFT + i + (size_t)n;
		}
	}
	label[len] = 0;
	return r < 0 ? r : buf_addf(out, e, "\n%s  %s\n", label, c->unit);
}

int curve_draw(struct buf *out, const struct curve *c, const struct picture_style *style, struct err *e)
{
	if (c->n < 1 || c->n > CURVE_POINTS_MAX)
		return err_set(e, EINVAL, "a curve of %zu points cannot be drawn", c->n);
	int r = buf_addf(out, e, "%s\n", c->title);

	for (int line = HEIGHT - 1; r == 0 && line >= 0; line--)
		r = draw_line(out, c, style, line, e);
	return r < 0 ? r : draw_axis(out, c, style, e);
}
