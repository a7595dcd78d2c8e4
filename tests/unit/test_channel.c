// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that frames arrive whole or are refused, and that neither end waits for ever.
 * Must not know what frames mean. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/channel.h"

struct ends {
	int fd[2];
	struct buf got;
	enum channel_kind kind;
	struct err e;
};

static int set_up(void **state)
{
	struct ends *t = calloc(1, sizeof(*t));
	struct err e = {0};

	assert_non_null(t);
	t->got = BUF_INIT(CHANNEL_BODY_MAX);
	assert_int_equal(channel_pair(t->fd, &e), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct ends *t = *state;

	for (int i = 0; i < 2; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	}
	buf_free(&t->got);
	free(t);
	return 0;
}

static void test_a_frame_arrives_as_it_was_sent(void **state)
{
	struct ends *t = *state;

	assert_int_equal(channel_send(t->fd[0], CHANNEL_REPORT, "{\"a\":1}", 7, &t->e), 0);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_UPLOAD, "demo/7", 6, &t->e), 0);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_UPLOADED, NULL, 0, &t->e), 0);
	assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 1);
	assert_int_equal(t->kind, CHANNEL_REPORT);
	assert_string_equal(t->got.data, "{\"a\":1}");
	assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 1);
	assert_int_equal(t->kind, CHANNEL_UPLOAD);
	assert_int_equal(t->got.len, 6);
	assert_string_equal(t->got.data, "demo/7");
	assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 1);
	assert_int_equal(t->kind, CHANNEL_UPLOADED);
	assert_int_equal(t->got.len, 0);
}

static void test_both_directions_and_no_inheritance(void **state)
{
	struct ends *t = *state;

	assert_int_equal(channel_send(t->fd[1], CHANNEL_REPLY, "x", 1, &t->e), 0);
	assert_int_equal(channel_receive(t->fd[0], 0, &t->kind, &t->got, &t->e), 1);
	assert_int_equal(t->kind, CHANNEL_REPLY);
	for (int i = 0; i < 2; i++)
		assert_true(fcntl(t->fd[i], F_GETFD) & FD_CLOEXEC);
}

/* The largest frame fits, twice, without a reader: an actor that has news never waits for a talker that uploads. */
static void test_the_largest_frames_wait_for_nobody(void **state)
{
	struct ends *t = *state;
	char *body = malloc(CHANNEL_BODY_MAX + 1);

	assert_non_null(body);
	memset(body, 'b', CHANNEL_BODY_MAX + 1);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_REPORT, body, CHANNEL_BODY_MAX, &t->e), 0);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_REPORT, body, CHANNEL_BODY_MAX, &t->e), 0);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_REPORT, body, CHANNEL_BODY_MAX + 1, &t->e), -EMSGSIZE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 1);
		assert_int_equal(t->got.len, CHANNEL_BODY_MAX);
		assert_memory_equal(t->got.data, body, CHANNEL_BODY_MAX);
	}
	assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 0);
	free(body);
}

static void test_nothing_there_is_no_error(void **state)
{
	struct ends *t = *state;

	assert_int_equal(channel_receive(t->fd[1], 0, &t->kind, &t->got, &t->e), 0);
	assert_int_equal(channel_receive(t->fd[1], 20, &t->kind, &t->got, &t->e), 0);
	assert_int_equal(t->e.code, 0);
}

static void on_alarm(int number)
{
	(void)number;
}

/* Who waits without an end sees its stop flag all the same. */
static void test_a_signal_ends_the_wait(void **state)
{
	struct ends *t = *state;
	const struct sigaction a = {.sa_handler = on_alarm};
	struct sigaction old;
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
	const struct itimerval off = {0};

	assert_int_equal(sigaction(SIGALRM, &a, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(channel_receive(t->fd[1], -1, &t->kind, &t->got, &t->e), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}

static void test_the_other_ends_end(void **state)
{
	struct ends *t = *state;

	assert_int_equal(channel_send(t->fd[0], CHANNEL_REPORT, "last", 4, &t->e), 0);
	close(t->fd[0]);
	t->fd[0] = -1;
	/* What was sent before still arrives. */
	assert_int_equal(channel_receive(t->fd[1], -1, &t->kind, &t->got, &t->e), 1);
	assert_string_equal(t->got.data, "last");
	assert_int_equal(channel_receive(t->fd[1], -1, &t->kind, &t->got, &t->e), -EPIPE);
	assert_string_equal(t->got.data, "last");
	assert_int_equal(channel_send(t->fd[1], CHANNEL_REPLY, "x", 1, &t->e), -EPIPE);
	assert_non_null(strstr(t->e.text, "other process is gone"));
}

static void assert_refused(struct ends *t, const char *word)
{
	memset(&t->e, 0, sizeof(t->e));
	assert_int_equal(channel_receive(t->fd[1], 1000, &t->kind, &t->got, &t->e), -EBADMSG);
	assert_non_null(strstr(t->e.text, word));
}

static void test_frames_that_cannot_be(void **state)
{
	struct ends *t = *state;
	char *packet = calloc(1, CHANNEL_BODY_MAX + 2);

	assert_non_null(packet);
	packet[0] = 0;
	assert_int_equal(send(t->fd[0], packet, 3, 0), 3);
	assert_refused(t, "kind 0");
	packet[0] = CHANNEL_KIND_COUNT;
	assert_int_equal(send(t->fd[0], packet, 1, 0), 1);
	assert_refused(t, "unknown kind");
	packet[0] = CHANNEL_REPORT;
	assert_int_equal(send(t->fd[0], packet, CHANNEL_BODY_MAX + 2, 0), CHANNEL_BODY_MAX + 2);
	assert_refused(t, "more than");
	free(packet);
	assert_int_equal(channel_send(t->fd[0], 0, "x", 1, &t->e), -EINVAL);
	assert_int_equal(channel_send(t->fd[0], CHANNEL_KIND_COUNT, "x", 1, &t->e), -EINVAL);
}

/* A process without rights must not be able to put descriptors into the one with rights. */
static void test_descriptors_are_refused(void **state)
{
	struct ends *t = *state;
	char frame[2] = {CHANNEL_REPORT, 'x'};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = frame, .iov_len = 2};
	struct msghdr m = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &t->fd[0], sizeof(int));
	assert_int_equal(sendmsg(t->fd[0], &m, 0), 2);
	assert_refused(t, "descriptors");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_a_frame_arrives_as_it_was_sent),
	    TEST(test_both_directions_and_no_inheritance),
	    TEST(test_the_largest_frames_wait_for_nobody),
	    TEST(test_nothing_there_is_no_error),
	    TEST(test_a_signal_ends_the_wait),
	    TEST(test_the_other_ends_end),
	    TEST(test_frames_that_cannot_be),
	    TEST(test_descriptors_are_refused),
	};
	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
