// SPDX-License-Identifier: Apache-2.0
/* Owns the frames between the agent's two processes, and their bounds.
 * Must not know what the frames mean to either. */
#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Room for two of the largest frames: the kernel counts its own overhead, too. */
#define CHANNEL_BUFFER (4u * CHANNEL_BODY_MAX)
/* An end that has not read for this long is stuck: better to end and be started again than to wait for it. */
#define CHANNEL_SEND_S 30

static int set_up(int fd, struct err *e)
{
	int size = CHANNEL_BUFFER;
	struct timeval t = {.tv_sec = CHANNEL_SEND_S};

	/* The first needs CAP_NET_ADMIN and passes net.core.wmem_max; the second is cut there. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
		return err_sys(e, errno, "cannot make room for frames between the agent's processes");
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0)
		return err_sys(e, errno, "cannot bound the time to send a frame between the agent's processes");
	return 0;
}

int channel_pair(int ret[2], struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "cannot make the channel between the agent's processes");
	for (int i = 0; i < 2; i++) {
		int r = set_up(pair[i], e);
		if (r < 0) {
			close(pair[0]);
			close(pair[1]);
			return r;
		}
	}
	memcpy(ret, pair, sizeof(pair));
	return 0;
}

int channel_send(int fd, enum channel_kind kind, const void *body, size_t len, struct err *e)
{
	unsigned char head = (unsigned char)kind;
	struct iovec part[2] = {{.iov_base = &head, .iov_len = 1}, {.iov_base = (void *)body, .iov_len = len}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = len > 0 ? 2 : 1};
	ssize_t n;

	if (kind < CHANNEL_REPORT || kind >= CHANNEL_KIND_COUNT)
		return err_set(e, EINVAL, "frame kind %d does not exist", (int)kind);
	if (len > CHANNEL_BODY_MAX)
		return err_set(e, EMSGSIZE, "a frame of %zu bytes, at most %u fit", len, CHANNEL_BODY_MAX);
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	if (errno == EPIPE || errno == ECONNRESET)
		return err_set(e, EPIPE, "the agent's other process is gone");
	if (errno == EAGAIN)
		return err_set(e, ETIMEDOUT, "the agent's other process has read nothing for %d s", CHANNEL_SEND_S);
	return err_sys(e, errno, "cannot send a frame to the agent's other process");
}

/* The packet's first byte goes to *head, the rest to body; the length of both, 0 at the end, negative errno. */
static ssize_t take(int fd, unsigned char *head, char *body, struct err *e)
{
	struct iovec part[2] = {{.iov_base = head, .iov_len = 1}, {.iov_base = body, .iov_len = CHANNEL_BODY_MAX}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n < 0 && errno != ECONNRESET)
		return err_sys(e, errno, "cannot receive from the agent's other process");
	/* No frame is empty: nothing received is the end of the other process. */
	if (n <= 0)
		return err_set(e, EPIPE, "the agent's other process is gone");
	if (m.msg_flags & MSG_TRUNC)
		return err_set(e, EBADMSG, "a frame of more than %u bytes from the agent's other process",
			       CHANNEL_BODY_MAX);
	/* Descriptors are never part of a frame; the kernel has dropped them, as there was no room for any. */
	if (m.msg_flags & MSG_CTRUNC)
		return err_set(e, EBADMSG, "a frame with descriptors from the agent's other process");
	if (*head < CHANNEL_REPORT || *head >= CHANNEL_KIND_COUNT)
		return err_set(e, EBADMSG, "a frame of unknown kind %u from the agent's other process", *head);
	return n;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1: readable; 0: the time is over. A signal ends the wait as if the time were over: who waits looks at its stop flag
 * then. */
static int wait_readable(int fd, int timeout_ms, struct err *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r = poll(&p, 1, timeout_ms);

	if (r < 0 && errno != EINTR)
		return err_sys(e, errno, "cannot wait for the agent's other process");
	return r > 0;
}

int channel_receive(int fd, int timeout_ms, enum channel_kind *kind, struct buf *ret, struct err *e)
{
	int64_t end = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
	_cleanup_(buf_free) struct buf body = BUF_INIT(CHANNEL_BODY_MAX);
	unsigned char head = 0;
	char *at;
	int r = buf_reserve(&body, CHANNEL_BODY_MAX, &at, e);

	if (r < 0)
		return r;
	for (;;) {
		int64_t left = timeout_ms < 0 ? -1 : end - now_ms();
		r = wait_readable(fd, left < 0 && timeout_ms >= 0 ? 0 : (int)left, e);
		if (r <= 0)
			return r;
		ssize_t n = take(fd, &head, at, e);
		if (n == -EAGAIN)
			continue;
		if (n < 0)
			return (int)n;
		size_t old = ret->len;
		ret->len = 0;
		r = buf_add(ret, at, (size_t)n - 1, e);
		if (r < 0) {
			ret->len = old;
			return err_context(e, "taking a frame from the agent's other process");
		}
		*kind = (enum channel_kind)head;
		return 1;
	}
}
