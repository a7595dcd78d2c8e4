// SPDX-License-Identifier: Apache-2.0
/* Owns what the store's tests share: a store in a folder of its own, plans, and simulated agents that do what they are
 * told. Must not know what is tested. Included after cmocka.h. */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/core/wire.h"
#include "rollout/store.h"
#include "rollout/tick.h"

#define OLD_RELEASE "6.1.0-stock"
#define NEW_RELEASE "6.1.0-kpcp"
#define OLD_BUILD   "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
#define NEW_BUILD   "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
#define NEW_ENTRY   "gnulinux-advanced-1>gnulinux-" NEW_RELEASE "-advanced-1"
#define AGENTS_MAX  16
#define STORMS      4u

/* What the fleet is like; the new kernel or preset has this latency, relative to the old one's. */
struct agent {
	struct host_report r;
	char name[STORE_NAME_MAX];
	struct order order; /* the one that is being done */
	double slow;
	uint32_t boots;
	enum reboot_method reboot; /* what its recordings say of how it came up */
	bool dead;                 /* does not poll */
	enum outcome fails;        /* of orders of the verb fails_at: how they end; NONE: DONE */
	enum verb fails_at;
	bool lies; /* says of everything that it is done, and does nothing */
};

static char dir[64];
static struct store *st;
static uint64_t now;
static unsigned fleet_boots = 1; /* of each arm, in plans */
static struct agent agents[AGENTS_MAX];
static size_t n_agents;
static struct err err;

