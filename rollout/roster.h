// SPDX-License-Identifier: Apache-2.0
/* Owns who is what in a rollout: canaries, controls and waves, drawn from the hosts that are enrolled.
 * Must not know the database or what hosts are doing. */
#pragma once

#include "decide.h"

struct roster_host {
	char name[65];
	char cluster[DIRECTIVE_NAME_MAX];
	/* out */
	enum role role;
	uint32_t wave;
};

/* Draws canaries from canaries_from and controls from controls_from in the order of a hash of rollout name and host
 * name (so that not the same hosts are canaries each time, and the draw can be repeated); controls in clusters go to
 * wave 1, the others to the waves by percentage. The order of host does not matter. -EINVAL when a cluster has too few
 * hosts, with both figures. host is untouched on failure. */
int must_check roster_draw(const struct directive *d, struct roster_host *host, uint32_t n, struct err *e);

/* Whether what two hosts measure before the change can be compared: they run one kernel with one
 * vm.pcp_batch_scale_max. Otherwise the verdict would be HOLD, after all the measuring. */
bool roster_alike(const struct host_report *a, const struct host_report *b);
