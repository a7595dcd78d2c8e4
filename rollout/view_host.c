// SPDX-License-Identifier: Apache-2.0
/* Owns how hosts are shown: all of them, and why one is in the state that it is in.
 * Must not know what states mean or what would come next. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reply.h"
#include "view.h"

#define ORDERS_SHOWN 10
#define EVENTS_SHOWN 10

/* "IDLE", "IDLE, retired"; of a host that never reported, "not seen". */
static const char *state_text(struct reply *r, const json_t *x, char ret[VIEW_TEXT_MAX])
{
	const char *state = reply_text(r, x, "state");

	snprintf(ret, VIEW_TEXT_MAX, "%s%s", *state ? state : "not seen",
		 reply_bool(r, x, "retired") ? ", retired" : "");
	return ret;
}

static void host_row(struct view *v, struct reply *r, const json_t *x)
{
	char seen[VIEW_TEXT_MAX], scale[VIEW_TEXT_MAX], state[VIEW_TEXT_MAX];
	const char *const cell[] = {reply_text(r, x, "name"),
				    reply_text(r, x, "cluster"),
				    state_text(r, x, state),
				    reply_text(r, x, "outcome"),
				    view_age(reply_int(r, x, "seen_age_s"), seen),
				    reply_text(r, x, "release"),
				    view_number(reply_int(r, x, "pcp_batch_scale_max"), scale),
				    reply_text(r, x, "rollout"),
				    reply_text(r, x, "reason")};

	view_row(v, cell);
}

