// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of whole rollouts through the store: simulated agents, real recordings, the real judge.
 * Must not know SQL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_fleet.h"

static struct store_member member(const char *rollout, const char *host)
{
	static struct store_member m;

	OK(store_member_get(st, rollout, host, &m, &err));
	return m;
}

static void start(const char *name)
{
	OK(store_rollout_start(st, name, now, &err));
}

/* Never more than two hosts of a cluster with an order other than commit. */
static void check_budget(void)
{
	unsigned out[2] = {0};

	for (size_t i = 0; i < n_agents; i++) {
		struct poll_reply reply;

		OK(store_reply(st, agents[i].name, &reply, &err));
		out[agents[i].name[0] - 'a'] += reply.has_order && reply.order.verb != VERB_COMMIT;
		poll_reply_free(&reply);
	}
	assert_true(out[0] <= 2 && out[1] <= 2);
}

static void test_good_kernel_ends_done(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf json = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);

	add_fleet();
	add_rollout("good", 1, FACTOR_KERNEL);
	start("good");
	run_until("good", ROLLOUT_PROVING, true, check_budget);
	struct store_rollout x = rollout_now("good");
	assert_true(x.has_verdict && x.verdict == VERDICT_PROMOTE);
	assert_non_null(strstr(x.reason, "the verdict is PROMOTE: "));
	OK(store_comparison(st, "good", &json, &text, &err));
	assert_non_null(strstr(json.data, "\"PROMOTE\""));
	assert_non_null(strstr(text.data, "PROMOTE"));
	run_until("good", ROLLOUT_DONE, true, check_budget);
	x = rollout_now("good");
	assert_int_equal(x.ended_unix_s, now);
	assert_string_equal(x.waiting, "");
	assert_int_equal(x.waves, 2);
	assert_string_equal(x.what, "linux-image-kpcp 6.1.158-1 (" NEW_RELEASE ")");

	struct store_member *m;
	size_t n, canaries = 0;
	OK(store_members(st, "good", &m, &n, &err));
	assert_int_equal(n, 10);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || m[i - 1].role <= m[i].role);
		canaries += m[i].role == ROLE_CANARY;
		assert_string_equal(m[i].progress, "committed");
		assert_string_equal(m[i].release_before, OLD_RELEASE);
		assert_string_equal(m[i].release_after, NEW_RELEASE);
		assert_string_equal(m[i].default_before, "old");
		assert_string_equal(m[i].default_after, NEW_ENTRY);
		assert_true(m[i].started_unix_s > 0 && m[i].ended_unix_s > m[i].started_unix_s);
		/* The one it had, and: old, new, proof (canary); old twice, trial (control); trial (wave). */
		assert_int_equal(m[i].n_boots, m[i].role == ROLE_WAVE ? 2 : 4);
	}
	assert_int_equal(canaries, 3);
	free(m);
	/* Nothing runs any more: a tick changes nothing, and hosts wait for long again. */
	bool changed;
	struct poll_reply reply;
	OK(tick(st, now, &changed, &err));
	assert_false(changed);
	OK(store_reply(st, "a0", &reply, &err));
	assert_int_equal(reply.wait_s, 60);
}

static void test_slow_kernel_is_taken_back(void **state)
{
	(void)state;
	add_fleet();
	for (size_t i = 0; i < n_agents; i++)
		agents[i].slow = 1.6;
	add_rollout("slow", 1, FACTOR_KERNEL);
	start("slow");
	run_until("slow", ROLLOUT_ROLLED_BACK, true, check_budget);
	struct store_rollout x = rollout_now("slow");
	assert_true(x.has_verdict && x.verdict == VERDICT_ROLLBACK);
	assert_non_null(strstr(x.verdict_reason, "p99"));
	for (size_t i = 0; i < n_agents; i++) {
		assert_string_equal(agents[i].r.release, OLD_RELEASE);
		assert_string_equal(agents[i].r.default_entry, "old");
		struct store_member m = member("slow", agents[i].name);
		assert_string_equal(m.default_after, "old");
		assert_string_equal(m.progress, m.role == ROLE_WAVE ? "waiting" : "back on what it had");
	}
}

static size_t events_that_say(const char *rollout, const char *words)
{
	struct store_event *ev;
	size_t n, found = 0;

	OK(store_events(st, rollout, NULL, STORE_EVENTS_MAX, &ev, &n, &err));
	for (size_t i = 0; i < n; i++)
		found += strstr(ev[i].text, words) != NULL;
	free(ev);
	return found;
}

