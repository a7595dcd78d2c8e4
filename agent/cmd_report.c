// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary report`: one recording, shown.
 * Must not know how it was measured. */
#include <errno.h>

#include "canary.h"
#include "lib/report/rec_file.h"
#include "lib/report/show.h"
#include "lib/report/table.h"
#include "lib/report/to_json.h"

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->report.json = true;
	return 0;
}

static int set_no_picture(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->report.no_picture = true;
	return 0;
}

static int draw(struct buf *out, const struct summary *s, const struct picture_style *style, struct err *e)
{
	const struct picture_panel panel[] = {{"response", &s->response}, {"service", &s->service}};
	int r = buf_add(out, "\n", 1, e);

	return r < 0 ? r : picture_draw(out, panel, ARRAY_SIZE(panel), style, e);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	static struct recording_header header;
	static struct summary sum;
	const struct report_args *a = &((struct canary *)target)->report;
	_cleanup_(buf_free) struct buf out = BUF_INIT(1u << 20);
	struct picture_style style = show_style();

	if (argc != 1)
		return err_set(e, EINVAL,
			       "report shows one recording, but got %d; the form is: kpcp-canary report FILE", argc);
	int r = rec_file_read(argv[0], &header, &sum, e);
	if (r < 0)
		return r;
	if (a->json)
		r = to_json_recording(&out, &header, &sum, e);
	else
		r = table_recording(&out, &header, &sum, e);
	if (r == 0 && !a->json && !a->no_picture)
		r = draw(&out, &sum, &style, e);
	return r < 0 ? r : show(&out, e);
}

static const struct opt options[] = {
    {"json", NULL, "Print JSON for machines.", set_json},
    {"no-picture", NULL, "Leave out the picture of the distributions.", set_no_picture},
};

const struct opt_command cmd_report = {
    .name = "report",
    .operands = "FILE",
    .help = "Shows one recording: where and how it was made, its quantiles, its distributions.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
