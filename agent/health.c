// SPDX-License-Identifier: Apache-2.0
/* Owns what counts as worse than before.
 * Must not know where the facts come from, nor what is done about it. */
#include "health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/num.h"

/* Kernels differ in what they keep of the memory for themselves; more than this is a bank that is gone. */
#define MEMORY_SLACK_KIB (64u << 10)

void health_free(struct health *h)
{
	buf_free(&h->nics);
	buf_free(&h->failed);
}

static bool has(const char *line, size_t len, const char *word)
{
	return memmem(line, len, word, strlen(word)) != NULL;
}

/* A stall of hours makes thousands of lines: what is compared is only whether there are more than before. */
void health_count_log(struct health *h, const char *log, size_t len)
{
	static const char *const bugs[] = {
	    "BUG: ",           "kernel BUG at",         "Oops: ",
	    "Oops[#",          "Kernel panic",          "general protection fault",
	    "detected stall",  "self-detected stall",   "soft lockup",
	    "hard LOCKUP",     "blocked for more than", "Unable to handle kernel",
	    "Internal error:",
	};
	const char *end = log + len;

	for (const char *line = log; line < end;) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((feed ? feed : end) - line);
		bool bug = false;

		for (size_t i = 0; i < ARRAY_SIZE(bugs); i++)
			bug |= has(line, n, bugs[i]);
		h->bugs += bug;
		h->warnings += !bug && has(line, n, "WARNING: ");
		line = feed ? feed + 1 : end;
	}
}

static int encode_list(struct buf *b, const char *word, const struct buf *list, struct err *e)
{
	for (const char *line = list->data ? list->data : ""; *line;) {
		const char *end = strchrnul(line, '\n');
		int r = end > line ? buf_addf(b, e, "%s %.*s\n", word, (int)(end - line), line) : 0;

		if (r < 0)
			return r;
		line = *end ? end + 1 : end;
	}
	return 0;
}

int health_encode(const struct health *h, struct buf *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(HEALTH_BYTES_MAX);
	int r;

	if ((r = buf_addf(&b, e,
			  "taint %" PRIu64 "\ncpus %" PRIu64 "\nmemory-kib %" PRIu64 "\nwarnings %" PRIu64
			  "\nbugs %" PRIu64 "\n",
			  h->taint, h->cpus, h->memory_kib, h->warnings, h->bugs)) < 0 ||
	    (r = encode_list(&b, "nic", &h->nics, e)) < 0 || (r = encode_list(&b, "failed", &h->failed, e)) < 0 ||
	    (r = buf_addf(&b, e, "end\n")) < 0)
		return r;
	return buf_add(ret, b.data, b.len, e);
}

static int decode_line(const char *line, struct health *h, struct err *e)
{
	struct {
		const char *word;
		uint64_t *number;
		struct buf *list;
	} rows[] = {{"taint ", &h->taint, NULL},       {"cpus ", &h->cpus, NULL}, {"memory-kib ", &h->memory_kib, NULL},
		    {"warnings ", &h->warnings, NULL}, {"bugs ", &h->bugs, NULL}, {"nic ", NULL, &h->nics},
		    {"failed ", NULL, &h->failed}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].word);
		if (strncmp(line, rows[i].word, n) != 0)
			continue;
		if (rows[i].number)
			return num_u64(line + n, 0, UINT64_MAX, rows[i].number, e);
		return buf_addf(rows[i].list, e, "%s\n", line + n);
	}
	return err_set(e, EINVAL, "\"%.80s\" is no line of it", line);
}

int health_decode(const char *text, size_t len, struct health *ret, struct err *e)
{
	_cleanup_(health_free) struct health h = {.nics.max = HEALTH_BYTES_MAX, .failed.max = HEALTH_BYTES_MAX};
	char copy[512];
	const char *end = text + len, *line = text;
	int r = 0;

	while (r == 0 && line < end) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));

		if (!feed || (size_t)(feed - line) >= sizeof(copy) || memchr(line, 0, (size_t)(feed - line)))
			return err_set(e, EINVAL, "a line without an end, too long, or no text");
		memcpy(copy, line, (size_t)(feed - line));
		copy[feed - line] = 0;
		line = feed + 1;
		if (strcmp(copy, "end") == 0 && line == end) {
			*ret = h;
			h = (struct health){0};
			return 0;
		}
		r = decode_line(copy, &h, e);
	}
	return r < 0 ? r : err_set(e, EINVAL, "it has no end");
}

static bool listed(const struct buf *list, const char *name, size_t len)
{
	for (const char *line = list->data ? list->data : ""; *line;) {
		const char *end = strchrnul(line, '\n');

		if ((size_t)(end - line) == len && memcmp(line, name, len) == 0)
			return true;
		line = *end ? end + 1 : end;
	}
	return false;
}

/* The first name of a that is not in b; NULL where all are. */
static const char *missing(const struct buf *a, const struct buf *b, size_t *len)
{
	for (const char *line = a->data ? a->data : ""; *line;) {
		const char *end = strchrnul(line, '\n');

		*len = (size_t)(end - line);
		if (*len > 0 && !listed(b, line, *len))
			return line;
		line = *end ? end + 1 : end;
	}
	return NULL;
}

enum health_verdict health_compare(const struct health *before, const struct health *now, char *why, size_t cap)
{
	const char *name;
	size_t n;

	if (now->bugs > before->bugs) {
		snprintf(why, cap, "the kernel's log has %" PRIu64 " bugs, lock-ups or stalls, before it had %" PRIu64,
			 now->bugs, before->bugs);
		return HEALTH_CRASHED;
	}
	if (now->warnings > before->warnings)
		snprintf(why, cap, "the kernel's log has %" PRIu64 " warnings, before it had %" PRIu64, now->warnings,
			 before->warnings);
	else if (now->taint & ~before->taint)
		snprintf(why, cap, "the kernel is tainted by %" PRIu64 ", which it was not before",
			 now->taint & ~before->taint);
	else if (now->cpus != before->cpus)
		snprintf(why, cap, "%" PRIu64 " CPUs are online, before there were %" PRIu64, now->cpus, before->cpus);
	else if (now->memory_kib + MEMORY_SLACK_KIB < before->memory_kib)
		snprintf(why, cap, "there are %" PRIu64 " KiB of memory, before there were %" PRIu64, now->memory_kib,
			 before->memory_kib);
	else if ((name = missing(&now->failed, &before->failed, &n)))
		snprintf(why, cap, "unit %.*s failed, before it did not", (int)n, name);
	else if ((name = missing(&before->nics, &now->nics, &n))) {
		snprintf(why, cap, "network interface %.*s is not there any more", (int)n, name);
		return HEALTH_LATER;
	} else
		return HEALTH_GOOD;
	return HEALTH_BAD;
}
