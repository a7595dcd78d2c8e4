// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that lib/fleet/message.c gives back what was written and refuses everything else by its member's name.
 * Must not know TLS, HTTP, nor what either side decides. */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fleet/message.h"

#define BOOT_ID "0f1e2d3c-0123-4567-89ab-0123456789ab"
#define BUILD   "0123456789abcdef0123456789abcdef01234567"

static struct host_report a_report(void)
{
	return (struct host_report){.state = HOST_SOAK,
				    .epoch = MESSAGE_EPOCH_MAX,
				    .outcome = OUTCOME_DONE,
				    .reason = "healthy for 30 s \xe2\x80\x93 \"all\" is well",
				    .rollout = "pcp-6.1",
				    .release = "6.1.0-40-kpcp-amd64",
				    .build_id = BUILD,
				    .boot_id = BOOT_ID,
				    .default_entry = "gnulinux-advanced-1>gnulinux-6.1-1",
				    .model = "Some Vendor R1 (rev 2)",
				    .kexec_booted = true,
				    .pcp_batch_scale_max = -1,
				    .attempts = UINT32_MAX,
				    .uptime_s = 9007199254740993, /* 2^53 + 1: a double would not hold it */
				    .serial = 1796083200123,
				    .agent = "0.1.0~rc1"};
}

/* Fills directive and signature by static texts, that poll_reply_free must not see. */
static struct poll_reply a_reply(void)
{
	static char directive[] = "[rollout]\n\tname = \xc3\xa4 \"x\" \\ \n", signature[] = "MEUCIQ+/AA==";

	return (struct poll_reply){.wait_s = 30,
				   .has_order = true,
				   .order = {.epoch = 7,
					     .rollout = "pcp-6.1",
					     .verb = VERB_MEASURE,
					     .arm = ARM_NEW,
					     .boot = JUDGE_BOOTS_MAX - 1,
					     .target_new = true},
				   .directive = directive,
				   .signature = signature};
}

static struct enrolment an_enrolment(void)
{
	return (struct enrolment){.token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
				  .host = "Host_1.example",
				  .csr =
				      "-----BEGIN CERTIFICATE REQUEST-----\nMIHW\n-----END CERTIFICATE REQUEST-----\n"};
}

/* ---- the three messages as one kind, for what holds for all ---- */

struct kind {
	const char *name;
	int (*write)(struct buf *ret, struct err *e);
	int (*read)(const char *text, size_t len, struct err *e); /* checks that a refusal leaves the output alone */
};

static int write_report(struct buf *ret, struct err *e)
{
	struct host_report r = a_report();

	return message_report_write(&r, ret, e);
}

static int write_reply(struct buf *ret, struct err *e)
{
	struct poll_reply r = a_reply();

	return message_reply_write(&r, ret, e);
}

static int write_enrolment(struct buf *ret, struct err *e)
{
	static struct enrolment x;

	x = an_enrolment();
	return message_enrolment_write(&x, ret, e);
}

static int read_report(const char *text, size_t len, struct err *e)
{
	struct host_report got, before;

	memset(&got, 0x55, sizeof(got));
	before = got;
	int r = message_report_read(text, len, &got, e);
	if (r < 0)
		assert_memory_equal(&got, &before, sizeof(got));
	return r;
}

static int read_reply(const char *text, size_t len, struct err *e)
{
	struct poll_reply got, before;

	memset(&got, 0x55, sizeof(got));
	before = got;
	int r = message_reply_read(text, len, &got, e);
	if (r < 0)
		assert_memory_equal(&got, &before, sizeof(got));
	else
		poll_reply_free(&got);
	return r;
}

static int read_enrolment(const char *text, size_t len, struct err *e)
{
	static struct enrolment got, before;

	memset(&got, 0x55, sizeof(got));
	before = got;
	int r = message_enrolment_read(text, len, &got, e);
	if (r < 0)
		assert_memory_equal(&got, &before, sizeof(got));
	return r;
}

