// SPDX-License-Identifier: Apache-2.0
/* Owns what controller and agent say to each other, as values and as JSON: a host's report, an order, the reply to a
 * poll. Must not know TLS, HTTP, files, nor what either side decides. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "directive.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

#define MESSAGE_VERSION   1
#define MESSAGE_BYTES_MAX (96u << 10) /* one report or reply, as JSON */
#define MESSAGE_TEXT_MAX  256
#define MESSAGE_WAIT_MAX  86400 /* seconds between polls */
/* The last epoch that there is: exact in every reader of JSON, and one more is still a number everywhere. */
#define MESSAGE_EPOCH_MAX ((UINT64_C(1) << 53) - 1)

/* A host's state; the words of DESIGN.md, stored and sent as words. */
enum host_state {
	HOST_IDLE,       /* no rollout has touched it, or the last one is settled */
	HOST_STAGED,     /* the package is being installed */
	HOST_VERIFIED,   /* installed, hash and trial load right; the running kernel and the default are the old ones */
	HOST_INTENT,     /* what comes next is on disk: where to, why, which attempt */
	HOST_LOADED,     /* the kernel is loaded; the jump follows */
	HOST_PROBATION,  /* came up in what was meant; being checked */
	HOST_MEASURE,    /* checked and healthy in a measured boot: measuring, or measured */
	HOST_COLD_PROOF, /* a firmware boot of the new kernel, one-shot, default unchanged */
	HOST_APPLIED,    /* a preset is set and read back, in place; files are as before */
	HOST_SOAK,       /* healthy on the new kernel, default still old */
	HOST_COMMITTED,  /* the new kernel is the default, or the preset is in its file */
	HOST_ROLLED_BACK, /* on the old kernel or setting, default as before */
	HOST_FAILED,      /* an order failed and the way back is done or was not needed */
	HOST_FOREIGN,     /* came up in a kernel that nobody ordered: hold and alert */
	HOST_HELD,        /* needs a person */
	HOST_STATE_COUNT
};
const char *host_state_name(enum host_state s); /* "IDLE", "COLD_PROOF", ... */
int must_check host_state_parse(const char *word, enum host_state *ret, struct err *e);

/* The closed set of what a controller may ask for. Each order is idempotent, and ends in a report with its epoch and an
 * outcome. Every one is checked by the agent against the signed directive and its own state. */
enum verb {
	VERB_STAGE,   /* kernel: refuse what is unsafe, install the exact package, verify -> VERIFIED */
	VERB_MEASURE, /* kernel: firmware reboot unless this is a fresh firmware boot, kexec of target, check, record,
		       * upload
		       * -> MEASURE. preset: record in place, upload; state unchanged */
	VERB_TRIAL,   /* kernel: firmware reboot unless fresh, kexec of the new kernel, check -> SOAK */
	VERB_PROVE,   /* kernel: firmware boot of the new kernel, one-shot -> COLD_PROOF -> SOAK */
	VERB_APPLY,   /* preset: set in place, read back -> APPLIED */
	VERB_COMMIT,  /* kernel: make the new one the default by menu id, read back -> COMMITTED. preset: write its file
		       */
	VERB_REVERT,  /* kernel: default back to the old one if it was changed (read back), firmware reboot if the
		       * running one  is not the old one from firmware -> ROLLED_BACK. preset: old values in place, read
		       * back */
	VERB_COUNT
};
const char *verb_name(enum verb v); /* "stage", ... */
int must_check verb_parse(const char *word, enum verb *ret, struct err *e);

enum arm { ARM_OLD, ARM_NEW };    /* before and after: how a recording is filed */
const char *arm_name(enum arm a); /* "old", "new" */
int must_check arm_parse(const char *word, enum arm *ret, struct err *e);