#define OK(call)                                                       \
	do {                                                           \
		err = (struct err){0};                                 \
		int ok_r = (call);                                     \
		if (ok_r < 0)                                          \
			fail_msg("%s: %d: %s", #call, ok_r, err.text); \
	} while (0)
#define REFUSED(number, words, call)                                                                              \
	do {                                                                                                      \
		err = (struct err){0};                                                                            \
		int refused_r = (call);                                                                           \
		if (refused_r != -(number) || err.code != (number) || !strstr(err.text, words))                   \
			fail_msg("%s: %d (%d): \"%s\", not \"%s\"", #call, refused_r, err.code, err.text, words); \
	} while (0)

/* ---- the store's folder ---- */

static inline const char *in_dir(const char *name)
{
	static char path[4][512];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static inline int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
	(void)s, (void)flag, (void)f;
	return remove(path);
}

static inline void remove_all(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/kpcp-test-store-XXXXXX");
	now = 1800000000;
	n_agents = 0;
	fleet_boots = 1;
	if (!mkdtemp(dir))
		return -1;
	OK(store_open(dir, NULL, &st, &err));
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	store_close(&st);
	remove_all(dir);
	return 0;
}

static inline void reopen(void)
{
	store_close(&st);
	OK(store_open(dir, NULL, &st, &err));
}

/* ---- plans ---- */

/* Kernel or preset, on clusters a and b, 3 canaries and 3 controls of a, waves of 50 and 100%. */
static inline void add_rollout_with(const char *name, uint64_t serial, enum factor factor, const char *rollout_keys,
				    const char *other)
{
	static const char kernel[] = "[kernel]\npackage = linux-image-kpcp\nversion = 6.1.158-1\nrelease = " NEW_RELEASE
				     "\nsha256 = 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
				     "build-id = " NEW_BUILD "\n";
	static const char preset[] = "[preset]\nname = latency\nsettings = vm.pcp_batch_scale_max=0\n";
	_cleanup_(buf_free) struct buf plan = BUF_INIT(DIRECTIVE_BYTES_MAX);
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct directive d;

	OK(buf_addf(&plan, &err,
		    "[rollout]\nname = %s\nclusters = a b\ndeadline = 240min\norder-timeout = 30min\n%s%s"
		    "[judge]\ncanaries = 3\ncontrols = 3\nboots = %u\nstorms = %u\nendpoints = p99, exit\n"
		    "min-samples-p99 = 1000\nmin-samples-exit = %u\n"
		    "[waves]\npercent = 50 100\nsoak = 60s\nbudget = 2\n%s",
		    name, rollout_keys, factor == FACTOR_KERNEL ? kernel : preset, fleet_boots, STORMS, STORMS, other));
	OK(directive_approve("plan", plan.data, plan.len, serial, now + 86400, &text, &err));
	OK(directive_parse("directive", text.data, text.len, true, &d, &err));
	OK(store_rollout_add(st, text.data, text.len, "c2lnbmF0dXJl", &d, now, &err));
}

static inline void add_rollout(const char *name, uint64_t serial, enum factor factor)
{
	add_rollout_with(name, serial, factor, "", "");
}

/* ---- agents ---- */

static inline void boot(struct agent *a, const char *release)
{
	a->boots++;
	snprintf(a->r.boot_id, sizeof(a->r.boot_id), "%08zx-0000-4000-8000-%012x", (size_t)(a - agents), a->boots);
	snprintf(a->r.release, sizeof(a->r.release), "%s", release);
	snprintf(a->r.build_id, sizeof(a->r.build_id), "%s", strcmp(release, NEW_RELEASE) == 0 ? NEW_BUILD : OLD_BUILD);
}

static inline void enrol(const char *name, const char *cluster)
{
	struct enrolment x = {.csr = "-----BEGIN CERTIFICATE REQUEST-----"};
	_cleanup_(buf_free) struct buf cert = BUF_INIT(4096);
	char got[DIRECTIVE_NAME_MAX];
	uint64_t expires;

	snprintf(x.host, sizeof(x.host), "%s", name);
	OK(store_token_make(st, name, cluster, 600, now, x.token, &expires, &err));
	OK(store_enrol_begin(st, &x, now, got, &cert, &err));
	assert_string_equal(got, cluster);
	OK(store_enrol_finish(st, &x, "certificate", 11, "", now, &err));
}

static inline struct agent *add_agent(const char *name, const char *cluster)
{
	struct agent *a = &agents[n_agents++];

	enrol(name, cluster);
	*a = (struct agent){.slow = 1, .r = {.pcp_batch_scale_max = 5}};
	snprintf(a->name, sizeof(a->name), "%s", name);
	snprintf(a->r.agent, sizeof(a->r.agent), "0.1.0");
	snprintf(a->r.default_entry, sizeof(a->r.default_entry), "old");
	boot(a, OLD_RELEASE);
	return a;
}

/* Six hosts of a, four of b; each has polled once. */
static inline void add_fleet(void)
{
	for (int i = 0; i < 10; i++) {
		char name[16];
		struct poll_reply reply;
		bool ended;

		snprintf(name, sizeof(name), "%c%d", i < 6 ? 'a' : 'b', i);
		struct agent *a = add_agent(name, i < 6 ? "a" : "b");
		OK(store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
		assert_false(reply.has_order);
	}
}

static inline struct agent *agent_of(const char *name)
{
	for (size_t i = 0; i < n_agents; i++)
		if (strcmp(agents[i].name, name) == 0)
			return &agents[i];
	fail_msg("no agent %s", name);
	return agents;
}

/* A recording of this agent as it runs now; the same distribution each time, times scale and a little of its own. */
static inline struct buf recording_of(const struct agent *a, double scale)
{
	static struct recording_storm s;
	struct recording_header h = {.shape = {.probe = "victim-4k-active/1",
					       .layout = HIST_LAYOUT,
					       .victims = 2,
					       .burst_pages = 64,
					       .period_ns = 10000000,
					       .window_ns = 1000000000,
					       .processes = 2,
					       .process_pages = 8192},
				     .tool = "0.1.0",
				     .clocksource = "tsc",
				     .start_unix_s = now,
				     .seed = a->boots,
				     .cpus = 4,
				     .memory_kib = 1 << 20,
				     .pcp_batch_scale_max = a->r.pcp_batch_scale_max,
				     .storms_planned = STORMS,
				     .reboot = a->reboot};
	struct buf b = BUF_INIT(1 << 20);
	char hex[33];
	size_t at = 0;

	snprintf(h.host, sizeof(h.host), "%s", a->name);
	snprintf(h.release, sizeof(h.release), "%s", a->r.release);
	for (const char *c = a->r.boot_id; *c; c++)
		if (*c != '-')
			hex[at++] = *c;
	for (size_t i = 0; i < sizeof(h.boot_id); i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &h.boot_id[i]), 1);
	for (size_t i = 0; i < sizeof(h.build_id); i++)
		assert_int_equal(sscanf(a->r.build_id + 2 * i, "%2hhx", &h.build_id[i]), 1);
	OK(wire_add_header(&b, &h, &err));
	scale *= 1 + 0.004 * (double)((size_t)(a - agents) % 3) + 0.002 * (double)(a->boots % 4);
	for (s.index = 0; s.index < STORMS; s.index++) {
		s.exit_pages = 2 * 8192;
		s.exit_ns = (uint64_t)(5000000 * scale);
		hist_init(&s.response);
		hist_init(&s.service);
		for (unsigned i = 0; i < 300; i++) {
			double ns = (200000 + 1000.0 * i) * scale;
			hist_add(&s.response, (uint64_t)ns);
			hist_add(&s.service, (uint64_t)(ns / 2));
		}
		OK(wire_add_storm(&b, &s, &err));
	}
	OK(wire_add_end(&b, STORMS, &err));
	return b;
}

static inline void upload(struct agent *a, double scale)
{
	struct buf b = recording_of(a, scale);

	OK(store_recording(st, a->name, a->order.rollout, a->order.epoch, b.data, b.len, now, &err));
	buf_free(&b);
}

static inline void poll_as_is(struct agent *a, struct poll_reply *reply)
{
	bool ended;

	OK(store_poll(st, a->name, &a->r, now, reply, &ended, &err));
}

/* Does the order, as far as the controller can see it. */
static inline void carry_out(struct agent *a, bool kernel)
{
	const struct order *o = &a->order;
	struct poll_reply reply;

	if (o->verb == a->fails_at && a->fails != OUTCOME_NONE) {
		a->r.outcome = a->fails;
		a->r.state = a->fails == OUTCOME_HELD ? HOST_HELD : HOST_FAILED;
		snprintf(a->r.reason, sizeof(a->r.reason), "it was made to");
		return;
	}
	static const enum host_state after[VERB_COUNT] = {
	    [VERB_STAGE] = HOST_VERIFIED,    [VERB_MEASURE] = HOST_MEASURE, [VERB_TRIAL] = HOST_SOAK,
	    [VERB_PROVE] = HOST_SOAK,        [VERB_APPLY] = HOST_APPLIED,   [VERB_COMMIT] = HOST_COMMITTED,
	    [VERB_REVERT] = HOST_ROLLED_BACK};
	if (a->lies) {
		a->r.state = after[o->verb];
		a->r.outcome = OUTCOME_DONE;
		return;
	}
	if (kernel && (o->verb == VERB_MEASURE || o->verb == VERB_TRIAL || o->verb == VERB_PROVE))
		boot(a, o->target_new || o->verb != VERB_MEASURE ? NEW_RELEASE : OLD_RELEASE);
	if (kernel && o->verb == VERB_REVERT)
		boot(a, OLD_RELEASE);
	a->r.kexec_booted = kernel && (o->verb == VERB_MEASURE || o->verb == VERB_TRIAL);
	if (!kernel && (o->verb == VERB_APPLY || o->verb == VERB_REVERT))
		a->r.pcp_batch_scale_max = o->verb == VERB_APPLY ? 0 : 5;
	if (kernel && (o->verb == VERB_COMMIT || o->verb == VERB_REVERT))
		snprintf(a->r.default_entry, sizeof(a->r.default_entry), o->verb == VERB_COMMIT ? NEW_ENTRY : "old");
	if (kernel || o->verb != VERB_MEASURE)
		a->r.state = after[o->verb];
	if (o->verb == VERB_MEASURE) {
		poll_as_is(a, &reply); /* up again: the boot is known before the recording comes */
		poll_reply_free(&reply);
		upload(a, o->target_new ? a->slow : 1);
	}
	a->r.outcome = OUTCOME_DONE;
}

/* One poll; an order that is new is accepted, the one that is accepted is done and reported. True: something moved. */
static inline bool agent_lives(struct agent *a, bool kernel)
{
	struct poll_reply reply;

	if (a->dead)
		return false;
	if (a->r.outcome == OUTCOME_RUNNING)
		carry_out(a, kernel);
	poll_as_is(a, &reply);
	bool accepted = reply.has_order && reply.order.epoch > a->r.epoch;
	if (accepted) {
		assert_non_null(strstr(reply.directive, "[approval]"));
		assert_string_equal(reply.signature, "c2lnbmF0dXJl");
		a->order = reply.order;
		a->r.epoch = reply.order.epoch;
		a->r.outcome = OUTCOME_RUNNING;
		a->r.reason[0] = 0;
		snprintf(a->r.rollout, sizeof(a->r.rollout), "%s", reply.order.rollout);
	}
	poll_reply_free(&reply);
	return accepted;
}

static inline struct store_rollout rollout_now(const char *name)
{
	struct store_rollout x = {0};

	OK(store_rollout_get(st, name, &x, &err));
	return x;
}

/* Everybody polls once, then the controller's step; 10 s pass. */
static inline void fleet_step(bool kernel)
{
	bool changed;

	now += 10;
	for (size_t i = 0; i < n_agents; i++)
		agent_lives(&agents[i], kernel);
	OK(store_flush(st, now, &err));
	OK(tick(st, now, &changed, &err));
}

/* Until the rollout is in this state; after: called after each step. */
static inline void run_until(const char *name, enum rollout_state wanted, bool kernel, void (*after)(void))
{
	for (int i = 0; i < 400; i++) {
		if (rollout_now(name).state == wanted)
			return;
		fleet_step(kernel);
		if (after)
			after();
	}
	struct store_rollout x = rollout_now(name);
	fail_msg("%s is %s (%s; %s), not %s", name, rollout_state_name(x.state), x.reason, x.waiting,
		 rollout_state_name(wanted));
}
