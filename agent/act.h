// SPDX-License-Identifier: Apache-2.0
/* Owns what the parts of the acting process share: the actor itself, and one function for each thing that it does.
 * Must not know the network, nor in which order things are done (lifecycle.h). */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "agent_conf.h"
#include "grub.h"
#include "journal.h"
#include "lib/fleet/directive.h"
#include "run.h"
#include "sys.h"

#define ACT_SECOND_NS 1000000000ull
#define ACT_OUTPUT    (256u << 10) /* bytes that are looked at of what a program prints */
#define ACT_MENU_MAX  (4u << 20)   /* bytes of grub.cfg */

/* Which kernel this is; read once, as none of it can change while the process lives. */
struct act_boot {
	char boot[JOURNAL_ID_MAX];
	char build[JOURNAL_ID_MAX]; /* "" where the kernel tells none */
	char release[JOURNAL_ID_MAX];
	char transaction[JOURNAL_ID_MAX]; /* of the command line; "" after a firmware boot */
};

struct actor {
	const struct agent_conf *conf;
	struct sys sys;
	int channel;
	const volatile int *stop;
	char folder[PATH_MAX]; /* STATE/actor */
	struct journal j;
	struct act_boot boot;
	/* Of the order that is being done, verified; meaningful when directed. */
	bool directed;
	struct directive directive;
	/* The answer to an order that nobody has signed: reported for a while, and in no file. */
	struct {
		uint64_t epoch; /* 0: none */
		uint64_t until_ns;
		char reason[MESSAGE_TEXT_MAX];
	} stranger;
};

/* Every act_*() below does one step of an order. It returns 0 and the event that came of it; why[0..) is the sentence
 * for people behind EVENT_REFUSED, EVENT_FAILED and their like. Negative: the agent itself cannot go on (the state
 * cannot be written; -EINTR: it is to stop), and nothing was decided. Each may be begun again after any interruption.
 */
struct act_result {
	enum event event;
	char why[MESSAGE_TEXT_MAX];
};
/* Fills ret; returns 0, so that `return act_came(ret, EVENT_FAILED, "...")` works. */
int act_came(struct act_result *ret, enum event event, const char *fmt, ...) printf_like(3, 4);
/* What a function's failure means to a step: EVENT_FAILED with its text, or the stop itself. */
int act_failed(struct act_result *ret, int r, const struct err *e);

/* act_stage.c, act_refuse.c, act_package.c */
int must_check act_stage(struct actor *a, struct act_result *ret, struct err *e);
/* Everything that speaks against booting this host by kexec and from firmware. 0, or -EPERM with what to do. */
int must_check act_refuse(struct actor *a, struct err *e);
/* -EPERM when there is too little room, or a newer kernel than the directive's on this host. */
int must_check act_refuse_package(struct actor *a, struct err *e);
/* -EPERM when a loaded module is not in the kernel of that release. */
int must_check act_refuse_modules(struct actor *a, const char *release, struct err *e);

/* act_home.c: notes which kernel and default entry the host has, before anything is changed, and pins that kernel's
 * package; 0 when that is done or was before. */
int must_check act_note_home(struct actor *a, struct err *e);
int must_check act_unpin(struct actor *a, struct err *e);

/* act_jump.c */
int must_check act_prepare(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_load(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_jump(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_reboot_fresh(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_prove(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_commit(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_revert(struct actor *a, struct act_result *ret, struct err *e);
/* Loads a release with the arguments of its entry and more behind them. */
int must_check act_load_release(struct actor *a, const char *release, const char *more, struct err *e);
int must_check act_unload(struct actor *a, struct err *e);

/* act_check.c */
int must_check act_check(struct actor *a, struct act_result *ret, struct err *e);
/* The same at the end of a soak, which waits for nothing but what a minute cures. */
int must_check act_check_again(struct actor *a, struct act_result *ret, struct err *e);
/* Notes how the host is, for the checks after the next boot. */
int must_check act_note_health(struct actor *a, struct err *e);

/* act_measure.c: act_upload asks the talker; the answer comes over the channel. */
int must_check act_record(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_upload(struct actor *a, struct err *e);

/* act_preset.c */
int must_check act_apply(struct actor *a, struct act_result *ret, struct err *e);
int must_check act_keep(struct actor *a, struct act_result *ret, struct err *e);
/* restored: as ordered; otherwise after a failure. */
int must_check act_restore(struct actor *a, bool restored, struct act_result *ret, struct err *e);

/* act_boot.c */
int must_check act_read_boot(struct actor *a, struct err *e);
/* How many records of crashes the machine keeps. */
int must_check act_count_crashes(struct actor *a, uint64_t *ret, struct err *e);
/* The marker of an orderly end: written when the process is asked to stop, gone once it runs again. */
int must_check act_mark_clean(struct actor *a, struct err *e);
int must_check act_take_clean(struct actor *a, char ret[JOURNAL_ID_MAX], struct err *e);

/* act_tool.c */
int must_check act_store(struct actor *a, struct err *e); /* the journal */
/* Runs argv (up to a NULL); anything but exit status 0 is -EIO with the program's last line. out may be NULL. */
int must_check act_run(struct actor *a, const char *const *argv, uint64_t timeout_s, struct buf *out, struct err *e);
/* The same in a folder and with more environment. */
int must_check act_run_in(struct actor *a, const struct run_command *c, struct buf *out, struct err *e);
int must_check act_menu(struct actor *a, const char *release, struct grub_entry *ret, struct err *e);
/* The saved entry and the one-shot one, as grub-editenv prints them. */
int must_check act_entries(struct actor *a, char saved[GRUB_ENTRY_MAX], char next[GRUB_ENTRY_MAX], struct err *e);
/* Sets the default, has it reach the disk, reads it back. */
int must_check act_set_default(struct actor *a, const char *entry, struct err *e);
/* Sets (NULL: clears) the one-shot entry, the same way. */
int must_check act_set_next(struct actor *a, const char *entry, struct err *e);
/* Whether this is the old kernel, booted by firmware. */
bool act_at_home(const struct actor *a);
/* Sleeps s seconds or until the process is to stop: -EINTR then. */
int must_check act_sleep(struct actor *a, uint64_t s);
int must_check act_path(const char *folder, const char *name, char ret[PATH_MAX], struct err *e);

/* act_report.c */
int must_check act_report(struct actor *a, struct err *e);
