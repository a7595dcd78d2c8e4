// SPDX-License-Identifier: Apache-2.0
/* Owns the storm's processes, from fork to the last waitpid.
 * Must not know victims, files or what the death of a storm does to others. */
#include "probe_storm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/num.h"
#include "pin.h"

#define POLL_NS        1000000u
#define STALL_NS       120000000000ull
#define PROGRESS_PAGES 1024u

struct storm_area {
	_Atomic uint64_t populated; /* pages, of all processes */
	_Atomic uint32_t ready;
};

static void populate(volatile char *p, const struct layout *l, struct storm_area *a)
{
	uint64_t reported = 0;

	for (uint64_t i = 0; i < l->process_pages; i++) {
		p[i * l->page_bytes] = 1;
		if (i - reported == PROGRESS_PAGES) {
			atomic_fetch_add_explicit(&a->populated, i - reported, memory_order_relaxed);
			reported = i;
		}
	}
	atomic_fetch_add_explicit(&a->populated, l->process_pages - reported, memory_order_relaxed);
	atomic_fetch_add_explicit(&a->ready, 1, memory_order_release);
}

/* When memory runs out, the kernel shall take this process and nobody else's. Raising the score needs no privilege;
 * where it fails there is nothing better to do. */
static void die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) != 4)
		errno = 0;
	close(fd);
}

static _Noreturn void process_main(const struct layout *l, uint32_t i, struct storm_area *a, pid_t parent, pid_t group)
{
	size_t bytes = l->process_pages * l->page_bytes;
	struct err e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (setpgid(0, group) < 0)
		_exit(2);
	die_first();
	if (pin_self(l->storm.cpu[i % l->storm.n], &e) < 0)
		_exit(3);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		_exit(4);
	/* Huge pages would be freed 2 MiB at a time and hardly meet the page lists. */
	if (madvise(p, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL)
		_exit(5);
	populate(p, l, a);
	for (;;)
		pause();
}

/* -ENOMEM when a process is gone before its time. */
static int nobody_died(struct storm *st, struct err *e)
{
	static const char *const step[] = {"",
					   "it lost its parent",
					   "it could not join the storm's process group",
					   "it could not move to its CPU",
					   "its memory could not be mapped",
					   "huge pages could not be refused"};
	int status;
	pid_t pid = waitpid(-st->group, &status, WNOHANG);

	if (pid <= 0)
		return 0;
	for (uint32_t i = 0; i < st->slots; i++)
		if (st->pid[i] == pid)
			st->pid[i] = 0;
	st->n--;
	if (WIFSIGNALED(status))
		return err_set(e, ENOMEM,
			       "storm process %d was killed by signal %d (%s) before its time; when the machine or its "
			       "control group ran out of memory, use a smaller --storm",
			       (int)pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	int code = WEXITSTATUS(status);
	return err_set(e, EIO, "storm process %d ended with exit code %d before its time%s%s", (int)pid, code,
		       code > 0 && code < (int)ARRAY_SIZE(step) ? ": " : "",
		       code > 0 && code < (int)ARRAY_SIZE(step) ? step[code] : "");
}

static int wait_ready(struct storm *st, const struct sys *s, struct err *e)
{
	uint64_t seen = UINT64_MAX, advanced_ns = s->now_ns(s);

	while (atomic_load_explicit(&st->area->ready, memory_order_acquire) < st->slots) {
		uint64_t now = s->now_ns(s), populated = atomic_load(&st->area->populated);
		int r = nobody_died(st, e);

		if (r < 0)
			return r;
		if (populated != seen) {
			seen = populated;
			advanced_ns = now;
		} else if (now - advanced_ns > STALL_NS) {
			return err_set(e, ETIMEDOUT, "the storm populated no more memory for %llu s, at %llu pages",
				       STALL_NS / 1000000000u, (unsigned long long)populated);
		}
		if (s->sleep_until(s, now + POLL_NS) < 0)
			return err_set(e, EINTR, "interrupted");
	}
	return nobody_died(st, e);
}

/* Resident anonymous pages out of /proc/PID/statm: "size resident shared ...". */
static int resident_pages(const struct sys *s, pid_t pid, uint64_t *ret, struct err *e)
{
	char path[64], text[256], *field[3], *rest = text;
	uint64_t resident, shared;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	int r = sys_read_text(s, path, text, sizeof(text), e);
	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++)
		if (!(field[i] = strsep(&rest, " ")))
			return err_set(e, EINVAL, "%s: \"%s\" is not what was expected", path, text);
	if ((r = num_u64(field[1], 0, UINT64_MAX, &resident, e)) < 0 ||
	    (r = num_u64(field[2], 0, UINT64_MAX, &shared, e)) < 0)
		return err_context(e, "%s", path);
	*ret = resident > shared ? resident - shared : 0;
	return 0;
}

/* The kernel's counter lags by some pages for each CPU, so this is only a check that memory did not go to swap; what
 * counts is the number of pages that were written to. */
static int all_resident(const struct storm *st, const struct layout *l, const struct sys *s, struct err *e)
{
	for (uint32_t i = 0; i < st->slots; i++) {
		uint64_t pages;
		int r = resident_pages(s, st->pid[i], &pages, e);

		if (r < 0)
			return r;
		if (pages < l->process_pages - l->process_pages / 16)
			return err_set(
			    e, ENOMEM,
			    "only %llu of a storm process's %llu pages are in memory: the rest went to swap; "
			    "use a smaller --storm",
			    (unsigned long long)pages, (unsigned long long)l->process_pages);
	}
	return 0;
}

static int fork_one(struct storm *st, const struct layout *l, uint32_t i, struct err *e)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		process_main(l, i, st->area, parent, st->group);
	if (pid < 0)
		return err_sys(e, errno, "starting storm process %u of %u", i + 1, l->processes);
	st->pid[i] = pid;
	st->n++;
	if (st->group == 0)
		st->group = pid;
	/* The child does the same: whoever comes first. It may be gone already, which wait_ready will tell. */
	(void)setpgid(pid, st->group);
	return 0;
}

