// SPDX-License-Identifier: Apache-2.0
/* Owns the comparison of our judge with the usual ones on the same simulated fleets: what each promotes and takes back
 * by one look at the end. Must not assert: a benchmark reports. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_fleet.h"
#include "lib/base/num.h"
#include "usual.h"

#define CAMPAIGNS_MAX 100000

enum who { OURS, MANN_WHITNEY, POOLED, THRESHOLD, JUDGES };
static const char *const label[JUDGES] = {"kpcp, gate", "Mann-Whitney, 98%, .25", "pooled events, 5%",
					  "p99 above 1.10 x controls"};
static const char *const word[JUDGES] = {"kpcp", "mann-whitney", "pooled", "threshold"};

#define RATIOS 15
static double ratio_of(int i)
{
	return 0.95 + 0.025 * i;
}

struct score {
	uint64_t campaigns;
	uint64_t promoted[JUDGES][RATIOS], alarmed[JUDGES][RATIOS];
};

static void count(struct score *s, enum who j, int r, bool promoted, bool alarmed)
{
	s->promoted[j][r] += promoted;
	s->alarmed[j][r] += alarmed;
}

static int ask_ours(const struct fleet *f, double ratio, struct score *s, int r, struct err *e)
{
	static struct judge_host hosts[FLEET_HOSTS_MAX];
	struct judge_plan p = trial_plan(&f->trial);
	struct verdict v;
	fleet_hosts(f, ratio, hosts);
	int code = judge(&p, hosts, f->trial.canaries + f->trial.controls, &v, e);
	if (code == 0)
		count(s, OURS, r, v.kind == VERDICT_PROMOTE, v.kind == VERDICT_ROLLBACK);
	return code;
}

/* The usual judges see the new boots only; what they do not call bad goes on. */
static void ask_usual(const struct fleet *f, double ratio, struct score *s, int r)
{
	static double canary[FLEET_MINUTES_MAX], control[FLEET_MINUTES_MAX];
	size_t n = fleet_series(f, ratio, canary, control);
	bool high = usual_mann_whitney(canary, n, control, n);
	count(s, MANN_WHITNEY, r, !high, high);
	struct fleet_events e = fleet_events(f, ratio, 0, n);
	high = usual_pooled(e.canary_slow, e.canary_all, e.control_slow, e.control_all);
	count(s, POOLED, r, !high, high);
	high = usual_threshold(stats_mean(canary, n), stats_mean(control, n), 1.10);
	count(s, THRESHOLD, r, !high, high);
}

static int run(struct fleet *f, uint64_t campaigns, struct score *s, struct err *e)
{
	*s = (struct score){.campaigns = campaigns};
	for (uint64_t i = 0; i < campaigns; i++) {
		fleet_draw(f, i);
		for (int r = 0; r < RATIOS; r++) {
			int code = ask_ours(f, ratio_of(r), s, r, e);
			if (code < 0)
				return code;
			ask_usual(f, ratio_of(r), s, r);
		}
	}
	return 0;
}

static double share(uint64_t k, const struct score *s)
{
	return trial_share(k, s->campaigns);
}

static void print_table(const struct fleet *f, const struct score *s)
{
	const int at_1 = 2, at_110 = 6, at_120 = 10;
	printf("\n%" PRIu32 " canaries, %" PRIu32 " controls, %" PRIu32 " boots of %" PRIu32
	       " minutes; boots %g%%, hosts x kernel %g%%, minutes %g%% (neighbours %.1f); %" PRIu64 " fleets\n",
	       f->trial.canaries, f->trial.controls, f->trial.boots, f->minutes, f->trial.boot_sd * 100,
	       f->trial.host_sd * 100, FLEET_MINUTE_SD * 100, FLEET_MINUTE_PHI, s->campaigns);
	printf("  %-26s %12s %12s %12s %12s %12s\n", "", "false alarm", "promoted", "false prom.", "false prom.",
	       "taken back");
	printf("  %-26s %12s %12s %12s %12s %12s\n", "judge", "at 1.00", "at 1.00", "at 1.10", "at 1.20", "at 1.20");
	for (int j = 0; j < JUDGES; j++)
		printf("  %-26s %12.3f %12.3f %12.3f %12.3f %12.3f\n", label[j], share(s->alarmed[j][at_1], s),
		       share(s->promoted[j][at_1], s), share(s->promoted[j][at_110], s),
		       share(s->promoted[j][at_120], s), share(s->alarmed[j][at_120], s));
}

/* For the picture: the share promoted over the true ratio. */
static int write_curve(const char *path, const struct score *s, struct err *e)
{
	FILE *out = fopen(path, "we");
	if (!out)
		return err_set(e, 5, "%s cannot be written", path);
	for (int j = 0; j < JUDGES; j++)
		for (int r = 0; r < RATIOS; r++)
			fprintf(out, "%s\t%.3f\t%.4f\n", word[j], ratio_of(r), share(s->promoted[j][r], s));
	return fclose(out) == 0 ? 0 : err_set(e, 5, "%s cannot be written", path);
}

int main(int argc, char **argv)
{
	static struct fleet f;
	static struct score s;
	struct err e = {0};
	uint64_t campaigns;
	if (argc != 3 || num_u64(argv[1], 1, CAMPAIGNS_MAX, &campaigns, &e) < 0) {
		fprintf(stderr, "bench_judge CAMPAIGNS CURVE-FILE: %s\n", e.text);
		return 1;
	}
	const struct {
		uint32_t canaries, controls, boots, minutes;
		bool curve;
	} setup[] = {{4, 4, 1, 60, false}, {4, 4, 1, 180, false}, {8, 8, 4, 60, true}};
	for (size_t i = 0; i < ARRAY_SIZE(setup); i++) {
		f.trial = trial_default;
		f.trial.canaries = setup[i].canaries;
		f.trial.controls = setup[i].controls;
		f.trial.boots = setup[i].boots;
		f.minutes = setup[i].minutes;
		int r = run(&f, campaigns, &s, &e);
		if (r == 0)
			print_table(&f, &s);
		if (r == 0 && setup[i].curve)
			r = write_curve(argv[2], &s, &e);
		if (r < 0) {
			fprintf(stderr, "bench_judge: %s\n", e.text);
			return 1;
		}
	}
	return 0;
}
