// SPDX-License-Identifier: Apache-2.0
/* Owns the acting process's loop: what a boot means, the next thing to be done, the journal before and after it, and
 * the channel in between. Must not know how any single thing is done. */
#include "actor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "act_order.h"
#include "arrive.h"
#include "channel.h"
#include "classify.h"
#include "lifecycle.h"
#include "say.h"

#define LISTEN_MS   5000
#define REPORT_S    60u
#define LAST_WORD_S 3u /* for SIGTERM to come, once the other process is gone */

static bool is_retry(enum event v)
{
	return v == EVENT_STUCK || v == EVENT_STUCK_BACK || v == EVENT_POWER_LOSS || v == EVENT_LOST_AT_REST;
}

/* What has no place in the table is held, never guessed. */
static void step_to(struct actor *a, enum event v, struct lifecycle_step *ret, char *why, size_t cap)
{
	struct err e;

	if (lifecycle_next(a->j.state, v, ret, &e) == 0)
		return;
	snprintf(why, cap, "%.200s: this is an error of the agent", e.text);
	*ret = (struct lifecycle_step){HOST_HELD, ACT_REST, OUTCOME_HELD};
}

/* Counts an attempt before it is made; the last one is followed by giving up. */
static enum event count_attempt(struct actor *a, enum event v)
{
	if (!is_retry(v))
		return v;
	if (v == EVENT_POWER_LOSS || v == EVENT_LOST_AT_REST)
		a->j.losses++;
	if (a->j.attempts >= JOURNAL_ATTEMPTS)
		return EVENT_GIVE_UP;
	a->j.attempts++;
	return v;
}

/* Makes one step of the lifecycle: on disk, then told. The report is repeated anyway, so that a talker that is gone is
 * no matter here. */
static int apply(struct actor *a, enum event v, const char *why_of, struct err *e)
{
	char why[MESSAGE_TEXT_MAX];
	struct lifecycle_step step;
	enum host_state before = a->j.state;
	struct err minor;
	int r;

	snprintf(why, sizeof(why), "%s", why_of);
	if (v == EVENT_CRASHED) {
		const char *suspect = arrive_suspect(&a->j);
		if (suspect && (r = journal_deny(&a->sys, a->folder, suspect, e)) < 0)
			return r;
	}
	enum event counted = count_attempt(a, v);
	step_to(a, counted, &step, why, sizeof(why));
	if (step.state == HOST_FAILED && before != HOST_FAILED)
		a->j.attempts = 1;
	/* What was intended has come about, or never will. */
	if (step.act != ACT_JUMP && step.act != ACT_LOAD && v != EVENT_STUCK && v != EVENT_STUCK_BACK)
		a->j.intent.way = WAY_NONE;
	a->j.state = step.state;
	a->j.act = step.act;
	if (step.outcome != OUTCOME_NONE) {
		a->j.outcome = step.outcome;
		snprintf(a->j.reason, sizeof(a->j.reason), "%s", why);
	}
	if ((r = act_store(a, e)) < 0)
		return r;
	say(step.outcome > OUTCOME_DONE ? SAY_ERROR : SAY_INFO, "%s: %s, now %s, next %s%s%s", host_state_name(before),
	    event_name(counted), host_state_name(step.state), act_name(step.act), *why ? ": " : "", why);
	if (act_report(a, &minor) < 0)
		say(SAY_WARNING, "%s", minor.text);
	return 0;
}

/* What a person is told of a boot that was not meant. */
static void explain(const struct actor *a, enum came came, char *ret, size_t cap)
{
	switch (came) {
	case CAME_CRASHED:
		snprintf(ret, cap, "the host came up in %s with records of a crash", a->boot.release);
		break;
	case CAME_BACK:
		snprintf(ret, cap, "somebody rebooted the host in order: it is on %s again", a->boot.release);
		break;
	case CAME_POWER_LOSS:
		snprintf(ret, cap,
			 "the host came up in %s and nothing tells why: power, a reset, or a crash without records",
			 a->boot.release);
		break;
	case CAME_FOREIGN:
		snprintf(ret, cap, "%s with build-id %.40s came up, which nobody ordered in this way", a->boot.release,
			 a->boot.build);
		break;
	default:
		snprintf(ret, cap, "%s came up as it was meant", a->boot.release);
	}
}

/* What a reboot has cut short is begun again, but not for ever. */
static bool count_again(struct journal *j, enum event *ret)
{
	if (j->attempts++ < JOURNAL_ATTEMPTS)
		return false;
	*ret = EVENT_GIVE_UP;
	return true;
}

