// SPDX-License-Identifier: Apache-2.0
/* Owns what happens next in a rollout: a pure function from what is known to the next state and the orders to grant.
 * Must not know the database, the network, clocks (ages come in), or how an order is carried out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/judge.h"
#include "lib/fleet/directive.h"
#include "lib/fleet/message.h"

#define DECIDE_HOSTS_MAX DIRECTIVE_HOSTS_MAX

enum rollout_state {
	ROLLOUT_APPROVED, /* signed and known; nobody started it */
	ROLLOUT_CANARY,   /* canaries and controls are staged and measured */
	ROLLOUT_JUDGING,  /* everything is in; the verdict is being made */
	ROLLOUT_PROVING,  /* promoted: canaries are cold-booted (kernel), soak and commit */
	ROLLOUT_WAVE,     /* wave n: staged, tried, soaked, committed */
	ROLLOUT_DONE,
	ROLLOUT_HOLD, /* the verdict is HOLD: waits for a person or the deadline, then goes back */
	ROLLOUT_ROLLING_BACK,
	ROLLOUT_ROLLED_BACK,
	ROLLOUT_ABORTED, /* rolled back by an operator's wish */
	ROLLOUT_STATE_COUNT
};
const char *rollout_state_name(enum rollout_state s);
int must_check rollout_state_parse(const char *word, enum rollout_state *ret, struct err *e);
bool rollout_state_final(enum rollout_state s); /* DONE, ROLLED_BACK, ABORTED */

enum role { ROLE_NONE, ROLE_CANARY, ROLE_CONTROL, ROLE_WAVE };
const char *role_name(enum role r); /* "none", "canary", ... */

/* One host in one rollout, as far as the store knows. */
struct decide_host {
	char name[65];
	char cluster[DIRECTIVE_NAME_MAX];
	enum role role;
	uint32_t wave;                 /* from 1: when it follows; controls in clusters follow in wave 1; 0: never */
	bool retired;                  /* written off by a person */
	bool busy;                     /* an order is out: granted and not ended */
	bool ordered;                  /* any order of this rollout was ever granted to it */
	enum verb verb;                /* of the last order; meaningful when ordered */
	enum outcome outcome;          /* of the last order */
	char reason[MESSAGE_TEXT_MAX]; /* of that outcome */
	uint64_t order_age_s;          /* since its grant */
	uint64_t seen_age_s;           /* since the last poll; UINT64_MAX: never */
	/* what was done to it in this rollout, from ended orders */
	bool staged, tried, proved, applied, committed, reverted;
	uint32_t failed_reverts;             /* ways back that ended badly, since a person last looked */
	uint32_t measured_old, measured_new; /* boots: their orders ended, their recordings are in */
	uint64_t soaked_s;                   /* since it came to SOAK or APPLIED, or rebooted in it; 0 before */
	/* As last reported; IDLE where that report is of another rollout and not FOREIGN or HELD. */
	enum host_state state;
};

struct decide_view {
	const struct directive *directive;
	enum rollout_state state;
	uint32_t wave; /* the current one, from 1, in ROLLOUT_WAVE */
	bool paused;   /* no new orders but those that go back; time-outs still count */
	bool abort_wanted;
	/* Made by the caller from the recordings: in ROLLOUT_JUDGING, or before, in CANARY, by the brake alone. */
	bool has_verdict;
	enum verdict_kind verdict;
	char verdict_reason[JUDGE_REASON_MAX]; /* the deciding one; "" for none */
	uint64_t age_s;                        /* since the start, on the controller's clock */
	struct decide_host *host;
	uint32_t n;
};

struct decision {
	enum rollout_state state;
	uint32_t wave;
	char reason[MESSAGE_TEXT_MAX];  /* why the state is another one now; a sentence; "" when it is the same */
	char waiting[MESSAGE_TEXT_MAX]; /* what a person has to see to before it goes on; a sentence; "" for nothing */
	/* orders to grant now, at most one a host; epoch and rollout are the caller's to fill */
	uint32_t n_orders;
	struct decide_order {
		uint32_t host; /* index into view->host */
		bool replaces; /* ends the order that is out, as failed: the way back in place of one that timed out */
		struct order order;
	} * order; /* owned by the decision */
};
void decision_free(struct decision *d);

#define DECIDE_REVERT_TRIES   3  /* ways back that may end badly before a person has to look */
#define DECIDE_REVERT_PAUSE_S 60 /* from one such try to the next */

/* How many boots of the new arm are in from every canary and control that is not retired: the brake's blocks. 0 where
 * nothing is measured. */
uint32_t decide_blocks(const struct decide_view *v);

/* Rules:
 * - away: a host with an order other than commit, one that was not seen for order_timeout_s (nobody knows what it
 * does), and one that reboots by itself (after a power loss, or on its way back from a failure); retired hosts are not.
 * An order other than commit is granted only where fewer than directive->budget others of its cluster are away, ways
 * back included; never to a busy host; an order that goes forward never to a host that was not seen for
 * order_timeout_s, is FOREIGN or HELD; a commit only to one that is in SOAK or APPLIED. So a time-out never makes room
 * for the next reboot.
 * - taken back (any state from CANARY to HOLD -> ROLLING_BACK, naming the host): an order that was refused, failed or
 *   held, or is out for longer than order_timeout_s; a host with orders in FOREIGN or HELD, or that left the new kernel
 *   or preset by itself; a host that was retired between its first order and its commit, or before it was measured.
 *   (A refused STAGE of a wave host counts alike: the operator takes it out of the clusters.)
 * - CANARY: stage canaries (kernel); measure old boots, then (preset: apply to canaries) new boots: canaries and
 *   controls alike: nobody begins the new arm before everybody has ended the old one, and who has fewest boots goes
 *   first. Then JUDGING. evidence = health: stage and trial (kernel) or apply (preset) of the canaries, then PROVING.
 * - JUDGING: waits for has_verdict. PROMOTE -> PROVING; ROLLBACK -> ROLLING_BACK; HOLD -> HOLD.
 * - CANARY: a verdict ROLLBACK (the brake's) -> ROLLING_BACK, before all boots are measured.
 * - CANARY, JUDGING, HOLD: past deadline_s -> ROLLING_BACK.
 * - PROVING: canaries: prove (kernel), soak soak_s, commit. Controls that are in no wave are sent home from their last
 *   measured boot (kernel). Then WAVE 1.
 * - WAVE n: its hosts: stage, trial, soak, commit (kernel); apply, soak, commit (preset). All committed: next wave, or
 *   DONE. Hosts that were retired before their first order are left out.
 * - ROLLING_BACK: revert every host that got an order; an order that is still out is waited for until it ends or
 *   times out, and is then replaced; a way back that is out is waited for without end. A way back that ended badly is
 *   tried again, to DECIDE_REVERT_TRIES. All back (or retired): ROLLED_BACK, or ABORTED when abort_wanted.
 * - abort_wanted: APPROVED -> ABORTED; CANARY to HOLD -> ROLLING_BACK.
 * Fails only with -ENOMEM, or -EINVAL on a view that no caller may pass: too many hosts, a cluster that the directive
 * does not name, a state past JUDGING by evidence = measured without PROMOTE. */
int must_check decide(const struct decide_view *v, struct decision *ret, struct err *e);
