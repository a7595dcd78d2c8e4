// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of the store's promises one by one: opening, tokens, hosts, adding and starting rollouts, events.
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

/* ---- opening ---- */

static void test_one_controller_at_a_time(void **state)
{
	(void)state;
	struct store *second = NULL;

	REFUSED(EBUSY, "another controller has it open", store_open(dir, NULL, &second, &err));
	assert_null(second);
	store_close(&st);
	store_close(&st); /* of nothing */
	REFUSED(ENOENT, "kpcp.lock", store_open(in_dir("nowhere"), NULL, &st, &err));
	OK(fs_write_atomic(in_dir("kpcp.db"), "this is no database, whatever its name says", 43, 0600, &err));
	unlink(in_dir("kpcp.db-wal"));
	REFUSED(EBADMSG, "kpcp.db", store_open(dir, NULL, &st, &err));
	unlink(in_dir("kpcp.db"));
	OK(store_open(dir, &(struct store_waits){.idle_s = 7, .busy_s = 3}, &st, &err));
	add_fleet();
	struct poll_reply reply;
	OK(store_reply(st, "a0", &reply, &err));
	assert_int_equal(reply.wait_s, 7);
}

/* Changed by hand: told at the start, not by the first order that fails. */
static void test_damaged_by_hand(void **state)
{
	static const struct {
		const char *sql, *words;
	} cases[] = {{"DROP TABLE events", "events"},
		     {"DROP TABLE boots", "boots"},
		     {"ALTER TABLE hosts RENAME COLUMN fingerprint TO x", "fingerprint"},
		     {"UPDATE hosts SET epoch = -5 WHERE name = 'a0'", "of orders in it were never granted"},
		     {"UPDATE hosts SET epoch = 9223372036854775807 WHERE name = 'a0'", "were never granted"},
		     {"UPDATE members SET last_epoch = -9 WHERE host = 'a0'", "were never granted"},
		     {"UPDATE orders SET epoch = 9", "were never granted"}};
	struct db *db;
	bool changed;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (i > 0)
			setup(state);
		add_fleet();
		add_rollout("r", 1, FACTOR_KERNEL);
		OK(store_rollout_start(st, "r", now, &err));
		OK(tick(st, now, &changed, &err));
		reopen();
		store_close(&st);
		OK(db_open(in_dir("kpcp.db"), &db, &err));
		OK(db_script(db, cases[i].sql, &err));
		db_close(&db);
		err = (struct err){0};
		assert_true(store_open(dir, NULL, &st, &err) < 0);
		if (!strstr(err.text, cases[i].words) || !strstr(err.text, "was changed by something else"))
			fail_msg("%s: %s", cases[i].sql, err.text);
		remove_all(dir);
	}
}

/* ---- enrolment ---- */

static struct enrolment token_for(const char *host)
{
	struct enrolment x = {.csr = "-----BEGIN CERTIFICATE REQUEST-----"};
	uint64_t expires;

	snprintf(x.host, sizeof(x.host), "%s", host);
	OK(store_token_make(st, host, "a", 600, now, x.token, &expires, &err));
	assert_int_equal(expires, now + 600);
	assert_int_equal(strspn(x.token, "0123456789abcdef"), 64);
	return x;
}

static int begin(const struct enrolment *x, struct buf *cert)
{
	char cluster[DIRECTIVE_NAME_MAX] = "untouched";
	int r = store_enrol_begin(st, x, now, cluster, cert, &err);

	assert_string_equal(cluster, r == 0 ? "a" : "untouched");
	return r;
}

