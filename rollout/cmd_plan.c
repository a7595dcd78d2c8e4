// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp plan`: what a plan would do, host by host, before anybody approves it.
 * Must not know how hosts are drawn or what makes a problem: the controller says both. */
#include <errno.h>

#include "ask.h"
#include "kpcp.h"
#include "lib/report/show.h"
#include "plan_file.h"
#include "reply.h"
#include "view.h"

#define EXIT_PROBLEMS 1

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	static struct directive d;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(buf_free) struct buf plan = BUF_INIT(DIRECTIVE_BYTES_MAX), out = BUF_INIT(VIEW_BYTES_MAX);
	_cleanup_(ask_free_json) json_t *answer = NULL;

	if (argc != 1)
		return err_set(e, EINVAL, "plan reads one file, but got %d; the form is: kpcp plan FILE", argc);
	int r = plan_file_read(argv[0], false, &plan, &d, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, "/v1/plans", plan.data, plan.len, &answer, e);
	if (r < 0)
		return r;
	struct reply reply = {.e = e};
	size_t problems = json_array_size(reply_list(&reply, answer, "problems"));
	if (reply.failed < 0)
		return reply.failed;
	if (a->json)
		r = ask_print_json(answer, e);
	else
		r = view_plan(answer, &out, e);
	if (r == 0 && !a->json)
		r = show(&out, e);
	return r < 0 ? r : problems > 0 ? EXIT_PROBLEMS : 0;
}

static const struct opt options[] = {KPCP_OPT_JSON, KPCP_OPT_CONFIG};

const struct opt_command cmd_plan = {
    .name = "plan",
    .operands = "FILE",
    .help = "Shows host by host what a plan would do, and what stands against it; nothing is changed or stored. "
	    "What goes into one: kpcp-plan(5), and the example in /usr/share/doc/kpcp-cli/examples. Exit "
	    "code: 0 no problems; 1 problems, which are listed, or an error.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
