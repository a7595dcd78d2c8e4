// SPDX-License-Identifier: Apache-2.0
/* Owns what the command line of kpcp fills in, one part for each subcommand, and the options that several share.
 * Must not know what the subcommands do with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/opt.h"

struct kpcp {
	const char *config; /* NULL: the usual places */
	bool json;
	struct {
		const char *server;
		const char *who; /* the operator */
		uint64_t port;
	} init;
	struct {
		const char *build_id;
		const char *release;
	} kernel;
	struct {
		const char *name;
	} preset;
	struct {
		const char *key;
		const char *out;
		uint64_t valid_s;
		bool no_submit;
	} approve;
	struct {
		const char *cluster;
		uint64_t ttl_s;
	} token;
	struct {
		bool watch;
		bool until_done;
		uint64_t timeout_s; /* 0: none */
		uint64_t interval_ns;
	} status;
	struct {
		uint64_t limit;
	} history;
};

#define KPCP_DEFAULTS                                  \
	((struct kpcp){                                \
	    .init = {.who = "operator", .port = 8443}, \
	    .approve = {.valid_s = 24 * 3600},         \
	    .token = {.ttl_s = 3600},                  \
	    .status = {.interval_ns = 2000000000},     \
	    .history = {.limit = 100},                 \
	})

/* For struct opt's set. */
int kpcp_set_config(void *t, const char *value, struct err *e);
int kpcp_set_json(void *t, const char *value, struct err *e);

#define KPCP_OPT_CONFIG                                                                                      \
	{                                                                                                    \
		"config", "FILE",                                                                            \
		    "How to reach the controller (default: ~/.config/kpcp.conf, else /etc/kpcp/kpcp.conf).", \
		    kpcp_set_config                                                                          \
	}
#define KPCP_OPT_JSON                                                   \
	{                                                               \
		"json", NULL, "Print JSON for machines.", kpcp_set_json \
	}

extern const struct opt_command cmd_init, cmd_kernel, cmd_preset, cmd_plan, cmd_approve, cmd_submit, cmd_token,
    cmd_start, cmd_pause, cmd_resume, cmd_abort, cmd_status, cmd_hosts, cmd_why, cmd_retire, cmd_history, cmd_table;
