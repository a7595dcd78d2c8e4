// SPDX-License-Identifier: Apache-2.0
/* Owns the JSON form of a comparison and of a recording.
 * Must not know files. */
#include "to_json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "caution.h"
#include "explain.h"
#include "text.h"

/* Jansson refuses a NULL value and a NULL target alike, so memory that ran out shows in `failed`, once, at the end. */
struct out {
	bool failed;
};

static void put(struct out *o, json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value) < 0)
		o->failed = true;
}

static void push(struct out *o, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		o->failed = true;
}

/* JSON has no NaN and no infinity. */
static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

/* Beyond 2^63 - 1 there is no JSON integer that every reader takes; counts of a recording stay far below. */
static json_t *integer(uint64_t x)
{
	return json_integer(x > INT64_MAX ? INT64_MAX : (json_int_t)x);
}

static json_t *hex(const uint8_t *bytes, size_t n)
{
	char text[65];

	return json_string(text_hex(bytes, n, text));
}

static json_t *kernel(struct out *o, const struct recording_header *h)
{
	if (!h)
		return json_null();
	json_t *k = json_object();

	put(o, k, "release", json_string(h->release));
	put(o, k, "build_id", hex(h->build_id, sizeof(h->build_id)));
	put(o, k, "pcp_batch_scale_max",
	    h->pcp_batch_scale_max < 0 ? json_null() : json_integer(h->pcp_batch_scale_max));
	return k;
}

static json_t *build(struct out *o, const struct recording_header *h)
{
	json_t *k = json_object();

	put(o, k, "release", json_string(h->release));
	put(o, k, "build_id", hex(h->build_id, sizeof(h->build_id)));
	return k;
}

static json_t *setting(struct out *o, const struct recording_header *h)
{
	if (!h)
		return json_null();
	json_t *s = json_object();

	put(o, s, "pcp_batch_scale_max",
	    h->pcp_batch_scale_max < 0 ? json_null() : json_integer(h->pcp_batch_scale_max));
	return s;
}

/* What was compared: two kernels, or two settings of one. */
static void put_factor(struct out *o, json_t *root, const struct comparison *c)
{
	const struct recording_header *old = c->arm[GROUP_OLD].header, *newer = c->arm[GROUP_NEW].header;

	if (c->factor == COMPARE_KERNELS) {
		put(o, root, "factor", json_string("kernel"));
		put(o, root, "old_kernel", kernel(o, old));
		put(o, root, "new_kernel", kernel(o, newer));
		return;
	}
	put(o, root, "factor", json_string("setting"));
	put(o, root, "kernel", build(o, &c->file[0].header));
	put(o, root, "old_setting", setting(o, old));
	put(o, root, "new_setting", setting(o, newer));
}

static json_t *shape(struct out *o, const struct recording_shape *s)
{
	json_t *j = json_object();

	put(o, j, "probe", json_string(s->probe));
	put(o, j, "layout", json_string(s->layout));
	put(o, j, "victims", json_integer(s->victims));
	put(o, j, "burst_pages", json_integer(s->burst_pages));
	put(o, j, "period_ns", integer(s->period_ns));
	put(o, j, "window_ns", integer(s->window_ns));
	put(o, j, "processes", json_integer(s->processes));
	put(o, j, "process_pages", integer(s->process_pages));
	return j;
}

static json_t *quantile_ns(const struct hist *h, double p)
{
	struct err e;
	double ns;

	return hist_quantile(h, p, &ns, &e) < 0 ? json_null() : json_real(ns);
}