static void test_tokens(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf cert = BUF_INIT(4096);
	struct enrolment x = token_for("h1"), other = token_for("h2");
	struct store_host h;

	/* Asking uses nothing up. */
	OK(begin(&x, &cert));
	OK(begin(&x, &cert));
	snprintf(x.host, sizeof(x.host), "h2");
	REFUSED(EACCES, "for another host than h2", begin(&x, &cert));
	REFUSED(EACCES, "for another host", store_enrol_finish(st, &x, "cert", 4, "f1", now, &err));
	snprintf(x.host, sizeof(x.host), "h1");
	REFUSED(ENOENT, "no host \"h1\"", store_host_get(st, "h1", &h, &err));
	OK(store_enrol_finish(st, &x, "certificate 1", 13, "f1", now, &err));
	OK(store_host_get(st, "h1", &h, &err));
	assert_string_equal(h.cluster, "a");
	assert_false(h.reported);
	assert_string_equal(h.fingerprint, "f1");

	/* The very same request gets the very same answer, also after a restart, until the token expires. */
	reopen();
	assert_int_equal(begin(&x, &cert), 1);
	assert_string_equal(cert.data, "certificate 1");
	OK(store_host_get(st, "h1", &h, &err));
	assert_string_equal(h.fingerprint, "f1");
	struct enrolment thief = x;
	snprintf(thief.csr, sizeof(thief.csr), "-----BEGIN another one");
	now += 5;
	REFUSED(EACCES, "was used before, 5 s ago, by another request", begin(&thief, &cert));
	REFUSED(EACCES, "was used before", store_enrol_finish(st, &thief, "cert", 4, "f1", now, &err));

	/* To the second, on the controller's clock. */
	now += 595;
	OK(begin(&other, &cert));
	now += 1;
	REFUSED(EACCES, "expired 1 s ago, on the controller's clock", begin(&other, &cert));
	REFUSED(EACCES, "expired", store_enrol_finish(st, &other, "cert", 4, "f1", now, &err));
	REFUSED(EACCES, "was used before", begin(&x, &cert));
	/* Enrolled anew: the newer one alone counts, in memory and on disk. */
	struct enrolment again = token_for("h1");
	OK(store_enrol_finish(st, &again, "certificate 2", 13, "f2", now, &err));
	for (int i = 0; i < 2; i++) {
		OK(store_host_get(st, "h1", &h, &err));
		assert_string_equal(h.fingerprint, "f2");
		reopen();
	}
	memset(x.token, 'f', 64);
	REFUSED(EACCES, "was never made here", begin(&x, &cert));
	assert_string_equal(cert.data, "certificate 1");

	uint64_t expires;
	/* A newer token ends the one before, and a retirement both. */
	struct enrolment first = {.csr = "one"}, second = {.csr = "two"};
	char cluster[DIRECTIVE_NAME_MAX];
	snprintf(first.host, sizeof(first.host), "h7");
	snprintf(second.host, sizeof(second.host), "h7");
	OK(store_token_make(st, "h7", "a", 600, now, first.token, &expires, &err));
	OK(store_token_make(st, "h7", "b", 600, now, second.token, &expires, &err));
	REFUSED(EACCES, "or another took its place", store_enrol_begin(st, &first, now, cluster, &cert, &err));
	OK(store_enrol_begin(st, &second, now, cluster, &cert, &err));
	assert_string_equal(cluster, "b");
	OK(store_enrol_finish(st, &second, "certificate", 11, "f7", now, &err));
	OK(store_token_make(st, "h7", "a", 600, now, first.token, &expires, &err));
	OK(store_host_retire(st, "h7", now, &err));
	REFUSED(EACCES, "or another took its place", store_enrol_begin(st, &first, now, cluster, &cert, &err));
	REFUSED(EINVAL, "lives for 60 s to", store_token_make(st, "h", "a", 59, now, x.token, &expires, &err));
	REFUSED(EINVAL, "7 days", store_token_make(st, "h", "a", 604801, now, x.token, &expires, &err));
	REFUSED(EINVAL, "", store_token_make(st, "../h", "a", 600, now, x.token, &expires, &err));
	REFUSED(EINVAL, "", store_token_make(st, "h", "A/B", 600, now, x.token, &expires, &err));
}

