// SPDX-License-Identifier: Apache-2.0
/* Owns what the command line of kpcp-canary fills in, one part for each subcommand.
 * Must not know what the subcommands do with it. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "lib/base/opt.h"
#include "lib/core/trial.h"

struct record_args {
	const char *out;
	const char *host;
	uint32_t storms;
	uint32_t warmup;
	struct layout_want want;
	bool seeded;
	uint64_t seed;
	bool force;
	bool verbose;
};

struct compare_args {
	const char *plan;
	bool setting; /* old and new are settings of one kernel */
	bool explain;
	bool json;
	bool no_picture;
};

struct report_args {
	bool json;
	bool no_picture;
};

struct simulate_args {
	struct trial trial;
	uint64_t campaigns;
	bool bound_given; /* what the brake believes is not simply the truth */
	bool json;
};

struct aa_args {
	const char *out;
	const char *plan;
	uint64_t seed;
	bool json;
};

/* NaN: not given. */
struct plan_args {
	const char *spread;
	enum endpoint endpoint;
	double boot_sd, host_sd, block_sd;
	double margin;
	double power, alpha, ratio;
	uint32_t canaries, controls, boots;
	double block_s;
	bool welch_alone;
	bool json;
};

struct import_args {
	bool json;
};

#define EXPLAIN_UNSET INT64_MIN

/* -1, and EXPLAIN_UNSET for the fraction, which may be -1: not given. */
struct explain_args {
	const char *sysroot, *zoneinfo, *kernel;
	uint32_t cpus;
	int64_t scale, fraction, factor;
	bool json;
};

struct canary {
	struct record_args record;
	struct compare_args compare;
	struct report_args report;
	struct simulate_args simulate;
	struct aa_args aa;
	struct plan_args plan;
	struct import_args import;
	struct explain_args explain;
};

#define CANARY_DEFAULTS                                                                                             \
	((struct canary){                                                                                           \
	    .record =                                                                                               \
		{.storms = 30,                                                                                      \
		 .warmup = 2,                                                                                       \
		 .want = {.burst_pages = 128, .period_ns = 10000000, .window_ns = 500000000, .memory_share = 0.5}}, \
	    .simulate = {.trial = trial_default, .campaigns = 5000},                                                \
	    .explain = {.scale = -1, .fraction = EXPLAIN_UNSET, .factor = -1},                                      \
	    .aa = {.seed = 1},                                                                                      \
	    .plan = {.boot_sd = NAN,                                                                                \
		     .host_sd = NAN,                                                                                \
		     .block_sd = NAN,                                                                               \
		     .margin = NAN,                                                                                 \
		     .power = 0.8,                                                                                  \
		     .alpha = 0.05,                                                                                 \
		     .ratio = 1,                                                                                    \
		     .canaries = 4,                                                                                 \
		     .controls = 8,                                                                                 \
		     .boots = 4,                                                                                    \
		     .block_s = 60},                                                                                \
	})

extern const struct opt_command cmd_record;
extern const struct opt_command cmd_compare;
extern const struct opt_command cmd_report;
extern const struct opt_command cmd_simulate;
extern const struct opt_command cmd_aa;
extern const struct opt_command cmd_plan;
extern const struct opt_command cmd_import;
extern const struct opt_command cmd_explain;

/* "--control" stands between operands, where a table of options cannot see it: makes it an operand that cmd_compare
 * knows by its address and everybody else as "--". */
void cmd_compare_mark_control(int argc, char **argv);
