// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of published histograms.
 * Must not know how they are judged or shown. */
#include "published.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"

#define LINE_MAX_BYTES 512
#define COUNT_MAX      (1ull << 53)

struct line {
	const char *name;
	unsigned number;
	char text[LINE_MAX_BYTES];
};

/* Cuts the next word off *at; NULL: none left. */
static char *word(char **at)
{
	*at += strspn(*at, " \t");
	if (**at == 0)
		return NULL;
	char *w = *at;
	*at += strcspn(*at, " \t");
	if (**at)
		*(*at)++ = 0;
	return w;
}

static int number(const struct line *l, const char *what, const char *w, uint64_t max, uint64_t *ret, struct err *e)
{
	if (!w)
		return err_set(e, EINVAL, "%s:%u: no %s; a line is LOW HIGH COUNT, in nanoseconds", l->name, l->number,
			       what);
	int r = num_u64(w, 0, max, ret, e);
	return r < 0 ? err_context(e, "%s:%u: %s", l->name, l->number, what) : 0;
}

static int add_bucket(struct published *h, struct line *l, struct err *e)
{
	struct published_bucket b;
	char *at = l->text;
	int r;

	if ((r = number(l, "lowest value", word(&at), UINT64_MAX - 1, &b.low_ns, e)) < 0 ||
	    (r = number(l, "highest value", word(&at), UINT64_MAX - 1, &b.high_ns, e)) < 0 ||
	    (r = number(l, "count", word(&at), COUNT_MAX, &b.count, e)) < 0)
		return r;
	char *more = word(&at);
	if (more)
		return err_set(e, EINVAL, "%s:%u: \"%s\" after the count; a line is LOW HIGH COUNT", l->name, l->number,
			       more);
	if (b.high_ns < b.low_ns)
		return err_set(e, EINVAL, "%s:%u: the bucket ends at %" PRIu64 ", before it begins at %" PRIu64,
			       l->name, l->number, b.high_ns, b.low_ns);
	if (h->n == PUBLISHED_BUCKETS_MAX)
		return err_set(e, EINVAL, "%s:%u: more than %d buckets", l->name, l->number, PUBLISHED_BUCKETS_MAX);
	if (h->n > 0 && b.low_ns != h->bucket[h->n - 1].high_ns + 1)
		return err_set(e, EINVAL,
			       "%s:%u: the bucket begins at %" PRIu64 ", the one before ends at %" PRIu64
			       ": buckets must rise without gaps or overlaps",
			       l->name, l->number, b.low_ns, h->bucket[h->n - 1].high_ns);
	if (h->count + b.count > COUNT_MAX)
		return err_set(e, EINVAL, "%s:%u: more than 2^53 values together", l->name, l->number);
	h->count += b.count;
	h->bucket[h->n++] = b;
	return 0;
}

/* "avg_ns A total_ns T count N" */
static int add_totals(struct published *h, struct line *l, char *at, struct err *e)
{
	static const char *const name[] = {"avg_ns", "total_ns", "count"};
	uint64_t value[3];

	for (int i = 0; i < 3; i++) {
		const char *w = word(&at);

		if (!w || strcmp(w, name[i]) != 0)
			return err_set(e, EINVAL, "%s:%u: published totals are \"avg_ns A total_ns T count N\"",
				       l->name, l->number);
		int r = number(l, name[i], word(&at), UINT64_MAX, &value[i], e);
		if (r < 0)
			return r;
	}
	h->totalled = true;
	h->avg_ns = value[0];
	h->total_ns = value[1];
	h->total_count = value[2];
	return 0;
}

static void keep(char ret[PUBLISHED_NOTE_MAX], const char *text)
{
	size_t len = strnlen(text, PUBLISHED_NOTE_MAX - 1);

	memcpy(ret, text, len);
	ret[len] = 0;
}

static int add_comment(struct published *h, struct line *l, struct err *e)
{
	static const char source[] = "source: ", totals[] = "published: ";
	char *text = l->text + 1;

	text += strspn(text, " \t");
	if (strncmp(text, totals, strlen(totals)) == 0)
		return add_totals(h, l, text + strlen(totals), e);
	if (strncmp(text, source, strlen(source)) == 0)
		keep(h->source, text + strlen(source));
	else if (!h->note[0])
		keep(h->note, text);
	return 0;
}

static int take_line(struct line *l, const char *text, size_t len, struct err *e)
{
	if (len >= sizeof(l->text))
		return err_set(e, EINVAL, "%s:%u: longer than %zu bytes", l->name, l->number, sizeof(l->text) - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 32 && text[i] != '\t')
			return err_set(e, EINVAL, "%s:%u: a control character: this is no text", l->name, l->number);
	memcpy(l->text, text, len);
	l->text[len] = 0;
	return 0;
}

int published_parse(const char *name, const char *text, size_t len, struct published *ret, struct err *e)
{
	static const struct published empty;
	_Thread_local static struct published h; /* 24 KiB */
	struct line l = {.name = name};
	int r = 0;

	h = empty;
	if (len > PUBLISHED_FILE_MAX)
		return err_set(e, EFBIG, "%s: %zu bytes, at most %u are read", name, len, PUBLISHED_FILE_MAX);
	for (size_t at = 0; r == 0 && at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;

		l.number++;
		if ((r = take_line(&l, text + at, n, e)) < 0)
			return r;
		at += n + 1;
		if (l.text[0] == '#')
			r = add_comment(&h, &l, e);
		else if (l.text[strspn(l.text, " \t")] != 0)
			r = add_bucket(&h, &l, e);
	}
	if (r < 0)
		return r;
	if (h.count == 0)
		return err_set(e, EINVAL,
			       "%s: no values: a published histogram has lines LOW HIGH COUNT, in nanoseconds", name);
	*ret = h;
	return 0;
}

int published_read(const char *path, struct published *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(PUBLISHED_FILE_MAX);
	int r = fs_read(path, &b, e);

	return r < 0 ? r : published_parse(path, b.data ? b.data : "", b.len, ret, e);
}

struct published_bucket published_quantile(const struct published *h, double p)
{
	double rank = fmax(1, ceil(p * (double)h->count)), seen = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		seen += (double)h->bucket[i].count;
		if (seen >= rank)
			return h->bucket[i];
	}
	return h->bucket[h->n - 1];
}
