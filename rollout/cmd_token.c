// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp token`: a one-time word by which one host may ask for its certificate.
 * Must not know how tokens are made or checked. */
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

#define TTL_MAX_S (7 * 86400)

/* The token alone on standard output, so that it can be piped to where it goes. */
static int tell(const json_t *answer, const char *host, const struct kpcp *a, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(4096);
	struct reply reply = {.e = e};
	const char *token = reply_text(&reply, answer, "token");
	int64_t until_s = reply_int(&reply, answer, "expires_unix_s");
	char until[VIEW_TEXT_MAX];

	if (reply.failed < 0)
		return reply.failed;
	int r = buf_addf(&out, e, "%s\n", token);
	if (r == 0)
		r = show(&out, e);
	if (r == 0)
		fprintf(stderr,
			"This lets %s enrol in cluster %s, once, until %s: put it into its /etc/kpcp/token (mode "
			"0600), with "
			"agent.conf, ca.pem and approver.pub beside it\n",
			host, a->token.cluster, view_time(until_s, until));
	return r;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask c = {.client = NULL};
	_cleanup_(ask_free_json) json_t *answer = NULL;

	if (argc != 1 || !a->token.cluster)
		return err_set(e, EINVAL,
			       "token is for one host of one cluster; the form is: kpcp token HOST --cluster NAME");
	int r = form_check(&form_host, argv[0], e);
	if (r == 0)
		r = form_check(&form_name, a->token.cluster, e);
	if (r == 0)
		r = ask_open(a, &c, e);
	if (r < 0)
		return r;
	json_t *body = json_pack("{s:s, s:s, s:I}", "host", argv[0], "cluster", a->token.cluster, "ttl_s",
				 (json_int_t)a->token.ttl_s);
	r = ask_with(&c, "/v1/tokens", body, &answer, e);
	if (r < 0)
		return r;
	return a->json ? ask_print_json(answer, e) : tell(answer, argv[0], a, e);
}

static int set_cluster(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->token.cluster = value;
	return 0;
}

static int set_ttl(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 60, TTL_MAX_S, &((struct kpcp *)t)->token.ttl_s, e);
}

static const struct opt options[] = {
    {"cluster", "NAME", "The cluster that the host belongs to; it cannot choose another one itself.", set_cluster},
    {"ttl", "TIME", "How long the token can be used, 60s to 7d (default: 1h).", set_ttl},
    KPCP_OPT_JSON,
    KPCP_OPT_CONFIG,
};

const struct opt_command cmd_token = {
    .name = "token",
    .operands = "HOST",
    .help = "Prints a token by which one host may enrol, once.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
