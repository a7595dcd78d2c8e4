// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that the state on disk reads back to the same, and that nothing else is taken for it.
 * Must not know what any state means. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/journal.h"
#include "machine.h"

#define FOLDER "/var/lib/kpcp/actor"

static void fill(struct journal *j)
{
	memset(j, 0, sizeof(*j));
	j->state = HOST_LOADED;
	j->act = ACT_JUMP;
	snprintf(j->boot, sizeof(j->boot), "00000001-0000-0000-0000-000000000000");
	snprintf(j->used, sizeof(j->used), "b");
	j->serial = 1796083200000;
	j->crash_records = 3;
	j->epoch = UINT64_MAX;
	j->outcome = OUTCOME_RUNNING;
	memset(j->reason, 'r', 255);
	j->order = (struct order){.epoch = 7, .rollout = "r-1", .verb = VERB_MEASURE, .arm = ARM_NEW, .boot = 2};
	j->order.target_new = true;
	j->attempts = 2;
	j->losses = 1;
	snprintf(j->rollout, sizeof(j->rollout), "r-1");
	j->factor = FACTOR_PRESET;
	memset(j->plan, 'a', 64);
	memset(j->old_release, 'x', 64);
	snprintf(j->old_build, sizeof(j->old_build), MACHINE_OLD_ID);
	memset(j->old_entry, '>', sizeof(j->old_entry) - 1);
	snprintf(j->new_release, sizeof(j->new_release), MACHINE_NEW);
	snprintf(j->new_build, sizeof(j->new_build), MACHINE_NEW_ID);
	memset(j->pinned, 'p', sizeof(j->pinned) - 1);
	j->intent.way = WAY_KEXEC;
	snprintf(j->intent.transaction, sizeof(j->intent.transaction), "0123456789abcdef");
	snprintf(j->intent.to_release, sizeof(j->intent.to_release), "  blanks at both ends ");
	j->intent.attempt = 2;
	j->intent.verb = VERB_MEASURE;
	j->intent.deadline_s = 900;
	j->n_old = DIRECTIVE_SETTINGS_MAX;
	for (uint32_t i = 0; i < j->n_old; i++) {
		snprintf(j->old[i].key, sizeof(j->old[i].key), "vm.pcp_batch_scale_max");
		snprintf(j->old[i].value, sizeof(j->old[i].value), "-%u", i);
	}
	j->file_saved = j->file_was = true;
}

static void encode(const struct journal *j, struct buf *ret)
{
	struct err e;

	if (journal_encode(j, ret, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_reads_back(void **state)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX), b = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal j, back, zero = {0};
	struct err e = {0};

	(void)state;
	fill(&j);
	encode(&j, &a);
	if (journal_decode("state", a.data, a.len, &back, &e) < 0)
		fail_msg("%s", e.text);
	encode(&back, &b);
	assert_string_equal(a.data, b.data);
	assert_string_equal(back.intent.to_release, "  blanks at both ends ");
	assert_string_equal(back.reason, j.reason);
	assert_string_equal(back.old_entry, j.old_entry);
	assert_string_equal(back.old[15].value, "-15");
	a.len = 0;
	encode(&zero, &a);
	assert_int_equal(journal_decode("state", a.data, a.len, &back, &e), 0);
	assert_memory_equal(&back, &zero, sizeof(zero));
}

/* A reason may say anything; what the form has no place for is replaced. Other texts are ours, and refused. */
static void test_odd_texts(void **state)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal j = {0}, back;
	struct err e;

	(void)state;
	snprintf(j.reason, sizeof(j.reason), "a ; b\n\"c\" # d\033");
	encode(&j, &a);
	assert_int_equal(journal_decode("state", a.data, a.len, &back, &e), 0);
	assert_string_equal(back.reason, "a , b \"c\" # d ");
	a.len = 0;
	snprintf(j.old_entry, sizeof(j.old_entry), "a ;b");
	assert_int_equal(journal_encode(&j, &a, &e), -EINVAL);
	assert_int_equal(a.len, 0);
}

