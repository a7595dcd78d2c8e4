// SPDX-License-Identifier: Apache-2.0
/* Owns a controller and a talker for one scripted machine: orders in a row, uploads, and the agent's lives one after
 * the other. Must not know what the agent does with its orders. */
#pragma once

#include "agent/agent_conf.h"
#include "agent/journal.h"
#include "lib/fleet/message.h"
#include "machine.h"

#define ONE_ORDERS 24
#define ONE_STATE  "/var/lib/kpcp/actor/state"

struct one_order {
	enum verb verb;
	enum arm arm;
	uint32_t boot;
	bool target_new;
	bool preset; /* of the rollout of a preset; of a kernel otherwise */
};

struct one {
	struct machine m;
	struct agent_conf conf;
	int channel[2];
	const struct one_order *orders;
	unsigned n_orders, next; /* next: index of the order that is out */
	uint64_t sent, epoch_base;
	bool finished;
	bool back_on_failure; /* a failed order is followed by the way back, as the controller does it */
	bool refuse_upload;
	unsigned lives;
	struct host_report report; /* the newest */
	enum outcome outcome[ONE_ORDERS];
	char reason[ONE_ORDERS][MESSAGE_TEXT_MAX];
	char recorded[ONE_ORDERS][64]; /* "kexec 0": how the boot came and the kernel's index, at the upload */
	bool went_back, answered;
	const char *kernel_directive, *preset_directive; /* plans instead of the usual ones; kept, so static */
	const char *rollout;                             /* that orders name instead of their directive's */
	bool bad_signature;
	void (*each)(void *one); /* each time that the agent has nothing to do, or is between two things */
	enum machine_fault fault;
	void (*between)(struct one *o); /* after each life of the agent, before the machine goes on */
};

/* Once for all tests: a key and signed directives in a folder of their own. */
int one_setup(void **state);
int one_teardown(void **state);

void one_init(struct one *o, const struct one_order *orders, unsigned n);
void one_free(struct one *o);
/* Lives until all orders are answered; fails the test when that takes more than 60 lives. */
void one_live(struct one *o);
/* One life; what actor_run returned. */
int one_life(struct one *o, struct err *e);
/* Fails the test, with what the agent has said since one_init. */
void one_fail(const struct one *o, const char *fmt, ...) printf_like(2, 3) __attribute__((noreturn));
/* The journal on the machine's disk. */
void one_journal(const struct one *o, struct journal *ret);
/* The usual plans, and one of a rollout r-other with the same kernel. */
extern const char one_kernel_plan[], one_preset_plan[], one_other_plan[];