/* Says which kernel came up, and makes of it what it means. */
static int on_start(struct actor *a, struct err *e)
{
	struct journal *j = &a->j;
	char clean[JOURNAL_ID_MAX], path[PATH_MAX], why[MESSAGE_TEXT_MAX];
	uint64_t crashes = 0;
	enum event v;
	int r;

	if ((r = act_read_boot(a, e)) < 0 || (r = journal_load(&a->sys, a->folder, j, e)) < 0 ||
	    (r = act_count_crashes(a, &crashes, e)) < 0 || (r = act_take_clean(a, clean, e)) < 0)
		return r;
	struct classify c = {.way = j->intent.way,
			     .known_boot = j->boot,
			     .boot = a->boot.boot,
			     .from = j->old_build,
			     .to = j->intent.to_build,
			     .build = a->boot.build,
			     .transaction = j->intent.transaction,
			     .seen = a->boot.transaction,
			     .clean_boot = clean,
			     .evidence = crashes > j->crash_records};
	struct arrive x = {.came = classify(&c), .build = a->boot.build};
	bool means = arrive_event(j, &x, &v);

	if (!means && x.came != CAME_SAME && j->outcome == OUTCOME_RUNNING)
		means = count_again(j, &v);
	say(SAY_INFO, "%s in state %s, %s is next; this boot: %s", a->boot.release, host_state_name(j->state),
	    act_name(j->act),
	    means || x.came == CAME_SAME ? came_name(x.came) : "another one, which means nothing now");
	j->crash_records = crashes;
	snprintf(j->boot, sizeof(j->boot), "%s", a->boot.boot);
	explain(a, x.came, why, sizeof(why));
	r = means ? apply(a, v, why, e) : act_store(a, e);
	/* Once the journal knows this boot the marker has said what it can. */
	if (r < 0 || (r = act_path(a->folder, "clean", path, e)) < 0)
		return r;
	return a->sys.hands->remove(&a->sys, path, e);
}

static bool needs_directive(enum act act)
{
	return act == ACT_STAGE || act == ACT_RECORD || act == ACT_APPLY || act == ACT_KEEP;
}

static int perform(struct actor *a, struct act_result *ret, struct err *e)
{
	switch (a->j.act) {
	case ACT_STAGE:
		return act_stage(a, ret, e);
	case ACT_PREPARE:
		return act_prepare(a, ret, e);
	case ACT_REBOOT_FRESH:
		return act_reboot_fresh(a, ret, e);
	case ACT_LOAD:
		return act_load(a, ret, e);
	case ACT_JUMP:
		return act_jump(a, ret, e);
	case ACT_PROVE:
		return act_prove(a, ret, e);
	case ACT_CHECK:
		return act_check(a, ret, e);
	case ACT_RECORD:
		return act_record(a, ret, e);
	case ACT_COMMIT:
		return act_commit(a, ret, e);
	case ACT_REVERT:
		return act_revert(a, ret, e);
	case ACT_APPLY:
		return act_apply(a, ret, e);
	case ACT_KEEP:
		return act_keep(a, ret, e);
	case ACT_RESTORE:
		return act_restore(a, true, ret, e);
	case ACT_UNDO:
		return act_restore(a, false, ret, e);
	default:
		return err_set(e, EINVAL, "%s is nothing that is done", act_name(a->j.act));
	}
}

/* Does what is next, and notes what came of it. */
static int act_once(struct actor *a, struct err *e)
{
	struct act_result result = {.event = EVENT_FAILED};
	int r;

	if (needs_directive(a->j.act) && (r = act_order_recall(a, e)) < 0)
		return apply(a, EVENT_FAILED, e->text, e);
	if ((r = perform(a, &result, e)) < 0)
		return r;
	return apply(a, result.event, result.why, e);
}

static int on_reply(struct actor *a, const struct buf *body, struct err *e)
{
	_cleanup_(poll_reply_free) struct poll_reply reply = {0};
	enum event v = EVENT_FAILED;
	bool accepted;
	struct err minor;
	int r;

	if (message_reply_read(body->data, body->len, &reply, &minor) < 0) {
		say(SAY_WARNING, "%s", minor.text);
		return 0;
	}
	if (!reply.has_order)
		return 0;
	if ((r = act_order(a, &reply, &accepted, &v, e)) < 0)
		return r;
	if (accepted)
		return apply(a, v, "", e);
	return act_report(a, e);
}

/* "ROLLOUT/EPOCH ok" or "ROLLOUT/EPOCH refused TEXT"; of another order than this one: of no matter. */
static int on_uploaded(struct actor *a, const struct buf *body, struct err *e)
{
	char want[DIRECTIVE_NAME_MAX + 24];
	const char *text = body->data ? body->data : "";
	int n = snprintf(want, sizeof(want), "%s/%llu ", a->j.order.rollout, (unsigned long long)a->j.order.epoch);

	if (a->j.act != ACT_UPLOAD || strncmp(text, want, (size_t)n) != 0)
		return 0;
	if (strcmp(text + n, "ok") == 0)
		return apply(a, EVENT_UPLOADED, "measured and uploaded", e);
	return apply(a, EVENT_FAILED, text + n, e);
}

/* One frame, or none within a few seconds. */
static int listen(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT(CHANNEL_BODY_MAX);
	enum channel_kind kind;
	int r = channel_receive(a->channel, LISTEN_MS, &kind, &body, e);

	if (r <= 0)
		return r;
	if (kind == CHANNEL_REPLY)
		return on_reply(a, &body, e);
	if (kind == CHANNEL_UPLOADED)
		return on_uploaded(a, &body, e);
	return err_set(e, EBADMSG, "the talker sent a frame that only the actor sends");
}

