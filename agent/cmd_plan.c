// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary plan`: where the spread comes from, and what is asked of it.
 * Must not know how hosts, powers and times are computed or shown. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "canary.h"
#include "lib/base/near.h"
#include "lib/base/num.h"
#include "lib/report/planning.h"
#include "lib/report/show.h"
#include "lib/report/spread_file.h"
#include "recordings.h"

static struct plan_args *args_of(void *t)
{
	return &((struct canary *)t)->plan;
}

static int set_spread(void *t, const char *value, struct err *e)
{
	(void)e;
	args_of(t)->spread = value;
	return 0;
}

static int set_endpoint(void *t, const char *value, struct err *e)
{
	const char *names[ENDPOINT_COUNT];

	for (int i = 0; i < ENDPOINT_COUNT; i++) {
		names[i] = endpoint_name((enum endpoint)i);
		if (strcmp(value, names[i]) != 0)
			continue;
		args_of(t)->endpoint = (enum endpoint)i;
		return 0;
	}
	return err_set(e, EINVAL, "unknown endpoint \"%s\"; did you mean %s?", value,
		       near_find(value, names, ENDPOINT_COUNT));
}

static int set_boot_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->boot_sd, e);
}

static int set_host_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0, 1, &args_of(t)->host_sd, e);
}

static int set_block_sd(void *t, const char *value, struct err *e)
{
	return num_share(value, 0.001, 5, &args_of(t)->block_sd, e);
}

static int set_margin(void *t, const char *value, struct err *e)
{
	return num_share(value, 0.001, 10, &args_of(t)->margin, e);
}

static int set_power(void *t, const char *value, struct err *e)
{
	return num_share(value, 0.05, 0.999, &args_of(t)->power, e);
}

static int set_alpha(void *t, const char *value, struct err *e)
{
	return num_f64(value, 1e-6, 0.49, &args_of(t)->alpha, e);
}

static int set_ratio(void *t, const char *value, struct err *e)
{
	return num_f64(value, 0.1, 10, &args_of(t)->ratio, e);
}

static int set_hosts(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_HOSTS_MAX - 1, &args_of(t)->canaries, e);
}

static int set_controls(void *t, const char *value, struct err *e)
{
	return num_u32(value, 0, JUDGE_HOSTS_MAX - 1, &args_of(t)->controls, e);
}

static int set_boots(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, JUDGE_BOOTS_MAX, &args_of(t)->boots, e);
}

static int set_block(void *t, const char *value, struct err *e)
{
	uint64_t ns;
	int r = num_duration(value, 1000000000, 3600000000000, &ns, e);

	if (r == 0)
		args_of(t)->block_s = (double)ns / 1e9;
	return r;
}

static int set_no_second_opinion(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->welch_alone = true;
	return 0;
}

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	args_of(t)->json = true;
	return 0;
}

static int take(struct planning *p, const struct spread *s, enum endpoint x, const char *from, struct err *e)
{
	const struct spread_endpoint *found = &s->endpoint[x];

	if (isnan(found->boot_sd))
		return err_set(e, EINVAL, "%s: nothing is known of %s there; plan another endpoint", from,
			       endpoint_name(x));
	p->spread = (struct power_spread){.boot_sd = found->boot_sd, .host_sd = found->host_sd};
	p->spread_from = from;
	if (found->block_sd_upper > 0) {
		p->brake.block_sd = found->block_sd_upper;
		p->brake_bounded = true;
	}
	return 0;
}

