// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary record`: its options, the recording's header, and the file that it leaves.
 * Must not know how a victim or a storm works. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"
#include "canary.h"
#include "lib/base/num.h"
#include "lib/report/measure.h"
#include "lib/report/rec_file.h"
#include "lib/report/table.h"
#include "pin.h"
#include "probe_victim.h"

static int set_out(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct canary *)t)->record.out = value;
	return 0;
}

/* Names go into tables and JSON as they are: letters, digits and what host names have. */
static int check_name(const char *name, struct err *e)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t len = strlen(name);

	if (len == 0 || len >= RECORDING_NAME_MAX || strspn(name, ok) != len)
		return err_set(e, EINVAL,
			       "\"%s\" is no host name: 1 to %d letters, digits, dots, dashes and underscores are",
			       name, RECORDING_NAME_MAX - 1);
	return 0;
}

static int set_host(void *t, const char *value, struct err *e)
{
	((struct canary *)t)->record.host = value;
	return check_name(value, e);
}

static int set_storms(void *t, const char *value, struct err *e)
{
	uint64_t storms;
	int r = num_u64(value, 1, RECORDING_STORMS_MAX, &storms, e);

	if (r == 0)
		((struct canary *)t)->record.storms = (uint32_t)storms;
	return r;
}

static int set_warmup(void *t, const char *value, struct err *e)
{
	return measure_warmup(value, &((struct canary *)t)->record.warmup, e);
}

_Static_assert(MEASURE_PROCESSES_MAX == LAYOUT_PROCESSES_MAX, "what may be asked for is what there is room for");

static int set_storm(void *t, const char *value, struct err *e)
{
	struct layout_want *w = &((struct canary *)t)->record.want;

	return measure_storm(value, &w->processes, &w->process_bytes, e);
}

static int set_cpus(struct host_cpus *cpus, const char *value, struct err *e)
{
	return num_cpulist(value, cpus->cpu, HOST_CPUS_MAX, &cpus->n, e);
}

static int set_storm_cpus(void *t, const char *value, struct err *e)
{
	return set_cpus(&((struct canary *)t)->record.want.storm, value, e);
}

static int set_victim_cpus(void *t, const char *value, struct err *e)
{
	return set_cpus(&((struct canary *)t)->record.want.victims, value, e);
}

static int set_burst(void *t, const char *value, struct err *e)
{
	return measure_burst(value, &((struct canary *)t)->record.want.burst_pages, e);
}

static int set_period(void *t, const char *value, struct err *e)
{
	return measure_period(value, &((struct canary *)t)->record.want.period_ns, e);
}

static int set_window(void *t, const char *value, struct err *e)
{
	return measure_window(value, &((struct canary *)t)->record.want.window_ns, e);
}

static int set_lead(void *t, const char *value, struct err *e)
{
	return num_duration(value, 1000000, 600000000000, &((struct canary *)t)->record.want.lead_ns, e);
}

static int set_seed(void *t, const char *value, struct err *e)
{
	((struct canary *)t)->record.seeded = true;
	return num_u64(value, 0, UINT64_MAX, &((struct canary *)t)->record.seed, e);
}

static int set_share(void *t, const char *value, struct err *e)
{
	return num_percent(value, 0.01, 0.95, &((struct canary *)t)->record.want.memory_share, e);
}

static int set_force(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->record.force = true;
	return 0;
}

static int set_verbose(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->record.verbose = true;
	return 0;
}

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	signalled = number;
}

/* Without SA_RESTART, so that whatever waits wakes up and sees it. */
static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* One recording in the making. About 200 KiB: on the heap. */
struct session {
	const struct record_args *args;
	struct sys sys;
	struct host host;
	struct host_cpus allowed;
	struct host_pcp pcp;
	struct layout layout;
	struct host_tunables before;
	struct rec_file file;
	uint64_t seed;
	uint64_t start_ns;
	uint64_t samples;
	uint64_t missed;
	bool progress;
	bool line_open; /* the progress line on the terminal has no end yet */
};

static void on_warning(void *target, const char *text)
{
	struct session *s = target;

	fprintf(stderr, "%skpcp-canary: warning: %s\n", s->line_open ? "\n" : "", text);
	s->line_open = false;
}

