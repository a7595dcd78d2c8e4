// SPDX-License-Identifier: Apache-2.0
/* Owns what the parts of the scripted machine share.
 * Must not know what the agent does with it. */
#pragma once

#include "machine.h"

void machine_put_bytes(struct machine *m, const char *path, const void *data, size_t len);
int machine_kernel_of(const struct machine *m, const char *release); /* of those installed; -1 */
void machine_load(struct machine *m, int kernel, const char *line);
void machine_first_boot(struct machine *m);
/* A program that only tells: true when it was one. */
bool machine_looks(struct machine *m, const char *const *argv, struct run_result *ret, struct err *e);
void machine_does(struct machine *m, const struct run_command *c, struct run_result *ret);
