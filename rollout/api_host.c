// SPDX-License-Identifier: Apache-2.0
/* Owns the operators' routes to hosts, their tokens, and the history.
 * Must not know what hosts do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "lib/base/num.h"
#include "lib/fleet/form.h"
#include "lib/fleet/member.h"

#define EVENTS_SHOWN    100
#define ORDERS_SHOWN    100
#define HISTORY_DEFAULT 100

static void free_json(json_t **j)
{
	json_decref(*j);
}

int api_hosts(struct api_call *c, struct err *e)
{
	struct store_host *list = NULL;
	size_t n = 0;
	int bad = 0, r = store_hosts(c->api->store, &list, &n, e);

	if (r < 0)
		return r;
	json_t *all = json_array();
	for (size_t i = 0; i < n && bad == 0; i++)
		bad = json_array_append_new(all, api_json_host(&list[i], c->now));
	free(list);
	if (bad < 0) {
		json_decref(all);
		return err_sys(e, ENOMEM, "cannot answer");
	}
	return api_json(c, 200, json_pack("{s:o}", "hosts", all), e);
}

static int add_orders(struct api_call *c, json_t *o, struct err *e)
{
	struct store_order *list = NULL;
	size_t n = 0;
	int bad = 0, r = store_orders(c->api->store, c->part[0], ORDERS_SHOWN, &list, &n, e);

	if (r < 0)
		return r;
	json_t *all = json_array();
	for (size_t i = 0; i < n && bad == 0; i++)
		bad = json_array_append_new(all, api_json_order(&list[i]));
	free(list);
	if (bad < 0)
		json_decref(all);
	if (bad < 0 || json_object_set_new(o, "orders", all) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return 0;
}

static int add_member(struct api_call *c, json_t *o, const char *rollout, struct err *e)
{
	static struct store_member m; /* large */
	int r = *rollout ? store_member_get(c->api->store, rollout, c->part[0], &m, e) : -ENOENT;

	if (r < 0 && r != -ENOENT)
		return r;
	if (json_object_set_new(o, "member", r == 0 ? api_json_member(&m) : json_null()) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return 0;
}

static int get_host(struct api_call *c, struct store_host *h, struct err *e)
{
	if (form_check(&form_host, c->part[0], e) < 0)
		return err_context(e, "the host in the path");
	return store_host_get(c->api->store, c->part[0], h, e);
}

int api_host(struct api_call *c, struct err *e)
{
	struct store_host h;
	int r = get_host(c, &h, e);

	if (r < 0)
		return r;
	_cleanup_(free_json) json_t *o = api_json_host(&h, c->now);
	if (!o)
		return err_sys(e, ENOMEM, "cannot answer");
	r = add_orders(c, o, e);
	if (r == 0)
		r = api_add_events(c, o, NULL, h.name, EVENTS_SHOWN, e);
	if (r == 0)
		r = add_member(c, o, h.rollout, e);
	return r < 0 ? r : api_json(c, 200, steal_ptr(o), e);
}

int api_retire(struct api_call *c, struct err *e)
{
	struct store_host h;
	int r = get_host(c, &h, e);

	if (r == 0)
		r = store_host_retire(c->api->store, h.name, c->now, e);
	if (r == 0)
		r = store_host_get(c->api->store, h.name, &h, e);
	if (r < 0)
		return r;
	api_note(c, "retired host %s", h.name);
	return api_json(c, 200, api_json_host(&h, c->now), e);
}

int api_history(struct api_call *c, struct err *e)
{
	static const char name[] = "limit=";
	uint64_t limit = HISTORY_DEFAULT;

	if (*c->q->query && strncmp(c->q->query, name, strlen(name)) != 0)
		return err_set(e, EINVAL, "'%s' is not understood; the form is limit=N", c->q->query);
	if (*c->q->query && num_u64(c->q->query + strlen(name), 1, STORE_EVENTS_MAX, &limit, e) < 0) {
		err_context(e, "limit");
		return -EINVAL;
	}
	_cleanup_(free_json) json_t *o = json_object();
	if (!o)
		return err_sys(e, ENOMEM, "cannot answer");
	int r = api_add_events(c, o, NULL, NULL, (uint32_t)limit, e);
	return r < 0 ? r : api_json(c, 200, steal_ptr(o), e);
}

int api_token(struct api_call *c, struct err *e)
{
	static const struct member names[] = {{.name = "host"}, {.name = "cluster"}, {.name = "ttl_s"}, {0}};
	static const struct member *const lists[] = {names};
	_cleanup_(free_json) json_t *o = NULL;
	const char *host, *cluster;
	char token[65];
	uint64_t expires;

	if (member_parse(c->q->body, c->q->body_len, c->q->body_len, &o, e) < 0 || member_only(o, lists, 1, e) < 0 ||
	    member_text(o, "host", &form_host, &host, e) < 0 || member_text(o, "cluster", &form_name, &cluster, e) < 0)
		return -EINVAL;
	json_t *ttl = json_object_get(o, "ttl_s");
	if (!json_is_integer(ttl) || json_integer_value(ttl) < 0)
		return err_set(e, EINVAL, "ttl_s is missing, or is no number of seconds");
	int r = store_token_make(c->api->store, host, cluster, (uint64_t)json_integer_value(ttl), c->now, token,
				 &expires, e);
	if (r < 0)
		return r;
	api_note(c, "made a token for host %s, into cluster %s", host, cluster);
	return api_json(c, 201, json_pack("{s:s, s:I}", "token", token, "expires_unix_s", (json_int_t)expires), e);
}
