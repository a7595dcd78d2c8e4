// SPDX-License-Identifier: Apache-2.0
/* Owns how a host comes to its certificate: key, request, token, and what is checked of the answer.
 * Must not know the network (upload.h) nor when it is tried again. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "agent_conf.h"
#include "drop.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

/* The talker's own files, in its own folder. */
struct enrol_files {
	char key[PATH_MAX];
	char cert[PATH_MAX];
	char token[PATH_MAX];
};
int must_check enrol_paths(const struct agent_conf *c, struct enrol_files *ret, struct err *e);

/* By root, before the talker starts: moves the token out of the administrator's file into the talker's folder, and
 * deletes the former. Written as the user, so that nothing that the user has put there leads elsewhere. No such file:
 * nothing to do. -EINVAL for what is no token, which stays where it is. */
int must_check enrol_hand_over(const struct agent_conf *c, const struct drop_user *u, struct err *e);

bool enrol_has_token(const struct enrol_files *f);
bool enrol_has_cert(const struct enrol_files *f);

/* Appends the request's body; makes the key where there is none. */
int must_check enrol_request(const struct enrol_files *f, const char *name, struct buf *ret, struct err *e);
/* Takes the certificate: it must be a host's of this name. Then the token is deleted: it is used up. */
int must_check enrol_finish(const struct enrol_files *f, const char *name, const struct buf *pem, struct err *e);
/* Whether an answer to an enrolment refuses the token itself: status 403, and one of the sentences that the controller
 * has for tokens alone, which begin with "this token " and "the token for ". Any other refusal, as of a controller that
 * lost its files or of something else at its address, says nothing of the token, which may be good in a minute. */
bool enrol_token_refused(long status, const struct buf *answer);
/* Deletes a token that was refused. */
void enrol_forget_token(const struct enrol_files *f);
