// SPDX-License-Identifier: Apache-2.0
/* Owns the table of a host's states.
 * Must not know how anything is done. */
#include "lifecycle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const events[EVENT_COUNT] = {
    [EVENT_STAGE] = "order to stage",
    [EVENT_MEASURE] = "order to measure",
    [EVENT_TRIAL] = "order to try",
    [EVENT_PROVE] = "order to prove",
    [EVENT_COMMIT] = "order to commit",
    [EVENT_REVERT] = "order to revert",
    [EVENT_APPLY] = "order to apply",
    [EVENT_MEASURE_HERE] = "order to measure in place",
    [EVENT_KEEP] = "order to commit a preset",
    [EVENT_RESTORE] = "order to revert a preset",
    [EVENT_VERIFIED] = "verified",
    [EVENT_REBOOT_FIRST] = "reboot first",
    [EVENT_LOAD_NEXT] = "load next",
    [EVENT_PROVE_NEXT] = "prove next",
    [EVENT_LOADED] = "loaded",
    [EVENT_NOT_LOADED] = "not loaded",
    [EVENT_HEALTHY] = "healthy",
    [EVENT_HEALTHY_MEASURE] = "healthy, to be measured",
    [EVENT_RECORDED] = "recorded",
    [EVENT_UPLOADED] = "uploaded",
    [EVENT_COMMITTED] = "committed",
    [EVENT_AT_HOME] = "at home",
    [EVENT_APPLIED] = "applied",
    [EVENT_APPLIED_MEASURE] = "applied, to be measured",
    [EVENT_KEPT] = "kept",
    [EVENT_RESTORED] = "restored",
    [EVENT_UNDONE] = "undone",
    [EVENT_REFUSED] = "refused",
    [EVENT_FAILED] = "failed",
    [EVENT_GIVE_UP] = "no attempts left",
    [EVENT_STUCK] = "did not reboot",
    [EVENT_STUCK_BACK] = "did not reboot to go back",
    [EVENT_CAME_FRESH] = "came up fresh",
    [EVENT_CAME_JUMP] = "came up after the jump",
    [EVENT_CAME_PROOF] = "came up cold",
    [EVENT_CAME_BACK] = "came back",
    [EVENT_CRASHED] = "crashed",
    [EVENT_WENT_BACK] = "was rebooted by somebody",
    [EVENT_POWER_LOSS] = "lost power",
    [EVENT_LOST_AT_REST] = "lost power at rest",
    [EVENT_LOST_AGAIN] = "lost power again",
    [EVENT_FOREIGN] = "foreign kernel",
    [EVENT_VALUES_GONE] = "rebooted under a preset",
    [EVENT_LIFT] = "lifted",
};

static const char *const acts[ACT_COUNT] = {
    [ACT_REST] = "rest",     [ACT_STAGE] = "stage",   [ACT_PREPARE] = "prepare", [ACT_REBOOT_FRESH] = "reboot-fresh",
    [ACT_LOAD] = "load",     [ACT_JUMP] = "jump",     [ACT_PROVE] = "prove",     [ACT_CHECK] = "check",
    [ACT_RECORD] = "record", [ACT_UPLOAD] = "upload", [ACT_COMMIT] = "commit",   [ACT_REVERT] = "revert",
    [ACT_APPLY] = "apply",   [ACT_KEEP] = "keep",     [ACT_RESTORE] = "restore", [ACT_UNDO] = "undo",
};

struct cell {
	bool defined;
	struct lifecycle_step step;
};

/* clang-format off */
#define TO(s, a, o) {true, {HOST_##s, ACT_##a, OUTCOME_##o}}

/* Where nothing of a rollout is going on, any may begin. */
#define BEGINNINGS(s) \
	[EVENT_STAGE] = TO(STAGED, STAGE, RUNNING), \
	[EVENT_MEASURE] = TO(INTENT, PREPARE, RUNNING), \
	[EVENT_APPLY] = TO(s, APPLY, RUNNING), \
	[EVENT_MEASURE_HERE] = TO(s, RECORD, RUNNING), \
	[EVENT_APPLIED] = TO(APPLIED, REST, DONE), \
	[EVENT_UNDONE] = TO(FAILED, REST, FAILED), \
	[EVENT_RECORDED] = TO(s, UPLOAD, NONE), \
	[EVENT_UPLOADED] = TO(s, REST, DONE), \
	[EVENT_REFUSED] = TO(s, REST, REFUSED), \
	[EVENT_FAILED] = TO(FAILED, UNDO, FAILED), \
	[EVENT_GIVE_UP] = TO(FAILED, UNDO, FAILED)

