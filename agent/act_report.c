// SPDX-License-Identifier: Apache-2.0
/* Owns the report: what the host says of itself, gathered and handed to the talker.
 * Must not know when one is due. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "lib/base/num.h"

#define COPY(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

/* What may be missing stays empty: no report is held back for want of a detail. */
static void read_details(struct actor *a, struct host_report *r)
{
	_cleanup_(buf_free) struct buf env = BUF_INIT(65536);
	char text[64];
	struct err minor;
	int64_t scale;

	if (a->sys.read(&a->sys, "/boot/grub/grubenv", &env, &minor) < 0 ||
	    grub_env_get(env.data ? env.data : "", env.len, "saved_entry", r->default_entry, sizeof(r->default_entry),
			 &minor) < 0)
		r->default_entry[0] = 0;
	if (sys_read_text(&a->sys, "/sys/class/dmi/id/product_name", r->model, sizeof(r->model), &minor) < 0)
		r->model[0] = 0;
	r->pcp_batch_scale_max = -1;
	if (sys_read_text(&a->sys, "/proc/sys/vm/pcp_batch_scale_max", text, sizeof(text), &minor) == 0 &&
	    num_i64(text, 0, 32, &scale, &minor) == 0)
		r->pcp_batch_scale_max = (int32_t)scale;
}

int act_report(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
	struct host_report r = {
	    .state = a->j.state,
	    .epoch = a->j.epoch,
	    .outcome = a->j.outcome,
	    .kexec_booted = a->boot.transaction[0] != 0,
	    .attempts = a->j.attempts,
	    .uptime_s = a->sys.now_ns(&a->sys) / ACT_SECOND_NS,
	    .serial = a->j.serial,
	};
	int rc;

	COPY(r.reason, a->j.reason);
	/* Whoever else has given the host orders meanwhile: it answers that one again. */
	if (a->stranger.epoch > a->j.epoch && a->sys.now_ns(&a->sys) < a->stranger.until_ns) {
		r.epoch = a->stranger.epoch;
		r.outcome = OUTCOME_REFUSED;
		COPY(r.reason, a->stranger.reason);
	}
	COPY(r.rollout, a->j.rollout);
	COPY(r.release, a->boot.release);
	COPY(r.build_id, a->boot.build);
	COPY(r.boot_id, a->boot.boot);
	COPY(r.agent, KPCP_VERSION);
	read_details(a, &r);
	if ((rc = message_report_write(&r, &text, e)) < 0)
		return rc;
	return channel_send(a->channel, CHANNEL_REPORT, text.data, text.len, e);
}
