// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of what is left after a kill at any moment, and of a disk that is full.
 * Must not know SQL: it compares what the store says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/base/fs.h"
#include "store_fleet.h"

static char copy_dir[64];

static int setup_copy(void **state)
{
	snprintf(copy_dir, sizeof(copy_dir), "/tmp/kpcp-test-store-copy-XXXXXX");
	return mkdtemp(copy_dir) ? setup(state) : -1;
}

static int teardown_copy(void **state)
{
	remove_all(copy_dir);
	return teardown(state);
}

/* ---- everything that a store says, but for the time of the last heartbeats ---- */

static void say_rollouts(struct store *s, struct buf *out)
{
	struct store_rollout *x;
	size_t n;

	OK(store_rollouts(s, &x, &n, &err));
	for (size_t i = 0; i < n; i++) {
		struct store_member *m;
		size_t members;

		OK(buf_addf(out, &err, "%s %s '%s' '%s' wave %u %d%d %llu %llu %llu %d%d '%s'\n", x[i].name,
			    rollout_state_name(x[i].state), x[i].reason, x[i].waiting, x[i].wave, x[i].paused,
			    x[i].abort_wanted, (unsigned long long)x[i].serial, (unsigned long long)x[i].started_unix_s,
			    (unsigned long long)x[i].ended_unix_s, x[i].has_verdict, x[i].verdict,
			    x[i].verdict_reason));
		OK(store_comparison(s, x[i].name, out, out, &err));
		OK(store_members(s, x[i].name, &m, &members, &err));
		for (size_t k = 0; k < members; k++)
			OK(buf_addf(out, &err, "  %s %s %u '%s' %s %s %s %s %u %s %llu %llu\n", m[k].host,
				    role_name(m[k].role), m[k].wave, m[k].progress, m[k].release_before,
				    m[k].release_after, m[k].default_before, m[k].default_after, m[k].n_boots,
				    m[k].boot_id[m[k].n_boots - 1], (unsigned long long)m[k].started_unix_s,
				    (unsigned long long)m[k].ended_unix_s));
		free(m);
	}
	free(x);
}

static void say_hosts(struct store *s, struct buf *out)
{
	struct store_host *h;
	size_t n;

	OK(store_hosts(s, &h, &n, &err));
	for (size_t i = 0; i < n; i++) {
		struct store_order *o;
		size_t orders;
		struct poll_reply reply = {0};

		OK(buf_addf(out, &err, "%s %s %d%d %llu %s %s %s %llu '%s'\n", h[i].name, h[i].cluster, h[i].reported,
			    h[i].retired, (unsigned long long)h[i].epoch, h[i].rollout,
			    host_state_name(h[i].report.state), outcome_name(h[i].report.outcome),
			    (unsigned long long)h[i].report.epoch, h[i].report.reason));
		if (!h[i].retired)
			OK(store_reply(s, h[i].name, &reply, &err));
		if (reply.has_order)
			OK(buf_addf(out, &err, "  out: %llu %s\n", (unsigned long long)reply.order.epoch,
				    verb_name(reply.order.verb)));
		poll_reply_free(&reply);
		OK(store_orders(s, h[i].name, 1000, &o, &orders, &err));
		for (size_t k = 0; k < orders; k++)
			OK(buf_addf(out, &err, "  %llu %s %s '%s' %llu %llu\n", (unsigned long long)o[k].order.epoch,
				    verb_name(o[k].order.verb), outcome_name(o[k].outcome), o[k].reason,
				    (unsigned long long)o[k].granted_unix_s, (unsigned long long)o[k].ended_unix_s));
		free(o);
	}
	free(h);
}

static struct buf say_all(struct store *s)
{
	struct buf out = BUF_INIT(16 << 20);
	struct store_event *ev;
	size_t n;

	say_rollouts(s, &out);
	say_hosts(s, &out);
	OK(store_events(s, NULL, NULL, 1000, &ev, &n, &err));
	for (size_t i = 0; i < n; i++)
		OK(buf_addf(&out, &err, "%llu %s %s %s\n", (unsigned long long)ev[i].at_unix_s, ev[i].rollout,
			    ev[i].host, ev[i].text));
	free(ev);
	return out;
}

static void copy_file(const char *name)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(64 << 20);
	char to[128];

	snprintf(to, sizeof(to), "%s/%s", copy_dir, name);
	unlink(to);
	OK(fs_read(in_dir(name), &b, &err));
	FILE *f = fopen(to, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(b.data ? b.data : "", 1, b.len, f), b.len);
	assert_int_equal(fclose(f), 0);
}

/* The files as they are now, opened by somebody else: what a kill at this moment would leave. */
static void check_copy(void)
{
	struct store *s = NULL;

	copy_file("kpcp.db");
	copy_file("kpcp.db-wal");
	OK(store_open(copy_dir, NULL, &s, &err));
	struct buf live = say_all(st), left = say_all(s);
	if (live.len != left.len || memcmp(live.data, left.data, live.len) != 0)
		fail_msg("left:\n%s\nlive:\n%s", left.data, live.data);
	buf_free(&live);
	buf_free(&left);
	store_close(&s);
}

static void test_nothing_is_lost_at_any_step(void **state)
{
	(void)state;
	add_fleet();
	check_copy();
	add_rollout("r", 1, FACTOR_KERNEL);
	check_copy();
	OK(store_rollout_start(st, "r", now, &err));
	check_copy();
	run_until("r", ROLLOUT_PROVING, true, check_copy);
	OK(store_rollout_pause(st, "r", now, &err));
	check_copy();
	OK(store_rollout_resume(st, "r", now, &err));
	run_until("r", ROLLOUT_DONE, true, check_copy);
	OK(store_host_retire(st, agents[9].name, now, &err));
	check_copy();
}

