// SPDX-License-Identifier: Apache-2.0
/* Owns the form of rolloutd.conf: the controller's settings and their defaults.
 * Must not know what they are used for. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "lib/base/err.h"

#define ROLLOUTD_CONF_SYSTEM "/etc/kpcp/rolloutd.conf"

/* Paths in the file that do not start with '/' are looked for in the file's own folder; here they are whole. */
struct rolloutd_conf {
	char path[PATH_MAX]; /* the file that was read */
	/* [listen] address: numeric, default 0.0.0.0; port: default 8443, 0 takes a free one (it is logged);
	 * connections: at most so many at a time, default 16384; request-timeout: for one whole request,
	 * default 60s */
	char address[64];
	uint16_t port;
	uint32_t connections;
	uint32_t request_timeout_s;
	/* [tls] ca, cert, key: the authority that clients must be of; the controller's own certificate and its key */
	char ca[PATH_MAX];
	char cert[PATH_MAX];
	char key[PATH_MAX];
	/* [approval] public: the key that directives must be signed by */
	char approver[PATH_MAX];
	/* [enrolment] ca-key: the authority's key, by which hosts' certificates are made; days: how long these
	 * are valid, default 90 */
	char ca_key[PATH_MAX];
	uint32_t days;
	/* [state] directory: the database and the recordings; default /var/lib/kpcp-rolloutd */
	char state_dir[PATH_MAX];
	/* [agents] poll-interval: of hosts that have nothing to do, default 60s; busy-poll-interval: of the
	 * others, default 5s */
	uint32_t poll_s;
	uint32_t busy_poll_s;
};

/* ret untouched on failure; messages name file, line and key. */
int must_check rolloutd_conf_read(const char *path, struct rolloutd_conf *ret, struct err *e);
