// SPDX-License-Identifier: Apache-2.0
/* Owns the keys of a judge's plan and their ranges.
 * Must not know how a plan is judged by. */
#include "plan.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/list.h"
#include "lib/base/near.h"
#include "lib/base/num.h"
#include "spread_file.h"

static int set_canaries(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_HOSTS_MAX, &((struct judge_plan *)t)->canaries, e);
}

static int set_controls(void *t, const char *value, struct err *e)
{
	return num_u32(value, 0, JUDGE_HOSTS_MAX, &((struct judge_plan *)t)->controls, e);
}

static int set_boots(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_BOOTS_MAX, &((struct judge_plan *)t)->boots, e);
}

static int set_storms(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, RECORDING_STORMS_MAX, &((struct judge_plan *)t)->storms, e);
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

static int set_passive(void *t, enum endpoint x, const char *value, struct err *e)
{
	return num_u64(value, 1, UINT64_MAX, &((struct judge_plan *)t)->min_passive_samples[x], e);
}

static int set_passive_p99(void *t, const char *value, struct err *e)
{
	return set_passive(t, ENDPOINT_P99, value, e);
}

static int set_passive_p999(void *t, const char *value, struct err *e)
{
	return set_passive(t, ENDPOINT_P999, value, e);
}

static int set_passive_exit(void *t, const char *value, struct err *e)
{
	return set_passive(t, ENDPOINT_EXIT, value, e);
}

static int set_probing(void *t, const char *value, struct err *e)
{
	static const char *const words[] = {"active", "passive"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		((struct judge_plan *)t)->probing = i == 1 ? PROBING_PASSIVE : PROBING_ACTIVE;
		return 0;
	}
	return err_set(e, EINVAL, "\"%s\" is neither \"active\" nor \"passive\"; did you mean \"%s\"?", value,
		       near_find(value, words, ARRAY_SIZE(words)));
}

static int add_model(struct judge_plan *p, const char *name, size_t len, struct err *e)
{
	if (p->n_models == JUDGE_MODELS_MAX)
		return err_set(e, EINVAL, "more than %d models", JUDGE_MODELS_MAX);
	if (len >= JUDGE_MODEL_MAX)
		return err_set(e, EINVAL, "model \"%.*s\" is longer than %d characters", (int)len, name,
			       JUDGE_MODEL_MAX - 1);
	for (uint32_t i = 0; i < p->n_models; i++)
		if (strlen(p->model[i]) == len && memcmp(p->model[i], name, len) == 0)
			return err_set(e, EINVAL, "%s is named twice", p->model[i]);
	memcpy(p->model[p->n_models], name, len);
	p->model[p->n_models++][len] = 0;
	return 0;
}

/* "256cpu-1024G, 64cpu-256G" */
static int set_models(void *t, const char *value, struct err *e)
{
	struct judge_plan read = {0};
	struct judge_plan *p = t;

	for (const char *at = value;;) {
		at += strspn(at, " \t");
		size_t len = strcspn(at, ","), name = len;

		while (name > 0 && strchr(" \t", at[name - 1]))
			name--;
		if (name == 0)
			return err_set(e, EINVAL, "\"%s\" is no list of models, as \"256cpu-1024G, 64cpu-256G\" is",
				       value);
		int r = add_model(&read, at, name, e);
		if (r < 0)
			return r;
		if (at[len] == 0)
			break;
		at += len + 1;
	}
	p->n_models = read.n_models;
	memcpy(p->model, read.model, sizeof(p->model));
	return 0;
}

/* Below three hosts there is nothing left to estimate a slope from. */
static int set_covariance(void *t, const char *value, struct err *e)
{
	struct judge_plan *p = t;

	if (strcmp(value, "never") == 0) {
		p->ancova_from = 0;
		return 0;
	}
	return num_u32(value, 3, JUDGE_HOSTS_MAX, &p->ancova_from, e);
}

