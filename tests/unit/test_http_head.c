// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that rollout/http_head.c takes well-formed heads and no others, and that bounds on tries and log
 * lines hold. Must not know sockets or routes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rollout/http_head.h"
#include "rollout/http_reply.h"
#include "rollout/quiet.h"
#include "rollout/rate.h"

/* A literal with its NUL bytes. */
#define TEXT(s) s, sizeof(s) - 1

static void test_long_values(void **state)
{
	static const struct {
		const char *name;
		int most, status; /* 0: as long as anybody likes */
	} row[] = {{"Connection", 255, 431},   {"connection", 255, 431},      {"Host", 255, 431}, {"Expect", 0, 431},
		   {"Content-Length", 0, 431}, {"Transfer-Encoding", 0, 431}, {"X-Other", 0, 0}};
	(void)state;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (int len = 254; len < 400; len++) {
			char value[401], text[600];
			struct http_head h;
			struct err e = {0};
			unsigned status = 0;

			memset(value, ',', (size_t)len);
			memcpy(value, "close", 5);
			value[len] = 0;
			int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s%s: %s\r\n\r\n",
					 strcmp(row[i].name, "Host") == 0 ? "" : "Host: a\r\n", row[i].name, value);
			int r = http_head_parse(text, (size_t)n, &h, &status, &e);
			bool takes = row[i].status == 0 || len <= row[i].most;
			if ((r == 0) != takes || (len > 255 && !takes && status != 431))
				fail_msg("%s of %d bytes: %d, %u", row[i].name, len, r, status);
			if (r == 0)
				assert_int_equal(h.keep_alive, strcasecmp(row[i].name, "connection") != 0);
		}
	}
}

static void test_takes(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		struct http_head want;
	} row[] = {
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), {"GET", "/", "", 0, true, false}},
	    {TEXT("GET /v1/history?limit=5&x=~ HTTP/1.1\r\nhOST:a\r\n\r\n"),
	     {"GET", "/v1/history", "limit=5&x=~", 0, true, false}},
	    {TEXT("PUT /a_b/c.d/-9~ HTTP/1.1\r\nHost: a\r\nContent-Length:  12\t\r\nExpect: 100-Continue\r\n\r\n"),
	     {"PUT", "/a_b/c.d/-9~", "", 12, true, true}},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n"), {"GET", "/", "", 0, false, false}},
	    {TEXT("GET / HTTP/1.0\r\n\r\n"), {"GET", "/", "", 0, false, false}},
	    {TEXT("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), {"GET", "/", "", 0, true, false}},
	    {TEXT("GET /... HTTP/1.1\r\nHost: \r\nX: caf\xc3\xa9\tau lait\r\n\r\n"),
	     {"GET", "/...", "", 0, true, false}},
	    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n"),
	     {"POST", "/", "", INT64_MAX, true, false}},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct http_head h;
		struct err e = {0};
		unsigned status = 0;
		memset(&h, 0x55, sizeof(h));
		assert_int_equal(http_head_length(row[i].text, row[i].len), row[i].len);
		if (http_head_parse(row[i].text, row[i].len, &h, &status, &e) < 0)
			fail_msg("row %zu: %u %s", i, status, e.text);
		assert_string_equal(h.method, row[i].want.method);
		assert_string_equal(h.path, row[i].want.path);
		assert_string_equal(h.query, row[i].want.query);
		assert_int_equal(h.body_len, row[i].want.body_len);
		assert_int_equal(h.keep_alive, row[i].want.keep_alive);
		assert_int_equal(h.expects_continue, row[i].want.expects_continue);
	}
}

static void test_refuses(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		unsigned status;
	} row[] = {
	    {TEXT("\r\n\r\n"), 400},
	    {TEXT("GET /\r\n\r\n"), 400},
	    {TEXT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / x HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / http/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505},
	    {TEXT("GET / HTTP/1.1\r\n\r\n"), 400},
	    {TEXT("get / HTTP/1.1\r\nHost: a\r\n\r\n"), 501},
	    {TEXT("PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n"), 501},
	    {TEXT("GET a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /.. HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /./a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET //a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a%2e HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /a?b/c HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET /?a?b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n"), 400},
	    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n"), 400},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: identity\r\n\r\n"), 411},
	    {TEXT("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n"), 417},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct http_head h, before;
		struct err e = {0};
		unsigned status = 0;
		memset(&h, 0x55, sizeof(h));
		before = h;
		if (http_head_parse(row[i].text, row[i].len, &h, &status, &e) == 0)
			fail_msg("row %zu was taken", i);
		if (status != row[i].status)
			fail_msg("row %zu: %u %s", i, status, e.text);
		assert_memory_equal(&h, &before, sizeof(h));
		assert_true(strlen(e.text) > 0);
	}
}

