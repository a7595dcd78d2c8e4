// SPDX-License-Identifier: Apache-2.0
/* Owns the choice of what a recording runs where, by the host's facts and the command line's wishes.
 * Must not know processes or system calls. */
#include "layout.h"

#include <errno.h>
#include <string.h>

#define CPUS_PER_VICTIM 16u
#define PROCESSES_MOST  18u          /* the published storm's */
#define PROCESS_MOST    (6ull << 30) /* bytes, the published storm's */
#define PROCESS_LEAST   (4ull << 20)
#define SPARE_SLOTS     16u
#define SPARE_NS        100000000ull /* how late a scheduler may wake the process that kills */

static bool has_cpu(const struct host_cpus *set, unsigned cpu)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->cpu[i] == cpu)
			return true;
	return false;
}

static int all_usable(const struct host_cpus *asked, const struct host_cpus *allowed, const char *option, struct err *e)
{
	for (size_t i = 0; i < asked->n; i++)
		if (!has_cpu(allowed, asked->cpu[i]))
			return err_set(e, EINVAL, "--%s: CPU %u is not online, or this process may not use it", option,
				       asked->cpu[i]);
	return 0;
}

/* The cache group of an allowed CPU; CPUs that /sys says nothing about are grouped by number. */
static unsigned group_of(const struct host *h, unsigned cpu)
{
	for (size_t i = 0; i < h->online.n; i++)
		if (h->online.cpu[i] == cpu && h->llc[i] != HOST_CPUS_MAX)
			return h->llc[i];
	return HOST_CPUS_MAX + cpu / CPUS_PER_VICTIM;
}

/* The last CPU of n groups that lie evenly among all: CPU 0 and its neighbours have the most interrupts. */
static void choose_victims(const struct host *h, const struct host_cpus *allowed, struct layout *ret)
{
	unsigned group[HOST_CPUS_MAX], last[HOST_CPUS_MAX];
	size_t groups = 0, n = allowed->n / CPUS_PER_VICTIM;

	for (size_t i = 0; i < allowed->n; i++) {
		unsigned g = group_of(h, allowed->cpu[i]);
		size_t at = 0;

		while (at < groups && group[at] != g)
			at++;
		group[at] = g;
		last[at] = allowed->cpu[i];
		groups += at == groups;
	}
	if (n < 1)
		n = 1;
	if (n > groups)
		n = groups;
	if (n > LAYOUT_VICTIMS_MAX)
		n = LAYOUT_VICTIMS_MAX;
	for (size_t i = 0; i < n; i++)
		ret->victim[i] = last[(2 * i + 1) * groups / (2 * n)];
	ret->n_victims = (uint32_t)n;
}

static bool is_victim(const struct layout *l, unsigned cpu)
{
	for (uint32_t i = 0; i < l->n_victims; i++)
		if (l->victim[i] == cpu)
			return true;
	return false;
}

int layout_cpus(const struct layout_want *w, const struct host *h, const struct host_cpus *allowed, struct layout *ret,
		struct err *e)
{
	int r;

	if (allowed->n < 2)
		return err_set(
		    e, EINVAL,
		    "this process may use %zu CPU; a recording needs one for a victim and another for the storm",
		    allowed->n);
	if ((r = all_usable(&w->victims, allowed, "victim-cpus", e)) < 0 ||
	    (r = all_usable(&w->storm, allowed, "storm-cpus", e)) < 0)
		return r;
	if (w->victims.n > LAYOUT_VICTIMS_MAX)
		return err_set(e, EINVAL, "--victim-cpus: %zu victims, at most %u are possible", w->victims.n,
			       LAYOUT_VICTIMS_MAX);
	if (w->victims.n > 0) {
		memcpy(ret->victim, w->victims.cpu, w->victims.n * sizeof(ret->victim[0]));
		ret->n_victims = (uint32_t)w->victims.n;
	} else {
		struct host_cpus free_cpus = {0};

		for (size_t i = 0; i < allowed->n; i++)
			if (!has_cpu(&w->storm, allowed->cpu[i]))
				free_cpus.cpu[free_cpus.n++] = allowed->cpu[i];
		if (free_cpus.n == 0)
			return err_set(e, EINVAL, "--storm-cpus leaves no CPU for a victim");
		choose_victims(h, &free_cpus, ret);
	}
	ret->storm = w->storm;
	for (size_t i = 0; w->storm.n == 0 && i < allowed->n; i++)
		if (!is_victim(ret, allowed->cpu[i]))
			ret->storm.cpu[ret->storm.n++] = allowed->cpu[i];
	if (ret->storm.n == 0)
		return err_set(e, EINVAL, "--victim-cpus leaves no CPU for the storm");
	for (size_t i = 0; i < ret->storm.n; i++)
		if (is_victim(ret, ret->storm.cpu[i]))
			return err_set(e, EINVAL,
				       "CPU %u is both a victim's and the storm's; take it out of --victim-cpus or out "
				       "of --storm-cpus",
				       ret->storm.cpu[i]);
	return 0;
}

