// SPDX-License-Identifier: Apache-2.0
/* Owns the step from a boot's recording to the few numbers that are judged.
 * Must not know arms, plans or verdicts. */
#pragma once

#include "recording.h"

enum endpoint { ENDPOINT_P99, ENDPOINT_P999, ENDPOINT_EXIT, ENDPOINT_COUNT };

/* "p99", "p99.9", "exit"; the names that plans, tables and JSON use. */
const char *endpoint_name(enum endpoint x);

/* How a recording came to be: by storms that kpcp made, or by watching what happened. */
enum probing { PROBING_ACTIVE, PROBING_PASSIVE };
const char *probing_name(enum probing x); /* "active", "passive" */
/* By the probe's name: "victim-4k-active/1" is active, "NAME-passive/1" passive; a name that says neither is active,
 * because only probes that watch must say so. */
enum probing probing_of(const struct recording_shape *s);

/* One boot of one host, its storms merged. Fill with summary_init, summary_add for every storm, summary_close. */
struct summary {
	char host[RECORDING_NAME_MAX];
	char release[RECORDING_NAME_MAX];
	uint8_t boot_id[16];
	uint8_t build_id[20];
	uint64_t due_a_storm; /* operations that fell due in each window, at least */
	uint32_t storms;
	uint64_t missed;
	uint64_t exit_pages;
	uint64_t exit_ns;
	uint32_t exit_void; /* storms whose exit_ns or exit_pages is 0; with any of them y[ENDPOINT_EXIT] is NaN */
	uint32_t given_up; /* storms with fewer operations than fell due; with any, y[ENDPOINT_P99] and _P999 are NaN */
	struct hist response;
	struct hist service;
	/* ln of seconds (p99, p99.9: the quantile of response) and ln of seconds a page (exit: exit_ns / exit_pages of
	 * all storms together), so that larger is worse for every endpoint. NaN where there is no data, where
	 * operations were given up, or where the quantile lies outside the histogram's range. */
	double y[ENDPOINT_COUNT];
	uint64_t samples[ENDPOINT_COUNT]; /* operations (p99, p99.9) or storms (exit) behind y */
	/* The same y of each storm by itself: how many had one, their mean, and the sum of squares about it. Storms are
	 * the brake's blocks; of a single one p99.9 is not known. */
	struct summary_blocks {
		uint32_t n;
		double mean, square;
	} block[ENDPOINT_COUNT];
};

void summary_init(struct summary *s, const struct recording_header *h);
void summary_add(struct summary *s, const struct recording_storm *storm);
void summary_close(struct summary *s);

/* 0 when two recordings may be compared (same shape); otherwise -EINVAL and which field differs, both values. */
int must_check summary_comparable(const struct recording_shape *a, const struct recording_shape *b, struct err *e);
