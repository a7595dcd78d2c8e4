// SPDX-License-Identifier: Apache-2.0
/* Owns what the controller remembers, in one SQLite database and a folder of recordings: every question and every
 * change that the API and the tick need. Must not know HTTP, TLS, or what to do next (decide.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decide.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/fleet/directive.h"
#include "lib/fleet/message.h"

#define STORE_NAME_MAX     65 /* a host's name and the final 0 */
#define STORE_HOSTS_MAX    DECIDE_HOSTS_MAX
#define STORE_ROLLOUTS_MAX 1000
#define STORE_EVENTS_MAX   1000
#define STORE_ORDERS_MAX   1000
#define STORE_BOOTS_MAX    48
#define STORE_TEXT_MAX     512

/* One store belongs to one process and one thread. All times are the controller's Unix seconds, and come in as now.
 * Whatever decides anything is on disk (WAL, synchronous = FULL) when a function returns 0; a kill at any moment loses
 * nothing that was answered. On failure nothing was changed, on disk or in memory.
 * Codes, and the HTTP status that fits: -EINVAL 400 (not well formed), -EACCES 403, -ENOENT 404, -EEXIST, -EBUSY and
 * -ESTALE 409 (not now, or not any more), all others 503 (disk full, I/O: nothing was changed; to be tried again).
 * Messages say what to do next and can be shown as they are. */
struct store;

/* How long agents wait between polls. */
struct store_waits {
	uint32_t idle_s; /* 60: nothing runs on this host */
	uint32_t busy_s; /* 5: an order is out, or the host belongs to the rollout that runs */
};
extern const struct store_waits store_waits_default;

/* Opens dir, which is there: dir/kpcp.db (made, and brought to the newest schema) and dir/recordings/. -EBUSY: another
 * process has it open. -EPROTONOSUPPORT: the database is newer than this program. */
int must_check store_open(const char *dir, const struct store_waits *waits, struct store **ret, struct err *e);
/* Flushes what it can and frees; also for _cleanup_; NULL is fine. */
void store_close(struct store **s);

/* Writes the reports that only memory has so far (heartbeats without news), in one transaction, at most once in each
 * second of now; to be called about so often. Cheap when there is nothing. */
int must_check store_flush(struct store *s, uint64_t now, struct err *e);

/* ---- enrolment ---- */

/* A token for one host, once, until now + ttl_s (60 s to 7 days). Only its SHA-256 is kept. -EINVAL: names, ttl_s. */
int must_check store_token_make(struct store *s, const char *host, const char *cluster, uint64_t ttl_s, uint64_t now,
				char ret_token[65], uint64_t *ret_expires_unix_s, struct err *e);

/* May x be enrolled? 0: yes; ret_cluster (DIRECTIVE_NAME_MAX bytes) is the cluster to put into the certificate; then
 * store_enrol_finish. 1: this very request was enrolled before (its answer was lost): its certificate is appended to
 * ret_cert, and that is the answer. -EACCES: no such token, for another host, used, expired: the message tells which.
 */
int must_check store_enrol_begin(struct store *s, const struct enrolment *x, uint64_t now, char *ret_cluster,
				 struct buf *ret_cert, struct err *e);
/* Uses the token up, makes (or renews) the host and keeps the certificate and its fingerprint (64 hexadecimal digits),
 * in one transaction. To be called before the certificate is sent. Same errors. */
int must_check store_enrol_finish(struct store *s, const struct enrolment *x, const char *cert, size_t len,
				  const char *fingerprint, uint64_t now, struct err *e);

/* ---- hosts ---- */

