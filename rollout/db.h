// SPDX-License-Identifier: Apache-2.0
/* Owns the few things that the store needs of any SQL database: values in, rows out, transactions.
 * Must not know tables, nor which database there is behind it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define DB_VALUES_MAX 40 /* of one statement */

struct db;

/* One value of a statement, "$1" being the first. Texts and bytes stay the caller's until the call returns. */
struct db_value {
	enum { DB_NULL, DB_INT, DB_TEXT, DB_BYTES } type;
	int64_t number;
	const void *data;
	size_t len;
};
#define DB_I(x)    ((struct db_value){.type = DB_INT, .number = (int64_t)(x)})
#define DB_T(x)    db_text_value(x)
#define DB_B(p, n) ((struct db_value){.type = DB_BYTES, .data = (p), .len = (n)})
struct db_value db_text_value(const char *s);

/* The current row of a query; column 0 is the first. Texts are 0-terminated and live until the row function returns. A
 * NULL is 0 and "". */
struct db_row;
int64_t db_int(const struct db_row *r, int column);
const char *db_text(const struct db_row *r, int column, size_t *ret_len); /* ret_len may be NULL */
/* Copies, and fails where the text does not fit: a database that was not written by this program. */
int must_check db_copy(const struct db_row *r, int column, char *ret, size_t size, struct err *e);

/* Codes of all functions: -ENOSPC disk full, -EIO, -EBADMSG not a database or damaged, -EEXIST a value that must be
 * unique was there, -EAGAIN somebody else is writing, -ENOMEM; the message names the statement's first words. After an
 * error inside of a transaction, nothing of it can be committed. */
int must_check db_open(const char *path, struct db **ret, struct err *e);
void db_close(struct db **d); /* rolls back what was not committed */

/* durable: on the disk when db_commit returns; otherwise with the next durable one, or soon. */
int must_check db_begin(struct db *d, bool durable, struct err *e);
int must_check db_commit(struct db *d, struct err *e);
void db_rollback(struct db *d);

/* Several statements without values: a migration. */
int must_check db_script(struct db *d, const char *sql, struct err *e);

/* One statement; the SQL must be a literal (prepared statements are kept by its address). ret_changed may be NULL. */
int must_check db_run(struct db *d, const char *sql, const struct db_value *v, size_t n, int64_t *ret_changed,
		      struct err *e);
/* Calls row for each; a negative result ends the query and is returned. row runs no other statement of the same text.
 * ret_rows may be NULL. */
int must_check db_query(struct db *d, const char *sql, const struct db_value *v, size_t n,
			int (*row)(void *target, const struct db_row *r, struct err *e), void *target, size_t *ret_rows,
			struct err *e);

/* db_run(d, "...", e, changed, DB_I(1), DB_T("x")) with the values counted. */
#define DB_RUN(d, changed, e, sql, ...)                            \
	db_run((d), (sql), (const struct db_value[]){__VA_ARGS__}, \
	       sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value), (changed), (e))
#define DB_QUERY(d, row, target, rows, e, sql, ...)                                                                 \
	db_query((d), (sql), (const struct db_value[]){__VA_ARGS__},                                                \
		 sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value), (row), (target), (rows), \
		 (e))
