// SPDX-License-Identifier: Apache-2.0
/* Owns the alphabets of names and digests, and what plain text is.
 * Must not know who sent a value, nor what it is used for. */
#include "form.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"
#define HEX   DIGIT "abcdef"
#define SHOWN 80 /* bytes of a refused value that a message shows */

static bool not_zeros(const char *value)
{
	return value[strspn(value, "0")] != 0;
}

static bool uuid(const char *value)
{
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if ((value[i] == '-') != dash)
			return false;
	}
	return true;
}

/* Four characters for three bytes, of which the last ones may be missing. */
static bool padded(const char *value)
{
	size_t data = strcspn(value, "="), padding = strspn(value + data, "=");

	return value[data + padding] == 0 && padding <= 2 && (data + padding) % 4 == 0;
}

static bool pem(const char *value)
{
	static const char begin[] = "-----BEGIN ";

	for (const char *c = value; *c; c++)
		if ((*c < 0x20 && *c != '\n') || *c > 0x7e)
			return false;
	return strncmp(value, begin, strlen(begin)) == 0;
}

static bool plain(const char *value)
{
	size_t len = strlen(value);

	return form_plain_span(value, len, false) == len;
}

const struct form form_name = {"a name, of at most 48 lower-case letters, digits, dots and dashes, the first of them a "
			       "letter or a digit",
			       LOWER DIGIT,
			       LOWER DIGIT ".-",
			       1,
			       48,
			       NULL};
const struct form form_host = {"a host name, of at most 64 letters, digits, dots, dashes and underscores, the first of "
			       "them a letter or a digit",
			       LOWER UPPER DIGIT,
			       LOWER UPPER DIGIT ".-_",
			       1,
			       64,
			       NULL};
const struct form form_package = {"a package's name, of 2 to 127 lower-case letters, digits, '+', '-' and '.', the "
				  "first of them a letter or a digit",
				  LOWER DIGIT,
				  LOWER DIGIT "+-.",
				  2,
				  127,
				  NULL};
const struct form form_version = {"a version, of at most 127 letters, digits and \".+-~:\", the first of them a digit",
				  DIGIT,
				  LOWER UPPER DIGIT ".+-~:",
				  1,
				  127,
				  NULL};
const struct form form_release = {"a kernel release as uname -r prints it, of at most 64 letters, digits and "
				  "\".+-_~\", the first of them a digit",
				  DIGIT,
				  LOWER UPPER DIGIT ".+-_~",
				  1,
				  64,
				  NULL};
const struct form form_sha256 = {"a SHA-256, of 64 lower-case hexadecimal digits", HEX, HEX, 64, 64, NULL};
const struct form form_build_id = {
    "a build-id, of 40 lower-case hexadecimal digits that are not all 0", HEX, HEX, 40, 40, not_zeros};
const struct form form_boot_id = {"a boot id, as 0f1e2d3c-0123-4567-89ab-0123456789ab", HEX, HEX "-", 36, 36, uuid};
const struct form form_token = {"a token, of 64 lower-case hexadecimal digits", HEX, HEX, 64, 64, NULL};
const struct form form_base64 = {"base64 in one line", LOWER UPPER DIGIT "+/", LOWER UPPER DIGIT "+/=", 4, 344, padded};
const struct form form_pem = {"PEM, ASCII lines that begin with -----BEGIN", NULL, NULL, 1, 8191, pem};
const struct form form_text = {"one line of plain text", NULL, NULL, 0, 4096, plain};

/* A value is shown in a message as far as it is plain: the message goes to terminals and logs. */
static int refuse(const struct form *f, const char *value, struct err *e)
{
	size_t len = strlen(value);
	size_t shown = form_plain_span(value, len < SHOWN ? len : SHOWN, false);

	if (len > f->max)
		return err_set(e, EINVAL, "'%.*s...', of %zu characters, is not %s", (int)shown, value, len, f->what);
	return err_set(e, EINVAL, "'%.*s%s' is not %s", (int)shown, value, shown < len ? "..." : "", f->what);
}

int form_check(const struct form *f, const char *value, struct err *e)
{
	size_t len = strlen(value);
	bool ok = len >= f->min && len <= f->max;

	if (ok && f->rest)
		ok = len == 0 || (strchr(f->first, value[0]) && strspn(value, f->rest) == len);
	if (ok && f->also)
		ok = f->also(value);
	return ok ? 0 : refuse(f, value, e);
}

/* One character in the shortest form of UTF-8; its bytes, 0 where there is none. */
static size_t decode(const uint8_t *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	if (n > len || (n > 1 && (s[0] < 0xc0 || s[0] >= 0xf8)))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return c >= least[n] ? n : 0;
}

/* What shows nothing, shows the same as something else, or moves the glyphs around it. By Unicode's properties:
 * controls and format characters; Default_Ignorable_Code_Point, which has fillers and joiners that are letters or marks
 * by their category; every blank but the space; surrogates, private use and noncharacters. Further those that are drawn
 * as nothing although no property says so: the empty Braille pattern, the Khitan filler, the null notehead, and the
 * sign for an object that is not there. */
static bool is_plain(uint32_t c, bool lines)
{
	static const struct {
		uint32_t from, to;
	} out[] = {
	    {0, 0x1f},          {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
	    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
	    {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},
	    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
	    {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
	    {0xfff0, 0xfffc},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x16fe4, 0x16fe4},
	    {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, UINT32_MAX}};

	if (lines && (c == '\n' || c == '\t'))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		if (c >= out[i].from && c <= out[i].to)
			return false;
	return (c & 0xfffe) != 0xfffe; /* the last two of every plane are no characters */
}

size_t form_plain_span(const char *text, size_t len, bool lines)
{
	size_t at = 0, n;
	uint32_t c;

	while (at < len && (n = decode((const uint8_t *)text + at, len - at, &c)) > 0 && is_plain(c, lines))
		at += n;
	return at;
}

void form_clean(const char *text, char *ret, size_t size)
{
	size_t len = strlen(text), used = 0;

	for (size_t at = 0; at < len;) {
		uint32_t c;
		size_t n = decode((const uint8_t *)text + at, len - at, &c);
		bool good = n > 0 && is_plain(c, false);
		size_t room = good ? n : 1;

		if (used + room >= size)
			break;
		memcpy(ret + used, good ? text + at : "?", room);
		used += room;
		at += n > 0 ? n : 1;
	}
	ret[used] = 0;
}
