// SPDX-License-Identifier: Apache-2.0
/* Owns what a host remembers over kills, power cuts and reboots: its form on disk, and what may stand there.
 * Must not know how anything in it came about. */
#pragma once

#include <stdbool.h>

#include "classify.h"
#include "grub.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/fleet/directive.h"
#include "lib/fleet/message.h"
#include "lifecycle.h"
#include "sys.h"

#define JOURNAL_BYTES_MAX   (32u << 10)
#define JOURNAL_ID_MAX      65 /* a build-id, boot id, transaction, release and the final 0 */
#define JOURNAL_DENIED_MAX  256
#define JOURNAL_ATTEMPTS    3 /* of one order */
#define JOURNAL_PACKAGE_MAX 128

/* Where this host is, and what it is at. A zeroed one is an idle host that no order has reached. */
struct journal {
	/* [host] */
	enum host_state state;
	enum act act;              /* what is to be done next */
	char boot[JOURNAL_ID_MAX]; /* the boot id that this was last written in; "" before the first time */
	char used[JOURNAL_ID_MAX]; /* the boot id of the last boot in which something was measured or tried */
	uint64_t serial;           /* the highest that a directive had */
	uint64_t crash_records;    /* how many records of crashes the machine had when it was last looked */
	/* [answer]: to the newest order that was seen */
	uint64_t epoch;
	enum outcome outcome;
	char reason[MESSAGE_TEXT_MAX];
	/* [order]: the newest that was accepted */
	struct order order;
	uint32_t attempts; /* counted before each */
	uint32_t losses;   /* of power, while it ran */
	/* [rollout]: that the host has something of; name "" for none */
	char rollout[DIRECTIVE_NAME_MAX];
	enum factor factor;
	char plan[JOURNAL_ID_MAX]; /* SHA-256 of the plan that it began with; "" in a state from before this was kept */
	char old_release[JOURNAL_ID_MAX]; /* before anything was changed; "" until known */
	char old_build[JOURNAL_ID_MAX];
	char old_entry[GRUB_ENTRY_MAX];
	char new_release[JOURNAL_ID_MAX];
	char new_build[JOURNAL_ID_MAX];
	char pinned[JOURNAL_PACKAGE_MAX]; /* the old kernel's package, where this agent holds it; "" for none */
	/* [intent]: what the next boot is to be; way none: nothing was ordered */
	struct {
		enum way way;
		char transaction[JOURNAL_ID_MAX];
		char from_build[JOURNAL_ID_MAX]; /* of the boot that orders it */
		char to_build[JOURNAL_ID_MAX];
		char to_release[JOURNAL_ID_MAX];
		char boot[JOURNAL_ID_MAX]; /* that orders it */
		uint32_t attempt;
		enum verb verb;
		uint64_t deadline_s; /* from the start of the next boot to being found healthy */
	} intent;
	/* [preset]: values before it */
	uint32_t n_old;
	struct directive_setting old[DIRECTIVE_SETTINGS_MAX];
	bool file_saved; /* how the file was before is known: it is in sysctl-before, or there was none */
	bool file_was;
};

/* Appends the text; it reads back to the same. */
int must_check journal_encode(const struct journal *j, struct buf *ret, struct err *e);
/* Strict: what does not add up, has an unknown word, or lacks a key is -EINVAL. *ret untouched then. */
int must_check journal_decode(const char *name, const char *text, size_t len, struct journal *ret, struct err *e);
/* The last line of a text whose other bytes are these: what journal_decode checks first. */
int must_check journal_seal(struct buf *text, struct err *e);

/* folder/state. Missing: a zeroed one. Damaged: moved to folder/state.damaged, and *ret is HELD with the reason. */
int must_check journal_load(const struct sys *s, const char *folder, struct journal *ret, struct err *e);
int must_check journal_store(const struct sys *s, const char *folder, const struct journal *j, struct err *e);

/* Build-ids that crashed here, one a line in folder/denied, which outlives everything else. A file that cannot be read
 * denies all. */
int must_check journal_is_denied(const struct sys *s, const char *folder, const char *build, bool *ret, struct err *e);
int must_check journal_deny(const struct sys *s, const char *folder, const char *build, struct err *e);
/* A person takes it back; -ENOENT when it is not denied. */
int must_check journal_undeny(const struct sys *s, const char *folder, const char *build, struct err *e);
