// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp history` and `kpcp table`: what happened, and what one rollout did to each of its hosts.
 * Must not know what events and states mean. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ask.h"
#include "kpcp.h"
#include "lib/base/num.h"
#include "lib/fleet/form.h"
#include "lib/report/show.h"
#include "reply.h"
#include "view.h"

#define EVENTS_MAX 1000

static int history(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *answer = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	struct reply reply = {.e = e};
	char path[ASK_PATH_MAX];

	if (argc != 0)
		return err_set(e, EINVAL,
			       "history is of all; for one host: kpcp why %s, for one rollout: kpcp status %s", argv[0],
			       argv[0]);
	snprintf(path, sizeof(path), "/v1/history?limit=%" PRIu64, a->history.limit);
	int r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, path, NULL, 0, &answer, e);
	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(answer, e);
	const json_t *events = reply_list(&reply, answer, "events");
	r = reply.failed < 0 ? reply.failed : view_events(events, a->history.limit, &out, e);
	return r < 0 ? r : show(&out, e);
}

static int table(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *rollout = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	char path[ASK_PATH_MAX];

	if (argc != 1)
		return err_set(e, EINVAL, "table is of one rollout, but got %d; the form is: kpcp table NAME", argc);
	int r = ask_path(&form_name, "/v1/rollouts/", argv[0], "", path, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, path, NULL, 0, &rollout, e);
	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(rollout, e);
	r = view_rollout_table(rollout, &out, e);
	return r < 0 ? r : show(&out, e);
}

static int set_limit(void *t, const char *value, struct err *e)
{
	return num_u64(value, 1, EVENTS_MAX, &((struct kpcp *)t)->history.limit, e);
}

static const struct opt history_options[] = {
    {"limit", "N", "So many events at most, newest first, to 1000 (default: 100).", set_limit},
    KPCP_OPT_JSON,
    KPCP_OPT_CONFIG,
};
static const struct opt table_options[] = {KPCP_OPT_JSON, KPCP_OPT_CONFIG};

const struct opt_command cmd_history = {
    .name = "history",
    .operands = "",
    .help = "Shows what happened, newest first: decisions, orders, what operators did.",
    .opts = history_options,
    .n_opts = ARRAY_SIZE(history_options),
    .run = history,
};

const struct opt_command cmd_table = {
    .name = "table",
    .operands = "NAME",
    .help = "Shows per host what a rollout changed (kernel, boots, default entry, before and after), then the verdict "
	    "with ratios and intervals.",
    .opts = table_options,
    .n_opts = ARRAY_SIZE(table_options),
    .run = table,
};