/* One byte over each bound, and at it. */
static void test_bounds(void **state)
{
	static char text[HTTP_HEAD_MAX];
	struct http_head h;
	struct err e = {0};
	unsigned status;
	char name[HTTP_PATH_MAX + 1];
	(void)state;

	for (size_t over = 0; over < 2; over++) {
		memset(name, 'a', sizeof(name));
		name[HTTP_PATH_MAX - 2 + over] = 0;
		int n = snprintf(text, sizeof(text), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", name);
		assert_int_equal(http_head_parse(text, (size_t)n, &h, &status, &e), over ? -EBADMSG : 0);
		assert_true(!over || status == 414);
		n = snprintf(text, sizeof(text), "GET /?%s%s HTTP/1.1\r\nHost: a\r\n\r\n", name, "a");
		assert_int_equal(http_head_parse(text, (size_t)n, &h, &status, &e), over ? -EBADMSG : 0);
		n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n");
		for (size_t i = 1; i < HTTP_FIELDS_MAX + over; i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "X: a\r\n");
		n += snprintf(text + n, sizeof(text) - (size_t)n, "\r\n");
		assert_int_equal(http_head_parse(text, (size_t)n, &h, &status, &e), over ? -EBADMSG : 0);
		assert_true(!over || status == 431);
	}
	/* A length whose value is too long to look at must not be taken for a shorter one. */
	int n = snprintf(text, sizeof(text), "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %0300d\r\n\r\n", 5);
	assert_int_equal(http_head_parse(text, (size_t)n, &h, &status, &e), -EBADMSG);
}

static void test_length(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nbody";
	(void)state;

	for (size_t i = 0; i < sizeof(text); i++)
		assert_int_equal(http_head_length(text, i), i < sizeof(text) - 5 ? 0 : sizeof(text) - 5);
}

static void test_reply(void **state)
{
	_cleanup_(buf_free) struct buf head = BUF_INIT(4096);
	struct http_reply r = {.body = BUF_INIT(4096)};
	struct err e = {0};
	(void)state;

	http_reply_line(&r, 429, "wait\r\nSet-Cookie: %s", "a");
	r.retry_after_s = 5;
	assert_string_equal(r.body.data, "wait  Set-Cookie: a\n");
	assert_int_equal(http_reply_head(&r, true, 0, &head, &e), 0);
	assert_string_equal(head.data,
			    "HTTP/1.1 429 Too Many Requests\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
			    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"
			    "Content-Length: 20\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n\r\n");
	buf_free(&r.body);
	buf_free(&head);
	r = (struct http_reply){.status = 204, .body = BUF_INIT(4096)};
	assert_int_equal(http_reply_head(&r, false, 0, &head, &e), 0);
	assert_null(strstr(head.data, "Content-Length"));
	assert_non_null(strstr(head.data, "Connection: keep-alive\r\n\r\n"));
}

static void test_rate(void **state)
{
	static struct rate r;
	(void)state;

	for (int i = 0; i < RATE_BURST; i++)
		assert_true(rate_take(&r, "10.0.0.1", 1000));
	assert_false(rate_take(&r, "10.0.0.1", 1000));
	assert_true(rate_take(&r, "10.0.0.2", 1000));
	assert_true(rate_take(&r, "10.0.0.1", 1001));
	assert_false(rate_take(&r, "10.0.0.1", 1001));
	assert_false(rate_take(&r, "10.0.0.1", 900)); /* a clock that is set back gives nothing at once */
	for (int i = 0; i < RATE_BURST; i++)
		assert_true(rate_take(&r, "10.0.0.1", 5000));
	assert_false(rate_take(&r, "10.0.0.1", 5000));
}

static void test_quiet(void **state)
{
	struct quiet q = {0};
	char line[128];
	(void)state;

	assert_true(quiet_line(&q, 5, "a", line, sizeof(line)));
	assert_string_equal(line, "a");
	assert_false(quiet_line(&q, 6, "b", line, sizeof(line)));
	assert_false(quiet_line(&q, 60004, "c", line, sizeof(line)));
	assert_true(quiet_line(&q, 60005, "d", line, sizeof(line)));
	assert_string_equal(line, "d (and 2 times more since the last such line)");
	assert_true(quiet_line(&q, 200000, "e", line, sizeof(line)));
	assert_string_equal(line, "e");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_takes),  cmocka_unit_test(test_long_values), cmocka_unit_test(test_refuses),
	    cmocka_unit_test(test_bounds), cmocka_unit_test(test_length),      cmocka_unit_test(test_reply),
	    cmocka_unit_test(test_rate),   cmocka_unit_test(test_quiet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
