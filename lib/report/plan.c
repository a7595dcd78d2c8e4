// SPDX-License-Identifier: Apache-2.0
/* Owns the keys of a judge's plan and their ranges.
 * Must not know how a plan is judged by. */
#include "plan.h"

#include <errno.h>
#include <string.h>

#include "lib/base/list.h"
#include "lib/base/near.h"
#include "lib/base/num.h"

static int set_u32(uint32_t *ret, const char *value, uint64_t min, uint64_t max, struct err *e)
{
	uint64_t v;
	int r = num_u64(value, min, max, &v, e);

	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

static int set_canaries(void *t, const char *value, struct err *e)
{
	return set_u32(&((struct judge_plan *)t)->canaries, value, 1, JUDGE_HOSTS_MAX, e);
}

static int set_controls(void *t, const char *value, struct err *e)
{
	return set_u32(&((struct judge_plan *)t)->controls, value, 0, JUDGE_HOSTS_MAX, e);
}

static int set_boots(void *t, const char *value, struct err *e)
{
	return set_u32(&((struct judge_plan *)t)->boots, value, 1, JUDGE_BOOTS_MAX, e);
}

static int set_storms(void *t, const char *value, struct err *e)
{
	return set_u32(&((struct judge_plan *)t)->storms, value, 1, RECORDING_STORMS_MAX, e);
}

static int add_endpoint(bool judged[ENDPOINT_COUNT], const char *name, size_t len, struct err *e)
{
	const char *names[ENDPOINT_COUNT];
	char word[32];

	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		names[i] = endpoint_name((enum endpoint)i);
		if (strlen(names[i]) != len || memcmp(names[i], name, len) != 0)
			continue;
		if (judged[i])
			return err_set(e, EINVAL, "%s is named twice", names[i]);
		judged[i] = true;
		return 0;
	}
	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, name, len);
	word[len] = 0;
	return err_set(e, EINVAL, "unknown endpoint \"%s\"; did you mean %s?", word,
		       near_find(word, names, ENDPOINT_COUNT));
}

/* "p99, p99.9, exit" */
static int set_endpoints(void *t, const char *value, struct err *e)
{
	bool judged[ENDPOINT_COUNT] = {false};
	const char *word, *at = value;
	size_t len;
	int r, n = 0;

	for (; (r = list_next(&at, &word, &len, e)) > 0; n++) {
		r = add_endpoint(judged, word, len, e);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (n == 0)
		return err_set(e, EINVAL, "\"%s\" is no list of endpoints, as \"p99, p99.9, exit\" is", value);
	memcpy(((struct judge_plan *)t)->judged, judged, sizeof(judged));
	return 0;
}

static int set_margin(void *t, enum endpoint x, const char *value, struct err *e)
{
	return num_percent(value, 0.001, 10, &((struct judge_plan *)t)->margin[x], e);
}

static int set_margin_p99(void *t, const char *value, struct err *e)
{
	return set_margin(t, ENDPOINT_P99, value, e);
}

static int set_margin_p999(void *t, const char *value, struct err *e)
{
	return set_margin(t, ENDPOINT_P999, value, e);
}

static int set_margin_exit(void *t, const char *value, struct err *e)
{
	return set_margin(t, ENDPOINT_EXIT, value, e);
}

static int set_samples(void *t, enum endpoint x, const char *value, struct err *e)
{
	return num_u64(value, 1, UINT64_MAX, &((struct judge_plan *)t)->min_samples[x], e);
}

static int set_samples_p99(void *t, const char *value, struct err *e)
{
	return set_samples(t, ENDPOINT_P99, value, e);
}

static int set_samples_p999(void *t, const char *value, struct err *e)
{
	return set_samples(t, ENDPOINT_P999, value, e);
}

static int set_samples_exit(void *t, const char *value, struct err *e)
{
	return set_samples(t, ENDPOINT_EXIT, value, e);
}

static int set_alpha_promote(void *t, const char *value, struct err *e)
{
	return num_f64(value, 1e-6, 0.49, &((struct judge_plan *)t)->alpha_promote, e);
}

static int set_alpha_rollback(void *t, const char *value, struct err *e)
{
	return num_f64(value, 1e-6, 0.49, &((struct judge_plan *)t)->alpha_rollback, e);
}

/* Not below the default: that much is hidden by the histogram's buckets alone. */
static int set_sd_floor(void *t, const char *value, struct err *e)
{
	return num_percent(value, judge_plan_default.sd_floor, 1, &((struct judge_plan *)t)->sd_floor, e);
}

static int set_second_opinion(void *t, const char *value, struct err *e)
{
	static const char *const words[] = {"required", "welch-alone"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		((struct judge_plan *)t)->welch_alone = i == 1;
		return 0;
	}
	return err_set(e, EINVAL, "\"%s\" is neither \"required\" nor \"welch-alone\"; did you mean \"%s\"?", value,
		       near_find(value, words, ARRAY_SIZE(words)));
}

static int set_seed(void *t, const char *value, struct err *e)
{
	return num_u64(value, 0, UINT64_MAX, &((struct judge_plan *)t)->seed, e);
}

const struct conf_key plan_keys[PLAN_KEYS] = {
    {"judge", "canaries", set_canaries, false},
    {"judge", "controls", set_controls, false},
    {"judge", "boots", set_boots, false},
    {"judge", "storms", set_storms, false},
    {"judge", "endpoints", set_endpoints, false},
    {"judge", "margin-p99", set_margin_p99, false},
    {"judge", "margin-p99.9", set_margin_p999, false},
    {"judge", "margin-exit", set_margin_exit, false},
    {"judge", "min-samples-p99", set_samples_p99, false},
    {"judge", "min-samples-p99.9", set_samples_p999, false},
    {"judge", "min-samples-exit", set_samples_exit, false},
    {"judge", "alpha-promote", set_alpha_promote, false},
    {"judge", "alpha-rollback", set_alpha_rollback, false},
    {"judge", "sd-floor", set_sd_floor, false},
    {"judge", "second-opinion", set_second_opinion, false},
    {"judge", "seed", set_seed, false},
};

int plan_read(const char *path, struct judge_plan *ret, struct err *e)
{
	struct judge_plan plan = judge_plan_default;
	int r = conf_read(path, plan_keys, PLAN_KEYS, &plan, e);

	if (r == 0)
		*ret = plan;
	return r;
}

int plan_parse(const char *name, const char *text, size_t len, struct judge_plan *ret, struct err *e)
{
	struct judge_plan plan = judge_plan_default;
	int r = conf_parse(name, text, len, plan_keys, PLAN_KEYS, &plan, e);

	if (r == 0)
		*ret = plan;
	return r;
}