static int on_done(void *target, uint32_t number, const struct recording_storm *storm, struct err *e)
{
	struct session *s = target;
	const struct record_args *a = s->args;
	uint64_t elapsed = (s->sys.now_ns(&s->sys) - s->start_ns) / 1000000000u;
	int r = storm ? rec_file_add(&s->file, storm, e) : 0;

	if (storm) {
		s->samples += storm->response.count;
		s->missed += storm->missed;
	}
	if (r < 0 || !s->progress)
		return r;
	bool terminal = isatty(STDERR_FILENO);
	fprintf(stderr, "%s%s %u of %u, %llu:%02llu elapsed%s", terminal ? "\r\033[K" : "",
		storm ? "storm" : "warm-up storm", storm ? number - a->warmup + 1 : number + 1,
		storm ? a->storms : a->warmup, (unsigned long long)elapsed / 60, (unsigned long long)elapsed % 60,
		terminal ? "" : "\n");
	s->line_open = terminal;
	return 0;
}

static void fill_header(const struct session *s, struct recording_header *h)
{
	const struct layout *l = &s->layout;

	memset(h, 0, sizeof(*h));
	snprintf(h->shape.probe, sizeof(h->shape.probe), "%s", VICTIM_PROBE);
	snprintf(h->shape.layout, sizeof(h->shape.layout), "%s", HIST_LAYOUT);
	h->shape.victims = l->n_victims;
	h->shape.burst_pages = l->burst_pages;
	h->shape.period_ns = l->period_ns;
	h->shape.window_ns = l->window_ns;
	h->shape.processes = l->processes;
	h->shape.process_pages = l->process_pages;
	snprintf(h->host, sizeof(h->host), "%s", s->args->host ? s->args->host : s->host.name);
	memcpy(h->release, s->host.release, sizeof(h->release));
	memcpy(h->build_id, s->host.build_id, sizeof(h->build_id));
	memcpy(h->boot_id, s->host.boot_id, sizeof(h->boot_id));
	snprintf(h->tool, sizeof(h->tool), "%s", KPCP_VERSION);
	memcpy(h->clocksource, s->host.clocksource, sizeof(h->clocksource));
	h->start_unix_s = s->sys.unix_s(&s->sys);
	h->seed = s->seed;
	h->cpus = (uint32_t)s->host.online.n;
	h->memory_kib = s->host.memory_kib;
	h->pcp_batch_scale_max = s->host.pcp_batch_scale_max;
	h->storms_planned = s->args->storms;
	h->reboot = s->host.reboot;
}

/* CPUs that are both online and allowed: a mask may name CPUs that are not there. */
static int usable_cpus(struct session *s, struct err *e)
{
	static struct host_cpus mask;
	int r = pin_allowed(&mask, e);

	for (size_t i = 0, j = 0; r == 0 && i < mask.n; i++) {
		while (j < s->host.online.n && s->host.online.cpu[j] < mask.cpu[i])
			j++;
		if (j < s->host.online.n && s->host.online.cpu[j] == mask.cpu[i])
			s->allowed.cpu[s->allowed.n++] = mask.cpu[i];
	}
	return r;
}

static int prepare(struct session *s, struct recording_header *h, struct err *e)
{
	const struct layout_want *w = &s->args->want;
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int r;

	if ((r = host_read(&s->sys, &s->host, e)) < 0 || (r = usable_cpus(s, e)) < 0 ||
	    (r = layout_cpus(w, &s->host, &s->allowed, &s->layout, e)) < 0 ||
	    (r = host_read_pcp(&s->sys, s->layout.victim, s->layout.n_victims, &s->pcp, e)) < 0 ||
	    (r = layout_memory(w, &s->host, &s->pcp, page_bytes, &s->layout, e)) < 0 ||
	    (r = host_read_tunables(&s->sys, &s->before, e)) < 0)
		return r;
	if (!s->args->host && (r = check_name(s->host.name, e)) < 0)
		return err_context(e, "this machine's name cannot be used, give --host NAME");
	for (unsigned i = 0; i < s->host.n_warnings; i++)
		on_warning(s, s->host.warning[i]);
	if (s->pcp.batch >= s->layout.burst_pages)
		return err_set(e, EINVAL,
			       "--burst %u: a burst must be larger than the kernel's batch of %u pages, or most bursts "
			       "never need the lock; use at least %u",
			       s->layout.burst_pages, s->pcp.batch, s->pcp.batch + 1);
	fill_header(s, h);
	return 0;
}

