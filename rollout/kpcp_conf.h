// SPDX-License-Identifier: Apache-2.0
/* Owns the form of kpcp.conf, and where it is looked for.
 * Must not know what is asked of the controller. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "lib/base/err.h"

#define KPCP_CONF_SYSTEM "/etc/kpcp/kpcp.conf"

/* Paths in the file that do not start with '/' are looked for in the file's own folder (of what a symbolic link points
 * to); here they are whole. "": not in the file. */
struct kpcp_conf {
	char path[PATH_MAX]; /* the file that was read */
	/* [controller] url, ca, cert, key, timeout (of one exchange, default 30s) */
	char url[256];
	char ca[PATH_MAX];
	char cert[PATH_MAX];
	char key[PATH_MAX];
	uint64_t timeout_ms;
	/* [approval] key: the approver's, where this machine has it; public: approver.pub, by which signatures are
	 * checked before they are sent */
	char approver_key[PATH_MAX];
	char approver_public[PATH_MAX];
};

/* Reads path; NULL: ~/.config/kpcp.conf, else /etc/kpcp/kpcp.conf, where neither is -ENOENT. ret untouched on failure.
 */
int must_check kpcp_conf_read(const char *path, struct kpcp_conf *ret, struct err *e);
