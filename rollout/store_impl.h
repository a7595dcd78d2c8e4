// SPDX-License-Identifier: Apache-2.0
/* Owns what the store's files share: the open database, and the hosts as memory has them.
 * Must not know anything that is not the store's: nobody else includes it. */
#pragma once

#include <limits.h>

#include "db.h"
#include "store.h"

/* A host as of now. What differs from the database is the time of the last poll and the report's figures that decide
 * nothing: dirty says so. Everything else is in the database first. */
struct store_mem {
	struct store_host pub;
	bool dirty;
	bool out; /* an order is out to it */
	/* Reports with news that it may bring, and since when they grow again. */
	uint32_t spent;
	uint64_t spent_unix_s;
	struct store_order order;
};

struct store {
	struct db *db;
	int lock_fd;
	char dir[PATH_MAX];
	struct store_waits waits;
	uint64_t flushed_unix_s;
	char by[65];                      /* the operator whose doing events are now; "": nobody's */
	char running[DIRECTIVE_NAME_MAX]; /* the rollout that is started and not final; "": none */
	struct store_mem *host;           /* by name */
	size_t n, cap;
};

/* NULL: no such host. Pointers live until a host is added. */
struct store_mem *store_find(struct store *s, const char *host);
/* -ENOENT with what to do. */
int must_check store_known(struct store *s, const char *host, struct store_mem **ret, struct err *e);
int must_check store_mem_add(struct store *s, const struct store_host *h, struct err *e);
/* Room for one more, so that store_mem_add cannot fail after a commit. */
int must_check store_mem_reserve(struct store *s, struct err *e);

/* begin ... commit, or after any failure rollback: for functions that end in one place. r is what came so far. */
int must_check store_end(struct store *s, int r, struct err *e);

/* Inside a transaction. rollout and host: "" for none. */
int must_check store_say(struct store *s, const char *rollout, const char *host, uint64_t now, struct err *e,
			 const char *fmt, ...) printf_like(6, 7);

/* Inside a transaction: ends the order that is out to h, and notes in its membership what was done. Memory is the
 * caller's to change after the commit: h->out = false. */
int must_check store_order_end(struct store *s, const struct store_mem *h, enum outcome outcome, const char *reason,
			       uint64_t now, struct err *e);

/* Reads orders from a row of: host, epoch, rollout, verb, arm, boot, target_new, outcome, reason, granted, ended. */
#define STORE_ORDER_COLUMNS "host, epoch, rollout, verb, arm, boot, target_new, outcome, reason, granted, ended"
int must_check store_order_row(const struct db_row *r, struct store_order *ret, struct err *e);
/* "measure old 0", "stage" */
const char *store_order_text(const struct order *o, char ret[64]);

int must_check store_directive(struct store *s, const char *rollout, struct directive *ret, struct err *e);

/* A growing list that rows are added to; item bytes each. */
struct store_list {
	char *data;
	size_t n, cap, item;
};
/* The new item, zeroed; NULL: no memory. */
void *store_list_add(struct store_list *l);
