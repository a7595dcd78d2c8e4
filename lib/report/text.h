// SPDX-License-Identifier: Apache-2.0
/* Owns how numbers and words are written for people: units, thousands, wrapped lines.
 * Must not know tables, pictures or what the numbers mean. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/recording.h"

#define TEXT_MAX        32
#define TEXT_KERNEL_MAX 160

/* Each fills ret and returns it. */
const char *text_duration(double ns, char ret[TEXT_MAX]);                      /* "412 ns", "1.23 us"; "-" for NaN */
const char *text_setting(uint64_t ns, char ret[TEXT_MAX]);                     /* exactly: "10 ms", "1700 ms" */
const char *text_quantile(const struct hist *h, double p, char ret[TEXT_MAX]); /* "-" without data, ">68.7 s" */
const char *text_count(uint64_t n, char ret[TEXT_MAX]);                        /* "9,000" */
const char *text_page_rate(double per_s, char ret[TEXT_MAX]);                  /* "3.21 M pages/s"; "-" for NaN */
const char *text_ratio(double x, char ret[TEXT_MAX]);                          /* "0.981"; "-" for NaN, "inf" */
const char *text_hex(const uint8_t *bytes, size_t n, char *ret);               /* 2 n + 1 bytes */
/* "6.1.158 (build-id 0123456789ab, pcp_batch_scale_max 5)" */
const char *text_kernel(const struct recording_header *h, char ret[TEXT_KERNEL_MAX]);
/* "6.1.158 (build-id 0123456789ab)": the kernel without what is set in it. */
const char *text_build(const struct recording_header *h, char ret[TEXT_KERNEL_MAX]);
/* "pcp_batch_scale_max 5": what a recording tells of the settings; "no pcp_batch_scale_max". */
const char *text_scale(const struct recording_header *h, char ret[TEXT_MAX]);

/* Adds first, then text broken at blanks so that no line is longer than width, later lines indented by as much as
 * first is long; then a line feed. A word that is too long stands alone. */
int must_check text_wrap(struct buf *out, const char *first, const char *text, size_t width, struct err *e);
