// SPDX-License-Identifier: Apache-2.0
/* Owns the conversions between C values and JSON's, and their checks.
 * Must not know what any member means. */
#include "member.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/near.h"

#define NAMES_MAX 64
#define TEXT_MAX  8192
#define SHOWN     40 /* bytes of an unknown name or word that a message shows */

/* Integers are written and read as int64_t, which is all that jansson and SQLite have; uint64_t fields stay below. */
static int load_number(const struct member *m, const void *field, int64_t *ret, struct err *e)
{
	uint64_t u;
	uint32_t v;
	int32_t i;

	if (m->size == sizeof(u)) {
		memcpy(&u, field, sizeof(u));
		if (u > (uint64_t)m->max)
			return err_set(e, ERANGE, "%" PRIu64 " is out of range; at most %" PRId64 " is possible", u,
				       m->max);
		*ret = (int64_t)u;
		return 0;
	}
	memcpy(&v, field, sizeof(v));
	memcpy(&i, field, sizeof(i));
	*ret = m->min < 0 ? (int64_t)i : (int64_t)v;
	return 0;
}

static void store_number(const struct member *m, void *field, int64_t x)
{
	uint64_t u = (uint64_t)x;
	uint32_t v = (uint32_t)x;

	memcpy(field, m->size == sizeof(u) ? (const void *)&u : (const void *)&v, m->size);
}

static int check_number(const struct member *m, int64_t x, struct err *e)
{
	if (x < m->min || x > m->max)
		return err_set(e, ERANGE,
			       "%" PRId64 " is out of range; expected a whole number from %" PRId64 " to %" PRId64, x,
			       m->min, m->max);
	return 0;
}

static int check_text(const struct member *m, const char *text, struct err *e)
{
	size_t len = strlen(text);

	if (len >= m->size)
		return err_set(e, EINVAL, "has %zu bytes, at most %zu are taken", len, m->size - 1);
	return m->may_be_empty && len == 0 ? 0 : form_check(m->form, text, e);
}

/* ---- writing ---- */

static int make_text(const struct member *m, const char *field, json_t **ret, struct err *e)
{
	char text[TEXT_MAX];

	if (m->size > sizeof(text) || !memchr(field, 0, m->size))
		return err_set(e, EINVAL, "has no end within its %zu bytes", m->size);
	if (m->form == &form_text)
		form_clean(field, text, m->size);
	else
		memcpy(text, field, strlen(field) + 1);
	int r = check_text(m, text, e);
	if (r == 0)
		*ret = json_string(text);
	return r;
}

static int make_word(const struct member *m, const char *field, json_t **ret, struct err *e)
{
	unsigned word = (unsigned char)*field;

	if (m->size == sizeof(word))
		memcpy(&word, field, sizeof(word));
	if (word >= m->n_words)
		return err_set(e, EINVAL, "%u is none of its %zu words", word, m->n_words);
	*ret = json_string(m->words[word]);
	return 0;
}

static int make_number(const struct member *m, const char *field, json_t **ret, struct err *e)
{
	int64_t x = 0;
	int r = load_number(m, field, &x, e);

	if (r < 0 || (r = check_number(m, x, e)) < 0)
		return r;
	*ret = json_integer(x);
	return 0;
}

static int make(const struct member *m, const char *field, json_t **ret, struct err *e)
{
	switch (m->kind) {
	case MEMBER_TEXT:
		return make_text(m, field, ret, e);
	case MEMBER_WORD:
		return make_word(m, field, ret, e);
	case MEMBER_NUMBER:
		return make_number(m, field, ret, e);
	case MEMBER_FLAG:
		*ret = json_boolean(*(const bool *)field);
		return 0;
	}
	return err_set(e, EINVAL, "is of no kind");
}

int member_write(const struct member *m, size_t n, const void *from, json_t *object, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		json_t *value = NULL;
		int r = make(&m[i], (const char *)from + m[i].offset, &value, e);

		if (r < 0)
			return err_context(e, "%s", m[i].name);
		if (json_object_set_new(object, m[i].name, value) < 0)
			return err_sys(e, ENOMEM, "%s", m[i].name);
	}
	return 0;
}

