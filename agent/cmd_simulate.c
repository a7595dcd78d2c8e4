// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary simulate`: its options and their ranges.
 * Must not know how campaigns are drawn or judged. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "lib/base/near.h"
#include "lib/base/num.h"
#include "lib/report/show.h"
#include "simulation.h"

#define CAMPAIGNS_MAX 1000000

static struct simulate_args *args_of(void *t)
{
	return &((struct canary *)t)->simulate;
}

static int set_hosts(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_HOSTS_MAX - 1, &args_of(t)->trial.canaries, e);
}

static int set_controls(void *t, const char *value, struct err *e)
{
	return num_u32(value, 0, JUDGE_HOSTS_MAX - 1, &args_of(t)->trial.controls, e);
}

static int set_boots(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_BOOTS_MAX, &args_of(t)->trial.boots, e);
}

static int set_boot_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->trial.boot_sd, e);
}

static int set_host_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->trial.host_sd, e);
}

static int set_level_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->trial.level_sd, e);
}

static int set_ratio(void *t, const char *value, struct err *e)
{
	return num_f64(value, 0.01, 100, &args_of(t)->trial.ratio, e);
}

static int set_margin(void *t, const char *value, struct err *e)
{
	return num_share(value, 0.001, 10, &args_of(t)->trial.margin, e);
}

static int set_missing(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->trial.missing, e);
}

static int set_errors(void *t, const char *value, struct err *e)
{
	const char *names[DRAW_SHAPES];
	for (int i = 0; i < DRAW_SHAPES; i++) {
		names[i] = draw_shape_name((enum draw_shape)i);
		if (strcmp(value, names[i]) != 0)
			continue;
		args_of(t)->trial.errors = (enum draw_shape)i;
		return 0;
	}
	return err_set(e, EINVAL, "'%s' is no shape of errors (normal, t3, lognormal, ar1); did you mean '%s'?", value,
		       near_find(value, names, DRAW_SHAPES));
}

static int set_ar1(void *t, const char *value, struct err *e)
{
	return num_f64(value, -0.99, 0.99, &args_of(t)->trial.phi, e);
}

static int set_campaigns(void *t, const char *value, struct err *e)
{
	return num_u64(value, 1, CAMPAIGNS_MAX, &args_of(t)->campaigns, e);
}

static int set_seed(void *t, const char *value, struct err *e)
{
	return num_u64(value, 0, UINT64_MAX, &args_of(t)->trial.seed, e);
}

static int set_blocks(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, TRIAL_BLOCKS_MAX, &args_of(t)->trial.blocks, e);
}

static int set_block_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 10, &args_of(t)->trial.block_sd, e);
}

/* Without any spread the smallest excess would be proof. */
static int set_block_bound(void *t, const char *value, struct err *e)
{
	args_of(t)->bound_given = true;
	return num_share(value, 0.001, 10, &args_of(t)->trial.block_bound, e);
}

static int set_no_second_opinion(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->trial.second_opinion = false;
	return 0;
}

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->json = true;
	return 0;
}

static void free_ptr(void *variable)
{
	free(*(void **)variable);
}

static int run_gate(const struct simulate_args *a, struct buf *out, struct err *e)
{
	const struct trial *c = &a->trial;
	struct trial_counts n = {0};
	_cleanup_(free_ptr) struct judge_host *hosts = calloc(c->canaries + c->controls, sizeof(*hosts));
	if (!hosts)
		return err_sys(e, ENOMEM, "simulating %" PRIu32 " hosts", c->canaries + c->controls);
	int r = trial_gate(c, 0, a->campaigns, hosts, &n, e);
	if (r < 0)
		return r;
	return a->json ? simulation_gate_json(out, c, &n, e) : simulation_gate(out, c, &n, e);
}

static int run_brake(struct simulate_args *a, struct buf *out, struct err *e)
{
	struct trial *c = &a->trial;
	_cleanup_(free_ptr) struct trial_looks *looks = calloc(1, sizeof(*looks));
	if (!looks)
		return err_sys(e, ENOMEM, "simulating %" PRIu32 " blocks", c->blocks);
	if (!a->bound_given)
		c->block_bound = c->block_sd > 0.001 ? c->block_sd : 0.001;
	int r = trial_brake(c, 0, a->campaigns, looks, e);
	if (r < 0)
		return r;
	return a->json ? simulation_brake_json(out, c, looks, e) : simulation_brake(out, c, looks, e);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	struct simulate_args *a = args_of(target);
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	if (argc != 0)
		return err_set(e, EINVAL, "simulate takes options only, but got '%s'; --help lists them", argv[0]);
	if (a->trial.canaries + a->trial.controls > JUDGE_HOSTS_MAX)
		return err_set(e, EINVAL,
			       "--hosts %" PRIu32 " and --controls %" PRIu32
			       ": at most %d hosts together can be judged; take fewer of either",
			       a->trial.canaries, a->trial.controls, JUDGE_HOSTS_MAX);
	int r = a->trial.blocks ? run_brake(a, &out, e) : run_gate(a, &out, e);
	return r < 0 ? r : show(&out, e);
}

static const struct opt options[] = {
    {"hosts", "COUNT", "Canaries: hosts that get the new kernel (default 8).", set_hosts},
    {"controls", "COUNT", "Hosts that keep the old one (default 8).", set_controls},
    {"boots", "COUNT", "Boots of each kernel on each host (default 4).", set_boots},
    {"boot-sd", "SHARE", "Standard deviation from boot to boot, 7% or 0.07 (default 7%).", set_boot_sd},
    {"host-sd", "SHARE", "How differently hosts take to a new boot of either kernel (default 2%).", set_host_sd},
    {"level-sd", "SHARE", "How far hosts are apart before anything changes (default 0).", set_level_sd},
    {"ratio", "RATIO", "The truth: new over old, 1.10 is 10% worse (default 1).", set_ratio},
    {"margin", "SHARE", "What the gate is to keep out (default 10%).", set_margin},
    {"missing", "SHARE", "Probability that a boot was never measured (default 0).", set_missing},
    {"errors", "SHAPE", "normal, t3, lognormal or ar1, each scaled to the standard deviations given (default normal).",
     set_errors},
    {"ar1", "PHI", "Correlation of neighbouring boots or blocks of a host, for --errors ar1 (default 0.5).", set_ar1},
    {"campaigns", "COUNT", "How many are judged (default 5000).", set_campaigns},
    {"seed", "NUMBER", "The same seed draws the same campaigns (default 1).", set_seed},
    {"no-second-opinion", NULL, "Judge by Welch's bounds alone, without the randomisation test.",
     set_no_second_opinion},
    {"blocks", "COUNT", "Simulate the brake instead of the gate: it looks after each of so many blocks.", set_blocks},
    {"block-sd", "SHARE", "Standard deviation of one host's block, for --blocks (default 20%).", set_block_sd},
    {"block-bound", "SHARE", "What the brake takes that for (default: the truth).", set_block_bound},
    {"json", NULL, "Print JSON for machines.", set_json},
};

const struct opt_command cmd_simulate = {
    .name = "simulate",
    .operands = "",
    .help = "Judges invented campaigns whose truth is known: how often the judge promotes, takes back, holds.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
