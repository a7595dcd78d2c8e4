// SPDX-License-Identifier: Apache-2.0
/* Owns how rollouts are shown: all of them, one while it runs, and the final table of one.
 * Must not know what states mean or how a verdict is made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reply.h"
#include "view.h"

#define EVENTS_SHOWN 8

/* "2 of 3", "" before the waves. */
static const char *wave_text(int64_t wave, int64_t waves, char ret[VIEW_TEXT_MAX])
{
	*ret = 0;
	if (wave > 0)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 " of %" PRId64, wave, waves);
	return ret;
}

/* "WAVE", "WAVE, paused". */
static const char *state_text(struct reply *r, const json_t *x, char ret[VIEW_TEXT_MAX])
{
	snprintf(ret, VIEW_TEXT_MAX, "%s%s", reply_text(r, x, "state"), reply_bool(r, x, "paused") ? ", paused" : "");
	return ret;
}

/* "1:02:03", from the start to the end or, while it runs, "". */
static const char *took_text(int64_t from, int64_t to, char ret[VIEW_TEXT_MAX])
{
	int64_t s = to - from;

	*ret = 0;
	if (from > 0 && to >= from)
		snprintf(ret, VIEW_TEXT_MAX, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60, s % 60);
	return ret;
}

static void rollout_row(struct view *v, struct reply *r, const json_t *x)
{
	char state[VIEW_TEXT_MAX], wave[VIEW_TEXT_MAX], started[VIEW_TEXT_MAX], took[VIEW_TEXT_MAX];
	int64_t from = reply_int(r, x, "started_unix_s");

	took_text(from, reply_int(r, x, "ended_unix_s"), took);
	const char *const cell[] = {reply_text(r, x, "name"),
				    state_text(r, x, state),
				    wave_text(reply_int(r, x, "wave"), reply_int(r, x, "waves"), wave),
				    reply_text(r, x, "verdict"),
				    view_time(from, started),
				    took,
				    reply_text(r, x, "what"),
				    reply_text(r, x, "reason")};
	view_row(v, cell);
}

