// SPDX-License-Identifier: Apache-2.0
/* Owns the route that tells what a plan would do; nothing is stored.
 * Must not know how plans are drawn, nor what the sentences say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "forecast.h"

static void free_json(json_t **j)
{
	json_decref(*j);
}

static void free_ptr(void *variable)
{
	void **p = variable;
	free(*p);
}

/* What the store holds that the plan would meet. */
static int check_rollouts(struct api_call *c, const struct directive *d, struct forecast_problems *p, struct err *e)
{
	_cleanup_(free_ptr) struct store_rollout *list = NULL;
	size_t n = 0;
	int r = store_rollouts(c->api->store, &list, &n, e);

	for (size_t i = 0; r == 0 && i < n; i++) {
		bool same = strcmp(list[i].name, d->name) == 0;
		if (same && list[i].state == ROLLOUT_APPROVED)
			forecast_problem(
			    p,
			    "%s is APPROVED already: kpcp start %s; to approve another plan, give that one "
			    "another name",
			    d->name, d->name);
		else if (same)
			forecast_problem(p, "there was a rollout %s already; choose another name", d->name);
		if (list[i].state != ROLLOUT_APPROVED && !rollout_state_final(list[i].state))
			forecast_problem(p,
					 "the rollout %s is under way (%s); this one can be started when it has ended",
					 list[i].name, rollout_state_name(list[i].state));
	}
	return r;
}

/* The hosts that can be drawn; *ret is the caller's. */
static int roster_of(const struct store_host *all, size_t n, struct roster_host **ret, uint32_t *ret_n, struct err *e)
{
	struct roster_host *list = calloc(n + 1, sizeof(*list));
	uint32_t m = 0;

	if (!list)
		return err_sys(e, ENOMEM, "cannot answer");
	for (size_t i = 0; i < n; i++) {
		if (all[i].retired)
			continue;
		memcpy(list[m].name, all[i].name, sizeof(list[m].name));
		memcpy(list[m].cluster, all[i].cluster, sizeof(list[m].cluster));
		m++;
	}
	*ret = list;
	*ret_n = m;
	return 0;
}

static const struct store_host *find(const struct store_host *all, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	}
	return NULL;
}

static json_t *host_json(const struct directive *d, const struct roster_host *h)
{
	char text[FORECAST_STEPS_MAX][FORECAST_TEXT_MAX];
	unsigned n = forecast_steps(d, h->role, h->wave, text);
	json_t *steps = json_array();

	for (unsigned i = 0; i < n; i++) {
		if (json_array_append_new(steps, api_json_text(text[i])) < 0) {
			json_decref(steps);
			return NULL;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:o}", "name", h->name, "cluster", h->cluster, "role",
			 role_name(h->role), "wave", (json_int_t)h->wave, "steps", steps);
}

/* Canaries, then controls, then the waves; within each by name, as the store has them. */
static int add_hosts(json_t *list, const struct directive *d, const struct roster_host *h, uint32_t n)
{
	for (int role = ROLE_CANARY; role <= ROLE_WAVE; role++) {
		for (uint32_t wave = 0; wave <= d->n_waves + 1; wave++) {
			for (uint32_t i = 0; i < n; i++) {
				if ((int)h[i].role == role && h[i].wave == wave &&
				    json_array_append_new(list, host_json(d, &h[i])) < 0)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

static int problems_json(const struct forecast_problems *p, json_t *list)
{
	char more[FORECAST_TEXT_MAX];
	int bad = 0;

	for (uint32_t i = 0; i < p->n && bad == 0; i++)
		bad = json_array_append_new(list, api_json_text(p->text[i]));
	if (bad == 0 && p->left_out > 0) {
		snprintf(more, sizeof(more), "and %u more", p->left_out);
		bad = json_array_append_new(list, json_string(more));
	}
	return bad;
}

/* Fills hosts with who would be drawn, and problems with what speaks against it. */
static int forecast(struct api_call *c, const struct directive *d, json_t *hosts, struct forecast_problems *p,
		    struct err *e)
{
	_cleanup_(free_ptr) struct store_host *all = NULL;
	_cleanup_(free_ptr) struct roster_host *drawn = NULL;
	struct err why = {0};
	size_t n = 0;
	uint32_t m = 0;
	int r = store_hosts(c->api->store, &all, &n, e);

	if (r == 0)
		r = check_rollouts(c, d, p, e);
	if (r == 0)
		r = roster_of(all, n, &drawn, &m, e);
	if (r < 0)
		return r;
	forecast_plan(d, all, n, p);
	if (roster_draw(d, drawn, m, &why) < 0) {
		forecast_problem(p, "%s", why.text);
		return 0;
	}
	const struct store_host *first = NULL;
	for (uint32_t i = 0; i < m; i++) {
		const struct store_host *h = drawn[i].role == ROLE_NONE ? NULL : find(all, n, drawn[i].name);
		bool measured = drawn[i].role == ROLE_CANARY || drawn[i].role == ROLE_CONTROL;
		if (h)
			forecast_host(d, h, drawn[i].role, c->now, p);
		if (h && measured && d->evidence == EVIDENCE_MEASURED) {
			first = first ? first : h;
			forecast_pair(first, h, p);
		}
	}
	return add_hosts(hosts, d, drawn, m) < 0 ? err_sys(e, ENOMEM, "cannot answer") : 0;
}

int api_plan(struct api_call *c, struct err *e)
{
	static struct directive d; /* large, and so are the problems */
	static struct forecast_problems p;
	_cleanup_(free_json) json_t *hosts = json_array();
	_cleanup_(free_json) json_t *problems = json_array();

	if (directive_parse("plan", c->q->body, c->q->body_len, false, &d, e) < 0)
		return -EINVAL;
	p = (struct forecast_problems){0};
	int r = hosts && problems ? forecast(c, &d, hosts, &p, e) : err_sys(e, ENOMEM, "cannot answer");
	if (r < 0)
		return r;
	if (problems_json(&p, problems) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return api_json(c, 200,
			json_pack("{s:s, s:s, s:o, s:o}", "name", d.name, "factor",
				  d.factor == FACTOR_KERNEL ? "kernel" : "preset", "hosts", steal_ptr(hosts),
				  "problems", steal_ptr(problems)),
			e);
}
