// SPDX-License-Identifier: Apache-2.0
/* Owns the search for texts that the readers of spreads and of published histograms take wrongly: accepted without
 * being written the same way again, refused without a reason, outputs changed on failure. Must not know their keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/published.h"
#include "lib/report/spread_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_spread(const char *text, size_t size)
{
	struct spread s, before;
	struct err e = {0};
	memset(&s, 0x5a, sizeof(s));
	before = s;
	int r = spread_file_parse("input", text, size, &s, &e);
	if (r < 0) {
		require(memcmp(&s, &before, sizeof(s)) == 0);
		require(e.code == -r && strlen(e.text) > 0 && !strpbrk(e.text, "\n\r\t\033\177"));
		return;
	}
	struct buf once = BUF_INIT(SPREAD_FILE_MAX), again = BUF_INIT(SPREAD_FILE_MAX);
	struct judge_plan p = judge_plan_default;
	require(spread_file_format(&once, &s, &e) == 0);
	require(spread_file_parse("again", once.data, once.len, &s, &e) == 0);
	require(spread_file_format(&again, &s, &e) == 0);
	require(once.len == again.len && memcmp(once.data, again.data, once.len) == 0);
	spread_apply(&s, &p);
	for (int x = 0; x < ENDPOINT_COUNT; x++)
		require(judge_floor(&p, (enum endpoint)x) >= p.sd_floor && judge_floor(&p, (enum endpoint)x) <= 10);
	buf_free(&once);
	buf_free(&again);
}

static void check_published(const char *text, size_t size)
{
	static struct published h, before;
	struct err e = {0};
	memset(&h, 0x5a, sizeof(h));
	before = h;
	int r = published_parse("input", text, size, &h, &e);
	if (r < 0) {
		require(memcmp(&h, &before, sizeof(h)) == 0);
		require(e.code == -r && strlen(e.text) > 0 && !strpbrk(e.text, "\n\r\t\033\177"));
		return;
	}
	require(h.count > 0 && h.n > 0 && h.n <= PUBLISHED_BUCKETS_MAX);
	uint64_t last = 0;
	for (double p = 0.01; p < 1; p += 0.0897) {
		struct published_bucket b = published_quantile(&h, p);
		require(b.count > 0 && b.low_ns >= last && b.high_ns >= b.low_ns);
		last = b.low_ns;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap and no larger than the input, so that a read behind its end is seen. */
	char *copy = malloc(size ? size : 1);
	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	check_spread(copy, size);
	check_published(copy, size);
	free(copy);
	return 0;
}
