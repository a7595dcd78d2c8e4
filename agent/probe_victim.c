// SPDX-License-Identifier: Apache-2.0
/* Owns the victim process: its memory, its open loop, and the record of its operations.
 * Must not know storms, files or what is made of its times. */
#include "probe_victim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pin.h"

#define POLL_NS      1000000u
#define LATE_WINDOWS 4u /* an operation may start so many windows after its own; later ones count as missed */

enum { STATE_BUSY, STATE_DONE, STATE_EXHAUSTED, STATE_FAILED };

/* Raw times rather than histograms: which operations are in the sample is known only afterwards, exactly, from when
 * SIGKILL was sent; and the victim touches 16 bytes an operation instead of two histograms. */
struct operation {
	uint64_t start_ns; /* 0: never executed */
	uint64_t end_ns;
};

struct victim_area {
	_Atomic uint64_t kill_ns; /* 0: not yet */
	_Atomic uint64_t start_ns;
	_Atomic uint32_t state;
	char warning[128];
	char failure[256];
	uint64_t slots;
	struct operation op[];
};

struct self {
	const struct layout *l;
	const struct sys *s;
	struct victim_area *area;
	unsigned cpu, other_cpu;
	volatile char *region;
	uint64_t next_page;
	int command;
};

static uint64_t total_slots(const struct layout *l)
{
	return (uint64_t)l->lead_slots + l->window_slots + l->spare_slots;
}

static void burst(struct self *v)
{
	volatile char *p = v->region + v->next_page * v->l->page_bytes;

	for (uint32_t i = 0; i < v->l->burst_pages; i++)
		p[i * v->l->page_bytes] = 1;
	v->next_page += v->l->burst_pages;
}

/* Every slot whose intended start lies in the window is executed in its turn, late if need be: what delays one
 * operation delays the next ones, and their times say so. Nothing is filled in for slots that came too late to be
 * executed at all; they are counted. */
static uint32_t paced_loop(struct self *v)
{
	struct victim_area *a = v->area;
	uint64_t first = a->start_ns;

	for (uint64_t k = 0;; k++) {
		uint64_t intended = first + k * v->l->period_ns;
		uint64_t kill_ns = atomic_load_explicit(&a->kill_ns, memory_order_acquire);

		if (kill_ns && intended >= kill_ns + v->l->window_ns)
			return STATE_DONE;
		if (k >= a->slots)
			return STATE_EXHAUSTED;
		uint64_t now = v->s->now_ns(v->s);
		if (kill_ns && now >= kill_ns + (1 + LATE_WINDOWS) * v->l->window_ns)
			return STATE_DONE;
		while (now < intended) {
			v->s->sleep_until(v->s, intended);
			now = v->s->now_ns(v->s);
		}
		burst(v);
		a->op[k].end_ns = v->s->now_ns(v->s);
		a->op[k].start_ns = now;
	}
}

static uint32_t fail(struct self *v, const char *what)
{
	snprintf(v->area->failure, sizeof(v->area->failure), "%s: %s", what, strerror(errno));
	return STATE_FAILED;
}

/* Frees the region from another CPU, so that its pages end on that CPU's list and not on the victim's own. */
static uint32_t release(struct self *v)
{
	struct err e;

	memset(v->area->op, 0, v->area->slots * sizeof(v->area->op[0]));
	if (pin_self(v->other_cpu, &e) < 0)
		return fail(v, "moving off the victim's CPU");
	if (madvise((void *)v->region, v->l->region_pages * v->l->page_bytes, MADV_DONTNEED) < 0)
		return fail(v, "releasing the victim's memory");
	if (pin_self(v->cpu, &e) < 0)
		return fail(v, "moving back to the victim's CPU");
	v->next_page = 0;
	return STATE_DONE;
}