/* One order to one host. Granted in one transaction with its lease; epoch rises for ever on each host (fencing). */
struct order {
	uint64_t epoch; /* from 1 to MESSAGE_EPOCH_MAX */
	char rollout[DIRECTIVE_NAME_MAX];
	enum verb verb;
	/* of VERB_MEASURE; with other verbs they are not sent, and 0 where they arrive */
	enum arm arm;
	uint32_t boot;   /* 0 .. boots - 1 */
	bool target_new; /* which kernel to measure: controls stay on the old one in both arms */
};

enum outcome {
	OUTCOME_NONE,    /* no order yet */
	OUTCOME_RUNNING, /* accepted; being done */
	OUTCOME_DONE,
	OUTCOME_REFUSED, /* not begun: reason says why; nothing was changed */
	OUTCOME_FAILED,  /* tried and failed; the host is back, or on its way back, to where it was */
	OUTCOME_HELD,    /* stopped half way; a person must look */
};
const char *outcome_name(enum outcome o); /* "none", "running", ... */
int must_check outcome_parse(const char *word, enum outcome *ret, struct err *e);

/* What a host says with each poll. Who it is comes from its certificate, not from here. */
struct host_report {
	enum host_state state;
	uint64_t epoch; /* of the newest order that it has seen */
	enum outcome outcome;
	char reason[MESSAGE_TEXT_MAX]; /* of the outcome; a sentence */
	char rollout[DIRECTIVE_NAME_MAX];
	char release[65];
	char build_id[41];
	char boot_id[37];
	char default_entry[160]; /* the boot loader's saved entry, as it reads now; "" where unknown */
	char model[65];          /* hardware model */
	bool kexec_booted;
	int32_t pcp_batch_scale_max; /* -1: the kernel has none */
	uint32_t attempts;           /* of the order */
	uint64_t uptime_s;
	uint64_t serial; /* the newest directive's that it accepted */
	char agent[32];  /* version */
};

/* What the controller answers. directive and signature come with every order (the agent trusts nothing from earlier).
 */
struct poll_reply {
	uint32_t
	    wait_s; /* until the next poll; the agent adds full jitter of a quarter. While an order runs it polls on */
	bool has_order;
	struct order order;
	char *directive; /* the exact signed bytes, 0-terminated; NULL without an order; owned by the reply */
	char *signature; /* base64 in one line; owned */
};
void poll_reply_free(struct poll_reply *r);

/* Appends JSON in one step; reads it back strictly: other versions, members that are unknown, missing or there twice,
 * wrong types, numbers out of range, names out of their alphabet or too long, text with characters that cannot be seen,
 * and bytes past MESSAGE_BYTES_MAX are errors that name the member. *ret untouched on failure. Numbers are JSON
 * integers and never above 2^63 - 1. What a writer takes, the reader takes; reason, default_entry and model may be any
 * bytes: what is not plain text is sent as '?', so that no text can keep a host from reporting. */
int must_check message_report_write(const struct host_report *r, struct buf *ret, struct err *e);
int must_check message_report_read(const char *text, size_t len, struct host_report *ret, struct err *e);
int must_check message_reply_write(const struct poll_reply *r, struct buf *ret, struct err *e);
int must_check message_reply_read(const char *text, size_t len, struct poll_reply *ret, struct err *e);

/* Enrolment: token and request out, certificate back. */
struct enrolment {
	char token[65]; /* 64 hexadecimal digits */
	char host[65];
	char csr[8192]; /* PEM */
};
int must_check message_enrolment_write(const struct enrolment *x, struct buf *ret, struct err *e);
int must_check message_enrolment_read(const char *text, size_t len, struct enrolment *ret, struct err *e);

/* The HTTP interface between agent and controller, over mutual TLS:
 *   POST /v1/enrol                       body: enrolment -> 200, body: the certificate's PEM. No client certificate.
 *   POST /v1/poll                        body: host_report -> 200, body: poll_reply
 *   PUT  /v1/recordings/ROLLOUT/EPOCH    body: a recording's bytes -> 204; 409 when the order is not this host's
 * Errors: status 4xx or 5xx, body: one line of text. 503 and 429 carry Retry-After. */
#define MESSAGE_RECORDING_MAX (8u << 20) /* bytes of an uploaded recording */