static const struct kind kinds[] = {
    {"report", write_report, read_report},
    {"reply", write_reply, read_reply},
    {"enrolment", write_enrolment, read_enrolment},
};

static void refuses(const struct kind *k, const char *text, size_t len, const char *message)
{
	struct err e = {0};
	/* Exactly as long as the text: a read behind its end is seen. */
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	if (len > 0)
		memcpy(copy, text, len);
	int r = k->read(copy, len, &e);
	free(copy);
	if (r >= 0)
		fail_msg("%s taken: %.*s", k->name, (int)len, text);
	assert_int_equal(e.code, -r);
	if (!strstr(e.text, message))
		fail_msg("%s, %.*s: \"%s\" does not say \"%s\"", k->name, (int)len, text, e.text, message);
}

static void refuses_json(const struct kind *k, const json_t *j, const char *message)
{
	char *text = json_dumps(j, 0);

	assert_non_null(text);
	refuses(k, text, strlen(text), message);
	free(text);
}

static json_t *sample(const struct kind *k)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	if (k->write(&b, &e) < 0)
		fail_msg("%s", e.text);
	json_t *j = json_loadb(b.data, b.len, 0, NULL);
	assert_non_null(j);
	return j;
}

/* object is j itself or its order: whatever is taken away, added or changed is refused by its name. */
static void breaks_each_member(const struct kind *k, json_t *j, json_t *object)
{
	json_t *copy = json_deep_copy(object), *value;
	const char *name;
	char message[64];

	json_object_foreach(copy, name, value)
	{
		json_t *wrong[] = {json_null(),
				   json_object(),
				   json_array(),
				   json_real(1.5),
				   json_is_string(value) ? json_integer(0) : json_string("0"),
				   json_is_boolean(value) ? json_integer(1) : json_true()};

		for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
			json_object_set_new(object, name, wrong[i]);
			refuses_json(k, j, name);
		}
		json_object_del(object, name);
		snprintf(message, sizeof(message), "\"%s\"", name);
		refuses_json(k, j, strcmp(name, "order") == 0 ? "without member \"order\"" : message);
		json_object_set(object, name, value);
	}
	json_object_set_new(object, "extra", json_null());
	refuses_json(k, j, "unknown member \"extra\"; did you mean");
	json_object_del(object, "extra");
	json_decref(copy);
}

static void test_every_member(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		json_t *j = sample(&kinds[i]);

		breaks_each_member(&kinds[i], j, j);
		if (json_object_get(j, "order"))
			breaks_each_member(&kinds[i], j, json_object_get(j, "order"));
		json_object_set_new(j, "version", json_integer(2));
		json_object_set_new(j, "news", json_true()); /* the version is what matters */
		refuses_json(&kinds[i], j, "version 2 of the messages");
		json_decref(j);
	}
}

static void test_no_json(void **state)
{
	static const struct {
		const char *text, *message;
	} row[] = {
	    {"", "no JSON"},
	    {"[]", "no JSON object"},
	    {"{", "no JSON at byte"},
	    {"{\"version\":1,\"version\":1}", "duplicate"},
	    {"{\"version\":1} {}", "end of file expected"},
	    {"{\"version\":1,}", "no JSON"},
	    {"{\"version\":\"1\"}", "\"version\""},
	    {"{\"version\":1.0}", "\"version\""},
	    {"{\"version\":01}", "no JSON"},
	    {"{\"version\":-1}", "out of range"},
	    {"{\"version\":99999999999999999999}", "too big"},
	    {"{\"version\":1,\"a\":\"\\u0000\"}", "no JSON"},
	    {"{\"version\":1,\"a\":\"\xff\"}", "no JSON"},
	    {"{\"version\":1,\"a\":\"\\ud800\"}", "no JSON"},
	    {"{\"version\":1,\"\\u202eevil\":1}", "unknown member \"\""},
	    {"[[[[[[[[[[", "more than 4 levels"},
	    {"{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}", "more than 4 levels"},
	    {"{\"[[[[[\\\"[[[[[\":1}", "\"version\" is missing"},
	};
	static char big[MESSAGE_BYTES_MAX + 1];

	(void)state;
	memset(big, ' ', sizeof(big));
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(row); i++)
			refuses(&kinds[k], row[i].text, strlen(row[i].text), row[i].message);
		refuses(&kinds[k], "{\"version\":1\0}", 14, "no JSON");
		refuses(&kinds[k], NULL, 0, "no JSON");
		refuses(&kinds[k], big, sizeof(big), "at most 98304 are read");
	}
}