struct store_host {
	char name[STORE_NAME_MAX];
	char cluster[DIRECTIVE_NAME_MAX];
	bool reported;             /* report is there */
	struct host_report report; /* the last one */
	uint64_t seen_unix_s;      /* of the last poll; meaningful when reported */
	uint64_t enrolled_unix_s;
	char fingerprint[65]; /* of the certificate of its newest enrolment; "": enrolled before that was kept */
	bool retired;
	uint64_t epoch;                   /* of the newest order granted to it; 0: none */
	char rollout[DIRECTIVE_NAME_MAX]; /* the newest one that it is or was a member of; "" for none */
};
/* By name; retired ones included. The list is the caller's to free. */
int must_check store_hosts(struct store *s, struct store_host **ret, size_t *n, struct err *e);
int must_check store_host_get(struct store *s, const char *name, struct store_host *ret, struct err *e);

/* Writes a host off: it no longer uses its cluster's budget, the order that is out to it ends as held, nothing more is
 * granted to it, and it is not believed until it is enrolled again. For hosts that will not come back: until a person
 * says so, a host that vanished keeps its place in the budget. -ESTALE: retired already. */
int must_check store_host_retire(struct store *s, const char *name, uint64_t now, struct err *e);

/* ---- agents ---- */

/* Takes a host's report, ends the order that it reports the end of, and answers with the order that is out to it, if
 * any: the same one until its end is reported, never a second one. New orders come from tick() alone. An order to
 * measure ends only when its recording is in, too. *ret_ended: an order ended, so a tick is worth its while now (and
 * then store_reply for what it granted). -EACCES: not enrolled, or retired. */
int must_check store_poll(struct store *s, const char *host, const struct host_report *report, uint64_t now,
			  struct poll_reply *ret, bool *ret_ended, struct err *e);
/* The answer alone, as of now. */
int must_check store_reply(struct store *s, const char *host, struct poll_reply *ret, struct err *e);

/* Takes a recording, and keeps it as dir/recordings/ROLLOUT/HOST-{old,new}-BOOT.kpcp. It is counted once however often
 * it comes; a newer one for the order that is still out takes the place of the one before. -ESTALE: no order with this
 * epoch to measure for this rollout is out to this host. -EINVAL: not a whole recording, or not one of this order: its
 * host, its boot (one that the host reported in this rollout; each boot of a kernel once), its kernel. -EFBIG. */
int must_check store_recording(struct store *s, const char *host, const char *rollout, uint64_t epoch, const void *data,
			       size_t len, uint64_t now, struct err *e);
/* Whether one would be looked at: the -ESTALE of above, before a byte of it is read. */
int must_check store_recording_wanted(struct store *s, const char *host, const char *rollout, uint64_t epoch,
				      struct err *e);

/* ---- rollouts ---- */

struct store_rollout {
	char name[DIRECTIVE_NAME_MAX];
	enum rollout_state state;
	char reason[MESSAGE_TEXT_MAX];  /* why it is in this state; a sentence */
	char waiting[MESSAGE_TEXT_MAX]; /* what a person has to see to before it goes on; "" for nothing */
	enum factor factor;
	char what[STORE_TEXT_MAX]; /* "linux-image-6.1.158-kpcp 6.1.158-1 (6.1.158-kpcp)", "preset latency" */
	uint32_t wave;             /* the current one, from 1; 0 before the first */
	uint32_t waves;
	bool paused;
	bool abort_wanted;
	uint64_t serial;
	uint64_t approved_unix_s; /* when it was added here */
	uint64_t started_unix_s;  /* 0: not yet */
	uint64_t ended_unix_s;    /* 0: not yet */
	bool has_verdict;
	enum verdict_kind verdict;
	char verdict_reason[JUDGE_REASON_MAX]; /* the deciding one */
	uint32_t braked;                       /* boots of the new arm that the brake has looked at */
};

/* Keeps the exact signed bytes; the caller has verified them and parsed d from them. -EEXIST: a rollout of this name or
 * serial was there. -ESTALE: a newer serial was there (agents would refuse this one), or it has expired. */
int must_check store_rollout_add(struct store *s, const char *text, size_t len, const char *signature,
				 const struct directive *d, uint64_t now, struct err *e);
