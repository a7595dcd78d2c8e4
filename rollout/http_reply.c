// SPDX-License-Identifier: Apache-2.0
/* Owns the words of HTTP's statuses, and replies of one line.
 * Must not know connections, nor why the reply is what it is. */
#include "http_reply.h"

#include <stdarg.h>
#include <stdio.h>

void http_reply_line(struct http_reply *r, unsigned status, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) - 1 ? (size_t)n : sizeof(text) - 2;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < 0x20)
			text[i] = ' ';
	}
	text[len] = '\n';
	buf_free(&r->body);
	r->status = status;
	r->type = "text/plain; charset=utf-8";
	if (buf_add(&r->body, text, len + 1, NULL) < 0)
		r->body.len = 0;
}

static const char *phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} all[] = {
	    {200, "OK"},
	    {201, "Created"},
	    {204, "No Content"},
	    {400, "Bad Request"},
	    {403, "Forbidden"},
	    {404, "Not Found"},
	    {405, "Method Not Allowed"},
	    {409, "Conflict"},
	    {411, "Length Required"},
	    {413, "Content Too Large"},
	    {414, "URI Too Long"},
	    {417, "Expectation Failed"},
	    {429, "Too Many Requests"},
	    {431, "Request Header Fields Too Large"},
	    {500, "Internal Server Error"},
	    {501, "Not Implemented"},
	    {503, "Service Unavailable"},
	    {505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].status == status)
			return all[i].phrase;
	}
	return "Status";
}

int http_reply_head(const struct http_reply *r, bool last, time_t now, struct buf *ret, struct err *e)
{
	char date[40];
	struct tm tm;

	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	int n = buf_addf(ret, e,
			 "HTTP/1.1 %u %s\r\nDate: %s\r\nCache-Control: no-store\r\n"
			 "X-Content-Type-Options: nosniff\r\nConnection: %s\r\n",
			 r->status, phrase(r->status), date, last ? "close" : "keep-alive");
	if (n == 0 && r->status != 204)
		n = buf_addf(ret, e, "Content-Length: %zu\r\nContent-Type: %s\r\n", r->body.len,
			     r->type ? r->type : "application/octet-stream");
	if (n == 0 && r->retry_after_s > 0)
		n = buf_addf(ret, e, "Retry-After: %u\r\n", r->retry_after_s);
	return n < 0 ? n : buf_add(ret, "\r\n", 2, e);
}
