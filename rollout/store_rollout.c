// SPDX-License-Identifier: Apache-2.0
/* Owns rollouts as rows: added, listed, paused, resumed, aborted, with the states that allow it.
 * Must not know hosts (store_start.c draws them), nor what happens next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_impl.h"

#define ROLLOUT_COLUMNS                                                                                         \
	"name, state, reason, waiting, wave, paused, abort_wanted, serial, approved, started, ended, verdict, " \
	"verdict_reason, directive, braked"

static int verdict_parse(const char *word, struct store_rollout *ret, struct err *e)
{
	static const enum verdict_kind kinds[] = {VERDICT_HOLD, VERDICT_PROMOTE, VERDICT_ROLLBACK};

	ret->has_verdict = word[0] != 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(word, verdict_name(kinds[i])) != 0)
			continue;
		ret->verdict = kinds[i];
		return 0;
	}
	return word[0] ? err_set(e, EBADMSG, "the database: \"%.20s\" is no verdict", word) : 0;
}

static int read_directive(const char *name, const char *text, size_t len, struct directive *ret, struct err *e)
{
	int r = directive_parse(name, text, len, true, ret, e);

	return r < 0 ? err_context(e, "the directive of rollout %s, as it was stored", name) : 0;
}

static int rollout_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_rollout *x = target;
	struct directive d;
	size_t len;
	const char *text = db_text(r, 13, &len);
	int q = db_copy(r, 0, x->name, sizeof(x->name), e);

	if (q == 0)
		q = rollout_state_parse(db_text(r, 1, NULL), &x->state, e);
	if (q == 0)
		q = db_copy(r, 2, x->reason, sizeof(x->reason), e);
	if (q == 0)
		q = db_copy(r, 3, x->waiting, sizeof(x->waiting), e);
	if (q == 0)
		q = verdict_parse(db_text(r, 11, NULL), x, e);
	if (q == 0)
		q = db_copy(r, 12, x->verdict_reason, sizeof(x->verdict_reason), e);
	if (q == 0)
		q = read_directive(x->name, text, len, &d, e);
	if (q < 0)
		return q;
	x->wave = (uint32_t)db_int(r, 4);
	x->braked = (uint32_t)db_int(r, 14);
	x->paused = db_int(r, 5);
	x->abort_wanted = db_int(r, 6);
	x->serial = (uint64_t)db_int(r, 7);
	x->approved_unix_s = (uint64_t)db_int(r, 8);
	x->started_unix_s = (uint64_t)db_int(r, 9);
	x->ended_unix_s = (uint64_t)db_int(r, 10);
	x->waves = d.n_waves;
	x->factor = d.factor;
	if (d.factor == FACTOR_KERNEL)
		snprintf(x->what, sizeof(x->what), "%s %s (%s)", d.kernel.package, d.kernel.version, d.kernel.release);
	else
		snprintf(x->what, sizeof(x->what), "preset %s", d.preset.name);
	return 0;
}

static int list_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_rollout *x = store_list_add(target);

	return x ? rollout_row(x, r, e) : err_sys(e, ENOMEM, "listing rollouts");
}

int store_rollouts(struct store *s, struct store_rollout **ret, size_t *n, struct err *e)
{
	struct store_list l = {.item = sizeof(struct store_rollout)};
	int r = DB_QUERY(s->db, list_row, &l, NULL, e,
			 "SELECT " ROLLOUT_COLUMNS " FROM rollouts ORDER BY serial DESC LIMIT $1",
			 DB_I(STORE_ROLLOUTS_MAX));

	if (r < 0) {
		free(l.data);
		return r;
	}
	*ret = (struct store_rollout *)(void *)l.data;
	*n = l.n;
	return 0;
}

int store_rollout_get(struct store *s, const char *name, struct store_rollout *ret, struct err *e)
{
	struct store_rollout x = {0};
	size_t rows = 0;
	int r = DB_QUERY(s->db, rollout_row, &x, &rows, e, "SELECT " ROLLOUT_COLUMNS " FROM rollouts WHERE name = $1",
			 DB_T(name));

	if (r == 0 && rows == 0)
		return err_set(e, ENOENT, "no rollout \"%.80s\" is known here; see: kpcp status", name);
	if (r == 0)
		*ret = x;
	return r;
}

struct parsed {
	const char *name;
	struct directive *d;
};

static int directive_row(void *target, const struct db_row *r, struct err *e)
{
	struct parsed *p = target;
	size_t len;
	const char *text = db_text(r, 0, &len);

	return read_directive(p->name, text, len, p->d, e);
}

int store_directive(struct store *s, const char *rollout, struct directive *ret, struct err *e)
{
	size_t rows = 0;
	int r = DB_QUERY(s->db, directive_row, (&(struct parsed){rollout, ret}), &rows, e,
			 "SELECT directive FROM rollouts WHERE name = $1", DB_T(rollout));

	return r == 0 && rows == 0 ? err_set(e, ENOENT, "no rollout \"%.80s\" is known here", rollout) : r;
}

/* ---- adding ---- */