static void test_every_damage(void **state)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal j, back, before;
	struct err e;

	(void)state;
	fill(&j);
	encode(&j, &a);
	memset(&back, 0x55, sizeof(back));
	before = back;
	for (size_t n = 0; n < a.len; n++) /* cut anywhere */
		assert_int_equal(journal_decode("state", a.data, n, &back, &e), -EINVAL);
	for (size_t i = 0; i < a.len; i++) { /* one bit changed anywhere */
		a.data[i] ^= 1 << (i % 8);
		assert_int_equal(journal_decode("state", a.data, a.len, &back, &e), -EINVAL);
		a.data[i] ^= 1 << (i % 8);
	}
	assert_memory_equal(&back, &before, sizeof(back));
	assert_int_equal(journal_decode("state", a.data, a.len, &back, &e), 0);
}

/* On a real disk: a named pipe is damage, and makes way for a state that holds the host; a
 * folder cannot be replaced, and is told of. */
static void test_state_that_is_no_file(void **state)
{
	char folder[] = "/tmp/kpcp-test-journal-XXXXXX", path[64], damaged[64];
	struct sys s = sys_linux("");
	struct journal j;
	struct err e = {0};
	struct stat st;

	(void)state;
	s.hands = &sys_hands_linux;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/state", folder);
	snprintf(damaged, sizeof(damaged), "%s/state.damaged", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10);
	assert_int_equal(journal_load(&s, folder, &j, &e), 0);
	alarm(0);
	assert_int_equal(j.state, HOST_HELD);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(journal_load(&s, folder, &j, &e), -EISDIR);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(rmdir(path), 0);
	unlink(damaged);
	assert_int_equal(rmdir(folder), 0);
}

/* A host that is updated in the middle of a rollout goes on with it. */
static void test_state_without_a_plan(void **state)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal j, back;
	struct err e = {0};

	(void)state;
	fill(&j);
	encode(&j, &a);
	char *at = strstr(a.data, "plan = \""), *end = strstr(a.data, "[end]");
	assert_non_null(at);
	char *next = strchr(at, '\n') + 1;
	memmove(at, next, (size_t)(end - next));
	a.len = (size_t)(end - a.data) - (size_t)(next - at);
	assert_int_equal(journal_seal(&a, &e), 0);
	assert_int_equal(journal_decode("state", a.data, a.len, &back, &e), 0);
	assert_string_equal(back.plan, "");
	assert_string_equal(back.old_release, j.old_release);
}

/* Sealed, and still no state: from another version, or by hand. */
static void refuses(const char *from, const char *to)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX), b = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal j, back;
	struct err e = {0};

	fill(&j);
	encode(&j, &a);
	char *end = strstr(a.data, "[end]"), *at = strstr(a.data, from);
	assert_non_null(end);
	assert_non_null(at);
	assert_int_equal(buf_add(&b, a.data, (size_t)(at - a.data), &e), 0);
	assert_int_equal(buf_addf(&b, &e, "%s", to), 0);
	assert_int_equal(buf_add(&b, at + strlen(from), (size_t)(end - at) - strlen(from), &e), 0);
	assert_int_equal(journal_seal(&b, &e), 0);
	int r = journal_decode("state", b.data, b.len, &back, &e);
	if (r != -EINVAL && r != -ERANGE)
		fail_msg("\"%s\" for \"%s\": %d", to, from, r);
}

static void test_sealed_and_wrong(void **state)
{
	(void)state;
	refuses("state = LOADED", "state = LOADET");
	refuses("act = jump", "act = hop");
	refuses("act = jump\n", "");
	refuses("verb = measure", "verb = install");
	refuses("arm = new", "arm = both");
	refuses("way = kexec", "way = air");
	refuses("factor = preset", "factor = both");
	refuses("outcome = running", "outcome = walking");
	refuses("attempts = 2", "attempts = 4294967296");
	refuses("attempts = 2", "attempts = -2");
	refuses("serial = 1", "serial = 99999999999999999999");
	refuses("target-new = yes", "target-new = maybe");
	refuses("name = \"r-1\"", "name = r-1");
	refuses("name = \"r-1\"", "name = \"a-name-that-is-longer-than-any-rollout-may-be-called-by-far\"");
	refuses("value-1 = \"vm.pcp_batch_scale_max=-0\"", "value-1 = \"kernel.core_pattern=|x\"");
	refuses("value-1 = \"vm.pcp_batch_scale_max=-0\"", "value-1 = \"vm.pcp_batch_scale_max\"");
	refuses("[host]\n", "[host]\nmore = 1\n");
}