/* Five times slower: the brake does not wait for the third boot; a controller that begins anew looks no boot twice. */
static void test_brake_stops_a_gross_regression(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf json = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);

	fleet_boots = 4;
	add_fleet();
	for (size_t i = 0; i < n_agents; i++)
		agents[i].slow = 5;
	add_rollout("gross", 1, FACTOR_KERNEL);
	start("gross");
	for (int i = 0; i < 400 && rollout_now("gross").braked < 1; i++)
		fleet_step(true);
	assert_int_equal(rollout_now("gross").state, ROLLOUT_CANARY);
	reopen();
	run_until("gross", ROLLOUT_ROLLED_BACK, true, check_budget);
	struct store_rollout x = rollout_now("gross");
	assert_int_equal(x.braked, 2);
	assert_int_equal(x.verdict, VERDICT_ROLLBACK);
	assert_non_null(strstr(x.verdict_reason, "The brake fired in block 2"));
	assert_int_equal(events_that_say("gross", "the brake after boot 1 of 4: go on"), 1);
	assert_int_equal(events_that_say("gross", "the brake after boot 2 of 4: fired"), 1);
	assert_int_equal(events_that_say("gross", "measure new 3"), 0);
	OK(store_comparison(st, "gross", &json, &text, &err));
	assert_non_null(strstr(json.data, "The brake fired"));
	assert_non_null(strstr(text.data, "The brake fired"));
	for (size_t i = 0; i < n_agents; i++)
		assert_string_equal(agents[i].r.release, OLD_RELEASE);
}

/* What is worse by less than the brake tolerates is the gate's, after all boots. */
static void test_brake_leaves_the_rest_to_the_gate(void **state)
{
	(void)state;
	fleet_boots = 3;
	add_fleet();
	for (size_t i = 0; i < n_agents; i++)
		agents[i].slow = 1.4;
	add_rollout("worse", 1, FACTOR_KERNEL);
	start("worse");
	run_until("worse", ROLLOUT_ROLLED_BACK, true, check_budget);
	struct store_rollout x = rollout_now("worse");
	assert_int_equal(x.braked, 2);
	assert_int_equal(x.verdict, VERDICT_ROLLBACK);
	assert_null(strstr(x.verdict_reason, "brake"));
	assert_int_equal(events_that_say("worse", ": go on"), 2);
}

/* A recording that is gone blinds the brake, and promotes or takes back nothing. */
static void test_brake_without_a_recording(void **state)
{
	(void)state;
	char path[256];

	fleet_boots = 3;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	start("r");
	for (int i = 0; i < 400 && events_that_say("r", "old 2: its recording is in") == 0; i++)
		fleet_step(true);
	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/recordings/r/a%d-old-0.kpcp", dir, i);
		unlink(path);
	}
	run_until("r", ROLLOUT_HOLD, true, check_budget);
	assert_int_equal(events_that_say("r", "the brake sees nothing after boot"), 2);
	assert_int_equal(rollout_now("r").verdict, VERDICT_HOLD);
}

static void test_preset_done_and_taken_back(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("latency", 1, FACTOR_PRESET);
	start("latency");
	run_until("latency", ROLLOUT_DONE, false, check_budget);
	for (size_t i = 0; i < n_agents; i++) {
		assert_int_equal(agents[i].boots, 1); /* without any reboot */
		assert_int_equal(agents[i].r.pcp_batch_scale_max, 0);
		agents[i].r.pcp_batch_scale_max = 5;
		agents[i].slow = 1.6;
	}
	fleet_step(false);
	add_rollout("hurts", 2, FACTOR_PRESET);
	start("hurts");
	run_until("hurts", ROLLOUT_ROLLED_BACK, false, check_budget);
	assert_int_equal(rollout_now("hurts").verdict, VERDICT_ROLLBACK);
	for (size_t i = 0; i < n_agents; i++) {
		assert_int_equal(agents[i].boots, 1);
		assert_int_equal(agents[i].r.pcp_batch_scale_max, 5);
	}
	struct store_rollout *list;
	size_t n;
	OK(store_rollouts(st, &list, &n, &err));
	assert_int_equal(n, 2);
	assert_string_equal(list[0].name, "hurts");
	assert_string_equal(list[1].what, "preset latency");
	free(list);
}

