// SPDX-License-Identifier: Apache-2.0
/* Owns the keys of a spread's file and their ranges.
 * Must not know how a spread is estimated or used. */
#include "spread_file.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/conf.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"

#define SD_MAX 10 /* e^10 = 22,000 times as slow, from boot to boot */

/* One row for each number of an endpoint: one table writes and reads. */
struct row {
	const char *name;
	size_t offset;
};
static const struct row rows[] = {
    {"boot-sd", offsetof(struct spread_endpoint, boot_sd)},
    {"boot-sd-upper", offsetof(struct spread_endpoint, boot_sd_upper)},
    {"host-sd", offsetof(struct spread_endpoint, host_sd)},
    {"difference-sd", offsetof(struct spread_endpoint, difference_sd)},
    {"difference-sd-upper", offsetof(struct spread_endpoint, difference_sd_upper)},
    {"block-sd", offsetof(struct spread_endpoint, block_sd)},
    {"block-sd-upper", offsetof(struct spread_endpoint, block_sd_upper)},
};
#define ROWS ARRAY_SIZE(rows)

static double *field(struct spread_endpoint *s, size_t row)
{
	return (double *)(void *)((char *)s + rows[row].offset);
}

static int set_number(struct spread *s, enum endpoint x, size_t row, const char *value, struct err *e)
{
	double *ret = field(&s->endpoint[x], row);

	if (strcmp(value, "unknown") != 0)
		return num_f64(value, 0, SD_MAX, ret, e);
	*ret = NAN;
	return 0;
}

/* A key's function knows no more than its name, so each row of each endpoint has one of its own. */
#define SETTER(endpoint, row)                                                              \
	static int set_##endpoint##_##row(void *t, const char *value, struct err *e)       \
	{                                                                                  \
		return set_number((struct spread *)t, ENDPOINT_##endpoint, row, value, e); \
	}
#define SETTERS(endpoint)   \
	SETTER(endpoint, 0) \
	SETTER(endpoint, 1) \
	SETTER(endpoint, 2) SETTER(endpoint, 3) SETTER(endpoint, 4) SETTER(endpoint, 5) SETTER(endpoint, 6)
SETTERS(P99)
SETTERS(P999)
SETTERS(EXIT)

static int set_format(void *t, const char *value, struct err *e)
{
	(void)t;
	if (strcmp(value, SPREAD_FORMAT) == 0)
		return 0;
	return err_set(e, EPROTONOSUPPORT, "\"%s\" is not \"" SPREAD_FORMAT "\": make it again with this kpcp-canary",
		       value);
}

static int set_probe(void *t, const char *value, struct err *e)
{
	struct spread *s = t;
	size_t len = strlen(value);

	if (len == 0 || len >= sizeof(s->probe))
		return err_set(e, EINVAL, "\"%s\" is no probe's name: 1 to %zu characters", value,
			       sizeof(s->probe) - 1);
	memcpy(s->probe, value, len + 1);
	return 0;
}

static int set_count(uint32_t *ret, const char *value, uint64_t min, uint64_t max, struct err *e)
{
	uint64_t v;
	int r = num_u64(value, min, max, &v, e);

	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

static int set_hosts(void *t, const char *value, struct err *e)
{
	return set_count(&((struct spread *)t)->hosts, value, 2, JUDGE_HOSTS_MAX, e);
}

static int set_boots(void *t, const char *value, struct err *e)
{
	return set_count(&((struct spread *)t)->boots, value, 1, JUDGE_BOOTS_MAX, e);
}

#define KEYS(section, endpoint)                                                                                   \
	{section, "boot-sd", set_##endpoint##_0, true}, {section, "boot-sd-upper", set_##endpoint##_1, true},     \
	    {section, "host-sd", set_##endpoint##_2, true}, {section, "difference-sd", set_##endpoint##_3, true}, \
	    {section, "difference-sd-upper", set_##endpoint##_4, true},                                           \
	    {section, "block-sd", set_##endpoint##_5, true},                                                      \
	{                                                                                                         \
		section, "block-sd-upper", set_##endpoint##_6, true                                               \
	}

static const struct conf_key keys[] = {
    {"spread", "format", set_format, true},
    {"spread", "probe", set_probe, true},
    {"spread", "hosts", set_hosts, true},
    {"spread", "boots", set_boots, true},
    KEYS("p99", P99),
    KEYS("p99.9", P999),
    KEYS("exit", EXIT),
};

static int add_endpoint(struct buf *out, const struct spread *s, enum endpoint x, struct err *e)
{
	struct spread_endpoint copy = s->endpoint[x];
	int r = buf_addf(out, e, "\n[%s]\n", endpoint_name(x));

	for (size_t i = 0; r == 0 && i < ROWS; i++) {
		double v = *field(&copy, i);

		/* 17 digits: what is read is what was written. */
		r = isnan(v) ? buf_addf(out, e, "%s = unknown\n", rows[i].name)
			     : buf_addf(out, e, "%s = %.17g\n", rows[i].name, v);
	}
	return r;
}

int spread_file_format(struct buf *out, const struct spread *s, struct err *e)
{
	int r = buf_addf(out, e,
			 "# How far apart measurements are while nothing changes: standard deviations of ln latency.\n"
			 "# Made by kpcp-canary aa; a judge's plan names this file by spread = FILE.\n"
			 "[spread]\nformat = " SPREAD_FORMAT "\nprobe = %s\nhosts = %u\nboots = %u\n",
			 s->probe, s->hosts, s->boots);

	for (int x = 0; r == 0 && x < ENDPOINT_COUNT; x++)
		r = add_endpoint(out, s, (enum endpoint)x, e);
	return r;
}

/* What no A/A campaign can have said. */
static int check(const struct spread *s, struct err *e)
{
	for (int x = 0; x < ENDPOINT_COUNT; x++) {
		const struct spread_endpoint *p = &s->endpoint[x];

		if (p->boot_sd_upper < p->boot_sd || p->difference_sd_upper < p->difference_sd ||
		    p->block_sd_upper < p->block_sd)
			return err_set(
			    e, EINVAL,
			    "[%s]: an upper end is below its standard deviation: this file was changed; make it "
			    "again",
			    endpoint_name((enum endpoint)x));
	}
	return 0;
}

int spread_file_parse(const char *name, const char *text, size_t len, struct spread *ret, struct err *e)
{
	struct spread s = {.hosts = 0};

	if (len > SPREAD_FILE_MAX)
		return err_set(e, EFBIG, "%s: %zu bytes, a spread has at most %u", name, len, SPREAD_FILE_MAX);
	int r = conf_parse(name, text, len, keys, ARRAY_SIZE(keys), &s, e);
	if (r < 0)
		return r;
	if ((r = check(&s, e)) < 0)
		return err_context(e, "%s", name);
	*ret = s;
	return 0;
}

int spread_file_read(const char *path, struct spread *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(SPREAD_FILE_MAX);
	int r = fs_read(path, &b, e);

	return r < 0 ? r : spread_file_parse(path, b.data ? b.data : "", b.len, ret, e);
}

int spread_file_write(const char *path, const struct spread *s, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(SPREAD_FILE_MAX);
	int r = spread_file_format(&b, s, e);

	return r < 0 ? r : fs_write_atomic(path, b.data, b.len, 0644, e);
}