/* Every cut of a right message is refused. */
static void test_cuts(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
		struct err e = {0};

		assert_int_equal(kinds[k].write(&b, &e), 0);
		assert_int_equal(kinds[k].read(b.data, b.len, &e), 0);
		for (size_t len = 0; len < b.len; len++)
			refuses(&kinds[k], b.data, len, "no JSON");
	}
}

static void test_report(void **state)
{
	struct host_report r = a_report(), got = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	assert_int_equal(message_report_write(&r, &b, &e), 0);
	assert_int_equal(message_report_read(b.data, b.len, &got, &e), 0);
	assert_int_equal(got.state, HOST_SOAK);
	assert_true(got.epoch == MESSAGE_EPOCH_MAX);
	assert_int_equal(got.outcome, OUTCOME_DONE);
	assert_string_equal(got.reason, r.reason);
	assert_string_equal(got.rollout, r.rollout);
	assert_string_equal(got.release, r.release);
	assert_string_equal(got.build_id, r.build_id);
	assert_string_equal(got.boot_id, r.boot_id);
	assert_string_equal(got.default_entry, r.default_entry);
	assert_string_equal(got.model, r.model);
	assert_true(got.kexec_booted);
	assert_int_equal(got.pcp_batch_scale_max, -1);
	assert_true(got.attempts == UINT32_MAX);
	assert_true(got.uptime_s == 9007199254740993);
	assert_true(got.serial == 1796083200123);
	assert_string_equal(got.agent, r.agent);
}

/* A host that has no order yet and knows little of itself. */
static void test_report_of_a_new_host(void **state)
{
	struct host_report r = {.release = "6.1.0", .boot_id = BOOT_ID, .agent = "1", .pcp_batch_scale_max = 6};
	struct host_report got = a_report();
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	assert_int_equal(message_report_write(&r, &b, &e), 0);
	assert_int_equal(message_report_read(b.data, b.len, &got, &e), 0);
	assert_int_equal(got.state, HOST_IDLE);
	assert_int_equal(got.outcome, OUTCOME_NONE);
	assert_string_equal(got.reason, "");
	assert_string_equal(got.rollout, "");
	assert_string_equal(got.build_id, "");
	assert_int_equal(got.pcp_batch_scale_max, 6);
	assert_false(got.kexec_booted);
}

