// SPDX-License-Identifier: Apache-2.0
/* Owns what happens next in a rollout: a pure function from what is known to the next state and the orders to grant.
 * Must not know the database, the network, clocks (ages come in), or how an order is carried out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/judge.h"
#include "lib/fleet/directive.h"
#include "lib/fleet/message.h"

#define DECIDE_HOSTS_MAX 4096

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
	uint32_t wave;        /* from 1: when it follows; controls that are in clusters follow in wave 1; 0: never */
	bool busy;            /* an order is out: granted and not ended */
	enum verb verb;       /* of the last order; meaningful when ordered */
	bool ordered;         /* any order of this rollout was ever granted to it */
	enum outcome outcome; /* of the last order */
	uint64_t order_age_s; /* since its grant */
	uint64_t seen_age_s;  /* since the last poll */
	/* what was done to it in this rollout, from ended orders */
	bool staged, tried, proved, applied, committed, reverted;
	uint32_t measured_old, measured_new; /* boots whose recordings are in */
	uint64_t soaked_s;                   /* since it came to SOAK or APPLIED; 0 before */
	enum host_state state;               /* as last reported */
};

struct decide_view {
	const struct directive *directive;
	enum rollout_state state;
	uint32_t wave; /* the current one, from 1, in ROLLOUT_WAVE */
	bool paused;   /* no new orders but those that go back; time-outs still count */
	bool abort_wanted;
	bool has_verdict; /* made in ROLLOUT_JUDGING by the caller, from the recordings */
	enum verdict_kind verdict;
	uint64_t age_s; /* since the start, on the controller's clock */
	struct decide_host *host;
	uint32_t n;
};

struct decision {
	enum rollout_state state;
	uint32_t wave;
	char reason[MESSAGE_TEXT_MAX]; /* why the state is what it is now; a sentence; "" when nothing changed */
	/* orders to grant now, at most one a host; epoch and rollout are the caller's to fill */
	uint32_t n_orders;
	struct decide_order {
		uint32_t host; /* index into view->host */
		struct order order;
	} * order; /* owned by the decision */
};
void decision_free(struct decision *d);

/* Rules:
 * - a failed, held or refused order of a canary, control or wave host, a host in FOREIGN or HELD, and an order that is
 *   older than order_timeout_s: the rollout goes ROLLING_BACK (any state before DONE), naming the host. (A refused
 * STAGE of a wave host counts alike: the operator takes it out of the clusters.)
 * - CANARY: stage canaries (kernel); measure old boots, then (preset: apply to canaries) new boots: canaries and
 * controls alike, in step: nobody begins boot i of the new arm before everybody has ended the old arm. Then JUDGING.
 *   evidence = health: stage, trial (kernel) or apply (preset) of the canaries, then PROVING.
 * - JUDGING: waits for has_verdict. PROMOTE -> PROVING; ROLLBACK -> ROLLING_BACK; HOLD -> HOLD, and past the deadline
 *   ROLLING_BACK.
 * - PROVING: canaries: prove (kernel), soak soak_s, commit. Then WAVE 1.
 * - WAVE n: its hosts: stage, trial, soak, commit (kernel); apply, soak, commit (preset). All committed: next wave, or
 * DONE.
 * - the budget: never more than directive->budget hosts of one cluster busy with an order other than commit; a host
 * that was not seen for long keeps using it up. Orders that go back are budgeted too.
 * - ROLLING_BACK: revert every host that got an order (also those whose order is still out, once it ended or timed
 * out); all reverted -> ROLLED_BACK, or ABORTED when abort_wanted.
 * - deadline_s past in CANARY or JUDGING: ROLLING_BACK.
 * Fails only with -ENOMEM, or -EINVAL on a view that no caller may pass. */
int must_check decide(const struct decide_view *v, struct decision *ret, struct err *e);
