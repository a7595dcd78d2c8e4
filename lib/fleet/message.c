// SPDX-License-Identifier: Apache-2.0
/* Owns the members of each message, their words and their ranges.
 * Must not know TLS, HTTP, files, nor what either side decides. */
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "lib/base/near.h"
#include "member.h"

static const char *const state_words[HOST_STATE_COUNT] = {
    [HOST_IDLE] = "IDLE",       [HOST_STAGED] = "STAGED",         [HOST_VERIFIED] = "VERIFIED",
    [HOST_INTENT] = "INTENT",   [HOST_LOADED] = "LOADED",         [HOST_PROBATION] = "PROBATION",
    [HOST_MEASURE] = "MEASURE", [HOST_COLD_PROOF] = "COLD_PROOF", [HOST_APPLIED] = "APPLIED",
    [HOST_SOAK] = "SOAK",       [HOST_COMMITTED] = "COMMITTED",   [HOST_ROLLED_BACK] = "ROLLED_BACK",
    [HOST_FAILED] = "FAILED",   [HOST_FOREIGN] = "FOREIGN",       [HOST_HELD] = "HELD",
};
static const char *const verb_words[VERB_COUNT] = {
    [VERB_STAGE] = "stage", [VERB_MEASURE] = "measure", [VERB_TRIAL] = "trial",   [VERB_PROVE] = "prove",
    [VERB_APPLY] = "apply", [VERB_COMMIT] = "commit",   [VERB_REVERT] = "revert",
};
static const char *const outcome_words[] = {
    [OUTCOME_NONE] = "none",       [OUTCOME_RUNNING] = "running", [OUTCOME_DONE] = "done",
    [OUTCOME_REFUSED] = "refused", [OUTCOME_FAILED] = "failed",   [OUTCOME_HELD] = "held",
};
static const char *const arm_words[] = {[ARM_OLD] = "old", [ARM_NEW] = "new"}; /* targets, too */

static const char *name_of(unsigned i, const char *const *words, size_t n)
{
	return i < n ? words[i] : "unknown";
}

static int parse_word(const char *word, const char *const *words, size_t n, const char *what, unsigned *ret,
		      struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return err_set(e, EINVAL, "\"%.40s\" is no %s; did you mean \"%s\"?", word, what, near_find(word, words, n));
}

#define WORDS(prefix, type, list, what)                                        \
	const char *prefix##_name(enum type x)                                 \
	{                                                                      \
		return name_of(x, list, ARRAY_SIZE(list));                     \
	}                                                                      \
	int prefix##_parse(const char *word, enum type *ret, struct err *e)    \
	{                                                                      \
		unsigned i = 0;                                                \
		int r = parse_word(word, list, ARRAY_SIZE(list), what, &i, e); \
                                                                               \
		if (r == 0)                                                    \
			*ret = (enum type)i;                                   \
		return r;                                                      \
	}
WORDS(host_state, host_state, state_words, "state of a host")
WORDS(verb, verb, verb_words, "verb")
WORDS(outcome, outcome, outcome_words, "outcome")
WORDS(arm, arm, arm_words, "arm")

/* ---- the members ---- */

#define TEXT_OF(type, label, field, its_form)                                                     \
	{                                                                                         \
		.name = (label), .kind = MEMBER_TEXT, MEMBER_AT(type, field), .form = &(its_form) \
	}
/* For what a host may not know, or not have yet. */
#define TEXT_OR_NONE_OF(type, label, field, its_form)                                              \
	{                                                                                          \
		.name = (label), .kind = MEMBER_TEXT, MEMBER_AT(type, field), .form = &(its_form), \
		.may_be_empty = true                                                               \
	}
#define WORD_OF(type, label, field, list)                                                      \
	{                                                                                      \
		.name = (label), .kind = MEMBER_WORD, MEMBER_AT(type, field), .words = (list), \
		.n_words = ARRAY_SIZE(list)                                                    \
	}
#define NUMBER_OF(type, label, field, least, most)                                                            \
	{                                                                                                     \
		.name = (label), .kind = MEMBER_NUMBER, MEMBER_AT(type, field), .min = (least), .max = (most) \
	}
#define END_OF_LIST          \
	{                    \
		.name = NULL \
	}
#define COUNT(list) (ARRAY_SIZE(list) - 1)

struct envelope {
	uint32_t version;
};

static const struct member version_list[] = {
    NUMBER_OF(envelope, "version", version, 0, UINT32_MAX),
    END_OF_LIST,
};