/* The way back is open from everywhere. */
#define KERNEL_BACK \
	[EVENT_REVERT] = TO(INTENT, REVERT, RUNNING)
#define PRESET_BACK(s) \
	[EVENT_RESTORE] = TO(s, RESTORE, RUNNING), \
	[EVENT_RESTORED] = TO(ROLLED_BACK, REST, DONE)

/* A boot that was not meant, while a new kernel is on trial. */
#define UNMEANT \
	[EVENT_CRASHED] = TO(FAILED, REVERT, FAILED), \
	[EVENT_WENT_BACK] = TO(HELD, REST, HELD), \
	[EVENT_LOST_AGAIN] = TO(HELD, REST, HELD), \
	[EVENT_FOREIGN] = TO(FOREIGN, REST, HELD), \
	[EVENT_GIVE_UP] = TO(FAILED, REVERT, FAILED), \
	[EVENT_FAILED] = TO(FAILED, REVERT, FAILED)

static const struct cell table[HOST_STATE_COUNT][EVENT_COUNT] = {
	[HOST_IDLE] = {BEGINNINGS(IDLE), KERNEL_BACK, PRESET_BACK(IDLE)},
	[HOST_ROLLED_BACK] = {BEGINNINGS(ROLLED_BACK), KERNEL_BACK, PRESET_BACK(ROLLED_BACK)},
	[HOST_COMMITTED] = {
		BEGINNINGS(COMMITTED), KERNEL_BACK, PRESET_BACK(COMMITTED)},
	[HOST_STAGED] = {
		KERNEL_BACK,
		[EVENT_STAGE] = TO(STAGED, STAGE, RUNNING),
		[EVENT_VERIFIED] = TO(VERIFIED, REST, DONE),
		[EVENT_REFUSED] = TO(IDLE, REST, REFUSED),
		[EVENT_FAILED] = TO(FAILED, REVERT, FAILED),
		[EVENT_GIVE_UP] = TO(FAILED, REVERT, FAILED),
		[EVENT_FOREIGN] = TO(FOREIGN, REST, HELD)},
	[HOST_VERIFIED] = {
		KERNEL_BACK,
		[EVENT_STAGE] = TO(STAGED, STAGE, RUNNING),
		[EVENT_MEASURE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_TRIAL] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_PROVE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_FOREIGN] = TO(FOREIGN, REST, HELD)},
	[HOST_INTENT] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_REBOOT_FIRST] = TO(INTENT, REBOOT_FRESH, NONE),
		[EVENT_LOAD_NEXT] = TO(INTENT, LOAD, NONE),
		[EVENT_PROVE_NEXT] = TO(INTENT, PROVE, NONE),
		[EVENT_LOADED] = TO(LOADED, JUMP, NONE),
		[EVENT_REFUSED] = TO(FAILED, REVERT, REFUSED),
		[EVENT_STUCK] = TO(INTENT, PREPARE, NONE),
		[EVENT_STUCK_BACK] = TO(INTENT, REVERT, NONE),
		[EVENT_CAME_FRESH] = TO(INTENT, PREPARE, NONE),
		[EVENT_CAME_JUMP] = TO(PROBATION, CHECK, NONE),
		[EVENT_CAME_PROOF] = TO(COLD_PROOF, CHECK, NONE),
		[EVENT_CAME_BACK] = TO(INTENT, REVERT, NONE),
		[EVENT_AT_HOME] = TO(ROLLED_BACK, REST, DONE),
		[EVENT_POWER_LOSS] = TO(INTENT, PREPARE, NONE)},
	[HOST_LOADED] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_NOT_LOADED] = TO(INTENT, LOAD, NONE),
		[EVENT_STUCK] = TO(INTENT, PREPARE, NONE),
		[EVENT_CAME_JUMP] = TO(PROBATION, CHECK, NONE),
		[EVENT_POWER_LOSS] = TO(INTENT, PREPARE, NONE)},
	[HOST_PROBATION] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_HEALTHY] = TO(SOAK, REST, DONE),
		[EVENT_HEALTHY_MEASURE] = TO(MEASURE, RECORD, NONE),
		[EVENT_POWER_LOSS] = TO(INTENT, PREPARE, NONE)},
	[HOST_COLD_PROOF] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_HEALTHY] = TO(SOAK, REST, DONE),
		[EVENT_POWER_LOSS] = TO(INTENT, PREPARE, NONE)},
	[HOST_MEASURE] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_STAGE] = TO(STAGED, STAGE, RUNNING),
		[EVENT_MEASURE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_TRIAL] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_PROVE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_RECORDED] = TO(MEASURE, UPLOAD, NONE),
		[EVENT_UPLOADED] = TO(MEASURE, REST, DONE),
		[EVENT_POWER_LOSS] = TO(INTENT, PREPARE, NONE),
		[EVENT_LOST_AT_REST] = TO(MEASURE, REST, NONE)},
	[HOST_SOAK] = {
		KERNEL_BACK, UNMEANT,
		[EVENT_MEASURE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_TRIAL] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_PROVE] = TO(INTENT, PREPARE, RUNNING),
		[EVENT_COMMIT] = TO(SOAK, COMMIT, RUNNING),
		[EVENT_COMMITTED] = TO(COMMITTED, REST, DONE),
		[EVENT_POWER_LOSS] = TO(FAILED, REVERT, FAILED),
		[EVENT_LOST_AT_REST] = TO(INTENT, PREPARE, RUNNING)},
	[HOST_APPLIED] = {
		PRESET_BACK(APPLIED),
		[EVENT_APPLY] = TO(APPLIED, APPLY, RUNNING),
		[EVENT_MEASURE_HERE] = TO(APPLIED, RECORD, RUNNING),
		[EVENT_KEEP] = TO(APPLIED, KEEP, RUNNING),
		[EVENT_APPLIED] = TO(APPLIED, REST, DONE),
		[EVENT_APPLIED_MEASURE] = TO(APPLIED, RECORD, NONE),
		[EVENT_RECORDED] = TO(APPLIED, UPLOAD, NONE),
		[EVENT_UPLOADED] = TO(APPLIED, REST, DONE),
		[EVENT_KEPT] = TO(COMMITTED, REST, DONE),
		[EVENT_UNDONE] = TO(FAILED, REST, FAILED),
		[EVENT_FAILED] = TO(FAILED, UNDO, FAILED),
		[EVENT_GIVE_UP] = TO(FAILED, UNDO, FAILED),
		[EVENT_CRASHED] = TO(FAILED, UNDO, FAILED),
		[EVENT_VALUES_GONE] = TO(APPLIED, APPLY, NONE)},
	[HOST_FAILED] = {
		KERNEL_BACK, PRESET_BACK(FAILED),
		[EVENT_AT_HOME] = TO(FAILED, REST, NONE),
		[EVENT_UNDONE] = TO(FAILED, REST, NONE),
		[EVENT_CAME_BACK] = TO(FAILED, REVERT, NONE),
		[EVENT_STUCK_BACK] = TO(FAILED, REVERT, NONE),
		[EVENT_FAILED] = TO(HELD, REST, HELD),
		[EVENT_GIVE_UP] = TO(HELD, REST, HELD),
		[EVENT_FOREIGN] = TO(FOREIGN, REST, HELD),
		[EVENT_LIFT] = TO(IDLE, REST, NONE)},
	[HOST_FOREIGN] = {
		KERNEL_BACK, PRESET_BACK(FOREIGN),
		[EVENT_FAILED] = TO(HELD, REST, HELD),
		[EVENT_GIVE_UP] = TO(HELD, REST, HELD),
		[EVENT_LIFT] = TO(IDLE, REST, NONE)},
	[HOST_HELD] = {
		KERNEL_BACK, PRESET_BACK(HELD),
		[EVENT_FAILED] = TO(HELD, REST, HELD),
		[EVENT_GIVE_UP] = TO(HELD, REST, HELD),
		[EVENT_LIFT] = TO(IDLE, REST, NONE)},
};
/* clang-format on */

const char *event_name(enum event v)
{
	return v < EVENT_COUNT ? events[v] : "?";
}

const char *act_name(enum act a)
{
	return a < ACT_COUNT ? acts[a] : "?";
}

int act_parse(const char *word, enum act *ret, struct err *e)
{
	for (unsigned i = 0; i < ACT_COUNT; i++) {
		if (strcmp(acts[i], word) == 0) {
			*ret = (enum act)i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "\"%s\" is nothing that is done", word);
}

int lifecycle_next(enum host_state state, enum event event, struct lifecycle_step *ret, struct err *e)
{
	if (state >= HOST_STATE_COUNT || event >= EVENT_COUNT || !table[state][event].defined)
		return err_set(e, EINVAL, "%s has no place in state %s", event_name(event),
			       state < HOST_STATE_COUNT ? host_state_name(state) : "?");
	*ret = table[state][event].step;
	return 0;
}
