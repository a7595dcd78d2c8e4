// SPDX-License-Identifier: Apache-2.0
/* Owns the step from a pile of recordings to what is judged: what may be compared at all, whose is what, and the
 * verdict. Must not know files beyond their names, nor how a comparison is shown. */
#pragma once

#include "lib/core/judge.h"
#include "lib/core/recording.h"

/* What differs between old and new. Kernels: each boot counts once. Settings: a preset that was set in place, on one
 * kernel and perhaps in one boot. */
enum compare_factor { COMPARE_KERNELS, COMPARE_SETTINGS };

enum compare_group { GROUP_OLD, GROUP_NEW, GROUP_CONTROL_OLD, GROUP_CONTROL_NEW, GROUP_COUNT };

struct compare_file {
	const char *path;
	enum compare_group group;
	struct recording_header header;
	struct summary sum;
};

/* All recordings of a group together, for people to look at; never judged by. */
struct compare_arm {
	const struct recording_header *header; /* of the first recording; NULL: the group has none */
	uint32_t recordings;
	uint32_t hosts;
	uint64_t storms;
	uint64_t missed;
	uint64_t exit_pages;
	uint64_t exit_ns;
	struct hist response;
};

/* The plan and the files stay the caller's; hosts are freed by comparison_free. */
struct comparison {
	enum compare_factor factor;
	const struct compare_file *file;
	size_t n_files;
	const struct judge_plan *plan;
	const char *plan_name; /* NULL: the default one */
	struct compare_arm arm[GROUP_COUNT];
	struct judge_host *host; /* canaries first, each kind by name */
	size_t n_hosts;
	struct verdict verdict;
};

/* Groups, checks, judges. -EINVAL, naming both files and what differs, where recordings may not be compared: another
 * shape; a host in both arms, or with two clock sources or CPU counts; and
 * - of kernels: boots that came up by different ways (firmware, kexec), where they tell; a group with two kernels or
 * two settings of vm.pcp_batch_scale_max; one kernel as old and new; controls on another kernel than the canaries' old
 * one; a boot that comes twice;
 * - of settings: two kernels; a group with two settings of vm.pcp_batch_scale_max; controls with another one than the
 *   canaries' old one; a recording that comes twice; one boot on two hosts. That old and new have the same
 *   vm.pcp_batch_scale_max is right: a preset may set other keys, of which a recording says nothing. */
int must_check compare(const struct compare_file *file, size_t n, enum compare_factor factor,
		       const struct judge_plan *plan, const char *plan_name, struct comparison *ret, struct err *e);
void comparison_free(struct comparison *c);

/* The kind of hardware, as far as recordings tell it: "256cpu-1024G" (or M below 1 GiB), its online CPUs and its
 * memory, rounded up to 1/16 of the next power of two. What a plan's models are. */
void compare_model(const struct recording_header *h, char ret[JUDGE_MODEL_MAX]);

/* D of a host: mean y of its new boots - mean of its old ones; NaN where either has none or y is NaN. */
double compare_difference(const struct judge_host *h, enum endpoint x);

/* What an endpoint came out as, in the words of the table: "no worse", "worse", ... */
const char *compare_decision(const struct verdict_endpoint *x);