static const struct member report_list[] = {
    WORD_OF(host_report, "state", state, state_words),
    NUMBER_OF(host_report, "epoch", epoch, 0, MESSAGE_EPOCH_MAX),
    WORD_OF(host_report, "outcome", outcome, outcome_words),
    TEXT_OF(host_report, "reason", reason, form_text),
    TEXT_OR_NONE_OF(host_report, "rollout", rollout, form_name),
    TEXT_OF(host_report, "release", release, form_release),
    TEXT_OR_NONE_OF(host_report, "build_id", build_id, form_build_id),
    TEXT_OF(host_report, "boot_id", boot_id, form_boot_id),
    TEXT_OF(host_report, "default_entry", default_entry, form_text),
    TEXT_OF(host_report, "model", model, form_text),
    {.name = "kexec_booted", .kind = MEMBER_FLAG, MEMBER_AT(host_report, kexec_booted)},
    NUMBER_OF(host_report, "pcp_batch_scale_max", pcp_batch_scale_max, -1, 32),
    NUMBER_OF(host_report, "attempts", attempts, 0, UINT32_MAX),
    NUMBER_OF(host_report, "uptime_s", uptime_s, 0, INT64_MAX),
    NUMBER_OF(host_report, "serial", serial, 0, INT64_MAX),
    TEXT_OF(host_report, "agent", agent, form_version),
    END_OF_LIST,
};

static const struct member reply_list[] = {
    NUMBER_OF(poll_reply, "wait_s", wait_s, 1, MESSAGE_WAIT_MAX),
    END_OF_LIST,
};

/* Read by hand: only their names are used. */
static const struct member with_order_list[] = {
    {.name = "order"},
    {.name = "directive"},
    {.name = "signature"},
    END_OF_LIST,
};

static const struct member order_list[] = {
    NUMBER_OF(order, "epoch", epoch, 1, MESSAGE_EPOCH_MAX),
    TEXT_OF(order, "rollout", rollout, form_name),
    WORD_OF(order, "verb", verb, verb_words),
    END_OF_LIST,
};

static const struct member measure_list[] = {
    WORD_OF(order, "arm", arm, arm_words),
    NUMBER_OF(order, "boot", boot, 0, JUDGE_BOOTS_MAX - 1),
    WORD_OF(order, "target", target_new, arm_words),
    END_OF_LIST,
};

static const struct member enrolment_list[] = {
    TEXT_OF(enrolment, "token", token, form_token),
    TEXT_OF(enrolment, "host", host, form_host),
    TEXT_OF(enrolment, "csr", csr, form_pem),
    END_OF_LIST,
};

/* ---- what all messages share ---- */

static int start(json_t **ret, struct err *e)
{
	const struct envelope v = {.version = MESSAGE_VERSION};
	json_t *object = json_object();

	if (!object)
		return err_sys(e, ENOMEM, "writing a message");
	int r = member_write(version_list, COUNT(version_list), &v, object, e);
	if (r < 0)
		json_decref(object);
	else
		*ret = object;
	return r;
}

/* The version first: whoever speaks another one has other members as well. */
static int open_message(const char *text, size_t len, json_t **ret, struct err *e)
{
	struct envelope v;
	json_t *object;
	int r = member_parse(text, len, MESSAGE_BYTES_MAX, &object, e);

	if (r < 0)
		return r;
	r = member_read(version_list, COUNT(version_list), object, &v, e);
	if (r == 0 && v.version != MESSAGE_VERSION)
		r = err_set(e, EPROTONOSUPPORT,
			    "version %" PRIu32 " of the messages, this program speaks %d; update the older side",
			    v.version, MESSAGE_VERSION);
	if (r < 0)
		json_decref(object);
	else
		*ret = object;
	return r;
}

static int write_flat(const struct member *list, size_t n, const void *from, struct buf *ret, struct err *e)
{
	json_t *object;
	int r = start(&object, e);

	if (r < 0)
		return r;
	r = member_write(list, n, from, object, e);
	if (r == 0)
		return member_dump(object, MESSAGE_BYTES_MAX, ret, e);
	json_decref(object);
	return r;
}

static int read_flat(const char *text, size_t len, const struct member *list, size_t n, void *to, struct err *e)
{
	const struct member *const lists[] = {version_list, list};
	json_t *object;
	int r = open_message(text, len, &object, e);

	if (r < 0)
		return r;
	r = member_only(object, lists, ARRAY_SIZE(lists), e);
	if (r == 0)
		r = member_read(list, n, object, to, e);
	json_decref(object);
	return r;
}

/* ---- reports and enrolment ---- */

int message_report_write(const struct host_report *r, struct buf *ret, struct err *e)
{
	int rc = write_flat(report_list, COUNT(report_list), r, ret, e);

	return rc < 0 ? err_context(e, "a report cannot be sent") : 0;
}

int message_report_read(const char *text, size_t len, struct host_report *ret, struct err *e)
{
	struct host_report got = {0};
	int r = read_flat(text, len, report_list, COUNT(report_list), &got, e);

	if (r < 0)
		return err_context(e, "the report is not understood");
	*ret = got;
	return 0;
}

int message_enrolment_write(const struct enrolment *x, struct buf *ret, struct err *e)
{
	int r = write_flat(enrolment_list, COUNT(enrolment_list), x, ret, e);

	return r < 0 ? err_context(e, "an enrolment cannot be sent") : 0;
}

