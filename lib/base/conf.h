// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of configuration files (INI, by inih) against a table of the keys that exist.
 * Must not know the meaning of any key. */
#pragma once

#include <stddef.h>

#include "err.h"

/* One key that a file may have. set() turns the text into the target's field; target is what conf_read got.
 * A key may appear once per file. */
struct conf_key {
	const char *section;
	const char *name;
	int (*set)(void *target, const char *value, struct err *e);
	_Bool required;
};

/* Reads path (at most 1 MiB, lines of at most 190 bytes: longer ones are an error, never cut). Unknown sections and
 * keys are errors that name file, line and the nearest valid name; so are a key twice, a line that is no key, a control
 * character, and a required key that is missing. Errors of set() get "file:line: key: " in front. Comments: lines that
 * start with ';' or '#', and what follows " ;" in a line. Blanks in front of a line mean nothing (no continuations).
 * target may be half filled on failure: the caller reads into a copy. */
int must_check conf_read(const char *path, const struct conf_key *keys, size_t n, void *target, struct err *e);
/* The same from memory; name stands for the path in messages. */
int must_check conf_parse(const char *name, const char *text, size_t len, const struct conf_key *keys, size_t n,
			  void *target, struct err *e);
