// SPDX-License-Identifier: Apache-2.0
/* Owns SQLite: the only file that sees it. One connection writes, reads and checkpoints.
 * Must not know tables or what is stored. */
#include "db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENTS_MAX 96

struct db {
	sqlite3 *conn;
	bool begun, failed;
	int durable; /* -1: not known */
	struct {
		const char *sql;
		sqlite3_stmt *stmt;
	} kept[STATEMENTS_MAX];
	size_t n_kept;
};

/* What callers see of it is never more than a pointer. */
struct db_row {
	sqlite3_stmt *stmt;
};

struct db_value db_text_value(const char *s)
{
	return (struct db_value){.type = DB_TEXT, .data = s, .len = strlen(s)};
}

static int code_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return EBADMSG;
	case SQLITE_CONSTRAINT:
		return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ? EEXIST : EIO;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EAGAIN;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_READONLY:
		return EROFS;
	default:
		return EIO;
	}
}

static int fail(struct db *d, const char *sql, struct err *e)
{
	int rc = sqlite3_extended_errcode(d->conn);

	d->failed |= d->begun;
	return err_set(e, code_of(rc), "the database: %s (%.40s...)", sqlite3_errmsg(d->conn), sql);
}

int db_script(struct db *d, const char *sql, struct err *e)
{
	return sqlite3_exec(d->conn, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d, sql, e);
}

static int set_durable(struct db *d, bool durable, struct err *e)
{
	int r = 0;

	if (d->durable != (int)durable)
		r = db_script(d, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", e);
	if (r == 0)
		d->durable = durable;
	return r;
}

int db_open(const char *path, struct db **ret, struct err *e)
{
	struct db *d = calloc(1, sizeof(*d));

	if (!d)
		return err_sys(e, ENOMEM, "opening %s", path);
	d->durable = -1;
	int rc =
	    sqlite3_open_v2(path, &d->conn, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? 0 : d->conn ? fail(d, "opening", e) : err_sys(e, ENOMEM, "opening the database");
	if (r == 0) {
		sqlite3_extended_result_codes(d->conn, 1);
		sqlite3_busy_timeout(d->conn, 2000);
		/* What people look up by sqlite3 while the controller runs does not disturb a writer in WAL mode. */
		r = db_script(d, "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;",
			      e);
	}
	if (r == 0)
		r = set_durable(d, true, e);
	if (r < 0) {
		db_close(&d);
		return err_context(e, "%s", path);
	}
	*ret = d;
	return 0;
}

void db_close(struct db **d)
{
	if (!*d)
		return;
	db_rollback(*d);
	for (size_t i = 0; i < (*d)->n_kept; i++)
		sqlite3_finalize((*d)->kept[i].stmt);
	sqlite3_close((*d)->conn);
	free(*d);
	*d = NULL;
}

int db_begin(struct db *d, bool durable, struct err *e)
{
	int r = set_durable(d, durable, e);

	if (r == 0)
		r = db_script(d, "BEGIN IMMEDIATE", e);
	d->begun = r == 0;
	d->failed = false;
	return r;
}

int db_commit(struct db *d, struct err *e)
{
	/* Some errors have made SQLite roll back by itself: what came after them would be outside of any transaction.
	 */
	if (d->failed || sqlite3_get_autocommit(d->conn))
		return err_set(e, EIO, "the database: a statement before has failed; nothing was changed");
	int r = db_script(d, "COMMIT", e);

	if (r == 0)
		d->begun = false;
	return r;
}

void db_rollback(struct db *d)
{
	if (!sqlite3_get_autocommit(d->conn))
		sqlite3_exec(d->conn, "ROLLBACK", NULL, NULL, NULL);
	d->begun = d->failed = false;
}

static int prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	for (size_t i = 0; i < d->n_kept; i++) {
		if (d->kept[i].sql == sql) {
			*ret = d->kept[i].stmt;
			return 0;
		}
	}
	if (d->n_kept == STATEMENTS_MAX)
		return err_set(e, EIO, "the database: more than %d statements are kept", STATEMENTS_MAX);
	if (sqlite3_prepare_v3(d->conn, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
		return fail(d, sql, e);
	d->kept[d->n_kept].sql = sql;
	d->kept[d->n_kept++].stmt = *ret;
	return 0;
}

/* SQLite numbers "$1" by where it first appears, not by its digits: so it is asked where each one is. */
static int bind(struct db *d, sqlite3_stmt *stmt, const char *sql, const struct db_value *v, size_t n, struct err *e)
{
	if ((size_t)sqlite3_bind_parameter_count(stmt) != n)
		return err_set(e, EINVAL, "the database: %zu values for %d (%.40s...)", n,
			       sqlite3_bind_parameter_count(stmt), sql);
	for (size_t i = 0; i < n; i++) {
		char name[24];
		int rc;

		snprintf(name, sizeof(name), "$%zu", i + 1);
		int at = sqlite3_bind_parameter_index(stmt, name);
		if (v[i].type == DB_INT)
			rc = sqlite3_bind_int64(stmt, at, v[i].number);
		else if (v[i].type == DB_TEXT)
			rc = sqlite3_bind_text64(stmt, at, v[i].data, v[i].len, SQLITE_STATIC, SQLITE_UTF8);
		else if (v[i].type == DB_BYTES)
			rc = sqlite3_bind_blob64(stmt, at, v[i].data, v[i].len, SQLITE_STATIC);
		else
			rc = sqlite3_bind_null(stmt, at);
		if (rc != SQLITE_OK)
			return fail(d, sql, e);
	}
	return 0;
}

int db_query(struct db *d, const char *sql, const struct db_value *v, size_t n,
	     int (*row)(void *target, const struct db_row *r, struct err *e), void *target, size_t *ret_rows,
	     struct err *e)
{
	struct db_row current = {0};
	size_t rows = 0;
	int rc = SQLITE_DONE;
	int r = prepare(d, sql, &current.stmt, e);

	if (r < 0)
		return r;
	r = bind(d, current.stmt, sql, v, n, e);
	while (r == 0 && (rc = sqlite3_step(current.stmt)) == SQLITE_ROW) {
		rows++;
		if (row)
			r = row(target, &current, e);
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = fail(d, sql, e);
	sqlite3_reset(current.stmt);
	sqlite3_clear_bindings(current.stmt); /* they point into the caller */
	if (r == 0 && ret_rows)
		*ret_rows = rows;
	return r;
}

int db_run(struct db *d, const char *sql, const struct db_value *v, size_t n, int64_t *ret_changed, struct err *e)
{
	int r = db_query(d, sql, v, n, NULL, NULL, NULL, e);

	if (r == 0 && ret_changed)
		*ret_changed = sqlite3_changes(d->conn);
	return r;
}

int64_t db_int(const struct db_row *r, int column)
{
	return sqlite3_column_int64(r->stmt, column);
}

const char *db_text(const struct db_row *r, int column, size_t *ret_len)
{
	const unsigned char *text = sqlite3_column_text(r->stmt, column);

	if (ret_len)
		*ret_len = text ? (size_t)sqlite3_column_bytes(r->stmt, column) : 0;
	return text ? (const char *)text : "";
}

int db_copy(const struct db_row *r, int column, char *ret, size_t size, struct err *e)
{
	size_t len;
	const char *text = db_text(r, column, &len);

	if (len >= size || strlen(text) != len)
		return err_set(e, EBADMSG, "the database: %s has %zu bytes where %zu are the most",
			       sqlite3_column_name(r->stmt, column), len, size - 1);
	memcpy(ret, text, len + 1);
	return 0;
}
