// SPDX-License-Identifier: Apache-2.0
/* Owns how the store's values look as JSON.
 * Must not know which route sends them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "api_call.h"
#include "lib/fleet/form.h"
#include "lib/fleet/member.h"

int api_json(struct api_call *c, unsigned status, json_t *object, struct err *e)
{
	int r = member_dump(object, HTTP_REPLY_MAX, &c->ret->body, e);
	if (r < 0)
		return r;
	c->ret->status = status;
	c->ret->type = "application/json";
	return 0;
}

void api_note(struct api_call *c, const char *fmt, ...)
{
	char what[STORE_TEXT_MAX - 80], text[STORE_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "operator '%s' %s", c->q->who->name, what);
	c->api->log(LOG_INFO, text);
}

json_t *api_json_text(const char *text)
{
	json_t *j = json_string(text);
	char clean[STORE_TEXT_MAX];

	if (j)
		return j;
	form_clean(text, clean, sizeof(clean));
	return json_string(clean);
}

json_t *api_json_time(uint64_t unix_s)
{
	return unix_s > 0 ? json_integer((json_int_t)unix_s) : json_null();
}

json_t *api_json_rollout(const struct store_rollout *r)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "name", r->name, "state",
			 rollout_state_name(r->state), "reason", api_json_text(r->reason), "waiting",
			 api_json_text(r->waiting), "factor", r->factor == FACTOR_KERNEL ? "kernel" : "preset", "what",
			 api_json_text(r->what), "wave", (json_int_t)r->wave, "waves", (json_int_t)r->waves, "paused",
			 r->paused, "approved_unix_s", api_json_time(r->approved_unix_s), "started_unix_s",
			 api_json_time(r->started_unix_s), "ended_unix_s", api_json_time(r->ended_unix_s), "verdict",
			 r->has_verdict ? json_string(verdict_name(r->verdict)) : json_null());
}

json_t *api_json_member(const struct store_member *m)
{
	json_t *boots = json_array();

	for (uint32_t i = 0; i < m->n_boots && i < STORE_BOOTS_MAX; i++) {
		if (json_array_append_new(boots, api_json_text(m->boot_id[i])) < 0) {
			json_decref(boots);
			return NULL;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host", m->host, "cluster",
			 m->cluster, "role", role_name(m->role), "wave", (json_int_t)m->wave, "progress",
			 api_json_text(m->progress), "release_before", api_json_text(m->release_before),
			 "release_after", api_json_text(m->release_after), "boot_ids", boots, "default_before",
			 api_json_text(m->default_before), "default_after", api_json_text(m->default_after),
			 "started_unix_s", api_json_time(m->started_unix_s), "ended_unix_s",
			 api_json_time(m->ended_unix_s));
}

json_t *api_json_host(const struct store_host *h, uint64_t now)
{
	const struct host_report *r = &h->report;
	uint64_t age = now > h->seen_unix_s ? now - h->seen_unix_s : 0;

	return json_pack(
	    "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:s, s:o, s:b}", "name", h->name,
	    "cluster", h->cluster, "state", h->reported ? json_string(host_state_name(r->state)) : json_null(),
	    "outcome", h->reported ? json_string(outcome_name(r->outcome)) : json_null(), "reason",
	    api_json_text(r->reason), "release", api_json_text(r->release), "build_id", api_json_text(r->build_id),
	    "boot_id", api_json_text(r->boot_id), "default_entry", api_json_text(r->default_entry), "model",
	    api_json_text(r->model), "kexec_booted", r->kexec_booted, "pcp_batch_scale_max",
	    h->reported ? json_integer(r->pcp_batch_scale_max) : json_null(), "seen_age_s",
	    h->reported ? json_integer((json_int_t)age) : json_null(), "agent", api_json_text(r->agent), "rollout",
	    h->rollout, "enrolled_unix_s", api_json_time(h->enrolled_unix_s), "retired", h->retired);
}

json_t *api_json_order(const struct store_order *o)
{
	bool measures = o->order.verb == VERB_MEASURE;

	return json_pack("{s:I, s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o}", "epoch", (json_int_t)o->order.epoch,
			 "rollout", o->order.rollout, "verb", verb_name(o->order.verb), "arm",
			 measures ? arm_name(o->order.arm) : "", "boot",
			 measures ? json_integer(o->order.boot) : json_null(), "target",
			 !measures             ? ""
			 : o->order.target_new ? "new"
					       : "old",
			 "outcome", outcome_name(o->outcome), "reason", api_json_text(o->reason), "granted_unix_s",
			 api_json_time(o->granted_unix_s), "ended_unix_s", api_json_time(o->ended_unix_s));
}

static json_t *event_json(const struct store_event *x)
{
	return json_pack("{s:o, s:s, s:s, s:o}", "at_unix_s", api_json_time(x->at_unix_s), "rollout", x->rollout,
			 "host", x->host, "text", api_json_text(x->text));
}

int api_add_events(struct api_call *c, json_t *object, const char *rollout, const char *host, uint32_t limit,
		   struct err *e)
{
	struct store_event *list = NULL;
	size_t n = 0;
	int r = store_events(c->api->store, rollout, host, limit, &list, &n, e);

	if (r < 0)
		return r;
	json_t *events = json_array();
	int bad = 0;
	for (size_t i = 0; i < n && bad == 0; i++)
		bad = json_array_append_new(events, event_json(&list[i]));
	free(list);
	if (bad < 0)
		json_decref(events);
	if (bad < 0 || json_object_set_new(object, "events", events) < 0)
		return err_sys(e, ENOMEM, "cannot answer");
	return 0;
}