/* What a report says is only data: no text from a host gets into a table, a log or a path as anything else. */
static void test_hostile_reports(void **state)
{
	static const struct {
		const char *member;
		const char *text;
	} row[] = {
	    {"reason", "a\nb"},
	    {"reason", "\x1b[2J"},
	    {"reason", "\xe2\x80\xae"},
	    {"model", "tab\there"},
	    {"default_entry", "x\n"},
	    {"rollout", "../../etc"},
	    {"rollout", "A"},
	    {"release", "6.1 <script>"},
	    {"release", "../6.1"},
	    {"release", ""},
	    {"build_id", "00ff"},
	    {"build_id", "0000000000000000000000000000000000000000"},
	    {"build_id", "0123456789ABCDEF0123456789abcdef01234567"},
	    {"boot_id", ""},
	    {"boot_id", "0f1e2d3c00123-4567-89ab-0123456789ab"},
	    {"boot_id", "0f1e2d3c-0123-4567-89ab-0123456789a-"},
	    {"agent", "0.1 beta"},
	    {"state", "idle"},
	    {"outcome", "DONE"},
	};
	const struct kind *k = &kinds[0];
	json_t *j = sample(k);
	static char longer[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		json_t *before = json_deep_copy(json_object_get(j, row[i].member));

		json_object_set_new(j, row[i].member, json_string(row[i].text));
		refuses_json(k, j, row[i].member);
		json_object_set_new(j, row[i].member, before);
	}
	memset(longer, 'a', MESSAGE_TEXT_MAX);
	json_object_set_new(j, "reason", json_string(longer));
	refuses_json(k, j, "has 256 bytes, at most 255");
	longer[MESSAGE_TEXT_MAX - 1] = 0;
	json_object_set_new(j, "reason", json_string(longer));
	char *text = json_dumps(j, 0);
	struct err e = {0};
	assert_int_equal(k->read(text, strlen(text), &e), 0);
	free(text);
	json_object_set_new(j, "epoch", json_integer(-1));
	refuses_json(k, j, "\"epoch\": -1 is out of range");
	json_object_set_new(j, "epoch", json_integer(INT64_MAX));
	refuses_json(k, j, "\"epoch\": 9223372036854775807 is out of range");
	json_object_set_new(j, "epoch", json_integer(MESSAGE_EPOCH_MAX + 1));
	refuses_json(k, j, "is out of range");
	json_object_set_new(j, "epoch", json_integer(0));
	json_object_set_new(j, "attempts", json_integer((json_int_t)UINT32_MAX + 1));
	refuses_json(k, j, "\"attempts\"");
	json_object_set_new(j, "attempts", json_integer(0));
	json_object_set_new(j, "pcp_batch_scale_max", json_integer(-2));
	refuses_json(k, j, "\"pcp_batch_scale_max\"");
	json_decref(j);
}

/* The agent must be able to report whatever apt or a boot loader said. */
static void test_reports_clean_their_texts(void **state)
{
	struct host_report r = a_report(), got = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	snprintf(r.reason, sizeof(r.reason), "E: \033[1mbad\xff\n\xe2\x82");
	snprintf(r.default_entry, sizeof(r.default_entry), "a\tb\xe2\x80\xae");
	memset(r.model, 'm', sizeof(r.model) - 1);
	assert_int_equal(message_report_write(&r, &b, &e), 0);
	assert_int_equal(message_report_read(b.data, b.len, &got, &e), 0);
	assert_string_equal(got.reason, "E: ?[1mbad??\?\?");
	assert_string_equal(got.default_entry, "a?b?");
	assert_int_equal(strlen(got.model), 64);
}

static void test_writers_refuse(void **state)
{
	struct host_report r = a_report();
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX), small = BUF_INIT(64);
	struct err e = {0};

	(void)state;
	r.epoch = 1ull << 63;
	assert_int_equal(message_report_write(&r, &b, &e), -ERANGE);
	assert_non_null(strstr(e.text, "epoch: 9223372036854775808 is out of range"));
	r = a_report();
	r.state = HOST_STATE_COUNT;
	assert_int_equal(message_report_write(&r, &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, "state"));
	r = a_report();
	snprintf(r.release, sizeof(r.release), "6.1 x");
	assert_int_equal(message_report_write(&r, &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, "release"));
	memset(r.release, '6', sizeof(r.release)); /* no end */
	assert_int_equal(message_report_write(&r, &b, &e), -EINVAL);
	struct poll_reply p = a_reply();
	p.order.epoch = 0;
	assert_int_equal(message_reply_write(&p, &b, &e), -ERANGE);
	assert_non_null(strstr(e.text, "order: epoch"));
	p = a_reply();
	p.order.boot = JUDGE_BOOTS_MAX;
	assert_int_equal(message_reply_write(&p, &b, &e), -ERANGE);
	p = a_reply();
	p.signature = NULL;
	assert_int_equal(message_reply_write(&p, &b, &e), -EINVAL);
	p = a_reply();
	p.directive = NULL;
	assert_int_equal(message_reply_write(&p, &b, &e), -EINVAL);
	p = a_reply();
	p.wait_s = 0;
	assert_int_equal(message_reply_write(&p, &b, &e), -ERANGE);
	assert_int_equal(b.len, 0);
	assert_int_equal(write_report(&small, &e), -EFBIG);
	assert_int_equal(small.len, 0);
}

