// SPDX-License-Identifier: Apache-2.0
/* Owns the grammar and the ranges of a measurement's settings.
 * Must not know command lines, files, or how a measurement is made. */
#include "measure.h"

#include <errno.h>
#include <string.h>

#include "lib/base/num.h"

#define STORM_BYTES_MAX (64ull << 40)

static int read_u32(const char *value, uint64_t min, uint64_t max, uint32_t *ret, struct err *e)
{
	uint64_t v;
	int r = num_u64(value, min, max, &v, e);

	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

int measure_warmup(const char *value, uint32_t *ret, struct err *e)
{
	return read_u32(value, 0, 1000, ret, e);
}

/* A unit that was left out makes a few bytes of what was meant to be many: that is what is said of it. */
static int read_size(const char *count, const char *value, uint64_t *ret_bytes, struct err *e)
{
	uint64_t bytes;

	if (num_u64(value, 1, 4095, &bytes, NULL) == 0)
		return err_set(e, ERANGE, "%s bytes a process are less than a page; did you mean %sx%sM?", value, count,
			       value);
	return num_size(value, 4096, STORM_BYTES_MAX, ret_bytes, e);
}

int measure_storm(const char *value, uint32_t *ret_processes, uint64_t *ret_bytes, struct err *e)
{
	const char *x = strchr(value, 'x');
	char count[16];
	uint32_t processes = 0;
	int r;

	if (!x || x == value || (size_t)(x - value) >= sizeof(count))
		return err_set(e, EINVAL, "\"%s\" is not PROCESSESxSIZE, as 18x6G is", value);
	memcpy(count, value, (size_t)(x - value));
	count[x - value] = 0;
	if ((r = read_u32(count, 1, MEASURE_PROCESSES_MAX, &processes, e)) < 0 ||
	    (r = read_size(count, x + 1, ret_bytes, e)) < 0)
		return r;
	*ret_processes = processes;
	return 0;
}

int measure_burst(const char *value, uint32_t *ret_pages, struct err *e)
{
	return read_u32(value, 1, 65536, ret_pages, e);
}

int measure_period(const char *value, uint64_t *ret_ns, struct err *e)
{
	return num_duration(value, 50000, 10000000000, ret_ns, e);
}

int measure_window(const char *value, uint64_t *ret_ns, struct err *e)
{
	return num_duration(value, 1000000, 600000000000, ret_ns, e);
}
