// SPDX-License-Identifier: Apache-2.0
/* Owns the controller's and the talker's side of a test: what is sent when, and what counts as answered.
 * Must not know what the agent does with its orders. */
#include "fleet_of_one.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/actor.h"
#include "agent/channel.h"
#include "agent/say.h"
#include "lib/trust/trust.h"

#define SERIAL  1796083200000u
#define EXPIRES 1796169600u
#define LIVES   60u

const char one_kernel_plan[] = "[rollout]\nname = r-kernel\nclusters = east\n[kernel]\npackage = " MACHINE_DEB
			       "\nversion = 6.1.192-1+kpcp1\nrelease = " MACHINE_NEW "\nsha256 = " MACHINE_SHA
			       "\nbuild-id = " MACHINE_NEW_ID "\n[measure]\nstorm = 2x32M\n";
const char one_preset_plan[] = "[rollout]\nname = r-preset\nclusters = east\n[preset]\nname = latency\nsettings = "
			       "vm.min_free_kbytes=135168, vm.watermark_scale_factor=50\n";

const char one_other_plan[] =
    "[rollout]\nname = r-other\nclusters = east\n[kernel]\npackage = " MACHINE_DEB
    "\nversion = 6.1.192-1+kpcp1\nrelease = " MACHINE_NEW "\nsha256 = " MACHINE_SHA "\nbuild-id = " MACHINE_NEW_ID "\n";

/* A directive and its signature; signed once, since thousands of lives get the same. */
struct approved {
	const char *plan;
	struct buf directive, signature;
};
static struct approved approvals[16];

static char folder[64], key[128], approver[128];

/* Instead of the agent's own: thousands of lives would fill the log of a test. The last lines are kept. */
static char said[64][200];
static unsigned n_said;

void say(enum say_level level, const char *fmt, ...)
{
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	vsnprintf(said[n_said++ % ARRAY_SIZE(said)], sizeof(said[0]), fmt, ap);
	va_end(ap);
}

void one_fail(const struct one *o, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (unsigned i = n_said > ARRAY_SIZE(said) ? n_said - ARRAY_SIZE(said) : 0; i < n_said; i++)
		print_message("# %s\n", said[i % ARRAY_SIZE(said)]);
	fail_msg("cut %d at step %u of %u: %s", (int)o->m.cut, o->m.cut_at, o->m.steps, text);
	abort();
}

int one_setup(void **state)
{
	_cleanup_(buf_free) struct buf public = BUF_INIT(TRUST_PEM_MAX);
	struct err e;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/kpcp-actor-XXXXXX", P_tmpdir);
	if (!mkdtemp(folder))
		return -1;
	snprintf(key, sizeof(key), "%s/key", folder);
	snprintf(approver, sizeof(approver), "%s/pub", folder);
	if (trust_key_make(key, &public, &e) < 0)
		return -1;
	FILE *f = fopen(approver, "we");
	if (!f)
		return -1;
	fwrite(public.data, 1, public.len, f);
	return fclose(f);
}

int one_teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(approvals); i++) {
		buf_free(&approvals[i].directive);
		buf_free(&approvals[i].signature);
	}
	unlink(key);
	unlink(approver);
	return rmdir(folder);
}

void one_init(struct one *o, const struct one_order *orders, unsigned n)
{
	memset(o, 0, sizeof(*o));
	n_said = 0;
	machine_init(&o->m);
	o->orders = orders;
	o->n_orders = n;
	snprintf(o->conf.name, sizeof(o->conf.name), "h1");
	snprintf(o->conf.approver, sizeof(o->conf.approver), "%s", approver);
	snprintf(o->conf.state_dir, sizeof(o->conf.state_dir), "/var/lib/kpcp");
	snprintf(o->conf.canary, sizeof(o->conf.canary), "/usr/bin/kpcp-canary");
	o->conf.probation_ns = 900000000000u;
}

void one_free(struct one *o)
{
	machine_free(&o->m);
}

void one_journal(const struct one *o, struct journal *ret)
{
	const char *text = machine_text(&o->m, ONE_STATE);
	struct err e;

	assert_non_null(text);
	if (journal_decode("state", text, strlen(text), ret, &e) < 0)
		fail_msg("%s", e.text);
}

static uint64_t epoch_of(const struct one *o)
{
	return o->epoch_base + o->next + 1;
}

static const struct one_order back_kernel = {.verb = VERB_REVERT}, back_preset = {.verb = VERB_REVERT, .preset = true};

static const struct one_order *current(const struct one *o)
{
	if (!o->went_back)
		return &o->orders[o->next];
	return o->orders[0].preset ? &back_preset : &back_kernel;
}

static const struct approved *approve(const char *plan)
{
	struct approved *x = approvals;
	struct err e = {0};

	for (; x->plan; x++)
		if (x->plan == plan)
			return x;
	if (x == &approvals[ARRAY_SIZE(approvals) - 1])
		fail_msg("too many plans");
	x->plan = plan;
	x->directive.max = DIRECTIVE_BYTES_MAX;
	x->signature.max = 4096;
	/* A text that has its approval already is signed as it is. */
	int r = strstr(plan, "[approval]")
		    ? buf_addf(&x->directive, &e, "%s", plan)
		    : directive_approve("plan", plan, strlen(plan), SERIAL, EXPIRES, &x->directive, &e);
	if (r < 0 || trust_sign(key, x->directive.data, x->directive.len, &x->signature, &e) < 0)
		fail_msg("%s", e.text);
	return x;
}

