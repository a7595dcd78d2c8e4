// SPDX-License-Identifier: Apache-2.0
/* Owns what the API's routes share: one call, and its answer as JSON. For api*.c alone.
 * Must not know which routes there are. */
#pragma once

#include <jansson.h>

#include "api.h"

#define API_PART_MAX STORE_NAME_MAX

struct api_call {
	struct api *api;
	const struct http_request *q;
	char part[2][API_PART_MAX]; /* what stands for each '*' in the route's path */
	uint64_t now;               /* Unix seconds */
	struct http_reply *ret;
};

/* What routes do. 0: the reply is filled in. Otherwise a negative errno with e set, from which the status follows as
 * store.h has it. */
int must_check api_enrol(struct api_call *c, struct err *e);
int must_check api_poll(struct api_call *c, struct err *e);
int must_check api_recording(struct api_call *c, struct err *e);
/* Before its body is read. */
int must_check api_recording_wanted(struct api_call *c, struct err *e);
int must_check api_plan(struct api_call *c, struct err *e);
int must_check api_rollout_add(struct api_call *c, struct err *e);
int must_check api_rollouts(struct api_call *c, struct err *e);
int must_check api_rollout(struct api_call *c, struct err *e);
int must_check api_start(struct api_call *c, struct err *e);
int must_check api_pause(struct api_call *c, struct err *e);
int must_check api_resume(struct api_call *c, struct err *e);
int must_check api_abort(struct api_call *c, struct err *e);
int must_check api_hosts(struct api_call *c, struct err *e);
int must_check api_host(struct api_call *c, struct err *e);
int must_check api_retire(struct api_call *c, struct err *e);
int must_check api_history(struct api_call *c, struct err *e);
int must_check api_token(struct api_call *c, struct err *e);

/* r, a failure, came of the controller's own files and not of what was asked: whatever its errno says, it is -EIO. */
int api_ours(int r, struct err *e);

/* Makes the reply of object, which is taken; NULL stands for memory that ran out. */
int must_check api_json(struct api_call *c, unsigned status, json_t *object, struct err *e);

/* Logs what the calling operator did, and to what; the store's own events say it, too (store_by). */
void api_note(struct api_call *c, const char *fmt, ...) printf_like(2, 3);

/* Parts of answers; NULL when memory runs out. */
json_t *api_json_text(const char *text); /* never fails on bytes that are no UTF-8 */
json_t *api_json_time(uint64_t unix_s);  /* null for 0 */
json_t *api_json_rollout(const struct store_rollout *r);
json_t *api_json_member(const struct store_member *m);
json_t *api_json_host(const struct store_host *h, uint64_t now);
json_t *api_json_order(const struct store_order *o);
/* "events" of object, from the store. */
int must_check api_add_events(struct api_call *c, json_t *object, const char *rollout, const char *host, uint32_t limit,
			      struct err *e);
