// SPDX-License-Identifier: Apache-2.0
/* Owns the sending of a signed directive to the controller.
 * Must not know how it was signed, or by whom. */
#pragma once

#include "ask.h"
#include "lib/fleet/directive.h"

/* Checks the signature where kpcp.conf names the approver's public key, sends both, and shows the new rollout. */
int must_check submit(struct ask *a, const char *directive, size_t len, const char *signature, struct err *e);