static void test_reply(void **state)
{
	struct poll_reply p = a_reply(), got = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	assert_int_equal(message_reply_write(&p, &b, &e), 0);
	assert_int_equal(message_reply_read(b.data, b.len, &got, &e), 0);
	assert_int_equal(got.wait_s, 30);
	assert_true(got.has_order);
	assert_int_equal(got.order.epoch, 7);
	assert_string_equal(got.order.rollout, "pcp-6.1");
	assert_int_equal(got.order.verb, VERB_MEASURE);
	assert_int_equal(got.order.arm, ARM_NEW);
	assert_int_equal(got.order.boot, JUDGE_BOOTS_MAX - 1);
	assert_true(got.order.target_new);
	assert_string_equal(got.directive, p.directive);
	assert_string_equal(got.signature, p.signature);
	poll_reply_free(&got);
	assert_null(got.directive);
	poll_reply_free(&got);
	/* Of other verbs, what belongs to a measurement is not sent. */
	p.order.verb = VERB_STAGE;
	b.len = 0;
	assert_int_equal(message_reply_write(&p, &b, &e), 0);
	assert_null(strstr(b.data, "arm"));
	assert_int_equal(message_reply_read(b.data, b.len, &got, &e), 0);
	assert_int_equal(got.order.verb, VERB_STAGE);
	assert_false(got.order.target_new);
	poll_reply_free(&got);
	p = (struct poll_reply){.wait_s = MESSAGE_WAIT_MAX};
	b.len = 0;
	assert_int_equal(message_reply_write(&p, &b, &e), 0);
	assert_string_equal(b.data, "{\"version\":1,\"wait_s\":86400}");
	assert_int_equal(message_reply_read(b.data, b.len, &got, &e), 0);
	assert_false(got.has_order);
	assert_null(got.directive);
	poll_reply_free(&got);
}

/* The largest directive arrives byte for byte, although JSON doubles its line feeds. */
static void test_largest_directive(void **state)
{
	static char directive[DIRECTIVE_BYTES_MAX + 2];
	struct poll_reply p = a_reply(), got = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	memset(directive, '\n', DIRECTIVE_BYTES_MAX);
	p.directive = directive;
	assert_int_equal(message_reply_write(&p, &b, &e), 0);
	assert_int_equal(message_reply_read(b.data, b.len, &got, &e), 0);
	assert_string_equal(got.directive, directive);
	poll_reply_free(&got);
	directive[DIRECTIVE_BYTES_MAX] = '\n';
	b.len = 0;
	assert_int_equal(message_reply_write(&p, &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, "directive"));
}

static void test_refuses_replies(void **state)
{
	const struct kind *k = &kinds[1];
	json_t *j = sample(k), *order = json_object_get(j, "order");

	(void)state;
	json_object_set_new(order, "verb", json_string("commit"));
	refuses_json(k, j, "member \"order\": unknown member \"arm\"");
	json_object_set_new(order, "verb", json_string("reboot"));
	refuses_json(k, j, "unknown word \"reboot\"");
	json_object_set_new(order, "verb", json_string("measure"));
	json_object_set_new(order, "boot", json_integer(JUDGE_BOOTS_MAX));
	refuses_json(k, j, "\"boot\"");
	json_object_set_new(order, "boot", json_integer(0));
	json_object_set_new(order, "epoch", json_integer(0));
	refuses_json(k, j, "\"epoch\"");
	json_object_set_new(order, "epoch", json_integer(1));
	json_object_set_new(j, "directive", json_string("a\x1b"));
	refuses_json(k, j, "\"directive\"");
	json_object_set_new(j, "directive", json_string("x"));
	static const char *const wrong[] = {"", "AAA", "A===", "AAAA\n", "AA=A", "AAAAA===", "====", "AA-_"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		json_object_set_new(j, "signature", json_string(wrong[i]));
		refuses_json(k, j, "\"signature\"");
	}
	json_decref(j);
}