int message_enrolment_read(const char *text, size_t len, struct enrolment *ret, struct err *e)
{
	struct enrolment got = {0};
	int r = read_flat(text, len, enrolment_list, COUNT(enrolment_list), &got, e);

	if (r < 0)
		return err_context(e, "the enrolment is not understood");
	*ret = got;
	return 0;
}

/* ---- replies ---- */

void poll_reply_free(struct poll_reply *r)
{
	free(r->directive);
	free(r->signature);
	*r = (struct poll_reply){0};
}

static bool directive_text(const char *value)
{
	size_t len = strlen(value);

	return form_plain_span(value, len, true) == len;
}

static const struct form form_directive = {
    "a directive, of at most 32 KiB of plain text", NULL, NULL, 1, DIRECTIVE_BYTES_MAX, directive_text};

static int add_text(json_t *object, const char *name, const struct form *form, const char *text, struct err *e)
{
	int r = form_check(form, text ? text : "", e);

	if (r < 0)
		return err_context(e, "%s", name);
	return json_object_set_new(object, name, json_string(text)) < 0 ? err_sys(e, ENOMEM, "%s", name) : 0;
}

static int add_order(json_t *reply, const struct poll_reply *p, struct err *e)
{
	json_t *order = json_object();
	int r = order ? 0 : err_sys(e, ENOMEM, "order");

	if (r == 0)
		r = member_write(order_list, COUNT(order_list), &p->order, order, e);
	if (r == 0 && p->order.verb == VERB_MEASURE)
		r = member_write(measure_list, COUNT(measure_list), &p->order, order, e);
	if (r < 0)
		err_context(e, "order");
	if (r == 0 && json_object_set(reply, "order", order) < 0)
		r = err_sys(e, ENOMEM, "order");
	json_decref(order);
	if (r == 0)
		r = add_text(reply, "directive", &form_directive, p->directive, e);
	return r < 0 ? r : add_text(reply, "signature", &form_base64, p->signature, e);
}

int message_reply_write(const struct poll_reply *p, struct buf *ret, struct err *e)
{
	json_t *object;
	int r = start(&object, e);

	if (r == 0) {
		r = member_write(reply_list, COUNT(reply_list), p, object, e);
		if (r == 0 && p->has_order)
			r = add_order(object, p, e);
		if (r == 0)
			r = member_dump(object, MESSAGE_BYTES_MAX, ret, e);
		else
			json_decref(object);
	}
	return r < 0 ? err_context(e, "a reply cannot be sent") : 0;
}

static int read_order(const json_t *object, struct order *ret, struct err *e)
{
	const struct member *const lists[] = {order_list, measure_list};
	int r;

	if (!json_is_object(object))
		return err_set(e, EINVAL, "is no object");
	if ((r = member_read(order_list, COUNT(order_list), object, ret, e)) < 0)
		return r;
	bool measure = ret->verb == VERB_MEASURE;
	if ((r = member_only(object, lists, measure ? 2 : 1, e)) < 0)
		return r;
	return measure ? member_read(measure_list, COUNT(measure_list), object, ret, e) : 0;
}

static int copy_text(const json_t *object, const char *name, const struct form *form, char **ret, struct err *e)
{
	const char *text;
	int r = member_text(object, name, form, &text, e);

	if (r < 0)
		return r;
	*ret = strdup(text);
	return *ret ? 0 : err_sys(e, ENOMEM, "%s", name);
}

static int read_reply(const json_t *object, struct poll_reply *ret, struct err *e)
{
	const struct member *const lists[] = {version_list, reply_list, with_order_list};
	const json_t *order = json_object_get(object, "order");
	int r;

	ret->has_order = order != NULL;
	if ((r = member_only(object, lists, ARRAY_SIZE(lists), e)) < 0 ||
	    (r = member_read(reply_list, COUNT(reply_list), object, ret, e)) < 0)
		return r;
	if (!order && json_object_size(object) > COUNT(version_list) + COUNT(reply_list))
		return err_set(e, EINVAL, "a directive or a signature without member \"order\"");
	if (!order)
		return 0;
	if ((r = read_order(order, &ret->order, e)) < 0)
		return err_context(e, "member \"order\"");
	if ((r = copy_text(object, "directive", &form_directive, &ret->directive, e)) < 0)
		return r;
	return copy_text(object, "signature", &form_base64, &ret->signature, e);
}

int message_reply_read(const char *text, size_t len, struct poll_reply *ret, struct err *e)
{
	struct poll_reply got = {0};
	json_t *object;
	int r = open_message(text, len, &object, e);

	if (r == 0) {
		r = read_reply(object, &got, e);
		json_decref(object);
	}
	if (r < 0) {
		poll_reply_free(&got);
		return err_context(e, "the reply is not understood");
	}
	*ret = got;
	return 0;
}
