// SPDX-License-Identifier: Apache-2.0
/* Owns the opening of the store, its migrations, its hosts in memory, and its events.
 * Must not know orders or rollouts beyond their rows. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "schema_steps.h"
#include "store_impl.h"

#define EVENTS_KEPT     100000 /* the oldest go when there are more */
#define EVENTS_OWN_KEPT 10000  /* of operators and of rollouts themselves: whatever hosts do */

const struct store_waits store_waits_default = {.idle_s = 60, .busy_s = 5};

/* ---- small things that all of the store uses ---- */

void *store_list_add(struct store_list *l)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		char *data = reallocarray(l->data, cap, l->item);

		if (!data)
			return NULL;
		l->data = data;
		l->cap = cap;
	}
	char *at = l->data + l->n++ * l->item;
	memset(at, 0, l->item);
	return at;
}

int store_end(struct store *s, int r, struct err *e)
{
	if (r == 0)
		r = db_commit(s->db, e);
	if (r < 0)
		db_rollback(s->db);
	return r;
}

/* ---- hosts in memory ---- */

static size_t place_of(const struct store *s, const char *name)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(s->host[mid].pub.name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct store_mem *store_find(struct store *s, const char *host)
{
	size_t at = place_of(s, host);

	return at < s->n && strcmp(s->host[at].pub.name, host) == 0 ? &s->host[at] : NULL;
}

int store_known(struct store *s, const char *host, struct store_mem **ret, struct err *e)
{
	*ret = store_find(s, host);
	return *ret ? 0 : err_set(e, ENOENT, "no host \"%.80s\" is enrolled here; see: kpcp hosts", host);
}

int store_mem_reserve(struct store *s, struct err *e)
{
	if (s->n == STORE_HOSTS_MAX)
		return err_set(e, EUSERS, "%d hosts are enrolled, and no more fit into one controller",
			       STORE_HOSTS_MAX);
	if (s->n < s->cap)
		return 0;
	size_t cap = s->cap ? 2 * s->cap : 64;
	struct store_mem *host = reallocarray(s->host, cap, sizeof(*host));

	if (!host)
		return err_sys(e, ENOMEM, "adding a host to %zu", s->n);
	s->host = host;
	s->cap = cap;
	return 0;
}

int store_mem_add(struct store *s, const struct store_host *h, struct err *e)
{
	int r = store_mem_reserve(s, e);

	if (r < 0)
		return r;
	size_t at = place_of(s, h->name);
	memmove(&s->host[at + 1], &s->host[at], (s->n - at) * sizeof(*s->host));
	s->host[at] = (struct store_mem){.pub = *h};
	s->n++;
	return 0;
}

static int host_row(void *target, const struct db_row *r, struct err *e)
{
	struct store *s = target;
	struct store_host h = {.enrolled_unix_s = (uint64_t)db_int(r, 2),
			       .retired = db_int(r, 3),
			       .epoch = (uint64_t)db_int(r, 4),
			       .seen_unix_s = (uint64_t)db_int(r, 6)};
	struct err ignored;
	size_t len;
	const char *report = db_text(r, 7, &len);
	int x = db_copy(r, 0, h.name, sizeof(h.name), e);

	if (x == 0)
		x = db_copy(r, 1, h.cluster, sizeof(h.cluster), e);
	if (x == 0)
		x = db_copy(r, 5, h.rollout, sizeof(h.rollout), e);
	if (x == 0)
		x = db_copy(r, 8, h.fingerprint, sizeof(h.fingerprint), e);
	/* A report that another version of this program wrote is as good as none: the next poll brings one. */
	h.reported = len > 0 && message_report_read(report, len, &h.report, &ignored) == 0;
	return x < 0 ? x : store_mem_add(s, &h, e);
}

static int out_row(void *target, const struct db_row *r, struct err *e)
{
	struct store *s = target;
	struct store_order o = {0};
	int x = store_order_row(r, &o, e);

	if (x < 0)
		return x;
	struct store_mem *h = store_find(s, o.host);
	if (!h)
		return err_set(e, EBADMSG, "the database: an order to %s, which is no host", o.host);
	h->out = true;
	h->order = o;
	return 0;
}

static int running_row(void *target, const struct db_row *r, struct err *e)
{
	struct store *s = target;

	return db_copy(r, 0, s->running, sizeof(s->running), e);
}

static int load(struct store *s, struct err *e)
{
	int r =
	    DB_QUERY(s->db, host_row, s, NULL, e,
		     "SELECT name, cluster, enrolled, retired, epoch, rollout, seen, report, fingerprint FROM hosts");

	if (r == 0)
		r = DB_QUERY(s->db, out_row, s, NULL, e, "SELECT " STORE_ORDER_COLUMNS " FROM orders WHERE ended = 0");
	if (r == 0)
		r = DB_QUERY(s->db, running_row, s, NULL, e,
			     "SELECT name FROM rollouts WHERE started <> 0 AND ended = 0");
	return r;
}

/* ---- open and close ---- */

static int version_row(void *target, const struct db_row *r, struct err *e)
{
	(void)e;
	*(int64_t *)target = db_int(r, 0);
	return 0;
}

static int migrate(struct store *s, struct err *e)
{
	int64_t have = 0, known = (int64_t)ARRAY_SIZE(schema_steps);
	int r = db_script(s->db, "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)", e);

	if (r == 0)
		r = DB_QUERY(s->db, version_row, &have, NULL, e,
			     "SELECT COALESCE(MAX(version), 0) FROM schema_version");
	if (r == 0 && have > known)
		return err_set(e, EPROTONOSUPPORT,
			       "the database has schema %lld and this program knows %lld: it was used by a newer one; "
			       "install that, or start with the copy that was made before",
			       (long long)have, (long long)known);
	for (int64_t i = have; r == 0 && i < known; i++) {
		if ((r = db_begin(s->db, true, e)) < 0)
			return r;
		r = db_script(s->db, schema_steps[i], e);
		if (r == 0)
			r = DB_RUN(s->db, NULL, e, "INSERT INTO schema_version (version) VALUES ($1)", DB_I(i + 1));
		r = store_end(s, r, e);
		if (r < 0)
			return err_context(e, "bringing the database to schema %lld", (long long)i + 1);
	}
	return r;
}

/* Whatever was done to the file by hand: it is told now, and not by the first order that fails. */
static int check_schema(struct store *s, struct err *e)
{
	static const char *const asks[] = {
	    "SELECT hash, host, cluster, expires, used, request, certificate FROM tokens LIMIT 0",
	    "SELECT name, cluster, enrolled, retired, epoch, rollout, seen, report, fingerprint FROM hosts LIMIT 0",
	    "SELECT name, serial, directive, signature, state, reason, waiting, wave, paused, abort_wanted, approved, "
	    "started, ended, verdict, verdict_reason, comparison_json, comparison_text, braked FROM rollouts LIMIT 0",
	    "SELECT rollout, host, cluster, role, wave, last_epoch, staged, tried, proved, applied, committed, "
	    "reverted, "
	    "failed_reverts, measured_old, measured_new, soak_since, release_before, build_id_before, default_before, "
	    "release_after, default_after, started, ended, scale_before FROM members LIMIT 0",
	    "SELECT rollout, host, boot_id, number FROM boots LIMIT 0",
	    "SELECT " STORE_ORDER_COLUMNS ", boot_before FROM orders LIMIT 0",
	    "SELECT rollout, host, arm, boot, epoch, boot_id, sha256, at FROM recordings LIMIT 0",
	    "SELECT id, at, rollout, host, text, kept FROM events LIMIT 0",
	    /* Without it two orders could be out to one host. */
	    "CREATE UNIQUE INDEX IF NOT EXISTS orders_out ON orders (host) WHERE ended = 0"};
	int64_t bad = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(asks); i++)
		r = db_script(s->db, asks[i], e);
	if (r == 0)
		r = DB_QUERY(
		    s->db, version_row, &bad, NULL, e,
		    "SELECT (SELECT COUNT(*) FROM hosts WHERE epoch < 0 OR epoch > $1) + (SELECT COUNT(*) FROM "
		    "orders WHERE epoch < 1 OR epoch > $1) + (SELECT COUNT(*) FROM members WHERE last_epoch < 0 "
		    "OR last_epoch > $1) + (SELECT COUNT(*) FROM orders o JOIN hosts h ON h.name = o.host WHERE "
		    "o.epoch > h.epoch)",
		    DB_I(MESSAGE_EPOCH_MAX));
	if (r == 0 && bad > 0)
		r = err_set(e, EBADMSG, "%lld numbers of orders in it were never granted", (long long)bad);
	return r < 0 ? err_context(e, "the database was changed by something else; start with a copy from before") : 0;
}