/* Whether a person has lifted something; see actor_lift. */
static int take_lift(struct actor *a, struct err *e)
{
	struct lifecycle_step step;
	char path[PATH_MAX], word[16];
	struct err minor;
	int r = act_path(a->folder, "lift", path, e);

	if (r < 0)
		return r;
	r = sys_read_text(&a->sys, path, word, sizeof(word), e);
	if (r == -ENOENT)
		return 0;
	/* What only stands at its place, or cannot be read, is no person's word. */
	if (r < 0 && r != -EFBIG && r != -EINVAL)
		return r;
	if (r < 0 || strcmp(word, "lift") != 0) {
		say(SAY_WARNING, "%s is not what kpcp-agent lift writes; it is removed, and nothing is lifted", path);
		return a->sys.hands->remove(&a->sys, path, e);
	}
	/* What is under way ends first. */
	if (a->j.act != ACT_REST)
		return 0;
	if (lifecycle_next(a->j.state, EVENT_LIFT, &step, &minor) == 0) {
		if ((r = act_unpin(a, e)) < 0)
			return r;
		a->j.rollout[0] = 0;
		if ((r = apply(a, EVENT_LIFT, "", e)) < 0)
			return r;
	}
	return a->sys.hands->remove(&a->sys, path, e);
}

static int serve(struct actor *a, struct err *e)
{
	uint64_t reported = a->sys.now_ns(&a->sys);
	int r;

	if ((r = act_report(a, e)) < 0)
		return r;
	while (!*a->stop) {
		bool waits = a->j.act == ACT_REST || a->j.act == ACT_UPLOAD;
		enum act before = a->j.act;

		if ((r = take_lift(a, e)) < 0 || (r = waits ? listen(a, e) : act_once(a, e)) < 0)
			return r;
		if (a->j.act == ACT_UPLOAD && before != ACT_UPLOAD && (r = act_upload(a, e)) < 0)
			return r;
		if (a->sys.now_ns(&a->sys) - reported < REPORT_S * ACT_SECOND_NS)
			continue;
		reported = a->sys.now_ns(&a->sys);
		if ((r = act_report(a, e)) < 0)
			return r;
	}
	return 0;
}

/* Stopped in order: the next boot may know. A talker that is gone first says that the whole agent is being stopped, or
 * that it has to be started again: a moment tells. */
static int finish(struct actor *a, int r, struct err *e)
{
	struct err minor;

	if (r == -EPIPE && act_sleep(a, LAST_WORD_S) == 0)
		return r;
	if (!*a->stop)
		return r;
	if (act_mark_clean(a, &minor) < 0)
		say(SAY_WARNING, "%s", minor.text);
	(void)e;
	return 0;
}

int actor_run(const struct agent_conf *c, const struct sys *s, int channel, const volatile int *stop, struct err *e)
{
	struct actor *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_sys(e, ENOMEM, "starting the actor");
	a->conf = c;
	a->sys = *s;
	a->channel = channel;
	a->stop = stop;
	if (!a->sys.hands)
		a->sys.hands = &sys_hands_linux;
	if ((r = act_path(c->state_dir, "actor", a->folder, e)) == 0 && (r = on_start(a, e)) == 0) {
		r = a->j.act == ACT_UPLOAD ? act_upload(a, e) : 0;
		if (r == 0)
			r = serve(a, e);
		r = finish(a, r, e);
	}
	free(a);
	return r;
}

int actor_lift(const struct agent_conf *c, const struct sys *s, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(JOURNAL_BYTES_MAX);
	const struct sys_hands *hands = s->hands ? s->hands : &sys_hands_linux;
	char path[PATH_MAX], lift[PATH_MAX];
	struct lifecycle_step step;
	struct journal j = {0};
	struct err minor;
	int r;

	if ((r = act_path(c->state_dir, "actor/state", path, e)) < 0 ||
	    (r = act_path(c->state_dir, "actor/lift", lift, e)) < 0)
		return r;
	r = s->read(s, path, &text, e);
	if (r < 0 && r != -ENOENT)
		return r;
	/* What cannot be read will be HELD. */
	if (r == -ENOENT || (journal_decode("state", text.data ? text.data : "", text.len, &j, &minor) == 0 &&
			     lifecycle_next(j.state, EVENT_LIFT, &step, &minor) < 0))
		return err_set(e, EINVAL, "this host is %s: there is nothing to be lifted", host_state_name(j.state));
	return hands->write(s, lift, "lift\n", 5, 0600, e);
}

int actor_lift_denied(const struct agent_conf *c, const struct sys *s, const char *build_id, struct err *e)
{
	struct sys with = *s;
	char folder[PATH_MAX];
	int r = act_path(c->state_dir, "actor", folder, e);

	if (!with.hands)
		with.hands = &sys_hands_linux;
	return r < 0 ? r : journal_undeny(&with, folder, build_id, e);
}
