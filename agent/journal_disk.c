// SPDX-License-Identifier: Apache-2.0
/* Owns the files of what a host remembers: the state, and the build-ids that are denied for good.
 * Must not know what the state means. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "journal.h"

#define DENIED_BYTES_MAX (JOURNAL_DENIED_MAX * 2u * JOURNAL_ID_MAX)

static int file_in(const char *folder, const char *name, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s", folder, name);

	if (n < 0 || n >= PATH_MAX)
		return err_set(e, ENAMETOOLONG, "%s/%s: the path is too long", folder, name);
	return 0;
}

/* What is damaged is kept for who looks at it; what it said is not guessed. */
static int set_aside(const struct sys *s, const char *folder, const struct buf *text, struct journal *ret,
		     const struct err *why, struct err *e)
{
	char path[PATH_MAX];
	int r = file_in(folder, "state.damaged", path, e);

	if (r == 0)
		r = s->hands->write(s, path, text->data ? text->data : "", text->len, 0600, e);
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->state = HOST_HELD;
	ret->outcome = OUTCOME_HELD;
	snprintf(ret->reason, sizeof(ret->reason),
		 "the state on disk is damaged (%.120s), kept as state.damaged: look at the host, then kpcp-agent lift",
		 why->text);
	return journal_store(s, folder, ret, e);
}

int journal_load(const struct sys *s, const char *folder, struct journal *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(JOURNAL_BYTES_MAX);
	char path[PATH_MAX];
	struct err why = {0};
	int r = file_in(folder, "state", path, e);

	if (r < 0)
		return r;
	r = s->read(s, path, &text, &why);
	if (r == -ENOENT) {
		memset(ret, 0, sizeof(*ret));
		return 0;
	}
	if (r == 0)
		r = journal_decode("state", text.data ? text.data : "", text.len, ret, &why);
	/* A disk that does not answer is no damage to the file: better to be started again later. */
	if (r < 0 && r != -EINVAL && r != -EFBIG && r != -ERANGE)
		return err_set(e, -r, "%s", why.text);
	return r < 0 ? set_aside(s, folder, &text, ret, &why, e) : 0;
}

int journal_store(const struct sys *s, const char *folder, const struct journal *j, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(JOURNAL_BYTES_MAX);
	char path[PATH_MAX];
	int r;

	if ((r = file_in(folder, "state", path, e)) < 0 || (r = journal_encode(j, &text, e)) < 0)
		return r;
	return s->hands->write(s, path, text.data, text.len, 0600, e);
}

static int read_denied(const struct sys *s, const char *folder, char path[PATH_MAX], struct buf *ret, struct err *e)
{
	int r = file_in(folder, "denied", path, e);

	if (r < 0)
		return r;
	r = s->read(s, path, ret, e);
	return r == -ENOENT ? 0 : r;
}

/* Where the line that is this build-id begins; NULL where there is none. */
static char *find_line(struct buf *text, const char *build)
{
	size_t len = strlen(build);

	for (char *line = text->data; line && *line;) {
		char *end = strchrnul(line, '\n');

		if ((size_t)(end - line) == len && memcmp(line, build, len) == 0)
			return line;
		line = *end ? end + 1 : end;
	}
	return NULL;
}

int journal_is_denied(const struct sys *s, const char *folder, const char *build, bool *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DENIED_BYTES_MAX);
	char path[PATH_MAX];
	int r = read_denied(s, folder, path, &text, e);

	if (r == 0)
		*ret = find_line(&text, build) != NULL;
	return r;
}

int journal_deny(const struct sys *s, const char *folder, const char *build, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DENIED_BYTES_MAX);
	char path[PATH_MAX];
	int r = read_denied(s, folder, path, &text, e);

	if (r < 0 || find_line(&text, build))
		return r;
	if ((r = buf_addf(&text, e, "%s%s\n", text.len > 0 && text.data[text.len - 1] != '\n' ? "\n" : "", build)) < 0)
		return err_context(e, "denying build-id %s", build);
	return s->hands->write(s, path, text.data, text.len, 0600, e);
}

int journal_undeny(const struct sys *s, const char *folder, const char *build, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(DENIED_BYTES_MAX);
	char path[PATH_MAX];
	int r = read_denied(s, folder, path, &text, e);

	if (r < 0)
		return r;
	char *line = find_line(&text, build);
	if (!line)
		return err_set(e, ENOENT, "build-id %s is not denied on this host; %s lists those that are", build,
			       path);
	char *end = strchrnul(line, '\n');
	if (*end)
		end++;
	memmove(line, end, (size_t)(text.data + text.len - end));
	text.len -= (size_t)(end - line);
	return s->hands->write(s, path, text.data, text.len, 0600, e);
}
