// SPDX-License-Identifier: Apache-2.0
/* Owns how the settings of a measurement are written, and their ranges: kpcp-canary's options and a rollout's plan have
 * the same. Must not know command lines, files, or how a measurement is made. */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"

#define MEASURE_PROCESSES_MAX 4096u

/* Outputs are untouched on failure. */
int must_check measure_warmup(const char *value, uint32_t *ret, struct err *e);
/* "18x6G": processes of a storm, and the memory of each. */
int must_check measure_storm(const char *value, uint32_t *ret_processes, uint64_t *ret_bytes, struct err *e);
int must_check measure_burst(const char *value, uint32_t *ret_pages, struct err *e);
int must_check measure_period(const char *value, uint64_t *ret_ns, struct err *e);
int must_check measure_window(const char *value, uint64_t *ret_ns, struct err *e);