int storm_start(struct storm *st, const struct layout *l, const struct sys *s, struct err *e)
{
	int r = 0;

	*st = (struct storm){.slots = l->processes};
	st->pid = calloc(st->slots, sizeof(*st->pid));
	if (!st->pid)
		return err_sys(e, ENOMEM, "starting a storm");
	void *p = mmap(NULL, sizeof(*st->area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		r = err_sys(e, errno, "memory that the storm's processes share");
	} else {
		st->area = p;
		st->area_bytes = sizeof(*st->area);
	}
	for (uint32_t i = 0; r == 0 && i < st->slots; i++)
		r = fork_one(st, l, i, e);
	if (r == 0)
		r = wait_ready(st, s, e);
	if (r == 0)
		r = all_resident(st, l, s, e);
	if (r < 0)
		storm_stop(st);
	return r;
}

/* One system call for the whole group: with one for each process, the first to die could take the CPU from the
 * killer before the last one was told. */
int storm_kill(struct storm *st, const struct sys *s, uint64_t *ret_kill_ns, struct err *e)
{
	int r = nobody_died(st, e);

	if (r < 0)
		return r;
	*ret_kill_ns = s->now_ns(s);
	if (kill(-st->group, SIGKILL) < 0)
		return err_sys(e, errno, "killing the storm");
	return 0;
}

int storm_reap(struct storm *st, const struct sys *s, uint64_t *ret_gone_ns, struct err *e)
{
	while (st->n > 0) {
		pid_t pid = waitpid(-st->group, NULL, 0);

		if (pid > 0)
			st->n--;
		else if (errno != EINTR)
			return err_sys(e, errno, "waiting for the storm's end");
	}
	*ret_gone_ns = s->now_ns(s);
	memset(st->pid, 0, st->slots * sizeof(*st->pid));
	return 0;
}

void storm_stop(struct storm *st)
{
	for (uint32_t i = 0; st->pid && i < st->slots; i++) {
		if (st->pid[i] <= 0)
			continue;
		kill(st->pid[i], SIGKILL);
		while (waitpid(st->pid[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(st->pid);
	if (st->area)
		munmap(st->area, st->area_bytes);
	*st = (struct storm){0};
}
