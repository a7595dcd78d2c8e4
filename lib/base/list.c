// SPDX-License-Identifier: Apache-2.0
/* Owns the one rule for what stands between words.
 * Must not know what the words are. */
#include "list.h"

#include <errno.h>
#include <string.h>

#define BLANKS " \t"

int list_skip(const char **at, struct err *e)
{
	const char *next = *at + strspn(*at, BLANKS);

	if (*next == ',') {
		next++;
		next += strspn(next, BLANKS);
		if (!*next || *next == ',')
			return err_set(e, EINVAL, "a comma has nothing after it; remove it");
	}
	*at = next;
	return 0;
}

int list_next(const char **at, const char **ret_word, size_t *ret_len, struct err *e)
{
	const char *word = *at + strspn(*at, BLANKS);
	const char *next = word + strcspn(word, BLANKS ",");

	if (!*word)
		return 0;
	if (next == word)
		return err_set(e, EINVAL, "a comma has nothing before it; remove it");
	*ret_word = word;
	*ret_len = (size_t)(next - word);
	int r = list_skip(&next, e);
	if (r < 0)
		return r;
	*at = next;
	return 1;
}