struct newest {
	const char *name;
	int64_t serial;
	char of[DIRECTIVE_NAME_MAX];
};

static int newest_row(void *target, const struct db_row *r, struct err *e)
{
	struct newest *x = target;

	x->serial = db_int(r, 0);
	return db_copy(r, 1, x->of, sizeof(x->of), e);
}

static int name_row(void *target, const struct db_row *r, struct err *e)
{
	(void)r, (void)e;
	*(bool *)target = true;
	return 0;
}

static int check_new(struct store *s, const struct directive *d, uint64_t now, struct err *e)
{
	struct newest newest = {.serial = -1};
	bool used = false;
	int r = DB_QUERY(s->db, name_row, &used, NULL, e, "SELECT 1 FROM rollouts WHERE name = $1", DB_T(d->name));

	if (r == 0)
		r = DB_QUERY(s->db, newest_row, &newest, NULL, e,
			     "SELECT serial, name FROM rollouts ORDER BY serial DESC LIMIT 1");
	if (r < 0)
		return r;
	if (used)
		return err_set(e, EEXIST,
			       "a rollout %s was there before; give the plan another name and approve it again",
			       d->name);
	if (d->serial > INT64_MAX)
		return err_set(e, EINVAL, "the serial of %s is out of range", d->name);
	if ((int64_t)d->serial <= newest.serial)
		return err_set(e, d->serial == (uint64_t)newest.serial ? EEXIST : ESTALE,
			       "%s has serial %llu, and %s of serial %lld was there before, so agents would refuse it; "
			       "approve the plan again, on a clock that is right",
			       d->name, (unsigned long long)d->serial, newest.of, (long long)newest.serial);
	if (now > d->expires_unix_s)
		return err_set(e, ESTALE, "the approval of %s expired %llu s ago; approve the plan again", d->name,
			       (unsigned long long)(now - d->expires_unix_s));
	return 0;
}

int store_rollout_add(struct store *s, const char *text, size_t len, const char *signature, const struct directive *d,
		      uint64_t now, struct err *e)
{
	int r = check_new(s, d, now, e);

	if (r < 0)
		return r;
	if (!d->approved || len > DIRECTIVE_BYTES_MAX || memchr(text, 0, len))
		return err_set(e, EINVAL, "what was sent for %s is no directive", d->name);
	if ((r = db_begin(s->db, true, e)) < 0)
		return r;
	r = DB_RUN(s->db, NULL, e,
		   "INSERT INTO rollouts (name, serial, directive, signature, state, reason, waiting, wave, paused, "
		   "abort_wanted, approved, started, ended, verdict, verdict_reason, comparison_json, comparison_text) "
		   "VALUES ($1, $2, $3, $4, $5, '', '', 0, 0, 0, $6, 0, 0, '', '', '', '')",
		   DB_T(d->name), DB_I(d->serial), ((struct db_value){DB_TEXT, 0, text, len}), DB_T(signature),
		   DB_T(rollout_state_name(ROLLOUT_APPROVED)), DB_I(now));
	if (r == 0)
		r = store_say(s, d->name, "", now, e, "approved, serial %llu", (unsigned long long)d->serial);
	r = store_end(s, r, e);
	return r < 0 ? err_context(e, "adding rollout %s", d->name) : 0;
}

/* ---- an operator's wishes ---- */

static int refuse(const struct store_rollout *x, const char *verb, struct err *e)
{
	const char *state = rollout_state_name(x->state);

	if (x->state == ROLLOUT_APPROVED)
		return err_set(
		    e, ESTALE,
		    "%s is %s and was not started, so it cannot be %s; nothing happens before: kpcp start %s", x->name,
		    state, verb, x->name);
	if (rollout_state_final(x->state))
		return err_set(e, ESTALE,
			       "%s is %s, so it cannot be %s: it has ended; for another attempt approve the plan under "
			       "another name",
			       x->name, state, verb);
	return err_set(e, ESTALE, "%s is %s, so it cannot be %s; it goes back by itself, see: kpcp status %s", x->name,
		       state, verb, x->name);
}

