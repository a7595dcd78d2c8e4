// SPDX-License-Identifier: Apache-2.0
/* Owns the controller's HTTP interface: one table of routes, who may call each, and what it answers.
 * Must not know sockets or TLS (http.h), nor SQL (store.h). */
#pragma once

#include <stdbool.h>

#include "http.h"
#include "quiet.h"
#include "rate.h"
#include "store.h"

/* Agents' routes: lib/fleet/message.h. Operators' routes, all JSON in and out, certificate role operator:
 *   POST /v1/plans                   body: a plan's text -> what would happen, host by host; nothing is stored:
 *                                    {"name","factor","hosts":[{"name","cluster","role","wave","steps":[TEXT]}],
 *                                    "problems":[TEXT]}
 *   POST /v1/rollouts                {"directive","signature"} -> 201 ROLLOUT; verified with the approver's key; 409
 *                                    for a name or a serial that was used, or an approval that has expired
 *   GET  /v1/rollouts                {"rollouts":[ROLLOUT]}, newest first
 *   GET  /v1/rollouts/NAME           ROLLOUT with "members":[MEMBER], "events":[EVENT], "comparison": what kpcp-canary
 *                                    compare --json prints, or null; "tables": the text of kpcp-canary compare, or ""
 *   POST /v1/rollouts/NAME/start|pause|resume|abort
 *                                    -> ROLLOUT; 409 with the reason where the state does not allow it
 *   GET  /v1/hosts                   {"hosts":[HOST]}
 *   GET  /v1/hosts/NAME              HOST with "orders":[ORDER], newest first, "events":[EVENT], and "member": MEMBER
 *                                    of "rollout", or null
 *   POST /v1/hosts/NAME/retire       -> HOST; writes off a host that will not come back
 *   GET  /v1/history?limit=N         {"events":[EVENT]}, newest first, N to 1000, default 100
 *   POST /v1/tokens                  {"host","cluster","ttl_s"} -> 201 {"token","expires_unix_s"}
 * ROLLOUT = {"name","state","reason","waiting" (what a person has to see to; "" for nothing),"factor","what","wave",
 *   "waves","paused","approved_unix_s","started_unix_s","ended_unix_s" (null until then),"verdict":"PROMOTE"|
 *   "ROLLBACK"|"HOLD"|null}; factor: "kernel" or "preset"
 * MEMBER = {"host","cluster","role","wave","progress":TEXT ("measured 1 of 1 old, 0 of 1 new", "committed", ...),
 *   "release_before","release_after","boot_ids":[TEXT],"default_before","default_after","started_unix_s",
 *   "ended_unix_s"}
 * HOST = {"name","cluster","state","outcome","reason","release","build_id","boot_id","default_entry","model",
 *   "kexec_booted","pcp_batch_scale_max","seen_age_s","agent","rollout","enrolled_unix_s","retired"}; until its first
 *   report, state, outcome, pcp_batch_scale_max and seen_age_s are null
 * ORDER = {"epoch","rollout","verb","arm","boot","target":"old"|"new","outcome","reason","granted_unix_s",
 *   "ended_unix_s"}; arm and target are "" and boot is null with verbs other than measure
 * EVENT = {"at_unix_s","rollout","host","text"} ("" where it concerns none)
 * Bodies have a Content-Length. Errors: 4xx or 5xx, one line of text that says what to do; 429 and 503 with
 * Retry-After. */

struct api_config {
	const char *ca; /* the authority: its certificate and its key */
	const char *ca_key;
	const char *approver; /* the public key that directives are signed by */
	uint32_t days;        /* that hosts' certificates are valid */
};

/* One API on one store. Zeroed but for config, store and log. */
struct api {
	struct api_config config;
	struct store *store;
	void (*log)(int priority, const char *text);
	struct rate enrolments;
	struct quiet refusals, failures;
};

/* Whether the files that the API works with are there and fit together; to be asked before anybody is answered. */
int must_check api_check(const struct api_config *c, struct err *e);

/* As struct http_service (http.h) has them. */
bool api_admit(struct api *a, const struct http_request *q, size_t *ret_max, struct http_reply *ret);
void api_answer(struct api *a, const struct http_request *q, struct http_reply *ret);
