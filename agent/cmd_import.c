// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary import`: two published histograms, shown and judged.
 * Must not know how a verdict is reached. */
#include <errno.h>

#include "canary.h"
#include "lib/report/published_judge.h"
#include "lib/report/show.h"

#define EXIT_HOLD 3

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->import.json = true;
	return 0;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	static struct published hist[2];
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	struct picture_style style = show_style();

	if (argc != 2)
		return err_set(e, EINVAL,
			       "import takes the histogram of the old and that of the new, but got %d; the form is: "
			       "kpcp-canary import OLD NEW",
			       argc);
	struct published_pair p = {.path = {argv[0], argv[1]}, .hist = {&hist[0], &hist[1]}};
	int r = 0;
	for (int i = 0; r == 0 && i < 2; i++)
		r = published_read(argv[i], &hist[i], e);
	if (r == 0)
		r = published_judge(&p, e);
	if (r == 0)
		r = ((struct canary *)target)->import.json ? published_json(&out, &p, e)
							   : published_text(&out, &p, &style, e);
	if (r == 0)
		r = show(&out, e);
	return r < 0 ? r : EXIT_HOLD;
}

static const struct opt options[] = {
    {"json", NULL, "Print JSON for machines.", set_json},
};

const struct opt_command cmd_import = {
    .name = "import",
    .operands = "OLD NEW",
    .help = "Shows two published histograms (lines LOW HIGH COUNT, ns) and why they alone prove nothing; exit code 3.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
