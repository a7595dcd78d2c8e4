// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp hosts`, `kpcp why` and `kpcp retire`: what hosts are doing, why, and the writing off of one.
 * Must not know what states mean. */
#include <errno.h>

#include "ask.h"
#include "kpcp.h"
#include "lib/fleet/form.h"
#include "lib/report/show.h"
#include "reply.h"
#include "view.h"

static int hosts(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *answer = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);

	if (argc != 0)
		return err_set(e, EINVAL, "hosts shows all of them; for one: kpcp why %s", argv[0]);
	int r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, "/v1/hosts", NULL, 0, &answer, e);
	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(answer, e);
	r = view_hosts(answer, &out, e);
	return r < 0 ? r : show(&out, e);
}

/* The rollout that the host is or was last in. */
static int ask_rollout(struct ask *c, const json_t *host, json_t **ret, struct err *e)
{
	struct reply reply = {.e = e};
	const char *name = reply_text(&reply, host, "rollout");
	char path[ASK_PATH_MAX];

	if (reply.failed < 0 || !*name)
		return reply.failed;
	int r = ask_path(&form_name, "/v1/rollouts/", name, "", path, e);
	return r < 0 ? r : ask(c, path, NULL, 0, ret, e);
}

static int print_both(const json_t *host, const json_t *rollout, struct err *e)
{
	_cleanup_(ask_free_json) json_t *both = json_pack("{s:O, s:O?}", "host", host, "rollout", rollout);

	if (!both)
		return err_sys(e, ENOMEM, "cannot print the answer as JSON");
	return ask_print_json(both, e);
}

static int why(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *host = NULL;
	_cleanup_(ask_free_json) json_t *rollout = NULL;
	_cleanup_(buf_free) struct buf out = BUF_INIT(VIEW_BYTES_MAX);
	char path[ASK_PATH_MAX];

	if (argc != 1)
		return err_set(e, EINVAL, "why is about one host, but got %d; the form is: kpcp why HOST", argc);
	int r = ask_path(&form_host, "/v1/hosts/", argv[0], "", path, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, path, NULL, 0, &host, e);
	if (r == 0)
		r = ask_rollout(&c, host, &rollout, e);
	if (r < 0)
		return r;
	if (a->json)
		return print_both(host, rollout, e);
	r = view_why(host, rollout, &out, e);
	return r < 0 ? r : show(&out, e);
}

static int retire(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *host = NULL;
	char path[ASK_PATH_MAX];

	if (argc != 1)
		return err_set(e, EINVAL, "retire is for one host, but got %d; the form is: kpcp retire HOST", argc);
	int r = ask_path(&form_host, "/v1/hosts/", argv[0], "/retire", path, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r == 0)
		r = ask(&c, path, "", 0, &host, e);
	if (r < 0)
		return r;
	if (a->json)
		return ask_print_json(host, e);
	_cleanup_(buf_free) struct buf out = BUF_INIT(4096);
	r = buf_addf(&out, e, "%s is written off: nobody waits for it any more; to have it back, give it a new token\n",
		     argv[0]);
	return r < 0 ? r : show(&out, e);
}

static const struct opt options[] = {KPCP_OPT_JSON, KPCP_OPT_CONFIG};

const struct opt_command cmd_hosts = {
    .name = "hosts",
    .operands = "",
    .help = "Shows all hosts: state, the last order's outcome, kernel, and when each was seen.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = hosts,
};

const struct opt_command cmd_why = {
    .name = "why",
    .operands = "HOST",
    .help = "Shows what one host is doing and why: its order, its last orders and events, and the comparison that "
	    "decided its rollout.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = why,
};

const struct opt_command cmd_retire = {
    .name = "retire",
    .operands = "HOST",
    .help =
	"Writes off a host that will not come back: it no longer counts in its cluster's budget, and is not believed "
	"until it enrols again.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = retire,
};