/* What fails, and where; the words that the rollout's reason has. */
static void test_each_failing_verb_takes_it_back(void **state)
{
	static const struct {
		enum verb verb;
		enum outcome how;
		const char *host, *word;
	} cases[] = {{VERB_STAGE, OUTCOME_REFUSED, NULL, "refused stage: it was made to"},
		     {VERB_MEASURE, OUTCOME_FAILED, NULL, "failed in measure: it was made to"},
		     {VERB_PROVE, OUTCOME_HELD, NULL, "stopped half way in prove: it was made to"},
		     {VERB_TRIAL, OUTCOME_FAILED, "b7", "b7 failed in trial: it was made to"},
		     {VERB_COMMIT, OUTCOME_FAILED, "b7", "b7 failed in commit: it was made to"}};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		if (c > 0) {
			store_close(&st);
			remove_all(dir);
			setup(state);
		}
		add_fleet();
		for (size_t i = 0; i < n_agents; i++) {
			agents[i].fails_at = cases[c].verb;
			if (!cases[c].host || strcmp(agents[i].name, cases[c].host) == 0)
				agents[i].fails = cases[c].how;
		}
		add_rollout("r", 1, FACTOR_KERNEL);
		start("r");
		run_until("r", ROLLOUT_ROLLED_BACK, true, check_budget);
		struct store_event *ev;
		size_t n, found = 0;
		OK(store_events(st, "r", NULL, STORE_EVENTS_MAX, &ev, &n, &err));
		for (size_t i = 0; i < n; i++)
			found += strncmp(ev[i].text, "ROLLING_BACK: ", 14) == 0 && strstr(ev[i].text, cases[c].word);
		if (found != 1)
			fail_msg("%zu events say \"%s\"", found, cases[c].word);
		free(ev);
	}
}

/* The recordings of one control cannot be compared with the others': no data is never a pass. */
static void test_unusable_recordings_hold_until_the_deadline(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	start("r");
	for (int i = 0; i < 400 && rollout_now("r").state != ROLLOUT_HOLD; i++) {
		struct store_event *ev;
		size_t n;
		char path[256];

		fleet_step(true);
		OK(store_events(st, "r", NULL, 1000, &ev, &n, &err));
		for (size_t k = 0; k < n; k++) {
			if (!strstr(ev[k].text, "old 0: its recording is in"))
				continue;
			snprintf(path, sizeof(path), "%s/recordings/r/%s-old-0.kpcp", dir, ev[k].host);
			unlink(path);
			break;
		}
		free(ev);
	}
	struct store_rollout x = rollout_now("r");
	_cleanup_(buf_free) struct buf json = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
	assert_int_equal(x.state, ROLLOUT_HOLD);
	assert_non_null(strstr(x.verdict_reason, "-old-0.kpcp"));
	assert_non_null(strstr(x.waiting, "may abort it now"));
	OK(store_comparison(st, "r", &json, &text, &err));
	assert_int_equal(json.len, 0);
	assert_non_null(strstr(text.data, "-old-0.kpcp"));
	now = x.started_unix_s + 4 * 3600 - 10;
	fleet_step(true);
	assert_int_equal(rollout_now("r").state, ROLLOUT_HOLD);
	fleet_step(true);
	assert_int_equal(rollout_now("r").state, ROLLOUT_ROLLING_BACK);
	run_until("r", ROLLOUT_ROLLED_BACK, true, check_budget);
}

static void test_controls_rebooted_otherwise_hold(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	start("r");
	for (size_t i = 0; i < n_agents; i++) {
		struct store_member m = member("r", agents[i].name);

		agents[i].reboot = m.role == ROLE_CONTROL ? REBOOT_FIRMWARE : REBOOT_KEXEC;
	}
	run_until("r", ROLLOUT_HOLD, true, check_budget);
	struct store_rollout x = rollout_now("r");
	assert_true(x.has_verdict && x.verdict == VERDICT_HOLD);
	assert_non_null(strstr(x.reason, "HOLD"));
	_cleanup_(buf_free) struct buf json = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
	OK(store_comparison(st, "r", &json, &text, &err));
	assert_non_null(strstr(text.data, "was rebooted by "));
}