/* Two controllers on one database would both grant: the lock is the kernel's, and goes with the process. */
static int lock(struct store *s, struct err *e)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/kpcp.lock", s->dir);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return err_sys(e, errno, "opening %s", path);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			   ? err_set(e, EBUSY, "%s: another controller has it open; stop that first", s->dir)
			   : err_sys(e, errno, "locking %s", path);
	return 0;
}

static int open_in(struct store *s, struct err *e)
{
	char path[PATH_MAX + 16];
	int r = lock(s, e);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/recordings", s->dir);
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_sys(e, errno, "making %s", path);
	snprintf(path, sizeof(path), "%s/kpcp.db", s->dir);
	r = db_open(path, &s->db, e);
	if (r < 0)
		return r;
	r = migrate(s, e);
	if (r == 0)
		r = check_schema(s, e);
	if (r == 0)
		r = load(s, e);
	return r < 0 ? err_context(e, "%s", path) : 0;
}

int store_open(const char *dir, const struct store_waits *waits, struct store **ret, struct err *e)
{
	if (strlen(dir) >= sizeof((*ret)->dir))
		return err_set(e, ENAMETOOLONG, "%.80s...: the path is too long", dir);
	struct store *s = calloc(1, sizeof(*s));
	if (!s)
		return err_sys(e, ENOMEM, "opening %s", dir);
	s->lock_fd = -1;
	s->waits = waits ? *waits : store_waits_default;
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	int r = open_in(s, e);
	if (r < 0) {
		store_close(&s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store **sp)
{
	struct store *s = *sp;
	struct err ignored;

	if (!s)
		return;
	if (s->db && store_flush(s, 0, &ignored) < 0)
		db_rollback(s->db); /* heartbeats only: nothing that was promised */
	db_close(&s->db);
	fs_close(&s->lock_fd);
	free(s->host);
	free(s);
	*sp = NULL;
}

static int write_heartbeat(struct store *s, const struct store_mem *h, struct err *e)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT(MESSAGE_BYTES_MAX);
	int r = message_report_write(&h->pub.report, &json, e);

	return r < 0 ? r
		     : DB_RUN(s->db, NULL, e, "UPDATE hosts SET seen = $2, report = $3 WHERE name = $1",
			      DB_T(h->pub.name), DB_I(h->pub.seen_unix_s), DB_T(json.data));
}

int store_flush(struct store *s, uint64_t now, struct err *e)
{
	size_t dirty = 0;
	int r = 0;

	for (size_t i = 0; i < s->n; i++)
		dirty += s->host[i].dirty;
	if (dirty == 0 || (now > 0 && now == s->flushed_unix_s))
		return 0;
	if ((r = db_begin(s->db, false, e)) < 0)
		return r;
	for (size_t i = 0; r == 0 && i < s->n; i++)
		if (s->host[i].dirty)
			r = write_heartbeat(s, &s->host[i], e);
	r = store_end(s, r, e);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		s->host[i].dirty = false;
	if (r == 0)
		s->flushed_unix_s = now;
	return r < 0 ? err_context(e, "writing %zu hosts' heartbeats", dirty) : 0;
}

/* ---- events ---- */

static int add_event(struct store *s, bool kept, const char *rollout, const char *host, const char *text, uint64_t now,
		     struct err *e)
{
	int r = DB_RUN(s->db, NULL, e,
		       "INSERT INTO events (id, at, rollout, host, text, kept) "
		       "SELECT COALESCE(MAX(id), 0) + 1, $1, $2, $3, $4, $5 FROM events",
		       DB_I(now), DB_T(rollout), DB_T(host), DB_T(text), DB_I(kept));

	if (r == 0 && kept)
		r = DB_RUN(
		    s->db, NULL, e,
		    "DELETE FROM events WHERE kept = 1 AND id <= (SELECT id FROM events WHERE kept = 1 ORDER BY id "
		    "DESC LIMIT 1 OFFSET $1)",
		    DB_I(EVENTS_OWN_KEPT));
	if (r == 0)
		r = DB_RUN(s->db, NULL, e,
			   "DELETE FROM events WHERE kept = 0 AND id <= (SELECT MAX(id) FROM events) - $1",
			   DB_I(EVENTS_KEPT));
	return r;
}

int store_say(struct store *s, const char *rollout, const char *host, uint64_t now, struct err *e, const char *fmt, ...)
{
	char text[STORE_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (s->by[0]) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, " (operator '%s')", s->by);
	}
	return add_event(s, !host[0] || s->by[0], rollout, host, text, now, e);
}

