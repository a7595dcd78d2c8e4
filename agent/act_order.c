// SPDX-License-Identifier: Apache-2.0
/* Owns the acceptance of orders: from a poll's reply to a journal that says what is done next, and back after a
 * restart. Must not know how anything is carried out. */
#include "act_order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/trust/trust.h"
#include "say.h"
#include "verify.h"

#define STRANGER_S 120 /* an order that is meant comes again as long as it has no answer */
#define KEPT_MAX   (DIRECTIVE_BYTES_MAX + 2 * TRUST_SIG_MAX)

static int read_signed(const struct actor *a, const char *text, const char *signature, struct directive *ret,
		       struct err *e)
{
	int r = trust_verify(a->conf->approver, text, strlen(text), signature, e);

	return r < 0 ? r : directive_parse("directive", text, strlen(text), true, ret, e);
}

/* A plan that is approved again is the same one: the approval behind it does not count. */
static void plan_of(const char *text, char ret[65])
{
	static const char approval[] = "\n[approval]\n";
	const char *end = text + strlen(text);

	for (const char *at = strstr(text, approval); at; at = strstr(at + 1, approval))
		end = at;
	trust_sha256(text, (size_t)(end - text), ret);
}

/* The signature in the first line, then the exact bytes: the same proof is asked for again after a restart. */
static int keep_directive(struct actor *a, const struct poll_reply *reply, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(KEPT_MAX);
	char path[PATH_MAX];
	int r;

	if ((r = act_path(a->folder, "directive", path, e)) < 0 ||
	    (r = buf_addf(&text, e, "%s\n%s", reply->signature, reply->directive)) < 0)
		return r;
	return a->sys.hands->write(&a->sys, path, text.data, text.len, 0600, e);
}

int act_order_recall(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(KEPT_MAX);
	struct directive d;
	char path[PATH_MAX], plan[65];
	int r;

	if (a->directed)
		return 0;
	if ((r = act_path(a->folder, "directive", path, e)) < 0 || (r = a->sys.read(&a->sys, path, &text, e)) < 0)
		return r;
	char *feed = text.data ? strchr(text.data, '\n') : NULL;
	if (!feed)
		return err_set(e, EINVAL, "%s has no signature in its first line", path);
	*feed = 0;
	if ((r = read_signed(a, feed + 1, text.data, &d, e)) < 0)
		return r;
	if (strcmp(d.name, a->j.rollout) != 0)
		return err_set(e, EINVAL, "%s is of rollout %s, the host is in %s", path, d.name, a->j.rollout);
	plan_of(feed + 1, plan);
	if (a->j.plan[0] && strcmp(plan, a->j.plan) != 0)
		return err_set(e, EINVAL, "%s is of another plan than rollout %s began with", path, d.name);
	a->directive = d;
	a->directed = true;
	return 0;
}

/* Forgets the last rollout, how it ended included: a measurement in place leaves the state as it is, and the order
 * after it must not meet an end that is not its rollout's. The pinned package stays known, to be released when the next
 * one is pinned. */
static void begin(struct journal *j, const struct directive *d)
{
	snprintf(j->rollout, sizeof(j->rollout), "%s", d->name);
	j->state = HOST_IDLE;
	j->factor = d->factor;
	j->plan[0] = 0;
	j->old_release[0] = j->old_build[0] = j->old_entry[0] = 0;
	j->new_release[0] = j->new_build[0] = 0;
	j->n_old = 0;
	j->file_saved = j->file_was = false;
	memset(&j->intent, 0, sizeof(j->intent));
}

static void answer(struct actor *a, uint64_t epoch, enum outcome outcome, const char *reason)
{
	struct journal *j = &a->j;

	j->epoch = epoch;
	j->outcome = outcome;
	snprintf(j->reason, sizeof(j->reason), "%s", reason);
	a->stranger.epoch = 0;
}

