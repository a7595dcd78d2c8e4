// SPDX-License-Identifier: Apache-2.0
/* Owns how simulated campaigns are shown: as a table and as JSON.
 * Must not know how they are drawn, judged or counted. */
#include "simulation.h"

#include <inttypes.h>

static int add_share(struct buf *out, const char *name, uint64_t k, uint64_t n, const char *meaning, struct err *e)
{
	return buf_addf(out, e, "  %-16s %.4f  +- %.5f%s%s\n", name, trial_share(k, n), trial_share_se(k, n),
			*meaning ? "   " : "", meaning);
}

static int add_errors(struct buf *out, const struct trial *c, struct err *e)
{
	int r = buf_addf(out, e, "%s errors", draw_shape_name(c->errors));
	if (r == 0 && c->errors == DRAW_AR1)
		r = buf_addf(out, e, " (neighbours correlate by %g)", c->phi);
	return r;
}

static int add_setup(struct buf *out, const struct trial *c, uint64_t campaigns, struct err *e)
{
	return buf_addf(out, e,
			"%" PRIu64 " campaigns of %" PRIu32 " canaries and %" PRIu32
			" controls, the truth being a ratio of %g; seed %" PRIu64 "\n",
			campaigns, c->canaries, c->controls, c->ratio, c->seed);
}

static int add_boots(struct buf *out, const struct trial *c, struct err *e)
{
	int r =
	    buf_addf(out, e, "%" PRIu32 " boots of each kernel; standard deviations: boots %g%%, hosts x kernel %g%%, ",
		     c->boots, c->boot_sd * 100, c->host_sd * 100);
	if (r == 0)
		r = add_errors(out, c, e);
	if (r == 0)
		r = buf_add(out, "\n", 1, e);
	if (r == 0 && c->missing > 0)
		r = buf_addf(out, e, "each boot is missing with probability %g%%\n", c->missing * 100);
	return r;
}

int simulation_gate(struct buf *out, const struct trial *c, const struct trial_counts *n, struct err *e)
{
	struct judge_plan p = trial_plan(c);
	int r = add_setup(out, c, n->campaigns, e);
	if (r == 0)
		r = add_boots(out, c, e);
	if (r == 0)
		r = buf_addf(out, e,
			     "judged on p99: margin %g%%, promotion at %g, rollback at %g, %s\n\n"
			     "conditions, each counted by itself\n",
			     c->margin * 100, p.alpha_promote, p.alpha_rollback,
			     c->second_opinion ? "with the second opinion" : "by Welch's bounds alone");
	if (r == 0)
		r = add_share(out, "promote", n->promote, n->campaigns,
			      c->second_opinion ? "proven below the margin, and confirmed" : "proven below the margin",
			      e);
	if (r == 0)
		r = add_share(out, "rollback", n->rollback, n->campaigns, "proven slower than before", e);
	if (r == 0)
		r = add_share(out, "hold", n->hold, n->campaigns, "neither", e);
	if (r == 0)
		r = buf_addf(out, e, "\nverdicts\n");
	if (r == 0)
		r = add_share(out, "PROMOTE", n->verdict[VERDICT_PROMOTE], n->campaigns, "", e);
	if (r == 0)
		r = add_share(out, "ROLLBACK", n->verdict[VERDICT_ROLLBACK], n->campaigns, "", e);
	if (r == 0)
		r = add_share(out, "HOLD", n->verdict[VERDICT_HOLD], n->campaigns, "", e);
	return r;
}

/* Every value is a finite number or a plain word: nothing to escape. */
static int json_share(struct buf *out, const char *indent, const char *name, uint64_t k, uint64_t n, struct err *e)
{
	return buf_addf(out, e, "%s\"%s\": %.9g,\n%s\"%s_se\": %.9g", indent, name, trial_share(k, n), indent, name,
			trial_share_se(k, n));
}

static int json_setup(struct buf *out, const struct trial *c, uint64_t campaigns, struct err *e)
{
	int r = buf_addf(
	    out, e,
	    "{\n  \"format\": \"kpcp-simulation/1\",\n  \"setup\": {\"hosts\": %" PRIu32 ", \"controls\": %" PRIu32
	    ", \"boots\": %" PRIu32 ", \"boot_sd\": %.9g, \"host_sd\": %.9g, \"level_sd\": %.9g, \"ratio\": %.9g, "
	    "\"margin\": %.9g, \"missing\": %.9g, ",
	    c->canaries, c->controls, c->boots, c->boot_sd, c->host_sd, c->level_sd, c->ratio, c->margin, c->missing);
	if (r == 0)
		r = buf_addf(out, e,
			     "\"errors\": \"%s\", \"ar1\": %.9g, \"blocks\": %" PRIu32
			     ", \"block_sd\": %.9g, \"block_bound\": %.9g, \"second_opinion\": %s, \"seed\": \"%" PRIu64
			     "\"},\n  \"campaigns\": %" PRIu64 ",\n",
			     draw_shape_name(c->errors), c->phi, c->blocks, c->block_sd, c->block_bound,
			     c->second_opinion ? "true" : "false", c->seed, campaigns);
	return r;
}

