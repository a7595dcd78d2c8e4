// SPDX-License-Identifier: Apache-2.0
/* Owns the way of one question to the controller and of its JSON back.
 * Must not know what is asked, nor how an answer is shown. */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/form.h"
#include "lib/report/show.h"
#include "reply.h"

void ask_close(struct ask *a)
{
	client_close(&a->client);
}

void ask_free_json(json_t **object)
{
	json_decref(*object);
	*object = NULL;
}

int ask_open(const struct kpcp *args, struct ask *ret, struct err *e)
{
	int r = kpcp_conf_read(args->config, &ret->conf, e);

	if (r < 0)
		return r;
	ret->raw = args->json;
	const struct client_target target = {.url = ret->conf.url,
					     .ca = ret->conf.ca,
					     .cert = ret->conf.cert,
					     .key = ret->conf.key,
					     .timeout_ms = ret->conf.timeout_ms};
	r = client_open(&target, &ret->client, e);
	return r < 0 ? err_context(e, "%s", ret->conf.path) : 0;
}

int ask_path(const struct form *form, const char *prefix, const char *name, const char *suffix, char ret[ASK_PATH_MAX],
	     struct err *e)
{
	int r = form_check(form, name, e);

	if (r == 0)
		snprintf(ret, ASK_PATH_MAX, "%s%s%s", prefix, name, suffix);
	return r;
}

int ask(struct ask *a, const char *path, const void *body, size_t len, json_t **ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(CLIENT_REPLY_MAX);
	json_error_t bad;
	int r = client_call(a->client, body ? "POST" : "GET", path, body, len, &text, e);

	if (r < 0)
		return r;
	_cleanup_(ask_free_json) json_t *object =
	    json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &bad);
	if (!json_is_object(object))
		return err_set(e, EPROTO, "%s answered %s with what is no JSON object (%s): is that a kpcp-rolloutd?",
			       a->conf.url, path, object ? "another value" : bad.text);
	r = a->raw ? 0 : reply_clean(object, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(object);
	return 0;
}

static void free_text(char **p)
{
	free(*p);
}

int ask_with(struct ask *a, const char *path, json_t *body, json_t **ret, struct err *e)
{
	_cleanup_(free_text) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	json_decref(body);
	if (!text)
		return err_set(e, EINVAL, "the request cannot be written as JSON: is all of its text UTF-8?");
	return ask(a, path, text, strlen(text), ret, e);
}

int ask_print_json(const json_t *object, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(2 * CLIENT_REPLY_MAX);
	_cleanup_(free_text) char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	int r = text ? buf_addf(&out, e, "%s\n", text) : err_sys(e, ENOMEM, "cannot print the answer as JSON");

	return r < 0 ? r : show(&out, e);
}
