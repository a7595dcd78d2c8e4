// SPDX-License-Identifier: Apache-2.0
/* Owns tables for people (by libsmartcols) and how times and ages are written.
 * Must not know what is shown, nor terminals beyond what libsmartcols finds out itself. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define VIEW_WIDTH       80 /* of sentences */
#define VIEW_TEXT_MAX    64
#define VIEW_BYTES_MAX   (32u << 20) /* of anything shown */
#define VIEW_COLUMNS_MAX 12

struct view_column {
	const char *name;
	enum {
		VIEW_LEFT,
		VIEW_RIGHT,
		VIEW_LONG
	} kind; /* VIEW_LONG: broken into lines where a terminal is too narrow */
};

/* A table that grows row by row. Memory that runs out shows in view_end, once. */
struct view {
	struct libscols_table *table;
	size_t n;
	bool failed;
};

void view_start(struct view *v, const struct view_column *column, size_t n);
/* One text for each column, which is copied; "" is shown as "-". */
void view_row(struct view *v, const char *const *cell);
/* Adds the table to out; with no rows, instead the sentence none. */
int must_check view_end(struct view *v, const char *none, struct buf *out, struct err *e);
void view_free(struct view *v); /* for _cleanup_ */

/* Adds "name      value", wrapped; nothing where value is "". */
int must_check view_field(struct buf *out, const char *name, const char *value, struct err *e);

/* Each fills ret and returns it. */
const char *view_time(int64_t unix_s, char ret[VIEW_TEXT_MAX]);  /* "2026-11-30 22:20:52", local; "" for <= 0 */
const char *view_age(int64_t age_s, char ret[VIEW_TEXT_MAX]);    /* "12 s", "5 min", "3 h", "2 d"; "" below 0 */
const char *view_number(int64_t value, char ret[VIEW_TEXT_MAX]); /* "" below 0 */

/* What replies hold, as text for people. All fail on a reply that lacks a member, which is named. */
int must_check view_plan(const json_t *plan, struct buf *out, struct err *e);
int must_check view_rollouts(const json_t *rollouts, struct buf *out, struct err *e);
int must_check view_rollout(const json_t *rollout, struct buf *out, struct err *e);
/* One line: name, state, wave, reason. */
int must_check view_rollout_line(const json_t *rollout, struct buf *out, struct err *e);
/* Per host before and after, then the verdict. */
int must_check view_rollout_table(const json_t *rollout, struct buf *out, struct err *e);
int must_check view_hosts(const json_t *hosts, struct buf *out, struct err *e);
/* rollout: what the host is or was last in; NULL: none. */
int must_check view_why(const json_t *host, const json_t *rollout, struct buf *out, struct err *e);
int must_check view_events(const json_t *list, size_t max, struct buf *out, struct err *e);
/* What `kpcp-canary compare --json` prints; NULL: nothing was compared. */
int must_check view_verdict(const json_t *comparison, struct buf *out, struct err *e);