/* "1.042 +- 0.011": the old kernel to the first reference, and the standard error of its logarithm. */
static int set_reference(void *t, enum endpoint x, const char *value, struct err *e)
{
	struct judge_reference *ret = &((struct judge_plan *)t)->reference[x];
	const char *between = strstr(value, " +- ");
	char first[32];
	double ratio, se;

	if (!between || (size_t)(between - value) >= sizeof(first))
		return err_set(e, EINVAL, "\"%s\" is not RATIO +- ERROR, as \"1.042 +- 0.011\" is", value);
	memcpy(first, value, (size_t)(between - value));
	first[between - value] = 0;
	int r = num_f64(first, 0.01, 100, &ratio, e);
	if (r == 0)
		r = num_f64(between + strlen(" +- "), 0, 1, &se, e);
	if (r == 0)
		*ret = (struct judge_reference){.given = true, .delta = log(ratio), .se = se};
	return r;
}

static int set_reference_p99(void *t, const char *value, struct err *e)
{
	return set_reference(t, ENDPOINT_P99, value, e);
}

static int set_reference_p999(void *t, const char *value, struct err *e)
{
	return set_reference(t, ENDPOINT_P999, value, e);
}

static int set_reference_exit(void *t, const char *value, struct err *e)
{
	return set_reference(t, ENDPOINT_EXIT, value, e);
}

static int set_alpha_promote(void *t, const char *value, struct err *e)
{
	return num_f64(value, 1e-6, 0.49, &((struct judge_plan *)t)->alpha_promote, e);
}

static int set_alpha_rollback(void *t, const char *value, struct err *e)
{
	return num_f64(value, 1e-6, 0.49, &((struct judge_plan *)t)->alpha_rollback, e);
}

static int set_brake_sd(void *t, const char *value, struct err *e)
{
	return num_percent(value, 0.001, 10, &((struct judge_plan *)t)->brake_sd, e);
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
    {"judge", "probing", set_probing, false},
    {"judge", "min-passive-p99", set_passive_p99, false},
    {"judge", "min-passive-p99.9", set_passive_p999, false},
    {"judge", "min-passive-exit", set_passive_exit, false},
    {"judge", "models", set_models, false},
    {"judge", "covariance-from", set_covariance, false},
    {"judge", "reference-p99", set_reference_p99, false},
    {"judge", "reference-p99.9", set_reference_p999, false},
    {"judge", "reference-exit", set_reference_exit, false},
    {"judge", "alpha-promote", set_alpha_promote, false},
    {"judge", "alpha-rollback", set_alpha_rollback, false},
    {"judge", "sd-floor", set_sd_floor, false},
    {"judge", "brake-sd", set_brake_sd, false},
    {"judge", "second-opinion", set_second_opinion, false},
    {"judge", "seed", set_seed, false},
};

/* A plan in a file may name what an A/A campaign has learnt; one that comes from elsewhere has no files beside it. */
struct reading {
	struct judge_plan plan;
	char spread[PATH_MAX];
};
_Static_assert(offsetof(struct reading, plan) == 0, "plan_keys' target begins with a struct judge_plan");

static int set_spread(void *t, const char *value, struct err *e)
{
	char *ret = ((struct reading *)t)->spread;
	size_t len = strlen(value);

	if (len == 0 || len >= PATH_MAX)
		return err_set(e, EINVAL, "\"%s\" cannot be a file's name", value);
	memcpy(ret, value, len + 1);
	return 0;
}

/* A name without a slash in front is meant beside the plan, wherever the program was started. */
static int take_spread(const char *plan_path, struct reading *t, struct err *e)
{
	_cleanup_(buf_free) struct buf path = BUF_INIT(2 * PATH_MAX);
	const char *slash = strrchr(plan_path, '/');
	int folder = t->spread[0] != '/' && slash ? (int)(slash - plan_path + 1) : 0;
	struct spread s;
	int r = buf_addf(&path, e, "%.*s%s", folder, plan_path, t->spread);

	if (r == 0)
		r = spread_file_read(path.data, &s, e);
	if (r < 0)
		return err_context(e, "%s: spread", plan_path);
	spread_apply(&s, &t->plan);
	return 0;
}

int plan_read(const char *path, struct judge_plan *ret, struct err *e)
{
	struct reading t = {.plan = judge_plan_default};
	struct conf_key keys[PLAN_KEYS + 1];

	memcpy(keys, plan_keys, sizeof(plan_keys));
	keys[PLAN_KEYS] = (struct conf_key){"judge", "spread", set_spread, false};
	int r = conf_read(path, keys, ARRAY_SIZE(keys), &t, e);
	if (r == 0 && t.spread[0])
		r = take_spread(path, &t, e);
	if (r == 0)
		*ret = t.plan;
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