/* From a file, from recordings, or given; what is given by an option goes before what was found. */
static int find_spread(const struct plan_args *a, int argc, char **argv, struct planning *p, struct err *e)
{
	bool given = !isnan(a->boot_sd) || !isnan(a->host_sd);
	struct spread s;
	int r = 0;

	if (a->spread && argc > 0)
		return err_set(e, EINVAL, "--spread and recordings: give one of the two");
	if (!a->spread && argc == 0 && isnan(a->boot_sd))
		return err_set(
		    e, EINVAL,
		    "no spread to plan by: give recordings of unchanged hosts (FIRST... -- SECOND...), --spread "
		    "FILE, or --boot-sd and --host-sd");
	if (a->spread) {
		if ((r = spread_file_read(a->spread, &s, e)) == 0)
			r = take(p, &s, a->endpoint, a->spread, e);
	} else if (argc > 0) {
		_cleanup_(recordings_free) struct recordings rec = {0};

		if ((r = recordings_read_aa(&rec, argc, argv, "plan", e)) == 0 &&
		    (r = recordings_spread(&rec, &s, e)) == 0)
			r = take(p, &s, a->endpoint, "these recordings", e);
	}
	if (!isnan(a->boot_sd))
		p->spread.boot_sd = a->boot_sd;
	if (!isnan(a->host_sd))
		p->spread.host_sd = a->host_sd;
	if (given)
		p->spread_from = "given";
	if (!isnan(a->block_sd)) {
		p->brake.block_sd = a->block_sd;
		p->brake_bounded = false;
	}
	/* Nothing is known closer than the histogram's buckets. */
	p->spread.host_sd = fmax(p->spread.host_sd, p->spread.boot_sd > 0 ? 0 : judge_plan_default.sd_floor);
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct plan_args *a = args_of(target);
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	struct picture_style style = show_style();
	struct planning p = {.endpoint = endpoint_name(a->endpoint),
			     .spread = {.boot_sd = 0, .host_sd = 0.02},
			     .margin = isnan(a->margin) ? judge_plan_default.margin[a->endpoint] : a->margin,
			     .ratio = a->ratio,
			     .alpha = a->alpha,
			     .power = a->power,
			     .canaries = a->canaries,
			     .controls = a->controls,
			     .boots = a->boots,
			     .least = a->welch_alone ? 2 : 3,
			     .brake = brake_plan_default,
			     .block_s = a->block_s};
	p.brake.canaries = a->canaries;
	p.brake.controls = a->controls;
	int r = find_spread(a, argc, argv, &p, e);

	if (r == 0)
		r = a->json ? planning_json(&out, &p, e) : planning_text(&out, &p, &style, e);
	return r < 0 ? r : show(&out, e);
}

static const struct opt options[] = {
    {"spread", "FILE", "The result of an A/A campaign, as kpcp-canary aa --out writes it.", set_spread},
    {"endpoint", "NAME", "p99, p99.9 or exit (default p99).", set_endpoint},
    {"boot-sd", "SHARE", "Standard deviation from boot to boot, 7% or 0.07.", set_boot_sd},
    {"host-sd", "SHARE", "How differently hosts take to a new kernel (default 2%, or what is found).", set_host_sd},
    {"block-sd", "SHARE",
     "Upper bound on what blocks of one host differ by, for the brake (default 20%, or what is found).", set_block_sd},
    {"margin", "SHARE", "What must be kept out (default 10%, p99.9: 20%).", set_margin},
    {"power", "SHARE", "The chance that a good kernel is promoted (default 80%).", set_power},
    {"alpha", "NUMBER", "The chance that a kernel at the margin is promoted (default 0.05).", set_alpha},
    {"ratio", "RATIO", "What the new kernel is thought to be: 1 is as good, 1.05 a little worse (default 1).",
     set_ratio},
    {"hosts", "COUNT", "Canaries that there are (default 4).", set_hosts},
    {"controls", "COUNT", "Controls that there are (default 8).", set_controls},
    {"boots", "COUNT", "Boots of each kernel, for the curve (default 4).", set_boots},
    {"block", "TIME", "From block to block of the brake (default 60s).", set_block},
    {"no-second-opinion", NULL, "Plan for Welch's bounds alone: 2 hosts an arm can promote.", set_no_second_opinion},
    {"json", NULL, "Print JSON for machines.", set_json},
};

const struct opt_command cmd_plan = {
    .name = "plan",
    .operands = "[FIRST... -- SECOND...]",
    .help = "Says before any reboot how many hosts and boots a margin takes, and how soon the brake would act.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
