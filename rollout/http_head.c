// SPDX-License-Identifier: Apache-2.0
/* Owns the strict reading of a request's head, line by line.
 * Must not know sockets, TLS, or which paths exist. */
#include "http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/base/num.h"

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

struct reading {
	struct http_head head;
	unsigned status; /* of the refusal */
	unsigned fields;
	bool has_length, has_host, close, keep;
	unsigned minor;
	struct err *e;
};

static int refuse(struct reading *r, unsigned status, const char *text)
{
	r->status = status;
	return err_set(r->e, EBADMSG, "%s", text);
}

size_t http_head_length(const char *text, size_t len)
{
	const char *end = len > 0 ? memmem(text, len, "\r\n\r\n", 4) : NULL;
	return end ? (size_t)(end - text) + 4 : 0;
}

/* Whether all of it is in the alphabet. */
static bool all_of(const char *s, size_t len, const char *alphabet)
{
	for (size_t i = 0; i < len; i++) {
		if (!s[i] || !strchr(alphabet, s[i]))
			return false;
	}
	return true;
}

/* No part of a path may be empty or walk: what is joined to a folder later stays in it. */
static bool parts_ok(const char *path, size_t len)
{
	if (len == 1)
		return true;
	for (size_t at = 1; at <= len;) {
		const char *slash = at < len ? memchr(path + at, '/', len - at) : NULL;
		size_t n = slash ? (size_t)(slash - path) - at : len - at;
		if (n == 0 || (n == 1 && path[at] == '.') || (n == 2 && memcmp(path + at, "..", 2) == 0))
			return false;
		at += n + 1;
	}
	return true;
}

static int read_target(struct reading *r, const char *s, size_t len)
{
	const char *mark = memchr(s, '?', len);
	size_t path = mark ? (size_t)(mark - s) : len;
	size_t query = mark ? len - path - 1 : 0;

	if (path >= HTTP_PATH_MAX || query >= HTTP_QUERY_MAX)
		return refuse(r, 414, "the path or query is too long");
	if (path == 0 || s[0] != '/' || !all_of(s, path, ALNUM "-._~/") || !parts_ok(s, path))
		return refuse(r, 400,
			      "the path has to begin with '/', with names of letters, digits, '-', '.', '_' and '~' "
			      "between single '/'");
	if (mark && !all_of(mark + 1, query, ALNUM "-._~=&"))
		return refuse(r, 400, "the query has a character that none of ours has; write NAME=VALUE, '&' between");
	memcpy(r->head.path, s, path);
	if (mark)
		memcpy(r->head.query, mark + 1, query);
	return 0;
}

