// SPDX-License-Identifier: Apache-2.0
/* Owns a host's states: one const table from state and event to next state, what is to be done, and what is reported.
 * Must not know how anything is done. */
#pragma once

#include "lib/base/err.h"
#include "lib/fleet/message.h"

enum event {
	/* An order was verified and accepted. */
	EVENT_STAGE,
	EVENT_MEASURE, /* of a rollout of a kernel: in a boot of its own */
	EVENT_TRIAL,
	EVENT_PROVE,
	EVENT_COMMIT, /* a kernel */
	EVENT_REVERT, /* a kernel */
	EVENT_APPLY,
	EVENT_MEASURE_HERE, /* of a rollout of a preset: in place */
	EVENT_KEEP,         /* commit a preset */
	EVENT_RESTORE,      /* revert a preset */
	/* What was done came to this. */
	EVENT_VERIFIED,     /* staged: installed, trial load right */
	EVENT_REBOOT_FIRST, /* prepared, and this is no fresh firmware boot */
	EVENT_LOAD_NEXT,    /* prepared in a fresh firmware boot */
	EVENT_PROVE_NEXT,   /* prepared for a one-shot boot */
	EVENT_LOADED,
	EVENT_NOT_LOADED, /* nothing is loaded any more */
	EVENT_HEALTHY,    /* the checks after an arrival passed; the order ends here */
	EVENT_HEALTHY_MEASURE,
	EVENT_RECORDED,
	EVENT_UPLOADED,
	EVENT_COMMITTED,
	EVENT_AT_HOME, /* on the old kernel, from firmware, default as before */
	EVENT_APPLIED,
	EVENT_APPLIED_MEASURE, /* applied again, and the order is a measurement */
	EVENT_KEPT,
	EVENT_RESTORED, /* as ordered */
	EVENT_UNDONE,   /* after a failure */
	EVENT_REFUSED,  /* not begun, nothing changed */
	EVENT_FAILED,
	EVENT_GIVE_UP, /* no attempts left */
	/* A reboot or jump that was asked for did not come; this is still the boot that asked. */
	EVENT_STUCK,
	EVENT_STUCK_BACK, /* the way back, that is */
	/* Another boot than the one that was known. */
	EVENT_CAME_FRESH,
	EVENT_CAME_JUMP,
	EVENT_CAME_PROOF,
	EVENT_CAME_BACK,
	EVENT_CRASHED,
	EVENT_WENT_BACK,
	EVENT_POWER_LOSS,   /* the first one while an order runs */
	EVENT_LOST_AT_REST, /* the first one while none runs */
	EVENT_LOST_AGAIN,
	EVENT_FOREIGN,
	EVENT_VALUES_GONE, /* any reboot under a preset that is not in its file yet */
	/* A person said so. */
	EVENT_LIFT,
	EVENT_COUNT
};
const char *event_name(enum event v);

/* What is to be done next; each is idempotent, so that it can be begun again after any kill or power cut. */
enum act {
	ACT_REST, /* nothing, until the next order */
	ACT_STAGE,
	ACT_PREPARE, /* look whether the order can be begun, and from where */
	ACT_REBOOT_FRESH,
	ACT_LOAD,
	ACT_JUMP,
	ACT_PROVE, /* one-shot entry and firmware reboot */
	ACT_CHECK,
	ACT_RECORD,
	ACT_UPLOAD,
	ACT_COMMIT,
	ACT_REVERT, /* default as before, and a firmware reboot unless this is home */
	ACT_APPLY,
	ACT_KEEP,
	ACT_RESTORE, /* a preset, as ordered */
	ACT_UNDO,    /* a preset, after a failure */
	ACT_COUNT
};
const char *act_name(enum act a);
int must_check act_parse(const char *word, enum act *ret, struct err *e);

struct lifecycle_step {
	enum host_state state;
	enum act act;
	enum outcome outcome; /* OUTCOME_NONE: as it was */
};

/* -EINVAL, naming both, for what the table does not have: nothing may happen then. */
int must_check lifecycle_next(enum host_state state, enum event event, struct lifecycle_step *ret, struct err *e);