static void test_pause_resume_abort(void **state)
{
	(void)state;
	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	REFUSED(ESTALE, "r is APPROVED and was not started, so it cannot be paused",
		store_rollout_pause(st, "r", now, &err));
	REFUSED(ESTALE, "cannot be resumed", store_rollout_resume(st, "r", now, &err));
	start("r");
	fleet_step(true);
	OK(store_rollout_pause(st, "r", now, &err));
	OK(store_rollout_pause(st, "r", now, &err));
	for (int i = 0; i < 5; i++)
		fleet_step(true);
	for (size_t i = 0; i < n_agents; i++) {
		struct poll_reply reply;

		OK(store_reply(st, agents[i].name, &reply, &err));
		assert_false(reply.has_order);
	}
	assert_non_null(strstr(rollout_now("r").waiting, "paused"));
	OK(store_rollout_resume(st, "r", now, &err));
	fleet_step(true);
	assert_string_equal(rollout_now("r").waiting, "");
	run_until("r", ROLLOUT_WAVE, true, check_budget);
	OK(store_rollout_abort(st, "r", now, &err));
	OK(store_rollout_abort(st, "r", now, &err));
	run_until("r", ROLLOUT_ABORTED, true, check_budget);
	assert_non_null(strstr(rollout_now("r").reason, "every host that had orders is back"));
	REFUSED(ESTALE, "r is ABORTED, so it cannot be paused", store_rollout_pause(st, "r", now, &err));
	add_rollout("never", 2, FACTOR_KERNEL);
	OK(store_rollout_abort(st, "never", now, &err));
	assert_int_equal(rollout_now("never").state, ROLLOUT_ABORTED);
	REFUSED(ESTALE, "never is ABORTED", store_rollout_start(st, "never", now, &err));
}

/* A soak that a power loss has cut short begins anew. */
static void test_soak_begins_anew(void **state)
{
	(void)state;
	struct poll_reply reply;

	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	start("r");
	run_until("r", ROLLOUT_WAVE, true, check_budget);
	struct agent *b = agent_of("b7");
	for (int i = 0; i < 100 && b->r.state != HOST_SOAK; i++)
		fleet_step(true);
	now += 50;
	b->r.state = HOST_INTENT;
	poll_as_is(b, &reply);
	assert_false(reply.has_order);
	boot(b, NEW_RELEASE);
	b->r.state = HOST_SOAK;
	for (int i = 0; i < 6; i++) {
		fleet_step(true);
		OK(store_reply(st, "b7", &reply, &err));
		assert_false(reply.has_order);
	}
	fleet_step(true);
	OK(store_reply(st, "b7", &reply, &err));
	assert_true(reply.has_order && reply.order.verb == VERB_COMMIT);
	poll_reply_free(&reply);
	run_until("r", ROLLOUT_DONE, true, check_budget);
}

/* A host that vanishes in the middle of its reboot keeps its place until it is seen, or retired. */
static void test_vanished_host(void **state)
{
	(void)state;
	add_fleet();
	add_rollout_with("r", 1, FACTOR_KERNEL, "", "");
	start("r");
	run_until("r", ROLLOUT_WAVE, true, check_budget);
	struct agent *b = agent_of("b7");
	for (int i = 0; i < 100 && !(b->order.verb == VERB_TRIAL && b->r.outcome == OUTCOME_RUNNING); i++)
		fleet_step(true);
	b->dead = true;
	now += 1790;
	fleet_step(true);
	fleet_step(true);
	struct store_rollout x = rollout_now("r");
	assert_int_equal(x.state, ROLLOUT_ROLLING_BACK);
	assert_non_null(strstr(x.reason, "b7 has not ended trial within 1800 s"));
	for (int i = 0; i < 100; i++)
		fleet_step(true);
	x = rollout_now("r");
	assert_int_equal(x.state, ROLLOUT_ROLLING_BACK);
	assert_non_null(strstr(x.waiting, "b7 was not seen"));
	add_rollout("next", 2, FACTOR_KERNEL);
	REFUSED(EBUSY, "r still runs, and one rollout runs at a time", store_rollout_start(st, "next", now, &err));

	/* Back again, it is told to go back, and not to try what it was trying. */
	b->dead = false;
	run_until("r", ROLLOUT_ROLLED_BACK, true, check_budget);
	assert_int_equal(b->order.verb, VERB_REVERT);

	start("next");
	run_until("next", ROLLOUT_CANARY, true, NULL);
	fleet_step(true);
	struct agent *a = NULL;
	for (size_t i = 0; i < n_agents && !a; i++)
		if (agents[i].r.outcome == OUTCOME_RUNNING)
			a = &agents[i];
	for (int i = 0; i < 20 && !a; i++) {
		fleet_step(true);
		for (size_t k = 0; k < n_agents && !a; k++)
			if (agents[k].r.outcome == OUTCOME_RUNNING)
				a = &agents[k];
	}
	assert_non_null(a);
	a->dead = true;
	OK(store_host_retire(st, a->name, now, &err));
	REFUSED(ESTALE, "is retired already", store_host_retire(st, a->name, now, &err));
	run_until("next", ROLLOUT_ROLLED_BACK, true, NULL);
	struct poll_reply reply;
	bool ended;
	REFUSED(EACCES, "was retired; enrol it with a new token",
		store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
}

static const char health[] = "[waves]\nsoak = 60s\nbudget = 2\n";

/* Judged by health alone, on hosts that say of all orders that they are done. */
static void add_health(const char *name, uint64_t serial, bool kernel)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct directive d;
	char plan[1024];

	snprintf(plan, sizeof(plan),
		 "[rollout]\nname = %s\nclusters = a b\nevidence = health\n[judge]\ncanaries = 1\n%s%s", name, health,
		 kernel ? "[kernel]\npackage = linux-image-kpcp\nversion = 6.1.158-1\nrelease = " NEW_RELEASE
			  "\nsha256 = 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
			  "build-id = " NEW_BUILD "\n"
			: "[preset]\nname = latency\nsettings = vm.pcp_batch_scale_max=0\n");
	OK(directive_approve("plan", plan, strlen(plan), serial, now + 86400, &text, &err));
	OK(directive_parse("directive", text.data, text.len, true, &d, &err));
	OK(store_rollout_add(st, text.data, text.len, "c2lnbmF0dXJl", &d, now, &err));
}

