// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp approve`: a plan becomes a directive, signed with the approver's key.
 * Must not know the forms of plan and directive, nor how signatures are made. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kpcp.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "lib/report/show.h"
#include "lib/trust/trust.h"
#include "plan_file.h"
#include "reply.h"
#include "submit.h"
#include "view.h"

#define SIGNATURE_MAX 1024
#define VALID_MAX_S   (30 * 86400)

struct approval {
	char directive_path[PATH_MAX];
	char signature_path[PATH_MAX];
	uint64_t expires_unix_s;
	struct buf directive, signature;
};

static void approval_free(struct approval *a)
{
	buf_free(&a->directive);
	buf_free(&a->signature);
}

static int name_files(const struct kpcp *a, const char *plan, struct approval *ret, struct err *e)
{
	const char *stem = a->approve.out ? a->approve.out : plan, *ending = a->approve.out ? "" : ".directive";

	if (snprintf(ret->directive_path, PATH_MAX, "%s%s", stem, ending) >= PATH_MAX ||
	    snprintf(ret->signature_path, PATH_MAX, "%s%s.sig", stem, ending) >= PATH_MAX)
		return err_sys(e, ENAMETOOLONG, "cannot write beside %.80s...", stem);
	return 0;
}

/* The serial is the time in milliseconds: it rises without any memory of the one before. */
static int sign(const struct kpcp *a, const char *plan, const char *key, struct approval *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX), what = BUF_INIT(16u << 10);
	static struct directive d;
	struct timespec now;
	char until[VIEW_TEXT_MAX];
	int r = plan_file_read(plan, false, &text, &d, e);

	if (r < 0)
		return r;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t serial = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	ret->expires_unix_s = (uint64_t)now.tv_sec + a->approve.valid_s;
	r = directive_approve(plan, text.data, text.len, serial, ret->expires_unix_s, &ret->directive, e);
	if (r == 0)
		r = trust_sign(key, ret->directive.data, ret->directive.len, &ret->signature, e);
	if (r == 0)
		r = plan_file_describe(&d, &what, e);
	if (r < 0)
		return r;
	/* Not on standard output, which has the controller's answer alone. */
	fprintf(stderr, "signed: %s: %s; hosts begin with it until %s\n", d.name, what.data,
		view_time((int64_t)ret->expires_unix_s, until));
	return 0;
}

/* What stands against the plan, as `kpcp plan` lists it: hosts may still come before the start, so it is no error. A
 * controller that is away is the submission's to tell of. */
static int warn(struct ask *controller, const char *plan, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DIRECTIVE_BYTES_MAX);
	_cleanup_(ask_free_json) json_t *answer = NULL;
	struct reply reply = {.e = e};
	struct err away = {0};
	int r = fs_read(plan, &text, e);

	if (r < 0)
		return r;
	r = ask(controller, "/v1/plans", text.data, text.len, &answer, &away);
	if (r == -EAGAIN)
		return 0;
	if (r < 0)
		return err_set(e, -r, "%s", away.text);
	const json_t *problems = reply_list(&reply, answer, "problems");
	for (size_t i = 0; i < json_array_size(problems); i++)
		fprintf(stderr, "kpcp: warning: %s\n", reply_element(&reply, problems, i));
	return reply.failed;
}

/* Two files cannot be replaced in one step; a directive beside an older signature is refused by everybody, and
 * approving again makes both anew. */
static int write_files(struct approval *p, struct err *e)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT(SIGNATURE_MAX);
	int r = buf_addf(&line, e, "%s\n", p->signature.data);

	if (r == 0)
		r = fs_write_atomic(p->signature_path, line.data, line.len, 0644, e);
	if (r == 0)
		r = fs_write_atomic(p->directive_path, p->directive.data, p->directive.len, 0644, e);
	if (r == 0)
		fprintf(stderr, "written: %s and %s\n", p->directive_path, p->signature_path);
	return r;
}

