// SPDX-License-Identifier: Apache-2.0
/* Owns the page traffic that the guest tests trace: storms of small or huge frees, a process that lowers the scale in
 * the middle of its frees, and datagrams that free orders 2 and 3. Must not know what is measured, nor read the trace;
 * it only switches tracing on around the traffic. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/num.h"

#define MAX_CPUS  256
#define MAX_BYTES (UINT64_C(1) << 40)
/* Over the 16 KiB that go into a datagram's head, so that the rest is in fragments of order 3. */
#define MESSAGE_BYTES (60 * 1024)

static int pin(unsigned cpu, struct err *e)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : err_sys(e, errno, "pinning to CPU %u", cpu);
}

/* path: the kernel's tracing_on, or "-" for none. */
static int switch_tracing(const char *path, const char *value, struct err *e)
{
	int fd, r = 0;

	if (strcmp(path, "-") == 0)
		return 0;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "opening %s", path);
	if (write(fd, value, 1) != 1)
		r = err_sys(e, errno, "writing %s to %s", value, path);
	close(fd);
	return r;
}

/* All present; small pages only, or huge ones where the kernel has some. */
static int map_pages(size_t bytes, bool huge, void **ret, struct err *e)
{
	void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* EINVAL: a kernel without transparent huge pages, where all are small. */
	if (area == MAP_FAILED ||
	    (madvise(area, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0 && errno != EINVAL))
		return err_sys(e, errno, "mapping %zu bytes", bytes);
	memset(area, 1, bytes);
	*ret = area;
	return 0;
}

/* A child's part of the storm: it has its pages, and waits to be killed. Never returns. */
_Noreturn static void hold_pages(size_t bytes, bool huge, unsigned cpu, int ready)
{
	struct err e = {0};
	void *area;

	if (pin(cpu, &e) != 0 || map_pages(bytes, huge, &area, &e) != 0) {
		fprintf(stderr, "pages: error: %s\n", e.text);
		_exit(1);
	}
	if (write(ready, "r", 1) != 1)
		_exit(1);
	/* The parent sees the end of the pipe once every process is ready or gone. */
	close(ready);
	for (;;)
		pause();
}

static int await_ready(int fd, size_t n, struct err *e)
{
	char c;

	for (size_t i = 0; i < n; i++)
		if (read(fd, &c, 1) != 1)
			return err_set(e, ECHILD,
				       "a process of the storm ended early; is the guest's memory too small?");
	return 0;
}

static int storm(const char *tracing, size_t bytes, bool huge, const unsigned *cpus, size_t n, struct err *e)
{
	pid_t children[MAX_CPUS];
	struct err second = {0};
	size_t started = 0;
	int ready[2], r = 0;

	if (pipe2(ready, O_CLOEXEC) != 0)
		return err_sys(e, errno, "making a pipe");
	for (; started < n; started++) {
		children[started] = fork();
		if (children[started] == 0) {
			close(ready[0]);
			hold_pages(bytes, huge, cpus[started], ready[1]);
		}
		if (children[started] < 0) {
			r = err_sys(e, errno, "starting a process of the storm");
			break;
		}
	}
	close(ready[1]);
	if (r == 0)
		r = await_ready(ready[0], n, e);
	close(ready[0]);
	if (r == 0)
		r = switch_tracing(tracing, "1", e);
	for (size_t i = 0; i < started; i++)
		kill(children[i], SIGKILL);
	for (size_t i = 0; i < started; i++)
		waitpid(children[i], NULL, 0);
	if (r == 0)
		return switch_tracing(tracing, "0", e);
	/* The first failure is the one to tell. */
	(void)!switch_tracing(tracing, "0", &second);
	return r;
}

/* Frees the first half while the scale is what it is, so that whatever grows with frees has grown; then lowers the
 * scale and frees the other half under the tracer, without an allocation in between. */
static int lower(const char *tracing, size_t bytes, unsigned cpu, const char *scale, struct err *e)
{
	size_t half = bytes / 2 & ~(size_t)4095;
	void *area;
	int fd, r = pin(cpu, e);

	if (r == 0)
		r = map_pages(bytes, false, &area, e);
	if (r != 0)
		return r;
	fd = open(scale, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "opening %s", scale);
	if (madvise(area, half, MADV_DONTNEED) != 0)
		r = err_sys(e, errno, "freeing %zu bytes", half);
	else if (write(fd, "0", 1) != 1)
		r = err_sys(e, errno, "writing 0 to %s", scale);
	close(fd);
	if (r == 0)
		r = switch_tracing(tracing, "1", e);
	if (r == 0 && madvise((char *)area + half, bytes - half, MADV_DONTNEED) != 0)
		r = err_sys(e, errno, "freeing %zu bytes", bytes - half);
	if (r == 0)
		r = switch_tracing(tracing, "0", e);
	return r;
}

/* The side that allocates: begins when it is sent a byte. Never returns. */
_Noreturn static void send_all(int fd, uint64_t messages, unsigned cpu)
{
	static char message[MESSAGE_BYTES];
	struct err e = {0};

	if (pin(cpu, &e) != 0) {
		fprintf(stderr, "pages: error: %s\n", e.text);
		_exit(1);
	}
	if (read(fd, message, 1) != 1)
		_exit(1);
	for (uint64_t i = 0; i < messages; i++)
		if (send(fd, message, sizeof(message), MSG_NOSIGNAL) != (ssize_t)sizeof(message)) {
			perror("pages: error: sending a datagram");
			_exit(1);
		}
	_exit(0);
}

/* The side that frees. It fills its CPU's list with small pages first, so that much can be returned at once. */
static int receive_all(const char *tracing, int fd, uint64_t messages, size_t fill, struct err *e)
{
	static char message[MESSAGE_BYTES];
	uint64_t got = 0;
	void *area;
	int r = map_pages(fill, false, &area, e);

	if (r != 0)
		return r;
	munmap(area, fill);
	r = switch_tracing(tracing, "1", e);
	if (r != 0)
		return r;
	if (write(fd, "g", 1) != 1)
		return err_sys(e, errno, "starting the sender");
	while (got < messages && recv(fd, message, sizeof(message), 0) == (ssize_t)sizeof(message))
		got++;
	if (got < messages)
		return err_set(e, EIO, "%llu of %llu datagrams arrived", (unsigned long long)got,
			       (unsigned long long)messages);
	return switch_tracing(tracing, "0", e);
}

/* This process frees what the other one allocates, on a CPU that allocates next to nothing. */
static int datagrams(const char *tracing, uint64_t messages, size_t fill, unsigned from, unsigned to, struct err *e)
{
	pid_t sender;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return err_sys(e, errno, "making a pair of sockets");
	sender = fork();
	if (sender == 0) {
		close(fds[1]);
		send_all(fds[0], messages, from);
	}
	close(fds[0]);
	r = sender < 0 ? err_sys(e, errno, "starting the sender") : pin(to, e);
	if (r == 0)
		r = receive_all(tracing, fds[1], messages, fill, e);
	close(fds[1]);
	if (sender > 0)
		waitpid(sender, NULL, 0);
	return r;
}

static int run(int argc, char **argv, struct err *e)
{
	uint64_t amount, fill, from, to;
	unsigned cpus[MAX_CPUS];
	size_t n;
	int r;

	if (argc == 5 && (strcmp(argv[2], "storm") == 0 || strcmp(argv[2], "huge") == 0)) {
		r = num_size(argv[3], 4096, MAX_BYTES, &amount, e);
		if (r == 0)
			r = num_cpulist(argv[4], cpus, MAX_CPUS, &n, e);
		return r != 0 ? r : storm(argv[1], amount, argv[2][0] == 'h', cpus, n, e);
	}
	if (argc == 6 && strcmp(argv[2], "lower") == 0) {
		r = num_size(argv[3], 65536, MAX_BYTES, &amount, e);
		if (r == 0)
			r = num_u64(argv[4], 0, CPU_SETSIZE - 1, &to, e);
		return r != 0 ? r : lower(argv[1], amount, (unsigned)to, argv[5], e);
	}
	if (argc == 7 && strcmp(argv[2], "datagrams") == 0) {
		r = num_u64(argv[3], 1, UINT32_MAX, &amount, e);
		if (r == 0)
			r = num_size(argv[4], 4096, MAX_BYTES, &fill, e);
		if (r == 0)
			r = num_u64(argv[5], 0, CPU_SETSIZE - 1, &from, e);
		if (r == 0)
			r = num_u64(argv[6], 0, CPU_SETSIZE - 1, &to, e);
		return r != 0 ? r : datagrams(argv[1], amount, fill, (unsigned)from, (unsigned)to, e);
	}
	return err_set(
	    e, EINVAL,
	    "usage: pages TRACING_ON|- storm|huge SIZE CPULIST (a process of SIZE on each CPU is killed), or pages "
	    "TRACING_ON|- lower SIZE CPU SCALE_FILE, or pages TRACING_ON|- datagrams COUNT FILL_SIZE FROM_CPU TO_CPU");
}

int main(int argc, char **argv)
{
	struct err e = {0};

	if (run(argc, argv, &e) == 0)
		return 0;
	fprintf(stderr, "pages: error: %s\n", e.text);
	return 1;
}