static void test_done_is_held_against_the_report(void **state)
{
	static const struct {
		bool kernel;
		const char *words;
	} cases[] = {{true, "failed in trial: reported done, but runs " OLD_RELEASE " instead of " NEW_RELEASE},
		     {false, "failed in apply: reported done, but runs with vm.pcp_batch_scale_max = 5 instead of 0"}};

	(void)state;
	add_fleet();
	for (size_t i = 0; i < n_agents; i++)
		agents[i].lies = true;
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		char name[8];
		size_t n, found = 0;
		struct store_event *ev;

		snprintf(name, sizeof(name), "r%zu", c);
		add_health(name, c + 1, cases[c].kernel);
		start(name);
		run_until(name, ROLLOUT_ROLLED_BACK, cases[c].kernel, NULL);
		OK(store_events(st, name, NULL, STORE_EVENTS_MAX, &ev, &n, &err));
		for (size_t i = 0; i < n; i++)
			found += strncmp(ev[i].text, "ROLLING_BACK: ", 14) == 0 && strstr(ev[i].text, cases[c].words);
		free(ev);
		assert_int_equal(found, 1);
	}
	for (size_t i = 0; i < n_agents; i++)
		agents[i].lies = false;
	add_health("honest", 9, true);
	start("honest");
	run_until("honest", ROLLOUT_DONE, true, check_budget);
}

/* A host that says it is back, and is not, is waited for until a person has seen to it. */
static void test_back_is_held_against_the_report(void **state)
{
	(void)state;
	add_fleet();
	add_health("r", 1, true);
	start("r");
	run_until("r", ROLLOUT_WAVE, true, NULL);
	for (size_t i = 0; i < n_agents; i++)
		agents[i].lies = true;
	OK(store_rollout_abort(st, "r", now, &err));
	for (int i = 0; i < 60; i++)
		fleet_step(true);
	assert_int_equal(rollout_now("r").state, ROLLOUT_ROLLING_BACK);
	assert_non_null(strstr(rollout_now("r").waiting, "reported done, but runs " NEW_RELEASE));
	for (size_t i = 0; i < n_agents; i++)
		agents[i].lies = false;
	OK(store_rollout_resume(st, "r", now, &err));
	run_until("r", ROLLOUT_ABORTED, true, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_good_kernel_ends_done, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_slow_kernel_is_taken_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_brake_stops_a_gross_regression, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_brake_leaves_the_rest_to_the_gate, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_brake_without_a_recording, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_preset_done_and_taken_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_each_failing_verb_takes_it_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_unusable_recordings_hold_until_the_deadline, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_controls_rebooted_otherwise_hold, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_pause_resume_abort, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_soak_begins_anew, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_vanished_host, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_done_is_held_against_the_report, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_back_is_held_against_the_report, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