/* The key by --key, or by kpcp.conf, which an approver who is offline need not have. */
static int find_key(const struct kpcp *a, const struct ask *controller, struct kpcp_conf *room, const char **ret,
		    struct err *e)
{
	const struct kpcp_conf *conf = &controller->conf;

	*ret = a->approve.key;
	if (*ret)
		return 0;
	if (a->approve.no_submit) {
		int r = kpcp_conf_read(a->config, room, e);

		if (r < 0)
			return err_context(e, "no --key, and no configuration that names one");
		conf = room;
	}
	if (!*conf->approver_key)
		return err_set(
		    e, EINVAL,
		    "no key to sign with: name it by --key, or by key in [approval] of %s; where the approver's "
		    "key is on another machine, run 'kpcp approve --no-submit' there and 'kpcp submit' here",
		    conf->path);
	*ret = conf->approver_key;
	return 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* The files of an earlier approval may be what the controller has: only a new one that it took replaces them. Where
 * none are, what could not be sent is kept for later. */
static int send(struct ask *controller, struct approval *p, struct err *e)
{
	int r = submit(controller, p->directive.data, p->directive.len, p->signature.data, e);

	if (r == 0) {
		r = write_files(p, e);
		return r < 0 ? err_context(e, "the controller has it, but its files are not complete") : 0;
	}
	if (r != -EAGAIN)
		return err_context(e, "not submitted, and no file written");
	if (is_there(p->directive_path) || is_there(p->signature_path))
		return err_context(e, "not submitted, and %s of an earlier approval left as it is; approve again later",
				   p->directive_path);
	struct err full = {0};
	if (write_files(p, &full) < 0)
		return err_context(e, "not submitted, nor kept (%s)", full.text);
	return err_context(e, "signed, but not submitted; later: kpcp submit %s %s", p->directive_path,
			   p->signature_path);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(ask_close) struct ask controller = {.client = NULL};
	_cleanup_(approval_free) struct approval p = {.directive = BUF_INIT(DIRECTIVE_BYTES_MAX),
						      .signature = BUF_INIT(SIGNATURE_MAX)};
	static struct kpcp_conf offline;
	const char *key;

	if (argc != 1)
		return err_set(e, EINVAL, "approve signs one plan, but got %d; the form is: kpcp approve FILE", argc);
	int r = name_files(a, argv[0], &p, e);
	if (r == 0 && !a->approve.no_submit)
		r = ask_open(a, &controller, e);
	if (r == 0)
		r = find_key(a, &controller, &offline, &key, e);
	if (r == 0 && !a->approve.no_submit)
		r = warn(&controller, argv[0], e);
	if (r == 0)
		r = sign(a, argv[0], key, &p, e);
	if (r < 0)
		return r;
	return a->approve.no_submit ? write_files(&p, e) : send(&controller, &p, e);
}

static int set_key(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->approve.key = value;
	return 0;
}

static int set_out(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->approve.out = value;
	return 0;
}

static int set_valid(void *t, const char *value, struct err *e)
{
	return num_seconds(value, 60, VALID_MAX_S, &((struct kpcp *)t)->approve.valid_s, e);
}

static int set_no_submit(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct kpcp *)t)->approve.no_submit = true;
	return 0;
}

static const struct opt options[] = {
    {"key", "FILE", "The approver's key (default: key in [approval] of kpcp.conf).", set_key},
    {"valid", "TIME", "How long hosts may begin with it, 60s to 30d (default: 24h); what has begun goes on.",
     set_valid},
    {"out", "FILE", "Where the directive goes, and FILE.sig beside it (default: the plan's name and .directive).",
     set_out},
    {"no-submit", NULL, "Only sign; 'kpcp submit' sends it, from another machine.", set_no_submit},
    KPCP_OPT_JSON,
    KPCP_OPT_CONFIG,
};

const struct opt_command cmd_approve = {
    .name = "approve",
    .operands = "FILE",
    .help = "Makes a directive of a plan, signs it with the approver's key, and gives it to the controller, where it "
	    "waits for 'kpcp start'.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
