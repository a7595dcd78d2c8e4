// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp start`, `pause`, `resume` and `abort`: an operator's wish for one rollout.
 * Must not know which state allows what: the controller does, and says why not. */
#include <errno.h>
#include <stdio.h>

#include "ask.h"
#include "kpcp.h"
#include "lib/fleet/form.h"
#include "lib/report/show.h"
#include "view.h"

static int control(const struct kpcp *a, const char *verb, int argc, char **argv, struct err *e)
{
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *rollout = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	char path[ASK_PATH_MAX], suffix[16];

	if (argc != 1)
		return err_set(e, EINVAL, "%s is for one rollout, but got %d; the form is: kpcp %s NAME", verb, argc,
			       verb);
	snprintf(suffix, sizeof(suffix), "/%s", verb);
	int r = ask_path(&form_name, "/v1/rollouts/", argv[0], suffix, path, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, path, "", 0, &rollout, e);
	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(rollout, e);
	r = view_rollout_line(rollout, &out, e);
	return r < 0 ? r : show(&out, e);
}

static int start(void *target, int argc, char **argv, struct err *e)
{
	return control(target, "start", argc, argv, e);
}

static int pause_(void *target, int argc, char **argv, struct err *e)
{
	return control(target, "pause", argc, argv, e);
}

static int resume(void *target, int argc, char **argv, struct err *e)
{
	return control(target, "resume", argc, argv, e);
}

static int abort_(void *target, int argc, char **argv, struct err *e)
{
	return control(target, "abort", argc, argv, e);
}

static const struct opt options[] = {KPCP_OPT_JSON, KPCP_OPT_CONFIG};

const struct opt_command cmd_start = {
    .name = "start",
    .operands = "NAME",
    .help = "Begins an approved rollout: its hosts are drawn and the canaries go first.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = start,
};

const struct opt_command cmd_pause = {
    .name = "pause",
    .operands = "NAME",
    .help = "Lets no host begin anything new; what is under way ends, and what goes back goes on.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = pause_,
};

const struct opt_command cmd_resume = {
    .name = "resume",
    .operands = "NAME",
    .help = "Lets a paused rollout go on; in one that goes back, hosts whose way back failed try again.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = resume,
};

const struct opt_command cmd_abort = {
    .name = "abort",
    .operands = "NAME",
    .help = "Takes a rollout back: each host returns to the kernel or preset that it had.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = abort_,
};