static int json_shares(struct buf *out, const char *indent, const uint64_t k[3], uint64_t n, struct err *e)
{
	static const char *const name[] = {"promote", "rollback", "hold"};
	int r = 0;
	for (int i = 0; r == 0 && i < 3; i++) {
		r = json_share(out, indent, name[i], k[i], n, e);
		if (r == 0 && i < 2)
			r = buf_addf(out, e, ",\n");
	}
	return r;
}

int simulation_gate_json(struct buf *out, const struct trial *c, const struct trial_counts *n, struct err *e)
{
	const uint64_t condition[] = {n->promote, n->rollback, n->hold};
	const uint64_t verdict[] = {n->verdict[VERDICT_PROMOTE], n->verdict[VERDICT_ROLLBACK],
				    n->verdict[VERDICT_HOLD]};
	int r = json_setup(out, c, n->campaigns, e);
	if (r == 0)
		r = json_shares(out, "  ", condition, n->campaigns, e);
	if (r == 0)
		r = buf_addf(out, e, ",\n  \"verdict\": {\n");
	if (r == 0)
		r = json_shares(out, "    ", verdict, n->campaigns, e);
	return r < 0 ? r : buf_addf(out, e, "\n  }\n}\n");
}

static int add_blocks(struct buf *out, const char *name, uint32_t block, const char *meaning, struct err *e)
{
	if (block == 0)
		return buf_addf(out, e, "  %-16s -                  not so many were taken back\n", name);
	return buf_addf(out, e, "  %-16s %-18" PRIu32 " %s\n", name, block, meaning);
}

int simulation_brake(struct buf *out, const struct trial *c, const struct trial_looks *l, struct err *e)
{
	int r = add_setup(out, c, l->campaigns, e);
	if (r == 0)
		r = buf_addf(out, e,
			     "the brake looks after each of %" PRIu32
			     " blocks; standard deviation of a host's block %g%%, taken for %g%%, ",
			     c->blocks, c->block_sd * 100, c->block_bound * 100);
	if (r == 0)
		r = add_errors(out, c, e);
	if (r == 0 && c->missing > 0)
		r = buf_addf(out, e, "\neach host's block is missing with probability %g%%", c->missing * 100);
	if (r == 0)
		r = buf_addf(out, e, "\n\n");
	if (r == 0)
		r = add_share(out, "rollback", l->fired, l->campaigns, "the brake fired", e);
	if (r == 0)
		r = add_share(out, "hold", l->campaigns - l->fired, l->campaigns, "it never did", e);
	if (r == 0)
		r = buf_addf(out, e, "\nblocks until it fired, of all campaigns\n");
	if (r == 0)
		r = add_blocks(out, "median", trial_block_of(l, 0.5), "half of them were stopped by this block", e);
	if (r == 0)
		r = add_blocks(out, "p90", trial_block_of(l, 0.9), "nine of ten", e);
	if (r == 0)
		r = add_blocks(out, "p99", trial_block_of(l, 0.99), "99 of 100", e);
	return r;
}

static int json_blocks(struct buf *out, const char *name, uint32_t block, struct err *e)
{
	if (block == 0)
		return buf_addf(out, e, ", \"%s\": null", name);
	return buf_addf(out, e, ", \"%s\": %" PRIu32, name, block);
}

int simulation_brake_json(struct buf *out, const struct trial *c, const struct trial_looks *l, struct err *e)
{
	const uint64_t condition[] = {0, l->fired, l->campaigns - l->fired};
	int r = json_setup(out, c, l->campaigns, e);
	if (r == 0)
		r = json_shares(out, "  ", condition, l->campaigns, e);
	if (r == 0)
		r = buf_addf(out, e, ",\n  \"brake\": {\"blocks\": %" PRIu32, c->blocks);
	if (r == 0)
		r = json_blocks(out, "median", trial_block_of(l, 0.5), e);
	if (r == 0)
		r = json_blocks(out, "p90", trial_block_of(l, 0.9), e);
	if (r == 0)
		r = json_blocks(out, "p99", trial_block_of(l, 0.99), e);
	return r < 0 ? r : buf_addf(out, e, "}\n}\n");
}