static void send_order(struct one *o)
{
	const struct one_order *x = current(o);
	const struct approved *plan =
	    approve(x->preset ? (o->preset_directive ? o->preset_directive : one_preset_plan)
			      : (o->kernel_directive ? o->kernel_directive : one_kernel_plan));
	_cleanup_(buf_free) struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
	struct poll_reply reply = {.wait_s = 5, .has_order = true};
	struct err e = {0};

	reply.order = (struct order){
	    .epoch = epoch_of(o), .verb = x->verb, .arm = x->arm, .boot = x->boot, .target_new = x->target_new};
	snprintf(reply.order.rollout, sizeof(reply.order.rollout), "%s",
		 o->rollout  ? o->rollout
		 : x->preset ? "r-preset"
			     : "r-kernel");
	reply.directive = plan->directive.data;
	reply.signature = o->bad_signature ? approve(one_other_plan)->signature.data : plan->signature.data;
	if (message_reply_write(&reply, &text, &e) < 0 ||
	    channel_send(o->channel[1], CHANNEL_REPLY, text.data, text.len, &e) < 0)
		fail_msg("%s", e.text);
	o->sent = reply.order.epoch;
}

static void on_upload(struct one *o, const struct buf *body)
{
	char text[128];
	struct err e;

	assert_non_null(machine_text(&o->m, "/var/lib/kpcp/spool/recording.kpcp"));
	snprintf(o->recorded[o->next], sizeof(o->recorded[0]), "%s %d", o->m.recorded_by_kexec ? "kexec" : "in place",
		 o->m.recorded_in);
	snprintf(text, sizeof(text), "%s %s", body->data, o->refuse_upload ? "refused not this host's" : "ok");
	if (channel_send(o->channel[1], CHANNEL_UPLOADED, text, strlen(text), &e) < 0)
		fail_msg("%s", e.text);
}

static void take_frames(struct one *o)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT(CHANNEL_BODY_MAX);
	enum channel_kind kind;
	struct err e = {0};

	while (channel_receive(o->channel[1], 0, &kind, &body, &e) == 1) {
		if (kind == CHANNEL_UPLOAD)
			on_upload(o, &body);
		else if (kind != CHANNEL_REPORT || message_report_read(body.data, body.len, &o->report, &e) < 0)
			fail_msg("a frame of kind %d: %s", (int)kind, e.text);
	}
}

/* Nothing more is wanted of the agent: it ends. The frame wakes it up. */
static void end(struct one *o)
{
	struct poll_reply none = {.wait_s = 5};
	_cleanup_(buf_free) struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e;

	o->finished = true;
	o->m.stop = 1;
	if (message_reply_write(&none, &text, &e) < 0 ||
	    channel_send(o->channel[1], CHANNEL_REPLY, text.data, text.len, &e) < 0)
		fail_msg("%s", e.text);
}

/* What the controller does with the answer to an order. */
static void on_answer(struct one *o)
{
	bool bad = o->report.outcome != OUTCOME_DONE;

	o->outcome[o->next] = o->report.outcome;
	memcpy(o->reason[o->next], o->report.reason, sizeof(o->reason[0]));
	o->next++;
	if (!o->went_back && bad && o->back_on_failure)
		o->went_back = true;
	else if (o->went_back || bad || o->next == o->n_orders)
		o->answered = true;
}

/* Whether the agent still does something: what failed goes home first. */
static bool resting(const struct one *o)
{
	struct journal j;

	if (!machine_text(&o->m, ONE_STATE))
		return true;
	one_journal(o, &j);
	return j.act == ACT_REST;
}

static void on_idle(void *target)
{
	struct one *o = target;

	if (o->each)
		o->each(o);
	take_frames(o);
	if (o->finished || !resting(o))
		return;
	while (!o->answered && o->report.epoch == epoch_of(o) && o->report.outcome > OUTCOME_RUNNING)
		on_answer(o);
	if (o->answered)
		end(o);
	else if (o->sent != epoch_of(o))
		send_order(o);
}

int one_life(struct one *o, struct err *e)
{
	if (channel_pair(o->channel, e) < 0)
		fail_msg("%s", e->text);
	o->m.idle = on_idle;
	o->m.target = o;
	o->sent = 0;
	o->lives++;
	int r = actor_run(&o->conf, &o->m.sys, o->channel[0], &o->m.stop, e);
	close(o->channel[0]);
	close(o->channel[1]);
	return r;
}

void one_live(struct one *o)
{
	struct err e = {0};

	o->finished = false;
	while (!o->finished) {
		int r = one_life(o, &e);

		if (o->lives >= LIVES)
			one_fail(o, "still not done after %u lives; last: %s", o->lives, e.text);
		if (r < 0 && !o->m.dead && !o->m.full)
			one_fail(o, "%s", e.text);
		if (o->m.dead)
			o->finished = false;
		if (o->between)
			o->between(o);
		machine_after(&o->m);
	}
}
