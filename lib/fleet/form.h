// SPDX-License-Identifier: Apache-2.0
/* Owns which characters a name, a digest or a text may have that comes from elsewhere and goes into paths, command
 * lines, tables and signatures. Must not know who sent it, nor what it is used for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

/* first and rest: the characters that the first one, and all others, are taken from; NULL: only also() decides. */
struct form {
	const char *what; /* "a name of lower-case letters, ...", as messages say it after "is not" */
	const char *first, *rest;
	size_t min, max; /* characters */
	bool (*also)(const char *value);
};

extern const struct form form_name;     /* of a rollout, cluster, preset: safe as a file's name and in a URL */
extern const struct form form_host;     /* as in a certificate */
extern const struct form form_package;  /* Debian policy 5.6.1 */
extern const struct form form_version;  /* of a package or a program; Debian policy 5.6.12 */
extern const struct form form_release;  /* uname -r; safe as part of a file's name */
extern const struct form form_sha256;   /* 64 lower-case hexadecimal digits */
extern const struct form form_build_id; /* 40, not all 0: zeros stand for a kernel that shows none */
extern const struct form form_boot_id;  /* 36: as /proc/sys/kernel/random/boot_id has it */
extern const struct form form_token;    /* 64 lower-case hexadecimal digits */
extern const struct form form_base64;   /* one line, padded */
extern const struct form form_pem;      /* ASCII lines that begin with -----BEGIN */
extern const struct form form_text;     /* one line of plain text for people, which may be empty */

/* -EINVAL, saying what belongs there. */
int must_check form_check(const struct form *f, const char *value, struct err *e);

/* How many bytes from text on are plain: UTF-8 without control characters and without those that are invisible, look
 * like a space and are none, have no agreed meaning (private use), or change the order in which others are read, so
 * that what people see is what was signed. lines: line feeds and tabs are plain, too. */
size_t form_plain_span(const char *text, size_t len, bool lines);

/* Copies text as form_text: what is not plain becomes '?', what does not fit is cut between characters. */
void form_clean(const char *text, char *ret, size_t size);