int view_hosts(const json_t *hosts, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {
	    {"HOST", VIEW_LEFT},    {"CLUSTER", VIEW_LEFT}, {"STATE", VIEW_LEFT},
	    {"OUTCOME", VIEW_LEFT}, {"SEEN", VIEW_RIGHT},   {"KERNEL", VIEW_LONG},
	    {"SCALE", VIEW_RIGHT},  {"ROLLOUT", VIEW_LEFT}, {"WHY", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	struct reply r = {.e = e};
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(&r, hosts, "hosts"), i, x) host_row(&v, &r, x);
	int bad = view_end(&v, "no hosts yet: 'kpcp token HOST --cluster NAME' lets one enrol", out, e);
	return r.failed < 0 ? r.failed : bad;
}

static int add_kernel(struct reply *r, const json_t *x, struct buf *out, struct err *e)
{
	const char *build_id = reply_text(r, x, "build_id");
	int64_t scale = reply_int(r, x, "pcp_batch_scale_max");
	char text[512], setting[64] = "";

	if (scale >= 0)
		snprintf(setting, sizeof(setting), ", pcp_batch_scale_max %" PRId64, scale);
	const char *release = reply_text(r, x, "release");
	snprintf(text, sizeof(text), "%s, build-id %s, %s%s", *release ? release : "unknown",
		 *build_id ? build_id : "unknown",
		 reply_bool(r, x, "kexec_booted") ? "came up by kexec" : "came up by the firmware", setting);
	if (!*release)
		snprintf(text, sizeof(text), "unknown until the host reports");
	int bad = view_field(out, "kernel", text, e);
	if (bad == 0)
		bad = view_field(out, "boot", reply_text(r, x, "boot_id"), e);
	if (bad == 0)
		bad = view_field(out, "default", reply_text(r, x, "default_entry"), e);
	return bad == 0 ? view_field(out, "model", reply_text(r, x, "model"), e) : bad;
}

/* "measure boot 1 of the new arm (target old)", which is a control's; "stage". */
static const char *order_text(struct reply *r, const json_t *o, char *ret, size_t size)
{
	const char *verb = reply_text(r, o, "verb"), *target = reply_text(r, o, "target");

	if (strcmp(verb, "measure") == 0)
		snprintf(ret, size, "measure boot %" PRId64 " of the %s arm (target %s)", reply_int(r, o, "boot") + 1,
			 reply_text(r, o, "arm"), target);
	else
		snprintf(ret, size, "%s", verb);
	return ret;
}

static int add_member(struct reply *r, const json_t *host, const json_t *rollout, struct buf *out, struct err *e)
{
	const json_t *m = reply_object(r, host, "member");
	char text[1024], role[192] = "";
	int bad = 0;

	if (m) {
		int64_t wave = reply_int(r, m, "wave");

		if (wave > 0)
			snprintf(role, sizeof(role), ", wave %" PRId64, wave);
		snprintf(text, sizeof(text), "%s%s: %s", reply_text(r, m, "role"), role, reply_text(r, m, "progress"));
		bad = view_field(out, "role", text, e);
	}
	if (bad == 0 && rollout) {
		const char *reason = reply_text(r, rollout, "reason");

		snprintf(text, sizeof(text), "%s, %s%s%s", reply_text(r, rollout, "name"),
			 reply_text(r, rollout, "state"), *reason ? ": " : "", reason);
		bad = view_field(out, "rollout", text, e);
	}
	return bad;
}

static int add_head(struct reply *r, const json_t *x, const json_t *rollout, struct buf *out, struct err *e)
{
	const json_t *orders = reply_list(r, x, "orders"), *last = json_array_get(orders, 0);
	const char *reason = reply_text(r, x, "reason");
	char text[512], order[192], age[VIEW_TEXT_MAX], state[VIEW_TEXT_MAX];
	int bad = buf_addf(out, e, "%s, cluster %s: %s\n", reply_text(r, x, "name"), reply_text(r, x, "cluster"),
			   state_text(r, x, state));

	if (bad == 0 && last) {
		const char *result = reply_text(r, last, "outcome");

		snprintf(text, sizeof(text), "%" PRId64 ", %s: %s", reply_int(r, last, "epoch"),
			 *result && strcmp(result, "none") != 0 ? result : "sent",
			 order_text(r, last, order, sizeof(order)));
		bad = view_field(out, "order", text, e);
	}
	if (bad == 0)
		bad = view_field(out, "why", *reason ? reason : last ? "" : "no order was given to it yet", e);
	if (bad == 0)
		bad = add_member(r, x, rollout, out, e);
	if (bad == 0)
		bad = add_kernel(r, x, out, e);
	view_age(reply_int(r, x, "seen_age_s"), age);
	snprintf(text, sizeof(text), "%s ago, agent %s", age, reply_text(r, x, "agent"));
	return bad == 0 ? view_field(out, "seen", *age ? text : "never", e) : bad;
}

static int add_orders(struct reply *r, const json_t *orders, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {
	    {"ORDER", VIEW_RIGHT}, {"GRANTED", VIEW_LEFT}, {"ENDED", VIEW_LEFT}, {"ROLLOUT", VIEW_LEFT},
	    {"WHAT", VIEW_LONG},   {"OUTCOME", VIEW_LEFT}, {"WHY", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	char epoch[VIEW_TEXT_MAX], granted[VIEW_TEXT_MAX], ended[VIEW_TEXT_MAX], what[192];
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(orders, i, x)
	{
		if (i >= ORDERS_SHOWN)
			break;
		const char *const cell[] = {view_number(reply_int(r, x, "epoch"), epoch),
					    view_time(reply_int(r, x, "granted_unix_s"), granted),
					    view_time(reply_int(r, x, "ended_unix_s"), ended),
					    reply_text(r, x, "rollout"),
					    order_text(r, x, what, sizeof(what)),
					    reply_text(r, x, "outcome"),
					    reply_text(r, x, "reason")};
		view_row(&v, cell);
	}
	return view_end(&v, "no orders", out, e);
}

int view_why(const json_t *host, const json_t *rollout, struct buf *out, struct err *e)
{
	struct reply r = {.e = e};
	const json_t *comparison = rollout ? reply_object(&r, rollout, "comparison") : NULL;
	int bad = add_head(&r, host, rollout, out, e);

	if (bad == 0)
		bad = buf_addf(out, e, "\nlast orders\n");
	if (bad == 0)
		bad = add_orders(&r, reply_list(&r, host, "orders"), out, e);
	if (bad == 0)
		bad = buf_addf(out, e, "\nlast events\n");
	if (bad == 0)
		bad = view_events(reply_list(&r, host, "events"), EVENTS_SHOWN, out, e);
	if (bad == 0 && comparison)
		bad = buf_addf(out, e, "\nwhat decided %s\n", reply_text(&r, rollout, "name"));
	if (bad == 0 && comparison)
		bad = view_verdict(comparison, out, e);
	return r.failed < 0 ? r.failed : bad;
}