/* In memory alone: epochs are not signed, and one that counted would make old orders of all that come after it. */
static void answer_stranger(struct actor *a, uint64_t epoch, const char *reason)
{
	a->stranger.epoch = epoch;
	a->stranger.until_ns = a->sys.now_ns(&a->sys) + STRANGER_S * ACT_SECOND_NS;
	snprintf(a->stranger.reason, sizeof(a->stranger.reason), "%s", reason);
}

static void accept(struct actor *a, const struct order *o, const struct directive *d, const char *plan)
{
	struct journal *j = &a->j;

	if (strcmp(j->rollout, d->name) != 0)
		begin(j, d);
	/* The first one stays: a way back may come with another, and goes on with nothing. */
	if (!j->plan[0])
		snprintf(j->plan, sizeof(j->plan), "%s", plan);
	if (d->serial > j->serial)
		j->serial = d->serial;
	j->order = *o;
	j->attempts = 1;
	j->losses = 0;
	answer(a, o->epoch, OUTCOME_RUNNING, "");
	a->directive = *d;
	a->directed = true;
}

static int decide(struct actor *a, const struct poll_reply *reply, struct verify_answer *ret, struct directive *d,
		  char plan[65], struct err *e)
{
	struct verify v = {
	    .j = &a->j, .order = &reply->order, .unix_s = a->sys.unix_s(&a->sys), .cluster = a->conf->cluster};
	struct err why = {0};
	int r;

	/* Seen already: no key has to be looked at for that. */
	if (reply->order.epoch > a->j.epoch) {
		r = read_signed(a, reply->directive, reply->signature, d, &why);
		v.directive = r < 0 ? NULL : d;
		v.problem = why.text;
		plan_of(reply->directive, plan);
		v.plan = plan;
		if (r == 0 && d->factor == FACTOR_KERNEL &&
		    (r = journal_is_denied(&a->sys, a->folder, d->kernel.build_id, &v.denied, e)) < 0)
			return r;
	}
	verify_order(&v, ret);
	return 0;
}

int act_order(struct actor *a, const struct poll_reply *reply, bool *ret_accepted, enum event *ret, struct err *e)
{
	const struct order *o = &reply->order;
	struct verify_answer answer_is;
	struct directive d;
	char plan[65];
	int r = decide(a, reply, &answer_is, &d, plan, e);

	*ret_accepted = false;
	if (r < 0)
		return r;
	switch (answer_is.verdict) {
	case VERIFY_KNOWN:
	case VERIFY_OLD:
	case VERIFY_BUSY:
		return 0;
	case VERIFY_FAR:
		say(SAY_WARNING,
		    "order %llu (%s) is not looked at: the newest of this host is %llu, and no controller is "
		    "that far ahead; look whether rolloutd lost its database or another one answers",
		    (unsigned long long)o->epoch, verb_name(o->verb), (unsigned long long)a->j.epoch);
		return 0;
	case VERIFY_UNSIGNED:
		say(SAY_WARNING, "order %llu (%s) is refused: %s", (unsigned long long)o->epoch, verb_name(o->verb),
		    answer_is.reason);
		answer_stranger(a, o->epoch, answer_is.reason);
		return 0;
	case VERIFY_REFUSED:
		say(SAY_WARNING, "order %llu (%s) is refused: %s", (unsigned long long)o->epoch, verb_name(o->verb),
		    answer_is.reason);
		answer(a, o->epoch, OUTCOME_REFUSED, answer_is.reason);
		return act_store(a, e);
	case VERIFY_NOTHING:
		answer(a, o->epoch, OUTCOME_DONE, "this host has nothing of that rollout");
		return act_store(a, e);
	case VERIFY_ACCEPTED:
		break;
	}
	say(SAY_NOTICE, "order %llu of rollout %s: %s", (unsigned long long)o->epoch, o->rollout, verb_name(o->verb));
	if ((r = keep_directive(a, reply, e)) < 0)
		return r;
	accept(a, o, &d, plan);
	*ret_accepted = true;
	*ret = answer_is.event;
	return 0;
}
