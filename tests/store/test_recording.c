// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of which recordings are taken, and of what becomes of the others.
 * Must not know how a recording is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/fs.h"
#include "store_fleet.h"

/* An agent that has accepted an order to measure with this arm and is up in what it is to measure. */
static struct agent *measuring(enum factor factor, enum arm arm, bool canary)
{
	bool kernel = factor == FACTOR_KERNEL;

	add_fleet();
	add_rollout("r", 1, factor);
	OK(store_rollout_start(st, "r", now, &err));
	for (int i = 0; i < 200; i++) {
		for (size_t k = 0; k < n_agents; k++) {
			struct agent *a = &agents[k];
			struct store_member m;

			if (a->r.outcome != OUTCOME_RUNNING || a->order.verb != VERB_MEASURE || a->order.arm != arm)
				continue;
			OK(store_member_get(st, "r", a->name, &m, &err));
			if ((m.role == ROLE_CANARY) != canary)
				continue;
			if (kernel)
				boot(a, a->order.target_new ? NEW_RELEASE : OLD_RELEASE);
			return a;
		}
		fleet_step(kernel);
	}
	fail_msg("nobody measures");
	return NULL;
}

static void up(struct agent *a)
{
	struct poll_reply reply;

	poll_as_is(a, &reply);
	poll_reply_free(&reply);
}

static int send_as(const struct agent *a, const struct agent *looks_like, const char *rollout, uint64_t epoch)
{
	struct buf b = recording_of(looks_like, 1);
	int r = store_recording(st, a->name, rollout, epoch, b.data, b.len, now, &err);

	buf_free(&b);
	return r;
}

static int send(const struct agent *a)
{
	return send_as(a, a, "r", a->order.epoch);
}

static size_t counted(void)
{
	struct store_event *ev;
	size_t n, found = 0;

	OK(store_events(st, "r", NULL, 1000, &ev, &n, &err));
	for (size_t i = 0; i < n; i++)
		found += strstr(ev[i].text, "its recording is in, of 4 storms") != NULL;
	free(ev);
	return found;
}

static void test_taken_once_and_kept(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_OLD, true);
	_cleanup_(buf_free) struct buf sent = BUF_INIT(1), kept = BUF_INIT(1 << 20);
	char path[128];
	size_t before = counted();

	up(a);
	snprintf(path, sizeof(path), "recordings/r/%s-old-0.kpcp", a->name);
	OK(send(a));
	OK(send(a));
	assert_int_equal(counted(), before + 1);
	sent = recording_of(a, 1);
	OK(fs_read(in_dir(path), &kept, &err));
	assert_int_equal(kept.len, sent.len);
	assert_memory_equal(kept.data, sent.data, sent.len);
	/* Measured again for the order that is still out (the agent was killed in between): the newer one stands. */
	now++;
	boot(a, OLD_RELEASE);
	up(a);
	OK(send(a));
	assert_int_equal(counted(), before + 2);
	kept.len = 0;
	OK(fs_read(in_dir(path), &kept, &err));
	assert_true(memcmp(kept.data, sent.data, sent.len) != 0);
}

static void test_not_of_an_order_that_is_out(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_OLD, true);

	up(a);
	REFUSED(ESTALE, "no order 77 of rollout r", send_as(a, a, "r", 77));
	REFUSED(ESTALE, "of rollout other", send_as(a, a, "other", a->order.epoch));
	struct agent *idle = agent_of("b9");
	REFUSED(ESTALE, "is out to b9", send_as(idle, idle, "r", a->order.epoch));
	struct agent ghost = *a;
	snprintf(ghost.name, sizeof(ghost.name), "ghost");
	REFUSED(ESTALE, "is out to ghost", send(&ghost));
	REFUSED(ESTALE, "is out to ghost", store_recording_wanted(st, "ghost", "r", a->order.epoch, &err));
	OK(store_recording_wanted(st, a->name, "r", a->order.epoch, &err));
	OK(send(a));
	a->r.outcome = OUTCOME_DONE;
	up(a);
	REFUSED(ESTALE, "can be thrown away", send(a)); /* its end was reported */
	REFUSED(ESTALE, "is out to", store_recording_wanted(st, a->name, "r", a->order.epoch, &err));
	assert_int_equal(access(in_dir("recordings/other"), F_OK), -1);
}

