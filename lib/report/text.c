// SPDX-License-Identifier: Apache-2.0
/* Owns how numbers and words are written for people.
 * Must not know tables, pictures or what the numbers mean. */
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct unit {
	double size;
	const char *name;
};

/* Three significant digits in the largest unit that leaves at least 1; rounding up to 1,000 takes the next one. */
static const char *scaled(double value, const struct unit *unit, size_t n, char ret[TEXT_MAX])
{
	size_t u = 0;

	while (u + 1 < n && value >= 0.9995 * unit[u + 1].size)
		u++;
	double v = value / unit[u].size;
	int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	if (u == 0 && v == floor(v))
		digits = 0;
	snprintf(ret, TEXT_MAX, "%.*f %s", digits, v, unit[u].name);
	return ret;
}

static const char *no_number(char ret[TEXT_MAX])
{
	snprintf(ret, TEXT_MAX, "-");
	return ret;
}

const char *text_duration(double ns, char ret[TEXT_MAX])
{
	static const struct unit units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};

	return isfinite(ns) ? scaled(ns, units, ARRAY_SIZE(units), ret) : no_number(ret);
}

const char *text_setting(uint64_t ns, char ret[TEXT_MAX])
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	size_t u = 0;

	while (u + 1 < ARRAY_SIZE(unit) && ns > 0 && ns % 1000 == 0) {
		ns /= 1000;
		u++;
	}
	snprintf(ret, TEXT_MAX, "%" PRIu64 " %s", ns, unit[u]);
	return ret;
}

const char *text_quantile(const struct hist *h, double p, char ret[TEXT_MAX])
{
	struct err e;
	double ns;

	if (h->count == 0)
		return no_number(ret);
	if (hist_quantile(h, p, &ns, &e) == 0)
		return text_duration(ns, ret);
	/* The rank lies among values that the histogram does not resolve. */
	snprintf(ret, TEXT_MAX, "%s", p * (double)h->count <= (double)h->under ? "<64 ns" : ">68.7 s");
	return ret;
}

const char *text_count(uint64_t n, char ret[TEXT_MAX])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *out = ret;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return ret;
}

const char *text_page_rate(double per_s, char ret[TEXT_MAX])
{
	static const struct unit units[] = {{1, "pages/s"}, {1e3, "k pages/s"}, {1e6, "M pages/s"}, {1e9, "G pages/s"}};

	return isfinite(per_s) ? scaled(per_s, units, ARRAY_SIZE(units), ret) : no_number(ret);
}

const char *text_ratio(double x, char ret[TEXT_MAX])
{
	if (isnan(x))
		return no_number(ret);
	snprintf(ret, TEXT_MAX, x < 1000 ? "%.3f" : "%.3g", x);
	return ret;
}

const char *text_hex(const uint8_t *bytes, size_t n, char *ret)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digit[bytes[i] >> 4];
		ret[2 * i + 1] = digit[bytes[i] & 15];
	}
	ret[2 * n] = 0;
	return ret;
}

const char *text_scale(const struct recording_header *h, char ret[TEXT_MAX])
{
	if (h->pcp_batch_scale_max >= 0)
		snprintf(ret, TEXT_MAX, "pcp_batch_scale_max %d", h->pcp_batch_scale_max);
	else
		snprintf(ret, TEXT_MAX, "no pcp_batch_scale_max");
	return ret;
}

static const char *kernel(const struct recording_header *h, const char *scale, char ret[TEXT_KERNEL_MAX])
{
	static const uint8_t none[sizeof(h->build_id)];
	char id[13];
	bool known = memcmp(h->build_id, none, sizeof(none)) != 0;

	snprintf(ret, TEXT_KERNEL_MAX, "%s (%s%s%s%s)", h->release, known ? "build-id " : "no build-id",
		 known ? text_hex(h->build_id, 6, id) : "", *scale ? ", " : "", scale);
	return ret;
}

const char *text_kernel(const struct recording_header *h, char ret[TEXT_KERNEL_MAX])
{
	char scale[TEXT_MAX];

	return kernel(h, h->pcp_batch_scale_max >= 0 ? text_scale(h, scale) : "", ret);
}

const char *text_build(const struct recording_header *h, char ret[TEXT_KERNEL_MAX])
{
	return kernel(h, "", ret);
}

int text_wrap(struct buf *out, const char *first, const char *text, size_t width, struct err *e)
{
	size_t indent = strlen(first), column = indent;
	int r = buf_addf(out, e, "%s", first);

	for (bool fresh = true; r == 0 && *(text += strspn(text, " ")) != 0; fresh = false) {
		size_t len = strcspn(text, " ");

		if (!fresh && column + 1 + len > width) {
			r = buf_addf(out, e, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!fresh) {
			r = buf_add(out, " ", 1, e);
			column++;
		}
		if (r == 0)
			r = buf_add(out, text, len, e);
		column += len;
		text += len;
	}
	return r < 0 ? r : buf_add(out, "\n", 1, e);
}
