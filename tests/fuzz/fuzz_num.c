// SPDX-License-Identifier: Apache-2.0
/* Owns the search for texts that the number parsers take wrongly: out of range, changed on failure, unexplained.
 * Must not know the grammar of any of them, beyond what a round trip shows. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/num.h"

#define TEXT_MAX 256
#define CPUS     64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void require_refusal(int r, const struct err *e)
{
	require(r == -EINVAL || r == -ERANGE);
	require(e->code == -r);
	require(strlen(e->text) > 0 && !strpbrk(e->text, "\n\r\033"));
}

static void check_u64(const char *s)
{
	struct err e = {0};
	uint64_t v = 7;
	int r = num_u64(s, 10, 1000000, &v, &e);
	if (r < 0) {
		require(v == 7);
		require_refusal(r, &e);
		return;
	}
	require(v >= 10 && v <= 1000000);
	char back[32];
	snprintf(back, sizeof(back), "%" PRIu64, v);
	require(strcmp(back, s + strspn(s, "0")) == 0);
}

static void check_i64(const char *s)
{
	struct err e = {0};
	int64_t v = 7;
	int r = num_i64(s, INT64_MIN, INT64_MAX, &v, &e);
	if (r < 0) {
		require(v == 7);
		require_refusal(r, &e);
		return;
	}
	char back[32];
	snprintf(back, sizeof(back), "%" PRId64, v);
	int64_t again = 0;
	require(num_i64(back, v, v, &again, &e) == 0 && again == v);
}

static void check_doubles(const char *s)
{
	struct err e = {0};
	double v = 7;
	int r = num_f64(s, -5, 5, &v, &e);
	if (r < 0) {
		require(v == 7);
		require_refusal(r, &e);
	} else {
		require(isfinite(v) && v >= -5 && v <= 5);
	}
	v = 7;
	r = num_percent(s, -1, 1, &v, &e);
	if (r < 0) {
		require(v == 7);
		require_refusal(r, &e);
	} else {
		require(isfinite(v) && v >= -1 && v <= 1 && s[strlen(s) - 1] == '%');
	}
}

static void check_scaled(const char *s, int (*parse)(const char *, uint64_t, uint64_t, uint64_t *, struct err *))
{
	struct err e = {0};
	uint64_t v = 7;
	int r = parse(s, 10, UINT64_MAX - 1, &v, &e);
	if (r < 0) {
		require(v == 7);
		require_refusal(r, &e);
	} else {
		require(v >= 10 && v < UINT64_MAX);
	}
}

static void check_bool(const char *s)
{
	struct err e = {0};
	_Bool v = 1;
	int r = num_bool(s, &v, &e);
	if (r < 0) {
		require(v);
		require_refusal(r, &e);
	} else {
		require(v == (s[0] == 'y'));
	}
}

static void check_cpulist(const char *s)
{
	struct err e = {0};
	unsigned cpus[CPUS];
	memset(cpus, 0x55, sizeof(cpus));
	size_t n = 777;
	int r = num_cpulist(s, cpus, CPUS, &n, &e);
	if (r < 0) {
		require(n == 777);
		for (size_t i = 0; i < CPUS; i++)
			require(cpus[i] == 0x55555555);
		require_refusal(r, &e);
		return;
	}
	require(n >= 1 && n <= CPUS);
	for (size_t i = 0; i < n; i++)
		require(cpus[i] < NUM_CPU_MAX && (i == 0 || cpus[i - 1] < cpus[i]));
	for (size_t i = n; i < CPUS; i++)
		require(cpus[i] == 0x55555555);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap and no larger than the text, so that a read behind its end is seen. */
	size_t len = size < TEXT_MAX ? size : TEXT_MAX;
	char *s = malloc(len + 1);
	require(s != NULL);
	if (len > 0)
		memcpy(s, data, len);
	s[len] = 0;
	check_u64(s);
	check_i64(s);
	check_doubles(s);
	check_scaled(s, num_size);
	check_scaled(s, num_duration);
	check_bool(s);
	check_cpulist(s);
	free(s);
	return 0;
}
