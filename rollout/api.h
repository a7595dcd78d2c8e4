// SPDX-License-Identifier: Apache-2.0
/* Owns the controller's HTTP interface: one table of routes, who may call each, and what it answers.
 * Must not know sockets or TLS (http.h), nor SQL (store.h). */
#pragma once

/* Agents' routes: lib/fleet/message.h. Operators' routes, all JSON in and out, certificate role operator:
 *   POST /v1/plans               body: a plan's text ->
 * {"name","factor","hosts":[{"name","cluster","role","wave","steps":[TEXT]}], "problems":[TEXT]}: what would happen,
 * host by host; nothing is stored POST /v1/rollouts            {"directive","signature"} -> 201 ROLLOUT; verified with
 * the approver's key; 409 for a name or a serial that was used GET  /v1/rollouts            {"rollouts":[ROLLOUT]},
 * newest first GET  /v1/rollouts/NAME       ROLLOUT with "members":[MEMBER], "events":[EVENT], "comparison": what
 * kpcp-canary compare
 *                                --json prints, or null; "tables": the text of kpcp-canary compare, or ""
 *   POST /v1/rollouts/NAME/start|pause|resume|abort    -> ROLLOUT; 409 with the reason where the state does not allow
 * it GET  /v1/hosts               {"hosts":[HOST]} GET  /v1/hosts/NAME          HOST with "orders":[ORDER], newest
 * first, "events":[EVENT], and "member": MEMBER or null GET  /v1/history?limit=N     {"events":[EVENT]}, newest first,
 * N to 1000, default 100 POST /v1/tokens              {"host","cluster","ttl_s"} -> 201 {"token","expires_unix_s"}
 * ROLLOUT = {"name","state","reason","factor":"kernel"|"preset","what","wave","waves","paused","approved_unix_s",
 *   "started_unix_s","ended_unix_s" (null until then),"verdict":"PROMOTE"|"ROLLBACK"|"HOLD"|null}
 * MEMBER = {"host","cluster","role","wave","progress":TEXT ("measured 1 of 1 old, 0 of 1 new", "committed", ...),
 *   "release_before","release_after","boot_ids":[TEXT],"default_before","default_after","started_unix_s","ended_unix_s"}
 * HOST =
 * {"name","cluster","state","outcome","reason","release","build_id","boot_id","default_entry","model","kexec_booted",
 *   "pcp_batch_scale_max","seen_age_s","agent","rollout","enrolled_unix_s"}
 * ORDER = {"epoch","rollout","verb","arm","boot","target","outcome","reason","granted_unix_s","ended_unix_s"}
 * EVENT = {"at_unix_s","rollout","host","text"} ("" where it concerns none) */
