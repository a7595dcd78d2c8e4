// SPDX-License-Identifier: Apache-2.0
/* Owns the checks that inih does not make: bounds, sections, keys, and messages with their line.
 * Must not know the meaning of any key. */
#include "conf.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"
#include "near.h"

#define CONF_FILE_MAX (1u << 20)
#define CONF_LINE_MAX 190

/* One run of inih over one text. line counts from 1; inih counts the same lines, because the reader below gives it
 * one at a time and never a part of one. */
struct parse {
	const char *file;
	const char *at, *end;
	int line;
	const struct conf_key *keys;
	size_t n;
	int *seen;          /* line of each key, 0: not yet */
	const char **names; /* room for near_find, at least n */
	void *target;
	struct err *e;
	int failed;      /* negative errno once e is set */
	int failed_line; /* where */
};

/* Returns 0, by which inih's handler reports a failure. */
static int fail(struct parse *p, int r)
{
	p->failed = r;
	p->failed_line = p->line;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* names[0..*n) become the sections of the table, or the keys of one section, for near_find. */
static size_t section_names(struct parse *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++)
		p->names[n++] = p->keys[i].section;
	return n;
}

static size_t key_names(struct parse *p, const char *section)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->keys[i].section, section) == 0)
			p->names[n++] = p->keys[i].name;
	}
	return n;
}

static int unknown_section(struct parse *p, const char *section)
{
	const char *nearest = near_find(section, p->names, section_names(p));
	if (!nearest)
		return err_set(p->e, EINVAL, "%s:%d: unknown section [%s]; this file has no keys", p->file, p->line,
			       section);
	if (!*section)
		return err_set(p->e, EINVAL,
			       "%s:%d: a key before the first section; is the line [%s] missing above it?", p->file,
			       p->line, nearest);
	return err_set(p->e, EINVAL, "%s:%d: unknown section [%s]; did you mean [%s]?", p->file, p->line, section,
		       nearest);
}

static int unknown_key(struct parse *p, const char *section, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->keys[i].name, name) == 0)
			return err_set(p->e, EINVAL, "%s:%d: key '%s' is not one of [%s] but of [%s]; move it there",
				       p->file, p->line, name, section, p->keys[i].section);
	}
	return err_set(p->e, EINVAL, "%s:%d: unknown key '%s' in [%s]; did you mean '%s'?", p->file, p->line, name,
		       section, near_find(name, p->names, key_names(p, section)));
}

/* Checks "[name]" itself: inih cuts long names, takes anything after the bracket, and tells nobody of a section that
 * has no keys. */
static int check_section(struct parse *p, const char *line, size_t len)
{
	const char *close = memchr(line, ']', len);
	if (!close)
		return err_set(p->e, EINVAL, "%s:%d: a section's name needs a ']' after it", p->file, p->line);
	const char *rest = close + 1;
	while (rest < line + len && is_blank(*rest))
		rest++;
	if (rest < line + len && *rest != ';' && *rest != '#')
		return err_set(p->e, EINVAL, "%s:%d: text after the ']' of a section; put it on a line of its own",
			       p->file, p->line);

	char section[CONF_LINE_MAX + 1];
	size_t n = (size_t)(close - line - 1);
	memcpy(section, line + 1, n);
	section[n] = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->keys[i].section, section) == 0)
			return 0;
	}
	return unknown_section(p, section);
}

static int check_line(struct parse *p, const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return err_set(p->e, EINVAL, "%s:%d: byte 0x%02x, which no text has; is this file text?",
				       p->file, p->line, c);
	}
	if (len > CONF_LINE_MAX)
		return err_set(p->e, EINVAL, "%s:%d: the line has %zu bytes, at most %d are read; shorten it", p->file,
			       p->line, len, CONF_LINE_MAX);
	return 0;
}