int view_rollouts(const json_t *rollouts, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {
	    {"ROLLOUT", VIEW_LEFT}, {"STATE", VIEW_LEFT}, {"WAVE", VIEW_LEFT}, {"VERDICT", VIEW_LEFT},
	    {"STARTED", VIEW_LEFT}, {"TOOK", VIEW_RIGHT}, {"WHAT", VIEW_LONG}, {"WHY", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	struct reply r = {.e = e};
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(&r, rollouts, "rollouts"), i, x) rollout_row(&v, &r, x);
	int bad = view_end(&v, "no rollouts yet: 'kpcp approve PLAN' makes one", out, e);
	return r.failed < 0 ? r.failed : bad;
}

int view_rollout_line(const json_t *rollout, struct buf *out, struct err *e)
{
	struct reply r = {.e = e};
	char state[VIEW_TEXT_MAX], wave[VIEW_TEXT_MAX];
	const char *reason = reply_text(&r, rollout, "reason");

	wave_text(reply_int(&r, rollout, "wave"), reply_int(&r, rollout, "waves"), wave);
	int bad = buf_addf(out, e, "%s: %s%s%s%s%s\n", reply_text(&r, rollout, "name"), state_text(&r, rollout, state),
			   *wave ? ", wave " : "", wave, *reason ? ": " : "", reason);
	return r.failed < 0 ? r.failed : bad;
}

static int add_head(struct reply *r, const json_t *x, struct buf *out, struct err *e)
{
	char at[VIEW_TEXT_MAX];
	int bad = view_rollout_line(x, out, e);

	if (bad == 0)
		bad = view_field(out, "waits for", reply_text(r, x, "waiting"), e);
	if (bad == 0)
		bad = view_field(out, "changes", reply_text(r, x, "what"), e);
	if (bad == 0)
		bad = view_field(out, "approved", view_time(reply_int(r, x, "approved_unix_s"), at), e);
	if (bad == 0)
		bad = view_field(out, "started", view_time(reply_int(r, x, "started_unix_s"), at), e);
	if (bad == 0)
		bad = view_field(out, "ended", view_time(reply_int(r, x, "ended_unix_s"), at), e);
	if (bad == 0)
		bad = view_field(out, "verdict", reply_text(r, x, "verdict"), e);
	return bad;
}

static int add_members(struct reply *r, const json_t *rollout, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {{"HOST", VIEW_LEFT},  {"CLUSTER", VIEW_LEFT},
						    {"ROLE", VIEW_LEFT},  {"WAVE", VIEW_RIGHT},
						    {"TOOK", VIEW_RIGHT}, {"PROGRESS", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	char wave[VIEW_TEXT_MAX], took[VIEW_TEXT_MAX];
	const json_t *x;
	size_t i;

	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(r, rollout, "members"), i, x)
	{
		int64_t n = reply_int(r, x, "wave"), from = reply_int(r, x, "started_unix_s");
		const char *const cell[] = {reply_text(r, x, "host"),
					    reply_text(r, x, "cluster"),
					    reply_text(r, x, "role"),
					    n > 0 ? view_number(n, wave) : "",
					    took_text(from, reply_int(r, x, "ended_unix_s"), took),
					    reply_text(r, x, "progress")};
		view_row(&v, cell);
	}
	return view_end(&v, "no members: hosts are drawn at the start", out, e);
}

int view_rollout(const json_t *rollout, struct buf *out, struct err *e)
{
	struct reply r = {.e = e};
	int bad = add_head(&r, rollout, out, e);

	if (bad == 0)
		bad = buf_add(out, "\n", 1, e);
	if (bad == 0)
		bad = add_members(&r, rollout, out, e);
	const json_t *comparison = reply_object(&r, rollout, "comparison");
	if (bad == 0 && comparison)
		bad = buf_add(out, "\n", 1, e);
	if (bad == 0 && comparison)
		bad = view_verdict(comparison, out, e);
	if (bad == 0)
		bad = buf_add(out, "\n", 1, e);
	if (bad == 0)
		bad = view_events(reply_list(&r, rollout, "events"), EVENTS_SHOWN, out, e);
	return r.failed < 0 ? r.failed : bad;
}

/* A boot id's first eight digits tell boots apart; the whole ones are in --json. */
static int join_boots(struct reply *r, const json_t *ids, struct buf *out, struct err *e)
{
	int bad = buf_add(out, "", 0, e);

	for (size_t i = 0; bad == 0 && i < json_array_size(ids); i++)
		bad = buf_addf(out, e, "%s%.8s", i ? " " : "", reply_element(r, ids, i));
	return bad;
}

/* "a" where both are a; "a -> b" where they differ; what is not known is "?". */
static const char *change_text(const char *before, const char *after, char *ret, size_t size)
{
	if (!*before && !*after)
		*ret = 0;
	else if (strcmp(before, after) == 0)
		snprintf(ret, size, "%s", before);
	else
		snprintf(ret, size, "%s -> %s", *before ? before : "?", *after ? after : "?");
	return ret;
}

/* What a person looks for in GRUB's "gnulinux-advanced-UUID>gnulinux-RELEASE-advanced-UUID": RELEASE. The whole
 * id is in --json; an entry of another form is shown as it is. */
static const char *entry_text(const char *id, char ret[static 160])
{
	const char *last = strrchr(id, '>'), *from = last ? last + 1 : id, *end = strstr(from, "-advanced-");

	if (strncmp(from, "gnulinux-", 9) != 0 || !end)
		return id;
	snprintf(ret, 160, "%.*s", (int)(end - from - 9), from + 9);
	return ret;
}

static int table_row(struct view *v, struct reply *r, const json_t *x, struct err *e)
{
	_cleanup_(buf_free) struct buf boots = BUF_INIT(64u << 10);
	char kernel[256], entry[512], before[160], after[160], role[VIEW_TEXT_MAX], took[VIEW_TEXT_MAX],
	    wave[VIEW_TEXT_MAX];
	int64_t n = reply_int(r, x, "wave"), from = reply_int(r, x, "started_unix_s");
	int bad = join_boots(r, reply_list(r, x, "boot_ids"), &boots, e);

	if (bad < 0)
		return bad;
	change_text(reply_text(r, x, "release_before"), reply_text(r, x, "release_after"), kernel, sizeof(kernel));
	change_text(entry_text(reply_text(r, x, "default_before"), before),
		    entry_text(reply_text(r, x, "default_after"), after), entry, sizeof(entry));
	snprintf(role, sizeof(role), "%s", reply_text(r, x, "role"));
	const char *const cell[] = {reply_text(r, x, "host"),
				    role,
				    n > 0 ? view_number(n, wave) : "",
				    took_text(from, reply_int(r, x, "ended_unix_s"), took),
				    kernel,
				    boots.data ? boots.data : "",
				    entry,
				    reply_text(r, x, "progress")};
	view_row(v, cell);
	return 0;
}

int view_rollout_table(const json_t *rollout, struct buf *out, struct err *e)
{
	static const struct view_column column[] = {
	    {"HOST", VIEW_LEFT},   {"ROLE", VIEW_LEFT},  {"WAVE", VIEW_RIGHT},         {"TOOK", VIEW_RIGHT},
	    {"KERNEL", VIEW_LONG}, {"BOOTS", VIEW_LONG}, {"DEFAULT ENTRY", VIEW_LONG}, {"NOW", VIEW_LONG}};
	_cleanup_(view_free) struct view v;
	struct reply r = {.e = e};
	const json_t *x;
	size_t i;
	int bad = add_head(&r, rollout, out, e);

	if (bad == 0)
		bad = buf_add(out, "\n", 1, e);
	view_start(&v, column, ARRAY_SIZE(column));
	json_array_foreach(reply_list(&r, rollout, "members"), i, x)
	{
		if (bad == 0)
			bad = table_row(&v, &r, x, e);
	}
	if (bad == 0)
		bad = view_end(&v, "no members: hosts are drawn at the start", out, e);
	if (bad == 0)
		bad = buf_add(out, "\n", 1, e);
	if (bad == 0)
		bad = view_verdict(reply_object(&r, rollout, "comparison"), out, e);
	return r.failed < 0 ? r.failed : bad;
}