static json_t *distribution(struct out *o, const struct hist *h)
{
	static const struct {
		const char *name;
		double p;
	} row[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p99.9_ns", 0.999}};
	json_t *j = json_object();

	put(o, j, "samples", integer(h->count));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		put(o, j, row[i].name, quantile_ns(h, row[i].p));
	put(o, j, "max_ns", h->count ? integer(h->max_ns) : json_null());
	put(o, j, "under", integer(h->under));
	put(o, j, "over", integer(h->over));
	return j;
}

static json_t *exit_rate(uint64_t pages, uint64_t ns)
{
	return number(ns > 0 ? (double)pages / ((double)ns / 1e9) : NAN);
}

static json_t *arm(struct out *o, const struct compare_arm *a)
{
	if (a->recordings == 0)
		return json_null();
	json_t *j = json_object();

	put(o, j, "hosts", json_integer(a->hosts));
	put(o, j, "recordings", json_integer(a->recordings));
	put(o, j, "storms", integer(a->storms));
	put(o, j, "missed", integer(a->missed));
	put(o, j, "exit_pages_per_s", exit_rate(a->exit_pages, a->exit_ns));
	put(o, j, "response", distribution(o, &a->response));
	return j;
}

static json_t *values(struct out *o, const double y[ENDPOINT_COUNT])
{
	json_t *j = json_object();

	for (int i = 0; i < ENDPOINT_COUNT; i++)
		put(o, j, endpoint_name((enum endpoint)i), number(y[i]));
	return j;
}

static json_t *reference(struct out *o, const struct judge_reference *r)
{
	if (!r->given)
		return json_null();
	json_t *j = json_object();

	put(o, j, "ratio", number(exp(r->delta)));
	put(o, j, "se", number(r->se));
	return j;
}

static json_t *plan(struct out *o, const struct comparison *c)
{
	const struct judge_plan *p = c->plan;
	json_t *j = json_object();
	char seed[24];

	put(o, j, "file", c->plan_name ? json_string(c->plan_name) : json_null());
	put(o, j, "canaries", json_integer(p->canaries));
	put(o, j, "controls", json_integer(p->controls));
	put(o, j, "boots", json_integer(p->boots));
	put(o, j, "storms", json_integer(p->storms));
	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		json_t *x = json_object();

		put(o, x, "judged", json_boolean(p->judged[i]));
		put(o, x, "margin", number(p->margin[i]));
		put(o, x, "min_samples", integer(p->min_samples[i]));
		put(o, x, "min_passive_samples", integer(p->min_passive_samples[i]));
		put(o, x, "reference", reference(o, &p->reference[i]));
		put(o, j, endpoint_name((enum endpoint)i), x);
	}
	put(o, j, "alpha_promote", number(p->alpha_promote));
	put(o, j, "alpha_rollback", number(p->alpha_rollback));
	put(o, j, "sd_floor", number(p->sd_floor));
	put(o, j, "sd_history", values(o, p->sd_history));
	put(o, j, "probing", json_string(probing_name(p->probing)));
	json_t *models = json_array();
	for (uint32_t i = 0; i < p->n_models; i++)
		push(o, models, json_string(p->model[i]));
	put(o, j, "models", models);
	put(o, j, "covariance_from", p->ancova_from ? json_integer(p->ancova_from) : json_null());
	put(o, j, "second_opinion", json_string(p->welch_alone ? "welch-alone" : "required"));
	snprintf(seed, sizeof(seed), "%" PRIu64, p->seed);
	put(o, j, "seed", json_string(seed)); /* text: it may need all 64 bits */
	return j;
}