static uint32_t set_up(struct self *v)
{
	size_t bytes = v->l->region_pages * v->l->page_bytes;
	struct err e;

	prctl(PR_SET_TIMERSLACK, 1UL);
	/* What is mapped so far: code, stack and the shared area; the region comes afterwards and must stay unlocked,
	 * because locking would populate it. */
	if (mlockall(MCL_CURRENT) < 0)
		snprintf(v->area->warning, sizeof(v->area->warning),
			 "could not lock its code and results in memory: %s", strerror(errno));
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return fail(v, "mapping the victim's memory");
	v->region = p;
	/* Kernels without huge pages refuse the advice, which is as good. */
	if (madvise(p, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL)
		return fail(v, "refusing huge pages");
	if (pin_self(v->cpu, &e) < 0)
		return fail(v, "moving to the victim's CPU");
	/* Page tables stay when pages go: allocate them now, one page in each 2 MiB and the last. */
	for (size_t at = 0; at < bytes; at += 2u << 20)
		v->region[at] = 1;
	v->region[bytes - 1] = 1;
	return release(v);
}

static _Noreturn void victim_main(struct self *v, pid_t parent)
{
	uint32_t state;
	char command;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* Ctrl-C goes to the whole foreground group; who ends a victim is its parent. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	state = set_up(v);
	atomic_store_explicit(&v->area->state, state, memory_order_release);
	while (read(v->command, &command, 1) == 1) {
		state = STATE_DONE;
		if (command == 'd') {
			for (uint32_t i = 0; i < v->l->drain_bursts; i++)
				burst(v);
		} else if (command == 'g') {
			state = paced_loop(v);
		} else {
			state = release(v);
		}
		atomic_store_explicit(&v->area->state, state, memory_order_release);
	}
	_exit(0);
}

int victim_start(struct victim *v, const struct layout *l, uint32_t i, const struct sys *s, struct err *e)
{
	size_t bytes = sizeof(struct victim_area) + total_slots(l) * sizeof(struct operation);
	int pipe_fd[2];

	/* A storm's CPU for the clean-up, another one for each victim as far as there are. */
	struct self self = {.l = l, .s = s, .cpu = l->victim[i], .other_cpu = l->storm.cpu[(i + 1) % l->storm.n]};
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "memory for the results of the victim on CPU %u", self.cpu);
	memset(p, 0, bytes);
	if (pipe2(pipe_fd, O_CLOEXEC) < 0) {
		int code = errno;

		munmap(p, bytes);
		return err_sys(e, code, "a pipe to the victim on CPU %u", self.cpu);
	}
	*v = (struct victim){.command = pipe_fd[1], .area = p, .area_bytes = bytes};
	self.area = v->area;
	self.area->slots = total_slots(l);
	self.command = pipe_fd[0];
	pid_t parent = getpid();
	v->pid = fork();
	if (v->pid == 0) {
		close(pipe_fd[1]);
		victim_main(&self, parent);
	}
	int code = errno;
	close(pipe_fd[0]);
	if (v->pid < 0) {
		v->pid = 0;
		victim_stop(v);
		return err_sys(e, code, "starting the victim on CPU %u", self.cpu);
	}
	return 0;
}

void victim_stop(struct victim *v)
{
	if (!v->area)
		return;
	if (v->pid > 0) {
		kill(v->pid, SIGKILL);
		while (waitpid(v->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(v->command);
	munmap(v->area, v->area_bytes);
	*v = (struct victim){0};
}

/* -ECHILD when the victim has ended, 0 when it lives; options as for waitpid. */
static int look_for_death(struct victim *v, int options, struct err *e)
{
	int status;

	if (waitpid(v->pid, &status, options) != v->pid)
		return 0;
	pid_t pid = v->pid;

	v->pid = 0;
	return err_set(e, ECHILD, "victim %d is dead (%s %d); was the machine out of memory?", (int)pid,
		       WIFSIGNALED(status) ? "signal" : "exit code",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int command(struct victim *v, char what, struct err *e)
{
	atomic_store_explicit(&v->area->state, STATE_BUSY, memory_order_release);
	if (write(v->command, &what, 1) == 1)
		return 0;
	int code = errno, r = 0;

	/* Nobody reads any more: it died between two commands. */
	if (code == EPIPE)
		r = look_for_death(v, 0, e);
	return r < 0 ? r : err_sys(e, code, "telling victim %d what to do", (int)v->pid);
}

int victim_drain(struct victim *v, struct err *e)
{
	return command(v, 'd', e);
}

int victim_go(struct victim *v, uint64_t start_ns, struct err *e)
{
	v->area->start_ns = start_ns;
	v->area->kill_ns = 0;
	return command(v, 'g', e);
}

void victim_killed(struct victim *v, uint64_t kill_ns)
{
	atomic_store_explicit(&v->area->kill_ns, kill_ns, memory_order_release);
}

int victim_release(struct victim *v, struct err *e)
{
	return command(v, 'r', e);
}

int victim_wait(struct victim *v, uint64_t deadline_ns, const struct sys *s, struct err *e)
{
	for (;;) {
		uint32_t state = atomic_load_explicit(&v->area->state, memory_order_acquire);

		if (state == STATE_DONE)
			return 0;
		if (state == STATE_FAILED)
			return err_set(e, EIO, "victim %d failed %s", (int)v->pid, v->area->failure);
		if (state == STATE_EXHAUSTED)
			return err_set(e, -VICTIM_VOID,
				       "the victims used up their memory before the storm was killed: this "
				       "machine woke the recorder too late");
		int r = look_for_death(v, WNOHANG, e);

		if (r < 0)
			return r;
		uint64_t now = s->now_ns(s);
		if (now >= deadline_ns)
			return err_set(e, ETIMEDOUT, "victim %d did not finish in time", (int)v->pid);
		if (s->sleep_until(s, now + POLL_NS) < 0)
			return err_set(e, EINTR, "interrupted");
	}
}

uint64_t victim_collect(const struct victim *v, const struct layout *l, uint64_t kill_ns, struct hist *response,
			struct hist *service)
{
	const struct victim_area *a = v->area;
	uint64_t first = a->start_ns, missed = 0;

	for (uint64_t k = 0; k < a->slots; k++) {
		uint64_t intended = first + k * l->period_ns;

		if (intended < kill_ns)
			continue;
		if (intended >= kill_ns + l->window_ns)
			break;
		missed += a->op[k].start_ns == 0 || a->op[k].start_ns >= intended + l->period_ns;
		if (a->op[k].start_ns == 0)
			continue;
		hist_add(response, a->op[k].end_ns - intended);
		hist_add(service, a->op[k].end_ns - a->op[k].start_ns);
	}
	return missed;
}

const char *victim_warning(const struct victim *v)
{
	return v->area && v->area->warning[0] ? v->area->warning : NULL;
}