int member_dump(json_t *object, size_t max, struct buf *ret, struct err *e)
{
	char *text = json_dumps(object, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	int r;

	if (!text)
		r = err_sys(e, ENOMEM, "this could not be written as JSON");
	else if (len > max)
		r = err_set(e, EFBIG, "this has %zu bytes as JSON, at most %zu are sent", len, max);
	else
		r = buf_add(ret, text, len, e);
	free(text);
	json_decref(object);
	return r;
}

/* ---- reading ---- */

static int wrong_type(const char *expected, struct err *e)
{
	return err_set(e, EINVAL, "expected %s", expected);
}

static int take_word(const struct member *m, const json_t *value, char *field, struct err *e)
{
	const char *word = json_string_value(value);

	if (!word)
		return wrong_type("a word", e);
	for (unsigned i = 0; i < m->n_words; i++) {
		if (strcmp(m->words[i], word) != 0)
			continue;
		if (m->size == sizeof(i))
			memcpy(field, &i, sizeof(i));
		else
			*(bool *)field = i != 0;
		return 0;
	}
	return err_set(e, EINVAL, "unknown word \"%.*s\"; did you mean \"%s\"?", SHOWN, word,
		       near_find(word, m->words, m->n_words));
}

static int take(const struct member *m, const json_t *value, char *field, struct err *e)
{
	const char *text = json_string_value(value);
	int r;

	switch (m->kind) {
	case MEMBER_TEXT:
		if (!text)
			return wrong_type("a text", e);
		r = check_text(m, text, e);
		if (r == 0)
			memcpy(field, text, strlen(text) + 1);
		return r;
	case MEMBER_WORD:
		return take_word(m, value, field, e);
	case MEMBER_NUMBER:
		if (!json_is_integer(value))
			return wrong_type("a whole number", e);
		r = check_number(m, json_integer_value(value), e);
		if (r == 0)
			store_number(m, field, json_integer_value(value));
		return r;
	case MEMBER_FLAG:
		if (!json_is_boolean(value))
			return wrong_type("true or false", e);
		*(bool *)field = json_is_true(value);
		return 0;
	}
	return err_set(e, EINVAL, "is of no kind");
}

static int missing(const char *name, struct err *e)
{
	return err_set(e, EINVAL, "member \"%s\" is missing", name);
}

int member_read(const struct member *m, size_t n, const json_t *object, void *to, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_object_get(object, m[i].name);

		if (!value)
			return missing(m[i].name, e);
		int r = take(&m[i], value, (char *)to + m[i].offset, e);
		if (r < 0)
			return err_context(e, "member \"%s\"", m[i].name);
	}
	return 0;
}

int member_text(const json_t *object, const char *name, const struct form *form, const char **ret, struct err *e)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value);
	int r;

	if (!value)
		return missing(name, e);
	r = text ? form_check(form, text, e) : wrong_type("a text", e);
	if (r < 0)
		return err_context(e, "member \"%s\"", name);
	*ret = text;
	return 0;
}

int member_only(const json_t *object, const struct member *const *lists, size_t n_lists, struct err *e)
{
	const char *names[NAMES_MAX], *name;
	size_t n = 0;
	json_t *value;

	for (size_t i = 0; i < n_lists; i++)
		for (const struct member *m = lists[i]; m->name && n < NAMES_MAX; m++)
			names[n++] = m->name;
	json_object_foreach((json_t *)object, name, value)
	{
		size_t i = 0;

		while (i < n && strcmp(names[i], name) != 0)
			i++;
		if (i == n)
			return err_set(e, EINVAL, "unknown member \"%.*s\"; did you mean \"%s\"?",
				       (int)form_plain_span(name, strnlen(name, SHOWN), false), name,
				       near_find(name, names, n));
	}
	return 0;
}

/* jansson recurses for each level, to 2048: what comes from the network gets no more of the stack than it needs. */
static bool is_shallow(const char *text, size_t len)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (!quoted && (text[i] == '{' || text[i] == '[') && ++depth > MEMBER_DEPTH_MAX)
			return false;
		else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
	}
	return true;
}

int member_parse(const char *text, size_t len, size_t max, json_t **ret, struct err *e)
{
	json_error_t why;

	if (len > max)
		return err_set(e, EFBIG, "%zu bytes, at most %zu are read", len, max);
	/* jansson loses one that follows a number. */
	if (len > 0 && memchr(text, 0, len))
		return err_set(e, EINVAL, "no JSON: it has a NUL byte");
	if (!is_shallow(text, len))
		return err_set(e, EINVAL, "more than %d levels of objects and lists", MEMBER_DEPTH_MAX);
	json_t *object = json_loadb(len > 0 ? text : "", len, JSON_REJECT_DUPLICATES, &why);
	if (!object)
		return err_set(e, EINVAL, "no JSON at byte %d: %.*s", why.position,
			       (int)form_plain_span(why.text, strlen(why.text), false), why.text);
	if (!json_is_object(object)) {
		json_decref(object);
		return err_set(e, EINVAL, "no JSON object");
	}
	*ret = object;
	return 0;
}