static int read_request_line(struct reading *r, const char *s, size_t len)
{
	const char *one = memchr(s, ' ', len);
	const char *two = one ? memchr(one + 1, ' ', len - (size_t)(one + 1 - s)) : NULL;
	if (!two)
		return refuse(r, 400, "the first line is not METHOD PATH HTTP/1.1; is this HTTP?");

	size_t version = len - (size_t)(two + 1 - s);
	if (version != 8 || memcmp(two + 1, "HTTP/", 5) != 0)
		return refuse(r, 400, "the first line is not METHOD PATH HTTP/1.1; is this HTTP?");
	if (memcmp(two + 6, "1.0", 3) != 0 && memcmp(two + 6, "1.1", 3) != 0)
		return refuse(r, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	r->minor = two[8] == '1';

	size_t method = (size_t)(one - s);
	if (method == 0 || method >= sizeof(r->head.method) || !all_of(s, method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		return refuse(r, 501, "there is no such method");
	memcpy(r->head.method, s, method);
	return read_target(r, one + 1, (size_t)(two - one - 1));
}

static bool is_known(const char *name, size_t n)
{
	static const char *const known[] = {"Content-Length", "Transfer-Encoding", "Host", "Expect", "Connection"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == n && strncasecmp(name, known[i], n) == 0)
			return true;
	return false;
}

static int read_length(struct reading *r, const char *value)
{
	if (r->has_length)
		return refuse(r, 400, "Content-Length is given twice");
	r->has_length = true;
	if (num_u64(value, 0, INT64_MAX, &r->head.body_len, NULL) < 0)
		return refuse(r, 400, "Content-Length is no number");
	return 0;
}

static int read_connection(struct reading *r, const char *value)
{
	while (*value) {
		value += strspn(value, ", \t");
		size_t n = strcspn(value, ", \t");
		r->close |= n == 5 && strncasecmp(value, "close", n) == 0;
		r->keep |= n == 10 && strncasecmp(value, "keep-alive", n) == 0;
		value += n;
	}
	return 0;
}

/* The fields that change how the message is read; all others mean nothing here. */
static int read_known(struct reading *r, const char *name, size_t n, const char *value)
{
	static const char length[] = "Content-Length", coding[] = "Transfer-Encoding", host[] = "Host",
			  expect[] = "Expect", connection[] = "Connection";
#define IS(field) (n == sizeof(field) - 1 && strncasecmp(name, field, n) == 0)
	if (IS(length))
		return read_length(r, value);
	if (IS(coding))
		return refuse(r, 411, "transfer codings are not taken; send the body with Content-Length");
	if (IS(connection))
		return read_connection(r, value);
	if (IS(expect)) {
		if (strcasecmp(value, "100-continue") != 0)
			return refuse(r, 417, "only 100-continue can be expected");
		r->head.expects_continue = true;
	}
	if (IS(host)) {
		if (r->has_host)
			return refuse(r, 400, "Host is given twice");
		r->has_host = true;
	}
#undef IS
	return 0;
}

static int read_field(struct reading *r, const char *s, size_t len)
{
	char value[256];

	if (++r->fields > HTTP_FIELDS_MAX)
		return refuse(r, 431, "there are too many headers");
	const char *colon = memchr(s, ':', len);
	size_t n = colon ? (size_t)(colon - s) : 0;
	if (n == 0 || !all_of(s, n, ALNUM "!#$%&'*+-.^_`|~"))
		return refuse(r, 400, "a header is not NAME: VALUE");

	const char *from = colon + 1, *to = s + len;
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	size_t m = (size_t)(to - from);
	/* Others may be longer, and are not looked at: only their names are. */
	if (m >= sizeof(value)) {
		if (is_known(s, n))
			return refuse(r, 431, "a header that changes how the request is read has more than 255 bytes");
		return 0;
	}
	memcpy(value, from, m);
	value[m] = 0;
	return read_known(r, s, n, value);
}

static int read_line(struct reading *r, const char *s, size_t len, bool first)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if ((c < 0x20 && (c != '\t' || first)) || c == 0x7f || (c >= 0x80 && first))
			return refuse(r, 400, "the head has a byte that no text has");
	}
	return first ? read_request_line(r, s, len) : read_field(r, s, len);
}

int http_head_parse(const char *text, size_t len, struct http_head *ret, unsigned *status, struct err *e)
{
	struct reading r = {.e = e};
	const char *at = text, *end = text + len;

	for (bool first = true;; first = false) {
		const char *feed = at < end ? memmem(at, (size_t)(end - at), "\r\n", 2) : NULL;
		int failed = 0;
		if (!feed)
			failed = refuse(&r, 400, "the head does not end");
		else if (feed == at && !first)
			break;
		else
			failed = read_line(&r, at, (size_t)(feed - at), first);
		if (failed < 0) {
			*status = r.status;
			return failed;
		}
		at = feed + 2;
	}
	if (r.minor == 1 && !r.has_host) {
		*status = 400;
		return err_set(e, EBADMSG, "the header Host is missing");
	}
	r.head.keep_alive = r.minor == 1 ? !r.close : r.keep && !r.close;
	*ret = r.head;
	return 0;
}
