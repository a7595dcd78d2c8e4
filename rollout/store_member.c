// SPDX-License-Identifier: Apache-2.0
/* Owns the members of a rollout as people want to see them: what each is, how far it is, what it was before.
 * Must not know what decide() makes of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_impl.h"

#define MEMBER_COLUMNS                                                                                           \
	"m.host, m.cluster, m.role, m.wave, m.staged, m.tried, m.proved, m.applied, m.committed, m.reverted, "   \
	"m.measured_old, m.measured_new, m.release_before, m.release_after, m.default_before, m.default_after, " \
	"m.started, m.ended, m.last_epoch, o.verb, o.arm, o.boot, o.outcome, o.reason, o.ended"
#define MEMBER_TABLES "members m LEFT JOIN orders o ON o.host = m.host AND o.epoch = m.last_epoch"

struct listing {
	struct store *s;
	struct directive d;
	struct store_list list;
};

/* How far it came: the last thing that was done to it, and what is being done. */
static void settled(const struct db_row *r, const struct listing *l, enum role role, char ret[128])
{
	uint32_t boots = l->d.judge.boots;
	bool measured = l->d.evidence == EVIDENCE_MEASURED && (role == ROLE_CANARY || role == ROLE_CONTROL);
	static const struct {
		int column;
		const char *word;
	} done[] = {{9, "back on what it had"}, {8, "committed"}, {6, "proved, soaking"}};

	for (size_t i = 0; i < ARRAY_SIZE(done); i++) {
		if (!db_int(r, done[i].column))
			continue;
		snprintf(ret, 128, "%s", done[i].word);
		return;
	}
	const char *first = db_int(r, 5) ? "tried" : db_int(r, 7) ? "applied" : db_int(r, 4) ? "staged" : "";
	if (measured)
		snprintf(ret, 128, "%s%smeasured %u of %u old, %u of %u new", first, first[0] ? ", " : "",
			 (unsigned)db_int(r, 10), boots, (unsigned)db_int(r, 11), boots);
	else
		snprintf(ret, 128, "%s", first[0] ? first : "waiting");
}

static int progress(const struct db_row *r, const struct listing *l, enum role role, char ret[STORE_TEXT_MAX],
		    struct err *e)
{
	struct order o = {.boot = (uint32_t)db_int(r, 21)};
	char so_far[128], text[64];

	settled(r, l, role, so_far);
	if (db_int(r, 18) == 0) {
		snprintf(ret, STORE_TEXT_MAX, "%s", so_far);
		return 0;
	}
	int x = verb_parse(db_text(r, 19, NULL), &o.verb, e);
	if (x == 0)
		x = arm_parse(db_text(r, 20, NULL), &o.arm, e);
	if (x < 0)
		return x;
	const char *outcome = db_text(r, 22, NULL), *reason = db_text(r, 23, NULL);
	if (db_int(r, 24) == 0)
		snprintf(ret, STORE_TEXT_MAX, "%s; %s is %s", so_far, store_order_text(&o, text),
			 strcmp(outcome, outcome_name(OUTCOME_NONE)) == 0 ? "ordered" : outcome);
	else if (strcmp(outcome, outcome_name(OUTCOME_DONE)) != 0)
		snprintf(ret, STORE_TEXT_MAX, "%s; %s %s: %.256s", so_far, store_order_text(&o, text), outcome, reason);
	else
		snprintf(ret, STORE_TEXT_MAX, "%s", so_far);
	return 0;
}

static int member_row(void *target, const struct db_row *r, struct err *e)
{
	struct listing *l = target;
	struct store_member *m = store_list_add(&l->list);
	const char *role = db_text(r, 2, NULL);

	if (!m)
		return err_sys(e, ENOMEM, "listing members");
	for (m->role = ROLE_NONE; m->role < ROLE_WAVE && strcmp(role, role_name(m->role)) != 0; m->role++)
		;
	m->wave = (uint32_t)db_int(r, 3);
	m->started_unix_s = (uint64_t)db_int(r, 16);
	m->ended_unix_s = (uint64_t)db_int(r, 17);
	int x = db_copy(r, 0, m->host, sizeof(m->host), e);
	if (x == 0)
		x = db_copy(r, 1, m->cluster, sizeof(m->cluster), e);
	if (x == 0)
		x = db_copy(r, 12, m->release_before, sizeof(m->release_before), e);
	if (x == 0)
		x = db_copy(r, 13, m->release_after, sizeof(m->release_after), e);
	if (x == 0)
		x = db_copy(r, 14, m->default_before, sizeof(m->default_before), e);
	if (x == 0)
		x = db_copy(r, 15, m->default_after, sizeof(m->default_after), e);
	return x < 0 ? x : progress(r, l, m->role, m->progress, e);
}

static int boot_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_member *m = target;

	return m->n_boots == STORE_BOOTS_MAX ? 0 : db_copy(r, 0, m->boot_id[m->n_boots++], sizeof(m->boot_id[0]), e);
}

static int add_boots(struct store *s, const char *rollout, struct store_member *m, struct err *e)
{
	return DB_QUERY(s->db, boot_row, m, NULL, e,
			"SELECT boot_id FROM boots WHERE rollout = $1 AND host = $2 ORDER BY number LIMIT $3",
			DB_T(rollout), DB_T(m->host), DB_I(STORE_BOOTS_MAX));
}

static int finish(struct listing *l, const char *rollout, int r, struct err *e)
{
	struct store_member *m = (struct store_member *)(void *)l->list.data;

	for (size_t i = 0; r == 0 && i < l->list.n; i++)
		r = add_boots(l->s, rollout, &m[i], e);
	if (r < 0)
		free(m);
	return r;
}

int store_members(struct store *s, const char *rollout, struct store_member **ret, size_t *n, struct err *e)
{
	struct listing l = {.s = s, .list = {.item = sizeof(struct store_member)}};
	int r = store_directive(s, rollout, &l.d, e);

	if (r < 0)
		return r;
	r = DB_QUERY(s->db, member_row, &l, NULL, e,
		     "SELECT " MEMBER_COLUMNS " FROM " MEMBER_TABLES " WHERE m.rollout = $1 ORDER BY CASE m.role WHEN "
		     "'canary' THEN 1 WHEN 'control' THEN 2 ELSE 3 END, m.wave, m.host",
		     DB_T(rollout));
	r = finish(&l, rollout, r, e);
	if (r < 0)
		return r;
	*ret = (struct store_member *)(void *)l.list.data;
	*n = l.list.n;
	return 0;
}

int store_member_get(struct store *s, const char *rollout, const char *host, struct store_member *ret, struct err *e)
{
	struct listing l = {.s = s, .list = {.item = sizeof(struct store_member)}};
	int r = store_directive(s, rollout, &l.d, e);

	if (r < 0)
		return r;
	r = DB_QUERY(s->db, member_row, &l, NULL, e,
		     "SELECT " MEMBER_COLUMNS " FROM " MEMBER_TABLES " WHERE m.rollout = $1 AND m.host = $2",
		     DB_T(rollout), DB_T(host));
	r = finish(&l, rollout, r, e);
	if (r < 0)
		return r;
	if (l.list.n == 0) {
		free(l.list.data);
		return err_set(e, ENOENT, "%.64s is no member of rollout %.64s", host, rollout);
	}
	memcpy(ret, l.list.data, sizeof(*ret));
	free(l.list.data);
	return 0;
}