/* Newest first; at most STORE_ROLLOUTS_MAX. */
int must_check store_rollouts(struct store *s, struct store_rollout **ret, size_t *n, struct err *e);
int must_check store_rollout_get(struct store *s, const char *name, struct store_rollout *ret, struct err *e);

/* APPROVED -> CANARY, and the roster is drawn and fixed. -EBUSY, naming it: another rollout runs. -ESTALE: it was
 * started before; it has expired; too few hosts; a host that belongs to it is FOREIGN or HELD or was not seen for the
 * order's time-out. */
int must_check store_rollout_start(struct store *s, const char *name, uint64_t now, struct err *e);
/* pause: no new orders but those that go back. resume: takes that back; while it is rolled back: hosts whose way back
 * failed are tried again. abort: everything goes back (at once ABORTED where nothing was begun). -ESTALE where the
 * state does not allow it; abort twice and pause twice are fine. */
int must_check store_rollout_pause(struct store *s, const char *name, uint64_t now, struct err *e);
int must_check store_rollout_resume(struct store *s, const char *name, uint64_t now, struct err *e);
int must_check store_rollout_abort(struct store *s, const char *name, uint64_t now, struct err *e);

/* What the verdict was made from: the JSON of `kpcp-canary compare --json` and its text; each is appended, or nothing
 * where there is no verdict (or none could be computed). */
int must_check store_comparison(struct store *s, const char *name, struct buf *ret_json, struct buf *ret_text,
				struct err *e);

struct store_member {
	char host[STORE_NAME_MAX];
	char cluster[DIRECTIVE_NAME_MAX];
	enum role role;
	uint32_t wave;
	char progress[STORE_TEXT_MAX]; /* "measured 1 of 1 old, 0 of 1 new", "committed", ... */
	char release_before[65];       /* "" until the host reports in this rollout */
	char release_after[65];        /* as last reported while the rollout went on */
	char default_before[160];
	char default_after[160];
	uint32_t n_boots;
	char boot_id[STORE_BOOTS_MAX][37]; /* in the order in which they came up */
	uint64_t started_unix_s;           /* its first order; 0: none yet */
	uint64_t ended_unix_s;             /* committed or reverted; 0: not yet */
};
/* By role (canaries, controls, the waves), then wave, then name. */
int must_check store_members(struct store *s, const char *rollout, struct store_member **ret, size_t *n, struct err *e);
/* -ENOENT: not a member. */
int must_check store_member_get(struct store *s, const char *rollout, const char *host, struct store_member *ret,
				struct err *e);

/* ---- what happened ---- */

struct store_order {
	char host[STORE_NAME_MAX];
	struct order order;
	enum outcome outcome; /* NONE: not accepted yet */
	char reason[MESSAGE_TEXT_MAX];
	uint64_t granted_unix_s;
	uint64_t ended_unix_s; /* 0: still out */
};
/* Newest first, at most limit (to STORE_ORDERS_MAX). */
int must_check store_orders(struct store *s, const char *host, uint32_t limit, struct store_order **ret, size_t *n,
			    struct err *e);

struct store_event {
	uint64_t at_unix_s;
	char rollout[DIRECTIVE_NAME_MAX]; /* "": none */
	char host[STORE_NAME_MAX];        /* "": none */
	char text[STORE_TEXT_MAX];
};
/* Newest first, at most limit (to STORE_EVENTS_MAX); rollout, host: NULL for any. */
int must_check store_events(struct store *s, const char *rollout, const char *host, uint32_t limit,
			    struct store_event **ret, size_t *n, struct err *e);
/* Something that a person should find later: an operator's act, a refused certificate. Cut at STORE_TEXT_MAX. */
/* Events from now on are this operator's doing, and say so; "": nobody's. */
void store_by(struct store *s, const char *operator_name);

int must_check store_event_add(struct store *s, const char *rollout, const char *host, const char *text, uint64_t now,
			       struct err *e);
