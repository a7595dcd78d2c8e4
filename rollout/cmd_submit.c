// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp submit`, and the sending of a signed directive.
 * Must not know how it was signed, or by whom. */
#include <errno.h>

#include "kpcp.h"
#include "lib/base/fs.h"
#include "lib/report/show.h"
#include "lib/trust/trust.h"
#include "plan_file.h"
#include "reply.h"
#include "submit.h"
#include "view.h"

#define SIGNATURE_MAX 1024

static int tell(const json_t *rollout, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	struct reply reply = {.e = e};
	int r = view_rollout_line(rollout, &out, e);

	if (r == 0)
		r = buf_addf(&out, e, "The controller has it. To begin: kpcp start %s\n",
			     reply_text(&reply, rollout, "name"));
	if (reply.failed < 0)
		return reply.failed;
	return r < 0 ? r : show(&out, e);
}

int submit(struct ask *a, const char *directive, size_t len, const char *signature, struct err *e)
{
	_cleanup_(ask_free_json) json_t *rollout = NULL;
	int r = 0;

	if (*a->conf.approver_public)
		r = trust_verify(a->conf.approver_public, directive, len, signature, e);
	if (r < 0)
		return r;
	json_t *body = json_pack("{s:s%, s:s}", "directive", directive, len, "signature", signature);
	r = ask_with(a, "/v1/rollouts", body, &rollout, e);
	if (r < 0)
		return r;
	return a->raw ? ask_print_json(rollout, e) : tell(rollout, e);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	_cleanup_(ask_close) struct ask a = {.client = NULL};
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX), signature = BUF_INIT(SIGNATURE_MAX);
	static struct directive d;

	if (argc != 2)
		return err_set(e, EINVAL,
			       "submit reads two files, but got %d; the form is: kpcp submit DIRECTIVE SIGNATURE",
			       argc);
	int r = plan_file_read(argv[0], true, &text, &d, e);
	if (r == 0)
		r = fs_read_line(argv[1], &signature, e);
	if (r == 0 && signature.len == 0)
		r = err_set(e, EINVAL, "%s is empty, and so no signature", argv[1]);
	if (r == 0)
		r = ask_open(target, &a, e);
	if (r < 0)
		return r;
	r = submit(&a, text.data, text.len, signature.data, e);
	return r < 0 ? err_context(e, "%s", argv[0]) : r;
}

static const struct opt options[] = {KPCP_OPT_JSON, KPCP_OPT_CONFIG};

const struct opt_command cmd_submit = {
    .name = "submit",
    .operands = "DIRECTIVE SIGNATURE",
    .help = "Sends a directive that was signed on another machine (kpcp approve --no-submit).",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