static json_t *endpoint(struct out *o, enum endpoint x, const struct verdict_endpoint *v)
{
	json_t *j = json_object();
	double none = v->estimated ? 0 : NAN; /* makes null of what was not estimated */

	put(o, j, "name", json_string(endpoint_name(x)));
	put(o, j, "judged", json_boolean(v->judged));
	put(o, j, "ratio", number(v->ratio + none));
	put(o, j, "lower", number(v->lower + none));
	put(o, j, "upper", number(v->upper + none));
	put(o, j, "limit", number(v->margin));
	put(o, j, "decision", json_string(compare_decision(v)));
	put(o, j, "delta", number(v->delta + none));
	put(o, j, "se", number(v->se + none));
	put(o, j, "nu", number(v->nu + none));
	put(o, j, "canaries", json_integer(v->canaries));
	put(o, j, "controls", json_integer(v->controls));
	put(o, j, "sd_canaries", number(v->sd_canaries + none));
	put(o, j, "sd_controls", number(v->sd_controls + none));
	put(o, j, "adjusted", json_boolean(v->adjusted));
	put(o, j, "theta", number(v->theta + none));
	put(o, j, "reference_upper", number(v->reference_upper + none));
	put(o, j, "floored_canaries", json_boolean(v->floored_canaries));
	put(o, j, "floored_controls", json_boolean(v->floored_controls));
	put(o, j, "p_randomisation", number(v->p_random));
	put(o, j, "assignments", integer(v->assignments));
	put(o, j, "promotes", json_boolean(v->promotes));
	put(o, j, "rolls_back", json_boolean(v->rolls_back));
	put(o, j, "hosts_needed", number(v->hosts_needed));
	return j;
}

static json_t *boots(struct out *o, const struct judge_boot *boot, uint32_t n)
{
	json_t *j = json_array();

	for (uint32_t b = 0; b < n; b++) {
		json_t *one = json_object();

		json_t *samples = json_object();

		for (int i = 0; i < ENDPOINT_COUNT; i++)
			put(o, samples, endpoint_name((enum endpoint)i), integer(boot[b].samples[i]));
		put(o, one, "storms", json_integer(boot[b].storms));
		put(o, one, "samples", samples);
		put(o, one, "ln", values(o, boot[b].y));
		push(o, j, one);
	}
	return j;
}

static json_t *hosts(struct out *o, const struct comparison *c)
{
	json_t *j = json_array();

	for (size_t h = 0; h < c->n_hosts; h++) {
		json_t *one = json_object();
		double d[ENDPOINT_COUNT];

		for (int i = 0; i < ENDPOINT_COUNT; i++)
			d[i] = compare_difference(&c->host[h], (enum endpoint)i);
		put(o, one, "name", json_string(c->host[h].name));
		put(o, one, "model", json_string(c->host[h].model));
		put(o, one, "control", json_boolean(c->host[h].control));
		put(o, one, "difference", values(o, d));
		put(o, one, "old", boots(o, c->host[h].old_boot, c->host[h].n_old));
		put(o, one, "new", boots(o, c->host[h].new_boot, c->host[h].n_new));
		push(o, j, one);
	}
	return j;
}

static json_t *files(struct out *o, const struct comparison *c)
{
	static const char *const group[GROUP_COUNT] = {"old", "new", "control old", "control new"};
	json_t *j = json_array();

	for (size_t i = 0; i < c->n_files; i++) {
		json_t *one = json_object();

		put(o, one, "path", json_string(c->file[i].path));
		put(o, one, "group", json_string(group[c->file[i].group]));
		put(o, one, "host", json_string(c->file[i].header.host));
		put(o, one, "boot_id", hex(c->file[i].header.boot_id, sizeof(c->file[i].header.boot_id)));
		push(o, j, one);
	}
	return j;
}

/* Takes root. */
static int dump(struct buf *buf, const struct out *o, json_t *root, struct err *e)
{
	char *text = o->failed ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	int r = text ? buf_addf(buf, e, "%s\n", text)
		     : err_set(e, ENOMEM,
			       "this could not be written as JSON: memory ran out, or a file's name is not UTF-8");

	free(text);
	json_decref(root);
	return r;
}

static json_t *explanation(struct out *o, const struct comparison *c)
{
	struct explanation x;
	json_t *j = json_object(), *endpoints = json_object(), *left = json_array();

	explain(c, &x);
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		put(o, endpoints, endpoint_name((enum endpoint)i), json_string(x.endpoint[i]));
	for (uint32_t i = 0; i < x.n_left_out; i++)
		push(o, left, json_string(x.left_out[i]));
	put(o, j, "summary", json_string(x.summary));
	put(o, j, "next", json_string(x.next));
	put(o, j, "endpoints", endpoints);
	put(o, j, "left_out", left);
	return j;
}

