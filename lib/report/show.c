// SPDX-License-Identifier: Apache-2.0
/* Owns what standard output can show.
 * Must not know what is shown. */
#include "show.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct picture_style show_style(void)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return (struct picture_style){
	    .width = 79,
	    .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	    .colour = isatty(STDOUT_FILENO) && (!no_colour || !*no_colour) && (!term || strcmp(term, "dumb") != 0),
	};
}

int show(const struct buf *text, struct err *e)
{
	if (text->len > 0 && fwrite(text->data, text->len, 1, stdout) != 1)
		return err_sys(e, errno, "standard output");
	if (fflush(stdout) != 0)
		return err_sys(e, errno, "standard output");
	return 0;
}