/* inih's fgets. Blanks in front are not handed on, as an indented line would be taken for a continuation. */
static char *next_line(char *out, int size, void *stream)
{
	struct parse *p = stream;
	if (p->failed || p->at == p->end)
		return NULL;

	p->line++;
	const char *line = p->at;
	size_t left = (size_t)(p->end - line);
	const char *feed = memchr(line, '\n', left);
	size_t len = feed ? (size_t)(feed - line) : left;
	p->at += feed ? len + 1 : len;
	if (len > 0 && line[len - 1] == '\r')
		len--;

	int r = check_line(p, line, len);
	while (len > 0 && is_blank(*line)) {
		line++;
		len--;
	}
	if (r == 0 && len > 0 && *line == '[')
		r = check_section(p, line, len);
	if (r == 0 && len + 2 > (size_t)size)
		r = err_set(p->e, EINVAL, "%s:%d: the line is too long; shorten it", p->file, p->line);
	if (r < 0) {
		fail(p, r);
		return NULL;
	}
	memcpy(out, line, len);
	out[len] = '\n';
	out[len + 1] = 0;
	return out;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct parse *p = user;
	size_t i = 0;
	while (i < p->n && (strcmp(p->keys[i].section, section) != 0 || strcmp(p->keys[i].name, name) != 0))
		i++;
	if (i == p->n) {
		size_t siblings = key_names(p, section);
		return fail(p, siblings > 0 ? unknown_key(p, section, name) : unknown_section(p, section));
	}
	if (p->seen[i])
		return fail(p, err_set(p->e, EINVAL, "%s:%d: key '%s' stands in line %d already; remove one of them",
				       p->file, p->line, name, p->seen[i]));
	p->seen[i] = p->line;

	int r = p->keys[i].set(p->target, value ? value : "", p->e);
	if (r < 0) {
		err_context(p->e, "%s:%d: %s", p->file, p->line, name);
		return fail(p, r);
	}
	return 1;
}

static int check_required(struct parse *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->keys[i].required && !p->seen[i])
			return err_set(p->e, EINVAL, "%s: key '%s' of [%s] is required and missing; add it", p->file,
				       p->keys[i].name, p->keys[i].section);
	}
	return 0;
}

/* inih goes on after an error and returns the line of the first one, its own ("no '='") or ours. */
static int run(struct parse *p)
{
	int first = ini_parse_stream(next_line, p, on_key, p);
	if (first < 0)
		return err_sys(p->e, ENOMEM, "%s: cannot be read", p->file);
	if (first > 0 && (!p->failed || first < p->failed_line))
		return err_set(p->e, EINVAL, "%s:%d: expected [section], key = value, or a comment after ';' or '#'",
			       p->file, first);
	if (p->failed)
		return p->failed;
	return check_required(p);
}

static int count_lines(const char *text, const char *upto)
{
	int line = 1;
	for (const char *c = text; c < upto; c++)
		line += *c == '\n';
	return line;
}

static void free_ptr(void *variable)
{
	void **p = variable;
	free(*p);
}

int conf_parse(const char *name, const char *text, size_t len, const struct conf_key *keys, size_t n, void *target,
	       struct err *e)
{
	static const char bom[] = "\xef\xbb\xbf";
	if (len > CONF_FILE_MAX)
		return err_set(e, EFBIG, "%s: larger than the %u bytes that a configuration may have", name,
			       CONF_FILE_MAX);
	const char *nul = len > 0 ? memchr(text, 0, len) : NULL;
	if (nul)
		return err_set(e, EINVAL, "%s:%d: a NUL byte; is this file text?", name, count_lines(text, nul));

	_cleanup_(free_ptr) int *seen = calloc(n + 1, sizeof(*seen));
	_cleanup_(free_ptr) const char **names = calloc(n + 1, sizeof(*names));
	if (!seen || !names)
		return err_sys(e, ENOMEM, "%s: cannot be read", name);
	struct parse p = {.file = name, .keys = keys, .n = n, .seen = seen, .names = names, .target = target, .e = e};
	p.at = len > 0 ? text : "";
	p.end = p.at + len;
	if (len >= sizeof(bom) - 1 && memcmp(text, bom, sizeof(bom) - 1) == 0)
		p.at += sizeof(bom) - 1;
	return run(&p);
}

int conf_read(const char *path, const struct conf_key *keys, size_t n, void *target, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(CONF_FILE_MAX);
	int r = fs_read(path, &text, e);
	if (r < 0)
		return r;
	return conf_parse(path, text.data, text.len, keys, n, target, e);
}
