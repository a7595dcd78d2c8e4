// SPDX-License-Identifier: Apache-2.0
/* Owns the form of a rollout's plan, and of the directive that a plan becomes once it is approved: one readable INI
 * file. Must not know signatures, nor what controller and agent do with it. */
#pragma once

#define DIRECTIVE_HOSTS_MAX 4096 /* of a rollout */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/core/judge.h"

#define DIRECTIVE_BYTES_MAX    (32u << 10)
#define DIRECTIVE_NAME_MAX     49 /* a rollout's, cluster's, preset's name and the final 0 */
#define DIRECTIVE_CLUSTERS_MAX 32
#define DIRECTIVE_WAVES_MAX    8
#define DIRECTIVE_SETTINGS_MAX 16

enum factor { FACTOR_KERNEL, FACTOR_PRESET }; /* what a rollout changes: one of them, never both in one */
enum evidence {
	EVIDENCE_MEASURED, /* canaries are judged against controls before anybody else follows */
	EVIDENCE_HEALTH,   /* crashes, lock-ups and failed checks only: for fleets that are too small to judge */
};

/* One sysctl of a preset. Only keys of directive_setting_ok() are accepted. */
struct directive_setting {
	char key[64];   /* "vm.pcp_batch_scale_max" */
	char value[32]; /* a whole number, possibly negative, as the kernel prints it: reading back compares texts */
};

struct directive {
	/* [rollout] name, clusters (blanks between), evidence = measured|health, deadline, order-timeout */
	char
	    name[DIRECTIVE_NAME_MAX]; /* lower-case letters, digits, dots and dashes; the rollout's identity for good */
	uint32_t n_clusters;
	char cluster[DIRECTIVE_CLUSTERS_MAX][DIRECTIVE_NAME_MAX]; /* where it goes in the end */
	enum evidence evidence;
	uint64_t deadline_s; /* from the start to the verdict; past it the rollout is taken back. Default 4 h */
	uint64_t
	    order_timeout_s; /* from the grant of one order to its end; past it the host is suspect. Default 30 min */

	enum factor factor;
	/* [kernel] package, version, release, sha256, build-id: all required; what `kpcp kernel DEB` prints */
	struct {
		char package[128];
		char version[128];
		char release[65]; /* uname -r */
		char sha256[65];  /* of the .deb */
		char build_id[41];
	} kernel;
	/* [preset] name, settings = key=value, key=value: what `kpcp preset FILE` prints */
	struct {
		char name[DIRECTIVE_NAME_MAX];
		uint32_t n;
		struct directive_setting setting[DIRECTIVE_SETTINGS_MAX];
	} preset;

	/* [canaries] from, controls-from: clusters; default: the first of clusters. Which hosts: roster.h */
	char canaries_from[DIRECTIVE_NAME_MAX];
	char controls_from[DIRECTIVE_NAME_MAX];
	/* [judge] as lib/report/plan.h has it; with evidence = health only canaries counts, and controls must be 0 or
	 * be left out */
	struct judge_plan judge;

	/* [measure] how each boot is measured: the values of kpcp-canary's options of the same names */
	struct {
		uint32_t warmup;        /* default 2 */
		uint32_t processes;     /* storm = 2x32M */
		uint64_t process_bytes; /* storm and burst, period, window: 0 = kpcp-canary's own defaults */
		uint32_t burst_pages;   /* burst */
		uint64_t period_ns;     /* period */
		uint64_t window_ns;     /* window */
		char storm_cpus[64];    /* "": chosen by the host */
		char victim_cpus[64];
	} measure;

	/* [waves] percent = 25 100 (of the hosts that are left in clusters, rising, the last 100; default 100), soak,
	 * budget */
	uint32_t n_waves;
	uint32_t wave_percent[DIRECTIVE_WAVES_MAX];
	uint64_t soak_s; /* healthy on the new kernel or preset before it becomes the default. Default 30 min */
	uint32_t budget; /* hosts of one cluster that may be away, measured or in trial at the same time. Default 1 */

	/* [approval] serial, expires: only in a directive, which is a plan's exact bytes with this section appended by
	 * `kpcp approve`; a plan that has it is refused, and a directive that lacks it. */
	bool approved;
	uint64_t serial; /* rises with every approval (Unix milliseconds): an agent takes none below what it has seen */
	uint64_t expires_unix_s; /* refuses new changes after it; never a reason to stop what is under way */
};

/* Reads a plan (approved false) or a directive (true). *ret untouched on failure; messages name file, line and key, and
 * say what a plan with both [kernel] and [preset], or with neither, should do. Checks everything that needs no fleet:
 * names, hex digits, waves that rise to 100, settings that are allowed, canaries > 0, settings given once, and that
 * measured evidence can lead to a promotion at all. A text with a character that people cannot see (controls, carriage
 * returns, changes of direction) is refused, for it is people who approve it. Lines have at most 190 bytes
 * (lib/base/conf). In a directive, [approval] must be the very bytes that directive_approve appends, at the end. */
int must_check directive_parse(const char *name, const char *text, size_t len, bool approved, struct directive *ret,
			       struct err *e);

/* Appends to ret the plan's exact bytes and the section [approval]; the result parses with approved = true. */
int must_check directive_approve(const char *name, const char *plan, size_t len, uint64_t serial,
				 uint64_t expires_unix_s, struct buf *ret, struct err *e);

/* The sysctls that a preset may set: those of the page allocator, each within its range (setting.c). A directive cannot
 * widen this list. */
bool directive_setting_ok(const char *key);
