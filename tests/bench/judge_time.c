// SPDX-License-Identifier: Apache-2.0
/* Owns the comparison of the brake with the usual judges when all look every minute: how often each stops a rollout
 * without reason, and after how many minutes it stops a bad one. Must not assert: a benchmark reports. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_fleet.h"
#include "lib/base/num.h"
#include "lib/core/brake.h"
#include "usual.h"

#define CAMPAIGNS_MAX 100000
#define MINUTES       180

enum who { BRAKE, MANN_WHITNEY, POOLED, THRESHOLD_110, THRESHOLD_150, JUDGES };
static const char *const label[JUDGES] = {"kpcp, brake", "Mann-Whitney, 98%, .25", "pooled events, 5%",
					  "p99 above 1.10 x controls", "p99 above 1.50 x controls"};

/* at[j][m]: how often judge j stopped in minute m, from 1; [0]: never. */
struct stops {
	uint64_t campaigns;
	uint64_t at[JUDGES][MINUTES + 1];
};

/* Values over each host's own baseline, the mean of its old boot. */
static bool brake_minute(const struct fleet *f, double ratio, size_t m, struct brake *b)
{
	const struct trial *t = &f->trial;
	double x[FLEET_HOSTS_MAX];
	for (uint32_t h = 0; h < t->canaries + t->controls; h++)
		x[h] = f->y[h][m] - f->host[h].old_boot[0].y[ENDPOINT_P99] + (h < t->canaries ? log(ratio) : 0);
	struct brake_x block = brake_difference(&b->plan, x, t->canaries, x + t->canaries, t->controls);
	return brake_look(b, &block, 0) == BRAKE_FIRED;
}

static void look(const struct fleet *f, double ratio, struct brake brake, struct stops *s)
{
	static double canary[FLEET_MINUTES_MAX], control[FLEET_MINUTES_MAX];
	size_t minutes = fleet_series(f, ratio, canary, control);
	size_t at[JUDGES] = {0};
	struct fleet_events all = {0};
	for (size_t n = 1; n <= minutes; n++) {
		struct fleet_events e = fleet_events(f, ratio, n - 1, n);
		double mean_canary = stats_mean(canary, n), mean_control = stats_mean(control, n);
		bool stop[JUDGES] = {false};
		all.canary_slow += e.canary_slow;
		all.canary_all += e.canary_all;
		all.control_slow += e.control_slow;
		all.control_all += e.control_all;
		stop[BRAKE] = at[BRAKE] == 0 && brake_minute(f, ratio, n - 1, &brake);
		stop[MANN_WHITNEY] = at[MANN_WHITNEY] == 0 && usual_mann_whitney(canary, n, control, n);
		stop[POOLED] = usual_pooled(all.canary_slow, all.canary_all, all.control_slow, all.control_all);
		stop[THRESHOLD_110] = usual_threshold(mean_canary, mean_control, 1.10);
		stop[THRESHOLD_150] = usual_threshold(mean_canary, mean_control, 1.50);
		for (int j = 0; j < JUDGES; j++)
			if (stop[j] && at[j] == 0)
				at[j] = n;
	}
	s->campaigns++;
	for (int j = 0; j < JUDGES; j++)
		s->at[j][at[j]]++;
}

/* The minute by which the share p of all was stopped; 0: fewer were. */
static unsigned minute_of(const struct stops *s, int j, double p)
{
	uint64_t so_far = 0;
	for (unsigned m = 1; m <= MINUTES; m++) {
		so_far += s->at[j][m];
		if ((double)so_far >= p * (double)s->campaigns)
			return m;
	}
	return 0;
}

static void print_minutes(const struct stops *s, int j)
{
	unsigned median = minute_of(s, j, 0.5), p90 = minute_of(s, j, 0.9);
	if (median)
		printf(" %8u", median);
	else
		printf(" %8s", "-");
	if (p90)
		printf(" %6u", p90);
	else
		printf(" %6s", "-");
}

int main(int argc, char **argv)
{
	static struct fleet f;
	static struct stops stops[3];
	static const double ratio[3] = {1.0, 1.5, 2.0};
	struct brake_plan plan = brake_plan_default;
	struct brake brake;
	struct err e = {0};
	uint64_t campaigns;
	f.trial = trial_default;
	f.trial.canaries = plan.canaries;
	f.trial.controls = plan.controls;
	f.trial.boots = 1;
	f.minutes = MINUTES;
	if (argc != 2 || num_u64(argv[1], 1, CAMPAIGNS_MAX, &campaigns, &e) < 0 || brake_start(&plan, &brake, &e) < 0) {
		fprintf(stderr, "bench_judge_time CAMPAIGNS: %s\n", e.text);
		return 1;
	}
	for (uint64_t i = 0; i < campaigns; i++) {
		fleet_draw(&f, i);
		for (int r = 0; r < 3; r++)
			look(&f, ratio[r], brake, &stops[r]);
	}
	printf("\n%" PRIu32 " canaries, %" PRIu32
	       " controls, looked at every minute for %d minutes; boots %g%%, hosts x "
	       "kernel %g%%, minutes %g%% (neighbours %.1f); %" PRIu64 " fleets\n",
	       f.trial.canaries, f.trial.controls, MINUTES, f.trial.boot_sd * 100, f.trial.host_sd * 100,
	       FLEET_MINUTE_SD * 100, FLEET_MINUTE_PHI, campaigns);
	printf("  %-26s %12s %18s %18s\n", "", "false alarm", "minutes to stop", "minutes to stop");
	printf("  %-26s %12s %18s %18s\n", "judge", "at 1.00", "1.50: median  p90", "2.00: median  p90");
	for (int j = 0; j < JUDGES; j++) {
		printf("  %-26s %12.3f   ", label[j], 1 - trial_share(stops[0].at[j][0], campaigns));
		print_minutes(&stops[1], j);
		printf("   ");
		print_minutes(&stops[2], j);
		printf("\n");
	}
	return 0;
}