/* The controller is started anew after every step of the fleet, and the rollout ends the same. */
static void test_restarted_at_every_step(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	OK(store_rollout_start(st, "r", now, &err));
	run_until("r", ROLLOUT_DONE, true, reopen);
}

/* ---- a real kill ---- */

static void child_adds_tokens(int answers)
{
	for (uint32_t i = 0;; i++) {
		char token[65], host[24];
		uint64_t expires;

		snprintf(host, sizeof(host), "h%u", i);
		if (store_token_make(st, host, "a", 600, now, token, &expires, &err) < 0 ||
		    write(answers, token, 64) != 64)
			_exit(1);
	}
}

static void test_killed_while_it_answers(void **state)
{
	(void)state;
	unsigned total = 0;

	for (useconds_t wait_us = 2000; wait_us < 200000; wait_us *= 3) {
		int answers[2], status;
		char token[65] = "";
		unsigned n = 0;

		assert_int_equal(pipe(answers), 0);
		store_close(&st); /* the lock goes with the process that has it */
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			close(answers[0]);
			if (store_open(dir, NULL, &st, &err) < 0)
				_exit(1);
			child_adds_tokens(answers[1]);
		}
		close(answers[1]);
		usleep(wait_us);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		OK(store_open(dir, NULL, &st, &err));
		/* Every token that was answered can be used. */
		for (; read(answers[0], token, 64) == 64; n++) {
			struct enrolment x = {.csr = "-----BEGIN"};
			char cluster[DIRECTIVE_NAME_MAX];
			_cleanup_(buf_free) struct buf cert = BUF_INIT(100);

			memcpy(x.token, token, sizeof(x.token));
			snprintf(x.host, sizeof(x.host), "h%u", n);
			OK(store_enrol_begin(st, &x, now, cluster, &cert, &err));
		}
		close(answers[0]);
		total += n;
	}
	assert_true(total > 0);
	print_message("# %u answers before the kills, all kept\n", total);
}

/* ---- a full disk ---- */

static struct rlimit no_limit;

/* Files may grow by so much from here. */
static void limit_files(size_t more)
{
	struct stat x;

	assert_int_equal(stat(in_dir("kpcp.db-wal"), &x), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &no_limit), 0);
	struct rlimit tight = {.rlim_cur = (rlim_t)x.st_size + more, .rlim_max = no_limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
}

static void lift_limit(void)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &no_limit), 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* Tries act with ever more room until it succeeds. As long as it fails, nothing is changed: not in memory, not on disk.
 */
static void try_with_little_room(const char *what, int (*act)(void))
{
	struct buf before = say_all(st);
	unsigned failures = 0;
	int r = -1;

	for (size_t more = 0; r < 0; more += 512) {
		assert_true(more < 1 << 20);
		limit_files(more);
		err = (struct err){0};
		r = act();
		lift_limit();
		if (r >= 0)
			break;
		failures++;
		if (err.text[0] == 0 || (r != -EIO && r != -ENOSPC && r != -EFBIG))
			fail_msg("%s with %zu bytes: %d, %s", what, more, r, err.text);
		struct buf after = say_all(st);
		if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
			fail_msg("%s with %zu bytes failed and changed something:\n%s\n%s", what, more, before.data,
				 after.data);
		buf_free(&after);
		check_copy();
	}
	buf_free(&before);
	check_copy();
	if (failures == 0)
		fail_msg("%s: never failed", what);
	print_message("# %s: refused %u times, then taken; %s\n", what, failures, err.text);
}

static int act_token(void)
{
	char token[65];
	uint64_t expires;

	return store_token_make(st, "h99", "a", 600, now, token, &expires, &err);
}

static int act_start(void)
{
	return store_rollout_start(st, "r", now, &err);
}

static int act_tick(void)
{
	bool changed = false;
	int r = tick(st, now, &changed, &err);

	assert_int_equal(changed, r == 0);
	return r;
}

static struct agent *actor;
static int act_poll(void)
{
	struct poll_reply reply;
	bool ended;
	int r = store_poll(st, actor->name, &actor->r, now, &reply, &ended, &err);

	if (r == 0)
		poll_reply_free(&reply);
	return r;
}

static int act_recording(void)
{
	struct buf b = recording_of(actor, 1);
	int r = store_recording(st, actor->name, "r", actor->order.epoch, b.data, b.len, now, &err);

	buf_free(&b);
	return r;
}

static int act_abort(void)
{
	return store_rollout_abort(st, "r", now, &err);
}

static int act_retire(void)
{
	return store_host_retire(st, actor->name, now, &err);
}

static void test_full_disk(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	try_with_little_room("a token", act_token);
	try_with_little_room("a start", act_start);
	try_with_little_room("a tick that grants", act_tick);
	actor = NULL;
	for (int i = 0; i < 50 && !actor; i++) {
		fleet_step(true);
		for (size_t k = 0; k < n_agents && !actor; k++)
			if (agents[k].r.outcome == OUTCOME_RUNNING && agents[k].order.verb == VERB_MEASURE)
				actor = &agents[k];
	}
	assert_non_null(actor);
	boot(actor, OLD_RELEASE);
	try_with_little_room("a poll with news", act_poll);
	try_with_little_room("a recording", act_recording);
	actor->r.outcome = OUTCOME_DONE;
	try_with_little_room("a poll with an end", act_poll);
	try_with_little_room("an abort", act_abort);
	try_with_little_room("a retirement", act_retire);
	actor->dead = true;
	run_until("r", ROLLOUT_ROLLING_BACK, true, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup_copy, teardown_copy)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_nothing_is_lost_at_any_step),
	    T(test_restarted_at_every_step),
	    T(test_killed_while_it_answers),
	    T(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
