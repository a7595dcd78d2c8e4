// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the store's promises to hosts that poll: orders, epochs, and what their reports write.
 * Must not know SQL, but for looking at what must not be in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/fs.h"
#include "rollout/db.h"
#include "rollout/store_view.h"
#include "store_fleet.h"

static struct agent *first_ordered(void)
{
	bool changed;

	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	OK(store_rollout_start(st, "r", now, &err));
	OK(tick(st, now, &changed, &err));
	assert_true(changed);
	for (size_t i = 0; i < n_agents; i++) {
		struct poll_reply reply;

		OK(store_reply(st, agents[i].name, &reply, &err));
		bool found = reply.has_order;
		agents[i].order = reply.order;
		poll_reply_free(&reply);
		if (found)
			return &agents[i];
	}
	fail_msg("nobody was ordered anything");
	return NULL;
}

static void test_the_same_order_until_its_end(void **state)
{
	(void)state;
	struct agent *a = first_ordered();
	struct poll_reply reply;
	struct store_order *list;
	bool ended, changed;
	size_t n;

	for (int i = 0; i < 5; i++) {
		OK(store_poll(st, a->name, &a->r, ++now, &reply, &ended, &err));
		assert_true(reply.has_order && !ended);
		assert_int_equal(reply.order.epoch, 1);
		assert_int_equal(reply.wait_s, 5);
		assert_string_equal(reply.order.rollout, "r");
		poll_reply_free(&reply);
		OK(tick(st, now, &changed, &err));
		assert_false(changed); /* never a second one */
		if (i == 2)
			reopen();
	}
	a->r.epoch = 1;
	a->r.outcome = OUTCOME_RUNNING;
	OK(store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	assert_true(reply.has_order && !ended);
	poll_reply_free(&reply);
	OK(store_orders(st, a->name, 10, &list, &n, &err));
	assert_true(n == 1 && list[0].outcome == OUTCOME_RUNNING && list[0].ended_unix_s == 0);
	free(list);

	/* An end of an order that was never granted ends nothing. */
	a->r.outcome = OUTCOME_DONE;
	a->r.epoch = 0;
	OK(store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	assert_true(reply.has_order && !ended);
	poll_reply_free(&reply);
	a->r.epoch = 1;
	snprintf(a->r.reason, sizeof(a->r.reason), "no room in /boot");
	a->r.outcome = OUTCOME_REFUSED;
	OK(store_poll(st, a->name, &a->r, ++now, &reply, &ended, &err));
	assert_true(!reply.has_order && ended);
	poll_reply_free(&reply);
	OK(store_orders(st, a->name, 10, &list, &n, &err));
	assert_true(n == 1 && list[0].outcome == OUTCOME_REFUSED && list[0].ended_unix_s == now);
	assert_string_equal(list[0].reason, "no room in /boot");
	free(list);
	/* The same report again ends nothing again; the next order has the next epoch. */
	OK(store_poll(st, a->name, &a->r, ++now, &reply, &ended, &err));
	assert_true(!reply.has_order && !ended);
	OK(tick(st, now, &changed, &err));
	OK(store_reply(st, a->name, &reply, &err));
	assert_true(reply.has_order && reply.order.epoch == 2 && reply.order.verb == VERB_REVERT);
	poll_reply_free(&reply);
}

/* Done is not done while the recording is missing. */
static void test_measurement_needs_its_recording(void **state)
{
	(void)state;
	struct agent *a = first_ordered();
	struct poll_reply reply;
	bool ended;

	for (int i = 0; i < 100 && !(a->order.verb == VERB_MEASURE && a->r.outcome == OUTCOME_RUNNING); i++)
		fleet_step(true);
	assert_int_equal(a->order.verb, VERB_MEASURE);
	boot(a, OLD_RELEASE);
	a->r.outcome = OUTCOME_DONE;
	for (int i = 0; i < 3; i++) {
		OK(store_poll(st, a->name, &a->r, ++now, &reply, &ended, &err));
		assert_true(reply.has_order && !ended && reply.order.epoch == a->order.epoch);
		poll_reply_free(&reply);
	}
	upload(a, 1);
	OK(store_poll(st, a->name, &a->r, ++now, &reply, &ended, &err));
	assert_true(!reply.has_order && ended);
}

/* The database was put back from a copy: the agent has seen more than it. */
static void test_epochs_survive_an_older_database(void **state)
{
	(void)state;
	struct agent *a = first_ordered();
	struct poll_reply reply;
	struct store_order *list;
	struct store_host h;
	bool ended, changed;
	size_t n;

	a->r.epoch = 41;
	a->r.outcome = OUTCOME_DONE;
	OK(store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	assert_true(ended && !reply.has_order);
	OK(store_orders(st, a->name, 10, &list, &n, &err));
	assert_int_equal(list[0].outcome, OUTCOME_FAILED);
	assert_non_null(strstr(list[0].reason, "put back from an older copy"));
	free(list);
	OK(tick(st, now, &changed, &err));
	OK(store_reply(st, a->name, &reply, &err));
	assert_int_equal(reply.order.epoch, 42);
	poll_reply_free(&reply);
	reopen();
	OK(store_host_get(st, a->name, &h, &err));
	assert_int_equal(h.epoch, 42);
}

/* A number that no controller gave: it must not become the host's, nor stop what others wait for. */
static void test_epochs_that_nobody_granted(void **state)
{
	(void)state;
	struct agent *a = first_ordered();
	struct poll_reply reply;
	struct store_host h;
	bool ended, changed;

	a->r.epoch = 2097154; /* one was granted */
	REFUSED(EINVAL, "reports order 2097154, and the newest that was granted to it is 1",
		store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	a->r.epoch = INT64_MAX;
	REFUSED(EINVAL, "is not of this controller", store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	OK(store_host_get(st, a->name, &h, &err));
	assert_int_equal(h.epoch, 1);
	a->r.epoch = 2097153;
	OK(store_poll(st, a->name, &a->r, now, &reply, &ended, &err));
	OK(tick(st, now, &changed, &err));
	OK(store_host_get(st, a->name, &h, &err));
	assert_int_equal(h.epoch, 2097154);
}

/* All numbers are used up: this host is left out, and the others go on. */
static void test_the_last_epoch(void **state)
{
	(void)state;
	struct store_view v;
	struct decide_order orders[2] = {{.order.verb = VERB_STAGE}, {.host = 1, .order.verb = VERB_STAGE}};
	struct decision d = {.state = ROLLOUT_CANARY, .order = orders, .n_orders = 2};
	struct poll_reply reply;
	struct db *db;
	bool changed;

	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	OK(store_rollout_start(st, "r", now, &err));
	store_close(&st);
	OK(db_open(in_dir("kpcp.db"), &db, &err));
	OK(DB_RUN(db, NULL, &err, "UPDATE hosts SET epoch = $1 WHERE name = 'a0'", DB_I(MESSAGE_EPOCH_MAX)));
	db_close(&db);
	reopen();
	assert_int_equal(store_view_load(st, now, &v, &err), 1);
	OK(store_view_apply(st, &v, &d, now, &changed, &err));
	OK(store_reply(st, "a0", &reply, &err));
	assert_false(reply.has_order);
	OK(store_reply(st, "a1", &reply, &err));
	assert_true(reply.has_order);
	poll_reply_free(&reply);
	assert_non_null(strstr(rollout_now("r").waiting, "a0 gets no order (a0 has used up all numbers of orders"));
	store_view_free(&v);
}

/* Whatever was decided: the transaction that grants counts again, and the table refuses a second order. */
static void test_no_double_grant_and_no_overdraft(void **state)
{
	(void)state;
	struct store_view v;
	struct decide_order orders[3] = {0};
	struct decision d = {.state = ROLLOUT_CANARY, .order = orders};
	struct poll_reply reply;
	bool changed;

	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	OK(store_rollout_start(st, "r", now, &err));
	assert_int_equal(store_view_load(st, now, &v, &err), 1);
	assert_int_equal(v.view.n, 10); /* by name: a0 to a5 come first */
	for (uint32_t i = 0; i < 3; i++)
		orders[i] = (struct decide_order){.host = i, .order.verb = VERB_STAGE};
	d.n_orders = 3;
	REFUSED(EPERM, "an order to a2 would take 3 hosts of a away, and the budget is 2",
		store_view_apply(st, &v, &d, now, &changed, &err));
	OK(store_reply(st, "a0", &reply, &err));
	assert_false(reply.has_order); /* all or nothing */
	/* Who cannot be ordered anything keeps nobody else from it. */
	orders[1].host = 0;
	d.n_orders = 2;
	OK(store_view_apply(st, &v, &d, now, &changed, &err));
	assert_true(changed);
	assert_non_null(strstr(rollout_now("r").waiting, "a0 gets no order ("));
	d.n_orders = 1;
	d.waiting[0] = 0;
	snprintf(v.rollout.waiting, sizeof(v.rollout.waiting), "%s", rollout_now("r").waiting);
	OK(store_view_apply(st, &v, &d, now, &changed, &err));
	assert_false(changed); /* as before, told once */
	reopen();
	OK(store_reply(st, "a0", &reply, &err));
	assert_true(reply.has_order && reply.order.epoch == 1);
	poll_reply_free(&reply);
	/* In its place, another one may go out: the same host is away as before. */
	orders[0].replaces = true;
	orders[0].order.verb = VERB_REVERT;
	OK(store_view_apply(st, &v, &d, now, &changed, &err));
	OK(store_reply(st, "a0", &reply, &err));
	assert_true(reply.has_order && reply.order.epoch == 2 && reply.order.verb == VERB_REVERT);
	poll_reply_free(&reply);
	store_view_free(&v);
}

static void test_strangers(void **state)
{
	(void)state;
	struct host_report r = {.release = "6.1.0"};
	struct poll_reply reply;
	bool ended;

	REFUSED(EACCES, "h9 is not enrolled here; enrol it with a new token",
		store_poll(st, "h9", &r, now, &reply, &ended, &err));
	REFUSED(EACCES, "is not enrolled", store_reply(st, "h9", &reply, &err));
	REFUSED(ENOENT, "no host \"h9\"", store_host_retire(st, "h9", now, &err));
}

/* Polls without news write nothing until the flush, and that once a second; news is on the disk at once. */
static void test_heartbeats_are_gathered(void **state)
{
	(void)state;
	struct stat before, after;
	struct store_host h;
	struct poll_reply reply;

	add_fleet();
	struct agent *a = agent_of("a0");
	assert_int_equal(stat(in_dir("kpcp.db-wal"), &before), 0);
	for (int i = 0; i < 50; i++) {
		now++;
		a->r.uptime_s += 1;
		poll_as_is(a, &reply);
	}
	assert_int_equal(stat(in_dir("kpcp.db-wal"), &after), 0);
	assert_true(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	OK(store_host_get(st, "a0", &h, &err));
	assert_int_equal(h.seen_unix_s, now);
	assert_int_equal(h.report.uptime_s, 50);
	reopen(); /* flushes */
	OK(store_host_get(st, "a0", &h, &err));
	assert_int_equal(h.seen_unix_s, now);
	assert_int_equal(h.report.uptime_s, 50);
	a->r.state = HOST_HELD;
	poll_as_is(a, &reply);
	struct store_event *ev;
	size_t n;
	OK(store_events(st, NULL, "a0", 1, &ev, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(ev[0].text, "is HELD now");
	free(ev);
}

/* A host that never stops telling something new: bounded in what is written, and no other host waits for it. */
static void test_news_without_end(void **state)
{
	(void)state;
	struct agent *a = first_ordered(), *other = agent_of("b9");
	struct poll_reply reply;
	struct store_member m;
	bool ended;
	int taken = 0;

	for (int i = 0; i < 100; i++) {
		boot(a, OLD_RELEASE);
		err = (struct err){0};
		if (store_poll(st, a->name, &a->r, now, &reply, &ended, &err) == 0) {
			poll_reply_free(&reply);
			taken++;
		} else {
			assert_int_equal(err.code, EAGAIN);
		}
	}
	assert_in_range(taken, 28, 30);
	boot(other, OLD_RELEASE);
	poll_as_is(other, &reply);
	poll_reply_free(&reply);
	for (int i = 0; i < 300; i++) {
		now += 2;
		boot(a, OLD_RELEASE);
		poll_as_is(a, &reply);
		poll_reply_free(&reply);
	}
	OK(store_member_get(st, "r", a->name, &m, &err));
	assert_int_equal(m.n_boots, STORE_BOOTS_MAX);
	struct db *db;
	size_t rows;
	store_close(&st);
	OK(db_open(in_dir("kpcp.db"), &db, &err));
	OK(DB_QUERY(db, NULL, NULL, &rows, &err, "SELECT 1 FROM boots WHERE host = $1", DB_T(a->name)));
	assert_int_equal(rows, 256);
	/* What an operator did stays, however much hosts tell after it. */
	OK(DB_RUN(db, NULL, &err, "UPDATE events SET id = id + $1 WHERE host <> ''", DB_I(1000000)));
	db_close(&db);
	reopen();
	OK(store_event_add(st, "r", "a0", "an operator was here", now, &err));
	store_close(&st);
	OK(db_open(in_dir("kpcp.db"), &db, &err));
	OK(DB_RUN(db, NULL, &err, "UPDATE events SET id = 2 WHERE text = $1", DB_T("an operator was here")));
	db_close(&db);
	reopen();
	now += 2;
	boot(a, OLD_RELEASE);
	a->r.state = HOST_FAILED;
	poll_as_is(a, &reply);
	poll_reply_free(&reply);
	struct store_event *ev;
	size_t n, found = 0;
	OK(store_events(st, "r", "a0", 1000, &ev, &n, &err));
	for (size_t i = 0; i < n; i++)
		found += strcmp(ev[i].text, "an operator was here") == 0;
	free(ev);
	assert_int_equal(found, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_the_same_order_until_its_end),
	    T(test_measurement_needs_its_recording),
	    T(test_epochs_survive_an_older_database),
	    T(test_epochs_that_nobody_granted),
	    T(test_the_last_epoch),
	    T(test_no_double_grant_and_no_overdraft),
	    T(test_strangers),
	    T(test_heartbeats_are_gathered),
	    T(test_news_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
