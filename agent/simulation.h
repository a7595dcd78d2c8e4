// SPDX-License-Identifier: Apache-2.0
/* Owns how simulated campaigns are shown: as a table and as JSON.
 * Must not know how they are drawn, judged or counted. */
#pragma once

#include "lib/base/buf.h"
#include "lib/core/trial.h"

int must_check simulation_gate(struct buf *out, const struct trial *c, const struct trial_counts *n, struct err *e);
int must_check simulation_gate_json(struct buf *out, const struct trial *c, const struct trial_counts *n,
				    struct err *e);
/* The share of campaigns that the brake took back, and after how many blocks; in JSON that is "rollback", the rest
 * "hold", and "brake" has the blocks. */
int must_check simulation_brake(struct buf *out, const struct trial *c, const struct trial_looks *l, struct err *e);
int must_check simulation_brake_json(struct buf *out, const struct trial *c, const struct trial_looks *l,
				     struct err *e);