static int choose_slots(const struct layout_want *w, const struct host_pcp *pcp, struct layout *l, struct err *e)
{
	l->burst_pages = w->burst_pages;
	l->period_ns = w->period_ns;
	l->window_ns = w->window_ns;
	l->lead_ns = w->lead_ns ? w->lead_ns : 10 * w->period_ns;
	if (l->period_ns == 0 || l->burst_pages == 0 || l->window_ns < l->period_ns)
		return err_set(e, EINVAL, "the window (%llu ns) must hold at least one period (%llu ns)",
			       (unsigned long long)l->window_ns, (unsigned long long)l->period_ns);
	uint64_t lead = l->lead_ns / l->period_ns + 2; /* the kill is delayed by up to one period at random */
	/* Slots are laid from each victim's own first one: the window can hold one more than its length says. */
	uint64_t window = l->window_ns / l->period_ns + 2;
	uint64_t spare = SPARE_SLOTS + SPARE_NS / l->period_ns;

	if (lead + window + spare > LAYOUT_SLOTS_MAX)
		return err_set(e, EINVAL,
			       "lead-in and window have %llu slots, at most %u are possible: make the "
			       "period longer or the window shorter",
			       (unsigned long long)(lead + window + spare), LAYOUT_SLOTS_MAX);
	l->lead_slots = (uint32_t)lead;
	l->window_slots = (uint32_t)window;
	l->spare_slots = (uint32_t)spare;
	uint32_t list = pcp->high + pcp->batch < LAYOUT_DRAIN_MAX ? pcp->high + pcp->batch : LAYOUT_DRAIN_MAX;
	l->drain_bursts = (list + l->burst_pages - 1) / l->burst_pages;
	l->region_pages =
	    (uint64_t)l->burst_pages * (l->drain_bursts + (uint64_t)l->lead_slots + l->window_slots + l->spare_slots);
	return 0;
}

/* By the memory that the machine has, not by what is free at the moment, and in coarse steps: recordings of other
 * boots, and of hosts of the same size, must come out with the same storm to be comparable. */
static uint64_t default_process(const struct host *h, double share, uint64_t victims, uint32_t processes)
{
	uint64_t room = (uint64_t)((double)h->memory_kib * share * 0.75) << 10, step = 1u << 20;

	if (room <= victims || (room - victims) / processes < step)
		return 0;
	room = (room - victims) / processes;
	while (2 * step <= room)
		step *= 2;
	room = room >= step + step / 2 ? step + step / 2 : step;
	return room < PROCESS_MOST ? room : PROCESS_MOST;
}

static uint64_t mib_up(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

int layout_memory(const struct layout_want *w, const struct host *h, const struct host_pcp *pcp, uint64_t page_bytes,
		  struct layout *ret, struct err *e)
{
	uint64_t usable = (uint64_t)((double)h->available_kib * w->memory_share) << 10;
	size_t n = ret->storm.n < 2 ? 2 : ret->storm.n;
	int r = choose_slots(w, pcp, ret, e);

	if (r < 0)
		return r;
	uint64_t victims = ret->region_pages * page_bytes * ret->n_victims;
	uint32_t processes = w->processes ? w->processes : n < PROCESSES_MOST ? (uint32_t)n : PROCESSES_MOST;
	uint64_t process = w->process_bytes;

	if (process == 0)
		process = default_process(h, w->memory_share, victims, processes);
	if (w->process_bytes == 0 && process < PROCESS_LEAST)
		process = PROCESS_LEAST;
	if (victims > usable || process > (usable - victims) / processes)
		return err_set(e, ENOMEM,
			       "not enough memory: %u victim%s %llu MiB each (%llu pages), the storm %u x %llu MiB, "
			       "and %.0f%% of the %llu MiB available is %llu MiB; use a smaller --storm, --burst or "
			       "--window, a longer --period, or a larger --max-memory-share",
			       ret->n_victims, ret->n_victims == 1 ? " needs" : "s need",
			       (unsigned long long)mib_up(ret->region_pages * page_bytes),
			       (unsigned long long)ret->region_pages, processes, (unsigned long long)mib_up(process),
			       w->memory_share * 100, (unsigned long long)(h->available_kib >> 10),
			       (unsigned long long)(usable >> 20));
	if (process < page_bytes)
		return err_set(e, EINVAL, "--storm: a process of %llu bytes has not even one page of %llu",
			       (unsigned long long)process, (unsigned long long)page_bytes);
	ret->processes = processes;
	ret->process_pages = process / page_bytes;
	ret->page_bytes = page_bytes;
	return 0;
}