/* Neither database nor its log shows a token to who can read them. */
static void test_tokens_are_nowhere_in_the_files(void **state)
{
	(void)state;
	struct enrolment x = token_for("h1");
	static const char *const files[] = {"kpcp.db", "kpcp.db-wal"};
	size_t host = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_(buf_free) struct buf b = BUF_INIT(16 << 20);

		OK(fs_read(in_dir(files[i]), &b, &err));
		assert_null(memmem(b.data, b.len, x.token, 64));
		host += memmem(b.data, b.len, "h1", 2) != NULL;
	}
	assert_true(host > 0); /* it was looked for where things are */
}

static void test_enrolled_again(void **state)
{
	(void)state;
	struct store_host *list;
	size_t n;

	add_fleet();
	add_rollout("r", 1, FACTOR_KERNEL);
	OK(store_rollout_start(st, "r", now, &err));
	fleet_step(true);
	struct store_host before, after;
	OK(store_host_get(st, "a0", &before, &err));
	OK(store_host_retire(st, "a0", now, &err));
	enrol("a0", "b"); /* moved, too */
	OK(store_host_get(st, "a0", &after, &err));
	assert_false(after.retired);
	assert_string_equal(after.cluster, "b");
	assert_int_equal(after.epoch, before.epoch); /* an order from before never looks new */
	OK(store_hosts(st, &list, &n, &err));
	assert_int_equal(n, 10);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(list[i - 1].name, list[i].name) < 0);
	free(list);
}

/* ---- rollouts ---- */

static int try_add(const char *name, uint64_t serial, uint64_t expires)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct directive d;
	char plan[512];

	snprintf(plan, sizeof(plan),
		 "[rollout]\nname = %s\nclusters = a\n[preset]\nname = p\nsettings = "
		 "vm.pcp_batch_scale_max=1\n",
		 name);
	OK(directive_approve("plan", plan, strlen(plan), serial, expires, &text, &err));
	OK(directive_parse("d", text.data, text.len, true, &d, &err));
	err = (struct err){0};
	return store_rollout_add(st, text.data, text.len, "c2ln", &d, now, &err);
}

static void test_adding_rollouts(void **state)
{
	(void)state;
	struct store_rollout x;

	OK(try_add("one", 100, now));
	REFUSED(EEXIST, "a rollout one was there before", try_add("one", 101, now + 1));
	REFUSED(EEXIST, "one of serial 100 was there before", try_add("two", 100, now + 1));
	REFUSED(ESTALE, "agents would refuse it", try_add("two", 99, now + 1));
	REFUSED(ESTALE, "expired 1 s ago", try_add("two", 101, now - 1));
	OK(try_add("two", 101, now + 1));
	REFUSED(ENOENT, "no rollout \"three\"", store_rollout_get(st, "three", &x, &err));
	OK(store_rollout_get(st, "two", &x, &err));
	assert_int_equal(x.state, ROLLOUT_APPROVED);
	assert_int_equal(x.approved_unix_s, now);
	assert_true(x.started_unix_s == 0 && x.ended_unix_s == 0 && !x.has_verdict && x.wave == 0);
	_cleanup_(buf_free) struct buf json = BUF_INIT(100), text = BUF_INIT(100);
	OK(store_comparison(st, "two", &json, &text, &err));
	assert_true(json.len == 0 && text.len == 0);
	REFUSED(ENOENT, "no rollout", store_comparison(st, "three", &json, &text, &err));
}

