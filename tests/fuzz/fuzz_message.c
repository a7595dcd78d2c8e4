// SPDX-License-Identifier: Apache-2.0
/* Owns the search for messages that are taken wrongly: what was read must be written again as it is, and a refusal must
 * leave the output alone and say why in plain words. Must not know what the members mean. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/form.h"
#include "lib/fleet/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* The reader of any message, with its output in static memory; write gives what the last read has taken. */
struct kind {
	int (*read)(const char *text, size_t size, void *ret, struct err *e);
	int (*write)(const void *from, struct buf *ret, struct err *e);
	size_t size;
	bool owns; /* a poll_reply, to be freed */
};

static int read_report(const char *text, size_t size, void *ret, struct err *e)
{
	return message_report_read(text, size, ret, e);
}

static int write_report(const void *from, struct buf *ret, struct err *e)
{
	return message_report_write(from, ret, e);
}

static int read_reply(const char *text, size_t size, void *ret, struct err *e)
{
	return message_reply_read(text, size, ret, e);
}

static int write_reply(const void *from, struct buf *ret, struct err *e)
{
	return message_reply_write(from, ret, e);
}

static int read_enrolment(const char *text, size_t size, void *ret, struct err *e)
{
	return message_enrolment_read(text, size, ret, e);
}

static int write_enrolment(const void *from, struct buf *ret, struct err *e)
{
	return message_enrolment_write(from, ret, e);
}

static const struct kind kinds[] = {
    {read_report, write_report, sizeof(struct host_report), false},
    {read_reply, write_reply, sizeof(struct poll_reply), true},
    {read_enrolment, write_enrolment, sizeof(struct enrolment), false},
};

static union {
	struct host_report report;
	struct poll_reply reply;
	struct enrolment enrolment;
} got, again, before;

static bool take(const struct kind *k, const char *text, size_t size, void *ret)
{
	struct err e = {0};

	memset(ret, 0x55, k->size);
	memset(&before, 0x55, sizeof(before));
	int r = k->read(text, size, ret, &e);
	if (r == 0)
		return true;
	require(memcmp(ret, &before, k->size) == 0);
	require(r == -EINVAL || r == -ERANGE || r == -EFBIG || r == -EPROTONOSUPPORT);
	require(e.code == -r);
	require(form_plain_span(e.text, strlen(e.text), false) == strlen(e.text));
	return false;
}

static void check(const struct kind *k, const char *text, size_t size)
{
	struct buf one = BUF_INIT(MESSAGE_BYTES_MAX), two = BUF_INIT(MESSAGE_BYTES_MAX);
	struct err e;

	if (!take(k, text, size, &got))
		return;
	require(k->write(&got, &one, &e) == 0);
	require(take(k, one.data, one.len, &again));
	require(k->write(&again, &two, &e) == 0);
	require(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
	if (!k->owns) {
		require(memcmp(&got, &again, k->size) == 0);
	} else {
		require(got.reply.has_order == (got.reply.directive != NULL));
		poll_reply_free(&got.reply);
		poll_reply_free(&again.reply);
	}
	buf_free(&one);
	buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as the text and without a final 0. */
	char *text = malloc(size > 0 ? size : 1);

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		check(&kinds[i], text, size);
	free(text);
	return 0;
}