static void test_disk(void **state)
{
	struct journal j, back;
	struct machine m;
	struct err e;

	(void)state;
	machine_init(&m);
	assert_int_equal(journal_load(&m.sys, FOLDER, &back, &e), 0);
	assert_int_equal(back.state, HOST_IDLE);
	fill(&j);
	assert_int_equal(journal_store(&m.sys, FOLDER, &j, &e), 0);
	assert_int_equal(journal_load(&m.sys, FOLDER, &back, &e), 0);
	assert_int_equal(back.state, HOST_LOADED);
	m.full = true;
	assert_int_equal(journal_store(&m.sys, FOLDER, &j, &e), -ENOSPC);
	m.full = false;
	machine_put(&m, FOLDER "/state", "nonsense");
	assert_int_equal(journal_load(&m.sys, FOLDER, &back, &e), 0);
	assert_int_equal(back.state, HOST_HELD);
	assert_int_equal(back.outcome, OUTCOME_HELD);
	assert_non_null(strstr(back.reason, "kpcp-agent lift"));
	assert_string_equal(machine_text(&m, FOLDER "/state.damaged"), "nonsense");
	/* And stays it. */
	assert_int_equal(journal_load(&m.sys, FOLDER, &back, &e), 0);
	assert_int_equal(back.state, HOST_HELD);
	/* A disk that does not answer is another matter. */
	m.dead = true;
	assert_int_equal(journal_load(&m.sys, FOLDER, &back, &e), -EIO);
	machine_free(&m);
}

static void is_denied(const struct machine *m, const char *build, bool want)
{
	bool got = !want;
	struct err e;

	assert_int_equal(journal_is_denied(&m->sys, FOLDER, build, &got, &e), 0);
	assert_int_equal(got, want);
}

static void test_denied(void **state)
{
	struct machine m;
	bool got;
	struct err e;

	(void)state;
	machine_init(&m);
	is_denied(&m, MACHINE_NEW_ID, false);
	assert_int_equal(journal_deny(&m.sys, FOLDER, MACHINE_NEW_ID, &e), 0);
	assert_int_equal(journal_deny(&m.sys, FOLDER, MACHINE_OLD_ID, &e), 0);
	assert_int_equal(journal_deny(&m.sys, FOLDER, MACHINE_NEW_ID, &e), 0); /* once */
	assert_string_equal(machine_text(&m, FOLDER "/denied"), MACHINE_NEW_ID "\n" MACHINE_OLD_ID "\n");
	is_denied(&m, MACHINE_NEW_ID, true);
	is_denied(&m, "bbbb", false);
	assert_int_equal(journal_undeny(&m.sys, FOLDER, "bbbb", &e), -ENOENT);
	assert_int_equal(journal_undeny(&m.sys, FOLDER, MACHINE_NEW_ID, &e), 0);
	is_denied(&m, MACHINE_NEW_ID, false);
	is_denied(&m, MACHINE_OLD_ID, true);
	assert_int_equal(journal_undeny(&m.sys, FOLDER, MACHINE_OLD_ID, &e), 0);
	is_denied(&m, MACHINE_OLD_ID, false);
	/* Without a final line feed, by hand. */
	machine_put(&m, FOLDER "/denied", MACHINE_OLD_ID);
	assert_int_equal(journal_deny(&m.sys, FOLDER, MACHINE_NEW_ID, &e), 0);
	is_denied(&m, MACHINE_OLD_ID, true);
	is_denied(&m, MACHINE_NEW_ID, true);
	/* Who cannot tell says so, and nothing is begun. */
	m.dead = true;
	assert_int_equal(journal_is_denied(&m.sys, FOLDER, MACHINE_NEW_ID, &got, &e), -EIO);
	machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reads_back),
	    cmocka_unit_test(test_odd_texts),
	    cmocka_unit_test(test_every_damage),
	    cmocka_unit_test(test_sealed_and_wrong),
	    cmocka_unit_test(test_state_without_a_plan),
	    cmocka_unit_test(test_state_that_is_no_file),
	    cmocka_unit_test(test_disk),
	    cmocka_unit_test(test_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