static void test_not_of_this_host_boot_or_kernel(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_NEW, true);
	struct agent like = *a;
	size_t before = counted();

	REFUSED(EINVAL, "should be one that the host has reported in this rollout", send(a)); /* not polled yet */
	up(a);
	like = *a;
	snprintf(like.name, sizeof(like.name), "b9");
	REFUSED(EINVAL, "its host is b9 where it should be a", send_as(a, &like, "r", a->order.epoch));
	like = *a;
	snprintf(like.r.release, sizeof(like.r.release), OLD_RELEASE);
	REFUSED(EINVAL, "its kernel release is " OLD_RELEASE " where it should be " NEW_RELEASE,
		send_as(a, &like, "r", a->order.epoch));
	like = *a;
	like.r.build_id[0] = 'f';
	REFUSED(EINVAL, "its kernel's build-id is fb0b", send_as(a, &like, "r", a->order.epoch));
	like = *a;
	memset(like.r.build_id, '0', 40); /* shows none: not known to be the new one */
	REFUSED(EINVAL, "its kernel's build-id is 0000", send_as(a, &like, "r", a->order.epoch));
	/* The boot that the old kernel was measured in. */
	struct store_member m;
	OK(store_member_get(st, "r", a->name, &m, &err));
	like = *a;
	snprintf(like.r.boot_id, sizeof(like.r.boot_id), "%s", m.boot_id[m.n_boots - 2]);
	REFUSED(EINVAL, "should be one that was not measured before", send_as(a, &like, "r", a->order.epoch));
	assert_int_equal(counted(), before);
	OK(send(a));
}

/* Whoever is to reboot first, and measures where it was. */
static void test_not_of_the_boot_before(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_OLD, true);
	struct agent like = *a;
	struct store_member m;

	OK(store_member_get(st, "r", a->name, &m, &err));
	snprintf(like.r.boot_id, sizeof(like.r.boot_id), "%s", m.boot_id[m.n_boots - 1]);
	REFUSED(EINVAL, "another one than before the order", send_as(a, &like, "r", a->order.epoch));
	up(a);
	OK(send(a));
}

static void test_controls_stay_on_the_old_kernel(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_NEW, false);

	boot(a, NEW_RELEASE);
	up(a);
	REFUSED(EINVAL, "its kernel release is " NEW_RELEASE " where it should be " OLD_RELEASE, send(a));
	boot(a, OLD_RELEASE);
	up(a);
	OK(send(a));
}

static void test_presets(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_PRESET, ARM_NEW, true);

	a->r.pcp_batch_scale_max = 5; /* as before: not what was to be measured */
	REFUSED(EINVAL, "its vm.pcp_batch_scale_max is 5 where it should be 0", send(a));
	a->r.pcp_batch_scale_max = 0;
	OK(send(a)); /* of the same boot as the old one: right with a preset */
}

static void test_the_same_bytes_count_once(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_PRESET, ARM_NEW, false);
	_cleanup_(buf_free) struct buf b = BUF_INIT(1 << 20);
	char path[128];

	snprintf(path, sizeof(path), "recordings/r/%s-old-0.kpcp", a->name);
	OK(fs_read(in_dir(path), &b, &err));
	REFUSED(EINVAL, "was sent before, for another order",
		store_recording(st, a->name, "r", a->order.epoch, b.data, b.len, now, &err));
	OK(send(a));
}

static void test_not_recordings(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_OLD, true);
	size_t before = counted();

	up(a);
	struct buf b = recording_of(a, 1);
	uint64_t epoch = a->order.epoch;
	REFUSED(EINVAL, "it was not counted: ", store_recording(st, a->name, "r", epoch, b.data, b.len - 9, now, &err));
	REFUSED(EINVAL, "it was not counted: ", store_recording(st, a->name, "r", epoch, b.data, 0, now, &err));
	REFUSED(EINVAL, "it was not counted: ", store_recording(st, a->name, "r", epoch, "hello", 5, now, &err));
	b.data[b.len / 2] ^= 1;
	REFUSED(EINVAL, "it was not counted: ", store_recording(st, a->name, "r", epoch, b.data, b.len, now, &err));
	buf_free(&b);
	char *big = calloc(1, MESSAGE_RECORDING_MAX + 1);
	assert_non_null(big);
	REFUSED(EFBIG, "more than 8388608",
		store_recording(st, a->name, "r", epoch, big, MESSAGE_RECORDING_MAX + 1, now, &err));
	free(big);
	assert_int_equal(counted(), before);
}

/* What is wrong here is wrong with no recording: none of these may read as a refusal. */
static void test_a_folder_that_is_lost(void **state)
{
	(void)state;
	struct agent *a = measuring(FACTOR_KERNEL, ARM_OLD, true);

	up(a);
	remove_all(in_dir("recordings"));
	REFUSED(EIO, "the recording could not be kept: ", send(a));
	OK(fs_write_atomic(in_dir("recordings"), "", 0, 0600, &err));
	REFUSED(EIO, "the recording could not be kept: ", send(a));
	unlink(in_dir("recordings"));
	assert_int_equal(mkdir(in_dir("recordings"), 0750), 0);
	OK(send(a));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_taken_once_and_kept),
	    T(test_not_of_an_order_that_is_out),
	    T(test_not_of_this_host_boot_or_kernel),
	    T(test_not_of_the_boot_before),
	    T(test_controls_stay_on_the_old_kernel),
	    T(test_presets),
	    T(test_the_same_bytes_count_once),
	    T(test_not_recordings),
	    T(test_a_folder_that_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
