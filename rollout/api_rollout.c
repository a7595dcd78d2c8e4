// SPDX-License-Identifier: Apache-2.0
/* Owns the operators' routes to rollouts: taking signed directives, showing, starting, pausing, ending.
 * Must not know what a rollout does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "lib/fleet/form.h"
#include "lib/fleet/member.h"

#define EVENTS_SHOWN   100
#define COMPARISON_MAX (4u << 20)

static void free_json(json_t **j)
{
	json_decref(*j);
}

/* The name in the path is one that a rollout can have. */
static int check_name(struct api_call *c, struct err *e)
{
	return form_check(&form_name, c->part[0], e) < 0 ? err_context(e, "the rollout in the path") : 0;
}

static int answer(struct api_call *c, unsigned status, const char *name, struct err *e)
{
	struct store_rollout x;
	int r = store_rollout_get(c->api->store, name, &x, e);
	return r < 0 ? r : api_json(c, status, api_json_rollout(&x), e);
}

/* directive and signature out of the body; both stay *ret's. */
static int read_submission(struct api_call *c, json_t **ret, const char **directive, size_t *len,
			   const char **signature, struct err *e)
{
	static const struct member names[] = {{.name = "directive"}, {.name = "signature"}, {0}};
	static const struct member *const lists[] = {names};
	_cleanup_(free_json) json_t *o = NULL;

	if (member_parse(c->q->body, c->q->body_len, c->q->body_len, &o, e) < 0 || member_only(o, lists, 1, e) < 0 ||
	    member_text(o, "signature", &form_base64, signature, e) < 0)
		return -EINVAL;
	json_t *text = json_object_get(o, "directive");
	if (!json_is_string(text))
		return err_set(e, EINVAL, "directive is missing, or is no text; send what 'kpcp approve' made");
	*directive = json_string_value(text);
	*len = json_string_length(text);
	*ret = steal_ptr(o);
	return 0;
}

static int check_signature(struct api_call *c, const char *text, size_t len, const char *signature, struct err *e)
{
	int r = trust_verify(c->api->config.approver, text, len, signature, e);

	if (r != -EBADMSG)
		return api_ours(r, e);
	e->code = EINVAL;
	return -EINVAL;
}

int api_rollout_add(struct api_call *c, struct err *e)
{
	_cleanup_(free_json) json_t *o = NULL;
	static struct directive d; /* large */
	const char *text = NULL, *signature = NULL;
	size_t len = 0;
	int r = read_submission(c, &o, &text, &len, &signature, e);

	if (r == 0)
		r = check_signature(c, text, len, signature, e);
	if (r < 0)
		return r;
	/* Parsed only now: what nobody signed is not worth a look. */
	if (directive_parse("directive", text, len, true, &d, e) < 0)
		return -EINVAL;
	r = store_rollout_add(c->api->store, text, len, signature, &d, c->now, e);
	if (r < 0)
		return r;
	api_note(c, "handed in the approved plan of rollout %s (serial %llu)", d.name, (unsigned long long)d.serial);
	return answer(c, 201, d.name, e);
}

int api_rollouts(struct api_call *c, struct err *e)
{
	struct store_rollout *list = NULL;
	size_t n = 0;
	int bad = 0, r = store_rollouts(c->api->store, &list, &n, e);

	if (r < 0)
		return r;
	json_t *all = json_array();
	for (size_t i = 0; i < n && bad == 0; i++)
		bad = json_array_append_new(all, api_json_rollout(&list[i]));
	free(list);
	if (bad < 0) {
		json_decref(all);
		return err_sys(e, ENOMEM, "cannot answer");
	}
	return api_json(c, 200, json_pack("{s:o}", "rollouts", all), e);
}

static int add_members(struct api_call *c, json_t *o, struct err *e)
{
	struct store_member *list = NULL;
	size_t n = 0;
	int bad = 0, r = store_members(c->api->store, c->part[0], &list, &n, e);

	if (r < 0)
		return r;
	json_t *all = json_array();
	for (size_t i = 0; i < n && bad == 0; i++)
		bad = json_array_append_new(all, api_json_member(&list[i]));
	free(list);
	if (bad < 0)
		json_decref(all);
	if (bad < 0 || json_object_set_new(o, "members", all) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return 0;
}

static int add_comparison(struct api_call *c, json_t *o, struct err *e)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT(COMPARISON_MAX), text = BUF_INIT(COMPARISON_MAX);
	int r = store_comparison(c->api->store, c->part[0], &json, &text, e);

	if (r < 0)
		return r;
	json_t *comparison = json.len > 0 ? json_loadb(json.data, json.len, 0, NULL) : NULL;
	if (json_object_set_new(o, "comparison", comparison ? comparison : json_null()) < 0 ||
	    json_object_set_new(o, "tables", json_string(text.len > 0 ? text.data : "")) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return 0;
}

int api_rollout(struct api_call *c, struct err *e)
{
	struct store_rollout x;
	int r = check_name(c, e);

	if (r == 0)
		r = store_rollout_get(c->api->store, c->part[0], &x, e);
	if (r < 0)
		return r;
	_cleanup_(free_json) json_t *o = api_json_rollout(&x);
	if (!o)
		return err_sys(e, ENOMEM, "cannot answer");
	r = add_members(c, o, e);
	if (r == 0)
		r = api_add_events(c, o, c->part[0], NULL, EVENTS_SHOWN, e);
	if (r == 0)
		r = add_comparison(c, o, e);
	return r < 0 ? r : api_json(c, 200, steal_ptr(o), e);
}

static int change(struct api_call *c, const char *done,
		  int (*fn)(struct store *s, const char *name, uint64_t now, struct err *e), struct err *e)
{
	int r = check_name(c, e);

	if (r == 0)
		r = fn(c->api->store, c->part[0], c->now, e);
	if (r < 0)
		return r;
	api_note(c, "%s rollout %s", done, c->part[0]);
	return answer(c, 200, c->part[0], e);
}

int api_start(struct api_call *c, struct err *e)
{
	return change(c, "started", store_rollout_start, e);
}

int api_pause(struct api_call *c, struct err *e)
{
	return change(c, "paused", store_rollout_pause, e);
}

int api_resume(struct api_call *c, struct err *e)
{
	return change(c, "resumed", store_rollout_resume, e);
}

int api_abort(struct api_call *c, struct err *e)
{
	return change(c, "aborted", store_rollout_abort, e);
}
