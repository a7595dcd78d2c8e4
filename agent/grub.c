// SPDX-License-Identifier: Apache-2.0
/* Owns the part of GRUB's script language that its own generators write: menus, entries, a kernel and its arguments.
 * Must not know files, programs, or what is made of an entry. */
#include "grub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX  512
#define DEPTH_MAX 8

struct words {
	const char *at, *end;
	bool failed; /* a word that is too long, or a quote without its end */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* One quoted part; w->at is behind the opening quote. In '...' nothing is special, in "..." a backslash is. */
static void quoted(struct words *w, char quote, char *ret, size_t *n, bool *variable)
{
	while (w->at < w->end && *w->at != quote) {
		if (quote == '"' && *w->at == '\\' && w->end - w->at > 1)
			w->at++;
		else if (quote == '"' && *w->at == '$')
			*variable = true;
		if (*n >= WORD_MAX - 1) {
			w->failed = true;
			return;
		}
		ret[(*n)++] = *w->at++;
	}
	if (w->at == w->end)
		w->failed = true;
	else
		w->at++;
}

/* The next word without its quotes; false at the end. *variable: it has a $ that GRUB would put something in for. */
static bool next_word(struct words *w, char ret[WORD_MAX], bool *variable)
{
	size_t n = 0;

	*variable = false;
	while (w->at < w->end && is_blank(*w->at))
		w->at++;
	if (w->at == w->end || *w->at == '#')
		return false;
	while (w->at < w->end && !is_blank(*w->at) && !w->failed) {
		char c = *w->at++;

		if (c == '\'' || c == '"') {
			quoted(w, c, ret, &n, variable);
			continue;
		}
		if (c == '\\' && w->at < w->end)
			c = *w->at++;
		else if (c == '$')
			*variable = true;
		if (n >= WORD_MAX - 1)
			w->failed = true;
		else
			ret[n++] = c;
	}
	ret[n] = 0;
	return !w->failed;
}

/* One open brace: of a menu, an entry, or of something else (a function). */
struct level {
	enum { LEVEL_OTHER, LEVEL_MENU, LEVEL_ENTRY } kind;
	char id[GRUB_ENTRY_MAX];
};

struct search {
	const char *release;
	struct level level[DEPTH_MAX];
	unsigned depth;
	bool wanted; /* the entry that is open boots the release */
	bool found;
	int failed; /* what makes the wanted entry unusable */
	struct grub_entry entry;
	struct err *e;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* menuentry 'Title' --class x $menuentry_id_option 'ID' { */
static void open_level(struct search *s, struct words *w, int kind)
{
	char word[WORD_MAX];
	bool variable, id_next = false, first = true;
	struct level l = {.kind = kind};

	while (next_word(w, word, &variable)) {
		/* The title stands for an id that is not given; too long: the entry cannot be named. */
		if ((id_next || first) && strlen(word) < sizeof(l.id))
			memcpy(l.id, word, strlen(word) + 1);
		else if (id_next || first)
			l.id[0] = 0;
		id_next = strcmp(word, "$menuentry_id_option") == 0 || strcmp(word, "--id") == 0;
		first = false;
	}
	if (s->depth < DEPTH_MAX)
		s->level[s->depth] = l;
	s->depth++;
}

/* "menu>menu>entry" of the open levels; false where it does not fit or a level has no usable id. */
static bool full_id(const struct search *s, char ret[GRUB_ENTRY_MAX])
{
	size_t at = 0;

	if (s->depth > DEPTH_MAX)
		return false;
	for (unsigned i = 0; i < s->depth; i++) {
		if (s->level[i].kind == LEVEL_OTHER)
			continue;
		int n = snprintf(ret + at, GRUB_ENTRY_MAX - at, "%s%s", at > 0 ? ">" : "", s->level[i].id);
		if (n < 0 || (size_t)n >= GRUB_ENTRY_MAX - at || !s->level[i].id[0])
			return false;
		at += (size_t)n;
	}
	return at > 0;
}

/* A word with blanks goes to the kernel in quotes, as GRUB itself hands it on. */
static int add_argument(struct search *s, size_t *at, const char *word)
{
	bool blanks = strpbrk(word, " \t") != NULL;
	char *args = s->entry.args;
	int n = snprintf(args + *at, GRUB_ARGS_MAX - *at, "%s%s%s%s", *at > 0 ? " " : "", blanks ? "\"" : "", word,
			 blanks ? "\"" : "");

	if (n < 0 || (size_t)n >= GRUB_ARGS_MAX - *at)
		return err_set(s->e, EINVAL, "GRUB's entry of %s has more than %d bytes of arguments", s->release,
			       GRUB_ARGS_MAX - 1);
	*at += (size_t)n;
	return 0;
}

/* linux /boot/vmlinuz-RELEASE root=... ; the rest of the line. */
static void on_linux(struct search *s, struct words *w)
{
	char word[WORD_MAX], want[WORD_MAX];
	const struct level *entry = &s->level[s->depth - 1];
	bool variable;
	size_t at = 0;

	snprintf(want, sizeof(want), "vmlinuz-%s", s->release);
	if (!next_word(w, word, &variable) || strcmp(base_name(word), want) != 0 || !strstr(entry->id, s->release))
		return;
	s->wanted = full_id(s, s->entry.id);
	if (!s->wanted)
		return;
	s->entry.args[0] = s->entry.initrd[0] = 0;
	while (s->failed == 0 && next_word(w, word, &variable)) {
		/* Ubuntu's: how the screen looks at the hand-over, which no kexec has. */
		if (strcmp(word, "$vt_handoff") == 0)
			continue;
		if (variable)
			s->failed = err_set(s->e, EINVAL,
					    "GRUB's entry of %s has the argument %s, which only GRUB can work out; "
					    "write its value in /etc/default/grub and run update-grub",
					    s->release, word);
		else
			s->failed = add_argument(s, &at, word);
	}
	if (w->failed && s->failed == 0)
		s->failed = err_set(s->e, EINVAL, "GRUB's entry of %s has an argument that cannot be read", s->release);
}

static void on_initrd(struct search *s, struct words *w)
{
	char word[WORD_MAX];
	bool variable;

	while (next_word(w, word, &variable)) {
		const char *name = base_name(word);
		if (strlen(name) < sizeof(s->entry.initrd))
			memcpy(s->entry.initrd, name, strlen(name) + 1);
	}
}

static void on_line(struct search *s, struct words *w)
{
	const char *last = w->end;
	char word[WORD_MAX];
	bool variable;

	if (!next_word(w, word, &variable))
		return;
	while (last > w->at && is_blank(last[-1]))
		last--;
	bool opens = last > w->at && last[-1] == '{';
	bool in_entry = s->depth > 0 && s->depth <= DEPTH_MAX && s->level[s->depth - 1].kind == LEVEL_ENTRY;

	if (strcmp(word, "}") == 0) {
		s->found = s->wanted && in_entry;
		s->depth -= s->depth > 0;
	} else if (opens && strcmp(word, "menuentry") == 0) {
		open_level(s, w, LEVEL_ENTRY);
	} else if (opens && strcmp(word, "submenu") == 0) {
		open_level(s, w, LEVEL_MENU);
	} else if (opens) {
		open_level(s, w, LEVEL_OTHER);
	} else if (in_entry && (strcmp(word, "linux") == 0 || strcmp(word, "linuxefi") == 0)) {
		on_linux(s, w);
	} else if (in_entry && s->wanted && (strcmp(word, "initrd") == 0 || strcmp(word, "initrdefi") == 0)) {
		on_initrd(s, w);
	}
}

static const char *next_line(const char **at, const char *end, size_t *len)
{
	const char *line = *at, *feed;

	if (line == end)
		return NULL;
	feed = memchr(line, '\n', (size_t)(end - line));
	*len = (size_t)((feed ? feed : end) - line);
	*at = feed ? feed + 1 : end;
	return line;
}

int grub_find(const char *cfg, size_t len, const char *release, struct grub_entry *ret, struct err *e)
{
	struct search s = {.release = release, .e = e};
	const char *at = cfg, *end = cfg + len, *line;
	size_t n;

	while (!s.found && s.failed == 0 && (line = next_line(&at, end, &n))) {
		struct words w = {.at = line, .end = line + n};
		on_line(&s, &w);
	}
	if (s.failed < 0)
		return s.failed;
	if (!s.found)
		return err_set(e, ENOENT, "GRUB's menu has no entry whose id names %s; run update-grub", release);
	*ret = s.entry;
	return 0;
}

bool grub_boots_saved(const char *cfg, size_t len)
{
	const char *at = cfg, *end = cfg + len, *line;
	char word[WORD_MAX];
	bool variable;
	size_t n;

	while ((line = next_line(&at, end, &n))) {
		struct words w = {.at = line, .end = line + n};

		if (next_word(&w, word, &variable) && strcmp(word, "set") == 0 && next_word(&w, word, &variable) &&
		    strcmp(word, "default=${saved_entry}") == 0)
			return true;
	}
	return false;
}

int grub_env_get(const char *text, size_t len, const char *name, char *ret, size_t cap, struct err *e)
{
	const char *at = text, *end = text + len, *line;
	size_t n, name_len = strlen(name);

	while ((line = next_line(&at, end, &n))) {
		if (n <= name_len || memcmp(line, name, name_len) != 0 || line[name_len] != '=')
			continue;
		size_t value_len = n - name_len - 1;
		if (value_len >= cap || memchr(line, 0, n))
			return err_set(e, EINVAL, "GRUB's %s has %zu bytes, at most %zu are possible", name, value_len,
				       cap - 1);
		memcpy(ret, line + name_len + 1, value_len);
		ret[value_len] = 0;
		return 0;
	}
	ret[0] = 0;
	return 0;
}

bool grub_shell_get(const char *text, size_t len, const char *name, char *ret, size_t cap)
{
	const char *at = text, *end = text + len, *line;
	size_t n, name_len = strlen(name);
	char word[WORD_MAX];
	bool variable, found = false;

	while ((line = next_line(&at, end, &n))) {
		struct words w = {.at = line, .end = line + n};

		if (!next_word(&w, word, &variable))
			continue;
		if (strcmp(word, "export") == 0 && !next_word(&w, word, &variable))
			continue;
		if (strncmp(word, name, name_len) != 0 || word[name_len] != '=')
			continue;
		snprintf(ret, cap, "%s", word + name_len + 1);
		found = true;
	}
	return found;
}