static void describe(const struct session *s)
{
	const struct layout *l = &s->layout;

	if (!s->progress)
		return;
	fprintf(stderr,
		"%u victim%s with %llu MiB, first on CPU %u; %u storm processes of %llu MiB on %zu CPU%s; "
		"batch %u, high %u pages; seed %llu\n",
		l->n_victims, l->n_victims == 1 ? "" : "s", (unsigned long long)(l->region_pages * l->page_bytes >> 20),
		l->victim[0], l->processes, (unsigned long long)(l->process_pages * l->page_bytes >> 20), l->storm.n,
		l->storm.n == 1 ? "" : "s", s->pcp.batch, s->pcp.high, (unsigned long long)s->seed);
}

static int record(struct session *s, struct err *e)
{
	static struct host_tunables after;
	struct recording_header header;
	char late[TABLE_SATURATED_MAX];
	int r = prepare(s, &header, e);

	if (r < 0)
		return r;
	describe(s);
	if ((r = rec_file_create(&s->file, s->args->out, s->args->force, &header, e)) < 0)
		return r;
	s->start_ns = s->sys.now_ns(&s->sys);
	struct campaign c = {.layout = &s->layout,
			     .sys = &s->sys,
			     .warmup = s->args->warmup,
			     .storms = s->args->storms,
			     .seed = s->seed,
			     .interrupted = &signalled,
			     .done = on_done,
			     .warning = on_warning,
			     .target = s};
	r = campaign_run(&c, e);
	if (s->line_open)
		fputc('\n', stderr);
	s->line_open = false;
	if (r == 0)
		r = host_read_tunables(&s->sys, &after, e);
	if (r == 0)
		r = host_same_tunables(&s->before, &after, e);
	if (r == 0)
		r = rec_file_finish(&s->file, e);
	if (r == 0 && table_saturated(&header.shape, s->samples, s->missed, late))
		on_warning(s, late);
	if (r < 0)
		rec_file_abandon(&s->file, e);
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct record_args *a = &((struct canary *)target)->record;

	if (argc > 0)
		return err_set(e, EINVAL, "record takes no operand, but got \"%s\"; the file is named by --out",
			       argv[0]);
	if (!a->out)
		return err_set(e, EINVAL, "record needs --out FILE, the recording to write");
	struct session *s = calloc(1, sizeof(*s));
	if (!s)
		return err_sys(e, ENOMEM, "starting a recording");
	s->args = a;
	s->sys = sys_linux("");
	s->file.fd = s->file.dir_fd = -1;
	s->seed = a->seeded ? a->seed : s->sys.random(&s->sys);
	s->progress = a->verbose || isatty(STDERR_FILENO);
	catch_signals();
	int r = record(s, e);
	free(s);
	return r;
}

static const struct opt options[] = {
    {"out", "FILE", "The recording to write; must not exist.", set_out},
    {"host", "NAME", "What the recording calls this machine (default: its host name).", set_host},
    {"storms", "COUNT", "Storms that count (default: 30).", set_storms},
    {"warmup", "COUNT", "Storms before them that do not (default: 2).", set_warmup},
    {"storm", "NxSIZE", "Processes of a storm and memory of each, as 18x6G (default: by the machine's size).",
     set_storm},
    {"storm-cpus", "LIST", "CPUs of the storm, as 0-3,8 (default: all but the victims').", set_storm_cpus},
    {"victim-cpus", "LIST", "CPUs with a victim each (default: one in 16, at most one for each last-level cache).",
     set_victim_cpus},
    {"burst", "PAGES", "Pages that a victim faults in one operation (default: 128).", set_burst},
    {"period", "TIME", "From one operation's intended start to the next (default: 10ms).", set_period},
    {"window", "TIME", "After SIGKILL; operations due in it are the sample (default: 500ms).", set_window},
    {"lead", "TIME", "Operations at the same pace before SIGKILL, not counted (default: ten periods).", set_lead},
    {"seed", "NUMBER", "Of the random delays before each SIGKILL (default: drawn, and recorded).", set_seed},
    {"max-memory-share", "PERCENT", "Of the available memory that may be used (default: 50%).", set_share},
    {"force", NULL, "Replace the recording if it exists.", set_force},
    {"verbose", NULL, "Show progress even where standard error is no terminal.", set_verbose},
};

const struct opt_command cmd_record = {
    .name = "record",
    .operands = "",
    .help = "Measures this machine: victims fault pages at a steady pace while storms of big processes are killed.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