static bool goes_forward(enum rollout_state s)
{
	return s == ROLLOUT_CANARY || s == ROLLOUT_JUDGING || s == ROLLOUT_PROVING || s == ROLLOUT_WAVE ||
	       s == ROLLOUT_HOLD;
}

static int set_paused(struct store *s, const struct store_rollout *x, bool paused, uint64_t now, struct err *e)
{
	int r = db_begin(s->db, true, e);

	if (r < 0)
		return r;
	r = DB_RUN(s->db, NULL, e, "UPDATE rollouts SET paused = $2 WHERE name = $1", DB_T(x->name), DB_I(paused));
	if (r == 0 && !paused && x->state == ROLLOUT_ROLLING_BACK)
		r = DB_RUN(s->db, NULL, e, "UPDATE members SET failed_reverts = 0 WHERE rollout = $1", DB_T(x->name));
	if (r == 0)
		r = store_say(s, x->name, "", now, e, "%s", paused ? "paused" : "resumed");
	r = store_end(s, r, e);
	return r < 0 ? err_context(e, "%s rollout %s", paused ? "pausing" : "resuming", x->name) : 0;
}

int store_rollout_pause(struct store *s, const char *name, uint64_t now, struct err *e)
{
	struct store_rollout x;
	int r = store_rollout_get(s, name, &x, e);

	if (r < 0 || x.paused)
		return r;
	return goes_forward(x.state) ? set_paused(s, &x, true, now, e) : refuse(&x, "paused", e);
}

int store_rollout_resume(struct store *s, const char *name, uint64_t now, struct err *e)
{
	struct store_rollout x;
	int r = store_rollout_get(s, name, &x, e);

	if (r < 0)
		return r;
	if (x.state != ROLLOUT_ROLLING_BACK && !goes_forward(x.state))
		return refuse(&x, "resumed", e);
	return x.paused || x.state == ROLLOUT_ROLLING_BACK ? set_paused(s, &x, false, now, e) : 0;
}

int store_rollout_abort(struct store *s, const char *name, uint64_t now, struct err *e)
{
	struct store_rollout x;
	int r = store_rollout_get(s, name, &x, e);

	if (r < 0 || (x.abort_wanted && x.state != ROLLOUT_DONE))
		return r;
	if (x.state != ROLLOUT_APPROVED && !goes_forward(x.state))
		return refuse(&x, "aborted", e);
	if ((r = db_begin(s->db, true, e)) < 0)
		return r;
	r = DB_RUN(s->db, NULL, e, "UPDATE rollouts SET abort_wanted = 1 WHERE name = $1", DB_T(name));
	if (r == 0 && x.state == ROLLOUT_APPROVED)
		r = DB_RUN(s->db, NULL, e, "UPDATE rollouts SET state = $2, reason = $3, ended = $4 WHERE name = $1",
			   DB_T(name), DB_T(rollout_state_name(ROLLOUT_ABORTED)),
			   DB_T("an operator aborted it before its start"), DB_I(now));
	if (r == 0)
		r = store_say(s, name, "", now, e, "aborted");
	r = store_end(s, r, e);
	return r < 0 ? err_context(e, "aborting rollout %s", name) : 0;
}

/* ---- what it was judged by ---- */

struct comparison_texts {
	struct buf *json, *text;
};

static int comparison_row(void *target, const struct db_row *r, struct err *e)
{
	struct comparison_texts *x = target;
	size_t len;
	const char *text = db_text(r, 0, &len);
	int q = buf_add(x->json, text, len, e);

	text = db_text(r, 1, &len);
	return q < 0 ? q : buf_add(x->text, text, len, e);
}

int store_comparison(struct store *s, const char *name, struct buf *ret_json, struct buf *ret_text, struct err *e)
{
	size_t rows = 0, json = ret_json->len, text = ret_text->len;
	int r = DB_QUERY(s->db, comparison_row, (&(struct comparison_texts){ret_json, ret_text}), &rows, e,
			 "SELECT comparison_json, comparison_text FROM rollouts WHERE name = $1", DB_T(name));

	if (r == 0 && rows == 0)
		r = err_set(e, ENOENT, "no rollout \"%.80s\" is known here; see: kpcp status", name);
	if (r < 0) {
		ret_json->len = json;
		ret_text->len = text;
	}
	return r;
}