static void test_enrolment(void **state)
{
	static struct enrolment x, got;
	_cleanup_(buf_free) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e = {0};

	(void)state;
	x = an_enrolment();
	assert_int_equal(message_enrolment_write(&x, &b, &e), 0);
	assert_int_equal(message_enrolment_read(b.data, b.len, &got, &e), 0);
	assert_string_equal(got.token, x.token);
	assert_string_equal(got.host, x.host);
	assert_string_equal(got.csr, x.csr);
	json_t *j = sample(&kinds[2]);
	json_object_set_new(j, "host", json_string("-x"));
	refuses_json(&kinds[2], j, "\"host\"");
	json_object_set_new(j, "host", json_string("a/b"));
	refuses_json(&kinds[2], j, "\"host\"");
	json_object_set_new(j, "host", json_string("a"));
	json_object_set_new(j, "csr", json_string("MIHW"));
	refuses_json(&kinds[2], j, "\"csr\"");
	json_object_set_new(j, "csr", json_string("-----BEGIN \xc3\xa4"));
	refuses_json(&kinds[2], j, "\"csr\"");
	json_object_set_new(j, "csr", json_string("-----BEGIN X"));
	json_object_set_new(j, "token", json_string("0123"));
	refuses_json(&kinds[2], j, "\"token\"");
	json_decref(j);
}

static void test_words(void **state)
{
	struct err e = {0};
	enum host_state s;
	enum verb v;
	enum outcome o;
	enum arm a;

	(void)state;
	for (int i = 0; i < HOST_STATE_COUNT; i++) {
		assert_int_equal(host_state_parse(host_state_name((enum host_state)i), &s, &e), 0);
		assert_int_equal(s, i);
	}
	for (int i = 0; i < VERB_COUNT; i++) {
		assert_int_equal(verb_parse(verb_name((enum verb)i), &v, &e), 0);
		assert_int_equal(v, i);
	}
	for (int i = OUTCOME_NONE; i <= OUTCOME_HELD; i++) {
		assert_int_equal(outcome_parse(outcome_name((enum outcome)i), &o, &e), 0);
		assert_int_equal(o, i);
	}
	assert_int_equal(arm_parse("new", &a, &e), 0);
	assert_int_equal(a, ARM_NEW);
	assert_string_equal(arm_name(ARM_OLD), "old");
	assert_string_equal(host_state_name(HOST_COLD_PROOF), "COLD_PROOF");
	assert_string_equal(host_state_name(HOST_STATE_COUNT), "unknown");
	assert_int_equal(host_state_parse("SOKA", &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "did you mean \"SOAK\"?"));
	assert_int_equal(verb_parse("", &v, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_member),
	    cmocka_unit_test(test_no_json),
	    cmocka_unit_test(test_cuts),
	    cmocka_unit_test(test_report),
	    cmocka_unit_test(test_report_of_a_new_host),
	    cmocka_unit_test(test_hostile_reports),
	    cmocka_unit_test(test_reports_clean_their_texts),
	    cmocka_unit_test(test_writers_refuse),
	    cmocka_unit_test(test_reply),
	    cmocka_unit_test(test_largest_directive),
	    cmocka_unit_test(test_refuses_replies),
	    cmocka_unit_test(test_enrolment),
	    cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
