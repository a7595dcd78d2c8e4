// SPDX-License-Identifier: Apache-2.0
/* Owns the form of /etc/kpcp/agent.conf.
 * Must not know what the settings are used for. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "lib/base/err.h"

struct agent_conf {
	/* [controller] url = https://NAME:PORT; ca = file that its certificate must chain to */
	char url[256];
	char ca[PATH_MAX]; /* default /etc/kpcp/ca.pem */
	/* [host] name (default: the machine's host name); cluster: orders for other clusters are refused, whatever the
	 * controller says (default: any directive that is signed will do); token-file, needed once, deleted after
	 * enrolment */
	char name[65];
	char cluster[49];
	char token_file[PATH_MAX]; /* default /etc/kpcp/token */
	/* [trust] approver = public key that directives must be signed by */
	char approver[PATH_MAX]; /* default /etc/kpcp/approver.pub */
	/* [state] directory: actor/ (root, 0700): state, denied build-ids, log of intents; talker/ (user kpcp-agent,
	 * 0700): key and certificate; spool/ (root writes, group kpcp-agent reads): the recording to upload */
	char state_dir[PATH_MAX]; /* default /var/lib/kpcp */
	char user[33];            /* default kpcp-agent */
	/* [programs] canary = path of kpcp-canary */
	char canary[PATH_MAX]; /* default /usr/bin/kpcp-canary */
	/* [safety] probation = how long a boot may take to be found healthy before it is taken back locally */
	uint64_t probation_ns; /* default 15 min */
};

int must_check agent_conf_read(const char *path, struct agent_conf *ret, struct err *e);