void store_by(struct store *s, const char *operator_name)
{
	snprintf(s->by, sizeof(s->by), "%s", operator_name);
}

int store_event_add(struct store *s, const char *rollout, const char *host, const char *text, uint64_t now,
		    struct err *e)
{
	char cut[STORE_TEXT_MAX];
	int r = db_begin(s->db, true, e);

	snprintf(cut, sizeof(cut), "%s", text);
	return r < 0 ? r : store_end(s, add_event(s, true, rollout ? rollout : "", host ? host : "", cut, now, e), e);
}

static int event_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_event *ev = store_list_add(target);

	if (!ev)
		return err_sys(e, ENOMEM, "listing events");
	ev->at_unix_s = (uint64_t)db_int(r, 0);
	int x = db_copy(r, 1, ev->rollout, sizeof(ev->rollout), e);
	if (x == 0)
		x = db_copy(r, 2, ev->host, sizeof(ev->host), e);
	return x < 0 ? x : db_copy(r, 3, ev->text, sizeof(ev->text), e);
}

int store_events(struct store *s, const char *rollout, const char *host, uint32_t limit, struct store_event **ret,
		 size_t *n, struct err *e)
{
	struct store_list l = {.item = sizeof(struct store_event)};
	int r = DB_QUERY(s->db, event_row, &l, NULL, e,
			 "SELECT at, rollout, host, text FROM events WHERE ($1 = '' OR rollout = $1) AND ($2 = '' OR "
			 "host = $2) ORDER BY id DESC LIMIT $3",
			 DB_T(rollout ? rollout : ""), DB_T(host ? host : ""),
			 DB_I(limit < STORE_EVENTS_MAX ? limit : STORE_EVENTS_MAX));

	if (r < 0) {
		free(l.data);
		return r;
	}
	*ret = (struct store_event *)(void *)l.data;
	*n = l.n;
	return 0;
}
