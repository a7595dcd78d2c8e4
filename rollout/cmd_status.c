// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp status`: how rollouts go, once, live, or until the end.
 * Must not know what states mean. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ask.h"
#include "kpcp.h"
#include "lib/base/num.h"
#include "lib/fleet/form.h"
#include "lib/report/show.h"
#include "view.h"
#include "watch.h"

#define TIMEOUT_MAX_S (30 * 86400)

static int check(const struct kpcp *a, int argc, char **argv, struct err *e)
{
	if (argc > 1)
		return err_set(e, EINVAL, "status shows one rollout or all, but got %d names; leave out '%s'", argc,
			       argv[1]);
	if (a->status.until_done && argc == 0)
		return err_set(e, EINVAL, "--until-done waits for one rollout; name it: kpcp status NAME --until-done");
	if (a->status.timeout_s && !a->status.until_done)
		return err_set(e, EINVAL, "--timeout goes with --until-done; add that, or leave it out");
	if (a->json && a->status.watch && !a->status.until_done)
		return err_set(e, EINVAL, "--json shows one moment; leave --watch out");
	return 0;
}

static int show_once(struct ask *c, const struct kpcp *a, const char *path, bool one, struct err *e)
{
	_cleanup_(ask_free_json) json_t *answer = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	int r = ask(c, path, NULL, 0, &answer, e);

	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(answer, e);
	r = one ? view_rollout(answer, &out, e) : view_rollouts(answer, &out, e);
	return r < 0 ? r : show(&out, e);
}

static int follow(struct ask *c, const struct kpcp *a, const char *path, bool one, struct err *e)
{
	const struct watch w = {.path = path,
				.one = one,
				.until_done = a->status.until_done,
				.quiet = a->json,
				.timeout_s = a->status.timeout_s,
				.interval_ns = a->status.interval_ns};
	_cleanup_(ask_free_json) json_t *last = NULL;
	int code = watch(c, &w, &last, e);

	if (code >= 0 && a->json && last) {
		int r = ask_print_json(last, e);

		return r < 0 ? r : code;
	}
	return code;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	char path[ASK_PATH_MAX] = "/v1/rollouts";
	int r = check(a, argc, argv, e);

	if (r == 0 && argc == 1)
		r = ask_path(&form_name, "/v1/rollouts/", argv[0], "", path, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r < 0)
		return r;
	if (a->status.watch || a->status.until_done)
		return follow(&c, a, path, argc == 1, e);
	return show_once(&c, a, path, argc == 1, e);
}

static int set_watch(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct kpcp *)t)->status.watch = true;
	return 0;
}

static int set_until_done(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct kpcp *)t)->status.until_done = true;
	return 0;
}

static int set_timeout(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 1, TIMEOUT_MAX_S, &((struct kpcp *)t)->status.timeout_s, e);
}

static int set_interval(void *t, const char *value, struct err *e)
{
	return num_duration(value, 100000000, 3600000000000, &((struct kpcp *)t)->status.interval_ns, e);
}

static const struct opt options[] = {
    {"watch", NULL,
     "Go on showing: redrawn on a terminal, else a line for each change. With NAME until the rollout ends, without for "
     "ever.",
     set_watch},
    {"until-done", NULL,
     "As --watch, and the exit code tells the end: 0 DONE; 2 ROLLED_BACK or ABORTED; 3 HOLD, which needs a person, or "
     "the time is over.",
     set_until_done},
    {"timeout", "TIME", "Wait so long at most for the end, to 30d (default: for ever).", set_timeout},
    {"interval", "TIME", "Ask so often, 100ms to 60min (default: 2s).", set_interval},
    KPCP_OPT_JSON,
    KPCP_OPT_CONFIG,
};

const struct opt_command cmd_status = {
    .name = "status",
    .operands = "[NAME]",
    .help = "Shows how one rollout goes, or lists all.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
