// SPDX-License-Identifier: Apache-2.0
/* Owns the sysctls that a preset may set, and how a list of them is written.
 * Must not know presets' files, nor how a sysctl is set. */
#pragma once

#include "directive.h"

/* "key=value, key=value" into ret[0..*n), at most cap. Values come out in the form in which the kernel prints them, so
 * that reading back is a comparison of texts. Outputs untouched on failure. */
int must_check setting_parse(const char *list, struct directive_setting *ret, uint32_t cap, uint32_t *n, struct err *e);
