// SPDX-License-Identifier: Apache-2.0
/* Owns the step from "which kernel came up" to an event of the lifecycle.
 * Must not know files, nor what is done about the event. */
#include "arrive.h"

#include <string.h>

static bool is(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

/* Under a preset a reboot only takes away what is not in its file. */
static bool preset_event(const struct journal *j, enum came came, enum event *ret)
{
	/* Keeping and putting back set all values by themselves. */
	if (j->state != HOST_APPLIED || j->act == ACT_KEEP || j->act == ACT_RESTORE || j->act == ACT_UNDO)
		return false;
	*ret = came == CAME_CRASHED ? EVENT_CRASHED : EVENT_VALUES_GONE;
	return true;
}

/* On the way back any boot of the old kernel by firmware is what was wanted, however it came about. */
static bool back_event(const struct journal *j, const struct arrive *x, enum event *ret)
{
	*ret = is(j->old_build, x->build) && x->came != CAME_FOREIGN ? EVENT_CAME_BACK : EVENT_STUCK_BACK;
	return true;
}

static bool arrived_event(const struct journal *j, enum event *ret)
{
	switch (j->intent.way) {
	case WAY_FRESH:
		*ret = EVENT_CAME_FRESH;
		return true;
	case WAY_KEXEC:
		*ret = EVENT_CAME_JUMP;
		return true;
	case WAY_PROOF:
		*ret = EVENT_CAME_PROOF;
		return true;
	default:
		return false;
	}
}

static bool trial_event(const struct journal *j, const struct arrive *x, enum event *ret)
{
	bool running = j->outcome == OUTCOME_RUNNING;

	switch (x->came) {
	case CAME_ARRIVED:
		return arrived_event(j, ret);
	case CAME_CRASHED:
		*ret = EVENT_CRASHED;
		return true;
	case CAME_BACK:
		*ret = EVENT_WENT_BACK;
		return true;
	case CAME_POWER_LOSS:
		*ret = j->losses > 0 ? EVENT_LOST_AGAIN : running ? EVENT_POWER_LOSS : EVENT_LOST_AT_REST;
		return true;
	default:
		*ret = EVENT_FOREIGN;
		return true;
	}
}

bool arrive_event(const struct journal *j, const struct arrive *x, enum event *ret)
{
	bool home = !j->old_build[0] || is(j->old_build, x->build);

	if (x->came == CAME_SAME)
		return false;
	if (j->rollout[0] && j->factor == FACTOR_PRESET)
		return preset_event(j, x->came, ret);
	if (j->act == ACT_REVERT)
		return back_event(j, x, ret);
	switch (j->state) {
	case HOST_STAGED:
	case HOST_VERIFIED:
		/* Nothing was booted yet, so who reboots the host comes home. */
		*ret = EVENT_FOREIGN;
		return !home;
	case HOST_INTENT:
		/* Cut short before anything was intended: it is begun again. */
		if (j->intent.way == WAY_NONE && home && x->came != CAME_CRASHED)
			return false;
		return trial_event(j, x, ret);
	case HOST_SOAK:
		/* Cut short after the new kernel became the default: that is finished. */
		if (j->act == ACT_COMMIT && is(j->new_build, x->build) && x->came != CAME_CRASHED)
			return false;
		return trial_event(j, x, ret);
	case HOST_LOADED:
	case HOST_PROBATION:
	case HOST_COLD_PROOF:
	case HOST_MEASURE:
		return trial_event(j, x, ret);
	default:
		return false;
	}
}

const char *arrive_suspect(const struct journal *j)
{
	/* FRESH and BACK lead away from a kernel, the other ways to one; without any, the last one led to what ran. */
	bool leaving = j->intent.way == WAY_FRESH || j->intent.way == WAY_BACK;
	const char *build = leaving ? j->intent.from_build : j->intent.to_build;

	return is(j->new_build, build) && !is(j->old_build, build) ? build : NULL;
}