int to_json_comparison(struct buf *buf, const struct comparison *c, struct err *e)
{
	char caution[CAUTION_MAX][CAUTION_TEXT_MAX];
	struct out o = {0};
	json_t *root = json_object(), *list = json_array(), *canaries = json_object(), *controls = json_object();

	put(&o, root, "format", json_string("kpcp-compare/1"));
	put(&o, root, "tool", json_string(KPCP_VERSION));
	put(&o, root, "verdict", json_string(verdict_name(c->verdict.kind)));
	for (uint32_t i = 0; i < c->verdict.n_reasons; i++)
		push(&o, list, json_string(c->verdict.reason[i]));
	put(&o, root, "reasons", list);
	put(&o, root, "defects", json_integer(c->verdict.defects));
	put(&o, root, "explanation", explanation(&o, c));
	list = json_array();
	for (unsigned i = 0, n = caution_list(c, caution); i < n; i++)
		push(&o, list, json_string(caution[i]));
	put(&o, root, "warnings", list);
	list = json_array();
	for (int i = 0; i < ENDPOINT_COUNT; i++)
		push(&o, list, endpoint(&o, (enum endpoint)i, &c->verdict.endpoint[i]));
	put(&o, root, "endpoints", list);
	put_factor(&o, root, c);
	put(&o, root, "shape", shape(&o, &c->file[0].header.shape));
	put(&o, root, "plan", plan(&o, c));
	put(&o, canaries, "old", arm(&o, &c->arm[GROUP_OLD]));
	put(&o, canaries, "new", arm(&o, &c->arm[GROUP_NEW]));
	put(&o, root, "canaries", canaries);
	put(&o, controls, "old", arm(&o, &c->arm[GROUP_CONTROL_OLD]));
	put(&o, controls, "new", arm(&o, &c->arm[GROUP_CONTROL_NEW]));
	put(&o, root, "controls", controls);
	put(&o, root, "hosts", hosts(&o, c));
	put(&o, root, "files", files(&o, c));
	return dump(buf, &o, root, e);
}

int to_json_recording(struct buf *buf, const struct recording_header *h, const struct summary *s, struct err *e)
{
	struct out o = {0};
	json_t *root = json_object();
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, h->seed);
	put(&o, root, "format", json_string("kpcp-recording/1"));
	put(&o, root, "tool", json_string(h->tool));
	put(&o, root, "host", json_string(h->host));
	put(&o, root, "kernel", kernel(&o, h));
	put(&o, root, "boot_id", hex(h->boot_id, sizeof(h->boot_id)));
	put(&o, root, "cpus", json_integer(h->cpus));
	put(&o, root, "memory_kib", integer(h->memory_kib));
	put(&o, root, "clocksource", json_string(h->clocksource));
	put(&o, root, "start_unix_s", integer(h->start_unix_s));
	put(&o, root, "seed", json_string(seed));
	put(&o, root, "shape", shape(&o, &h->shape));
	put(&o, root, "storms_planned", json_integer(h->storms_planned));
	put(&o, root, "storms", json_integer(s->storms));
	put(&o, root, "missed", integer(s->missed));
	put(&o, root, "exit_pages", integer(s->exit_pages));
	put(&o, root, "exit_ns", integer(s->exit_ns));
	put(&o, root, "exit_pages_per_s", exit_rate(s->exit_pages, s->exit_ns));
	put(&o, root, "response", distribution(&o, &s->response));
	put(&o, root, "service", distribution(&o, &s->service));
	put(&o, root, "ln", values(&o, s->y));
	return dump(buf, &o, root, e);
}