static void test_starting(void **state)
{
	(void)state;
	struct agent *a;
	bool changed;

	REFUSED(ENOENT, "no rollout \"r\"", store_rollout_start(st, "r", now, &err));
	add_rollout("r", 1, FACTOR_KERNEL);
	REFUSED(ESTALE, "r was not started: rollout r: cluster a has 0 hosts for 3 canaries",
		store_rollout_start(st, "r", now, &err));
	add_fleet();
	add_agent("b11", "b");
	REFUSED(ESTALE, "1 of its hosts are not fit to begin with (b11: has never reported)",
		store_rollout_start(st, "r", now, &err));
	a = agent_of("b11");
	a->r.state = HOST_FOREIGN;
	fleet_step(true);
	REFUSED(ESTALE, "b11: FOREIGN", store_rollout_start(st, "r", now, &err));
	a->r.state = HOST_IDLE;
	snprintf(agent_of("a3")->r.build_id, 41, NEW_BUILD);
	fleet_step(true);
	REFUSED(ESTALE, "a3: runs this kernel already", store_rollout_start(st, "r", now, &err));
	snprintf(agent_of("a3")->r.build_id, 41, OLD_BUILD);
	agent_of("a3")->r.pcp_batch_scale_max = 0;
	fleet_step(true);
	REFUSED(ESTALE, "than the first of canaries and controls, so they cannot be compared",
		store_rollout_start(st, "r", now, &err));
	agent_of("a3")->r.pcp_batch_scale_max = 5;
	a->dead = true;
	now += 1800;
	fleet_step(true);
	REFUSED(ESTALE, "b11: was not seen for longer than order-timeout", store_rollout_start(st, "r", now, &err));
	OK(store_host_retire(st, "b11", now, &err));
	OK(store_rollout_start(st, "r", now, &err));
	assert_string_equal(rollout_now("r").reason, "");
	REFUSED(ESTALE, "r is CANARY: it was started before", store_rollout_start(st, "r", now, &err));

	struct store_member *m;
	size_t n;
	OK(store_members(st, "r", &m, &n, &err));
	assert_int_equal(n, 10);
	free(m);
	struct store_member one;
	REFUSED(ENOENT, "b11 is no member of rollout r", store_member_get(st, "r", "b11", &one, &err));

	add_rollout("s", 2, FACTOR_KERNEL);
	REFUSED(EBUSY, "r still runs", store_rollout_start(st, "s", now, &err));
	OK(store_rollout_abort(st, "r", now, &err));
	OK(tick(st, now, &changed, &err)); /* nothing had been ordered: it ends at once */
	assert_true(changed);
	assert_int_equal(rollout_now("r").state, ROLLOUT_ABORTED);
	now += 86401;
	REFUSED(ESTALE, "the approval of s expired", store_rollout_start(st, "s", now, &err));
}

/* ---- events ---- */

static void test_events(void **state)
{
	(void)state;
	struct store_event *ev;
	char text[700];
	size_t n;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	OK(store_event_add(st, NULL, NULL, "one", now, &err));
	OK(store_event_add(st, "r", NULL, "two", now, &err));
	OK(store_event_add(st, "r", "h", "three", now + 1, &err));
	OK(store_event_add(st, NULL, "h", text, now + 2, &err));
	OK(store_events(st, NULL, NULL, 100, &ev, &n, &err));
	assert_int_equal(n, 4);
	assert_int_equal(strlen(ev[0].text), STORE_TEXT_MAX - 1);
	assert_true(strcmp(ev[1].text, "three") == 0 && ev[1].at_unix_s == now + 1 && strcmp(ev[1].host, "h") == 0);
	assert_string_equal(ev[3].rollout, "");
	free(ev);
	OK(store_events(st, "r", NULL, 100, &ev, &n, &err));
	assert_int_equal(n, 2);
	free(ev);
	OK(store_events(st, "r", "h", 100, &ev, &n, &err));
	assert_int_equal(n, 1);
	free(ev);
	OK(store_events(st, NULL, NULL, 2, &ev, &n, &err));
	assert_int_equal(n, 2);
	free(ev);
	OK(store_events(st, "none", NULL, 2, &ev, &n, &err));
	assert_int_equal(n, 0);
	free(ev);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_one_controller_at_a_time),
	    T(test_damaged_by_hand),
	    T(test_tokens),
	    T(test_tokens_are_nowhere_in_the_files),
	    T(test_enrolled_again),
	    T(test_adding_rollouts),
	    T(test_starting),
	    T(test_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
