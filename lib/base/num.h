// SPDX-License-Identifier: Apache-2.0
/* Owns the strict reading of numbers from text: the whole string, a stated range, a stated unit.
 * Must not know configuration or command lines. */
#pragma once

#include <stdint.h>

#include "err.h"

/* All refuse empty text, blanks, signs where none belongs, trailing characters and what is out of [min, max];
 * the message names the text, what was expected and the range. Output untouched on failure; -EINVAL or -ERANGE. */
int must_check num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *e);
int must_check num_u32(const char *s, uint32_t min, uint32_t max, uint32_t *ret, struct err *e);
int must_check num_i64(const char *s, int64_t min, int64_t max, int64_t *ret, struct err *e);
/* Decimal notation ("0.05", "1e-3"), C locale, finite. */
int must_check num_f64(const char *s, double min, double max, double *ret, struct err *e);
/* "10%" -> 0.10, and 0.10 is what min and max are given in; no exponent. A bare number is refused, because 10 and 0.10
 * are too easily confused. */
int must_check num_percent(const char *s, double min, double max, double *ret, struct err *e);
/* "7%" or "0.07": a bare number must be below 1, because "7" could be either. */
int must_check num_share(const char *s, double min, double max, double *ret, struct err *e);
/* "4096", "64K", "6G" (K, M, G, T: powers of 1024) -> bytes. */
int must_check num_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *e);
/* "50us", "10ms", "1500ns", "2s", "5min", "4h", "7d" -> nanoseconds; a unit is required. */
int must_check num_duration(const char *s, uint64_t min, uint64_t max, uint64_t *ret_ns, struct err *e);
/* The same in whole seconds, for what runs on the clocks of several machines; max_s up to 500 years. */
int must_check num_seconds(const char *s, uint64_t min_s, uint64_t max_s, uint64_t *ret_s, struct err *e);
/* "yes"/"no". */
int must_check num_bool(const char *s, _Bool *ret, struct err *e);
#define NUM_CPU_MAX 16384 /* CPU numbers are below; the kernel's NR_CPUS is at most half of it */
/* "0-3,8,10-11" (the kernel's cpulist) -> sorted CPU numbers without duplicates in ret[0..*n); at most cap. */
int must_check num_cpulist(const char *s, unsigned *ret, size_t cap, size_t *n, struct err *e);
