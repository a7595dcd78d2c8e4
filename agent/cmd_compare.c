// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp-canary compare`: its groups of files, its output, its exit codes.
 * Must not know how a verdict is reached. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "lib/report/explain.h"
#include "lib/report/plan.h"
#include "lib/report/rec_file.h"
#include "lib/report/show.h"
#include "lib/report/table.h"
#include "lib/report/text.h"
#include "lib/report/to_json.h"

#define EXIT_ROLLBACK 2
#define EXIT_HOLD     3

/* Known by its address; its text is what lib/base/opt.h hands on as an operand. */
static char control_mark[] = "--";

void cmd_compare_mark_control(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "compare") != 0)
		return;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "--control") == 0)
			argv[i] = control_mark;
}

static int set_control(void *t, const char *value, struct err *e)
{
	(void)t, (void)value;
	return err_set(e, EINVAL, "stands between the canaries' NEW... and the controls' OLD... -- NEW...");
}

static int set_plan(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct canary *)t)->compare.plan = value;
	return 0;
}

static int set_setting(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->compare.setting = true;
	return 0;
}

static int set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->compare.json = true;
	return 0;
}

static int set_explain(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->compare.explain = true;
	return 0;
}

static int set_no_picture(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct canary *)t)->compare.no_picture = true;
	return 0;
}

static int usage_error(struct err *e, const char *what)
{
	return err_set(e, EINVAL, "%s; the form is: kpcp-canary compare OLD... -- NEW... [--control OLD... -- NEW...]",
		       what);
}

/* OLD... -- NEW... [--control OLD... -- NEW...]; counts the files in *n. file may be NULL: only counts. */
static int split(int argc, char **argv, struct compare_file *file, size_t *n, struct err *e)
{
	enum compare_group group = GROUP_OLD;
	size_t in_group = 0;

	*n = 0;
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0) {
			if (file)
				file[*n] = (struct compare_file){.path = argv[i], .group = group};
			++*n;
			in_group++;
			continue;
		}
		bool control = argv[i] == control_mark;
		if (in_group == 0)
			return usage_error(e, control ? "no recording before --control" : "no recording before --");
		if (control != (group == GROUP_NEW))
			return usage_error(e, control ? "--control comes before -- and NEW..., or twice"
						      : "a second -- without --control before it, or a third one");
		if (group == GROUP_CONTROL_NEW)
			return usage_error(e, "a third --");
		group++;
		in_group = 0;
	}
	if (group == GROUP_OLD || group == GROUP_CONTROL_OLD)
		return usage_error(e, group == GROUP_OLD
					  ? "no -- between the recordings of old and those of new"
					  : "no -- between the controls' first recordings and their second");
	return in_group == 0 ? usage_error(e, "no recording after the last --") : 0;
}

static int read_all(struct compare_file *file, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = rec_file_read(file[i].path, &file[i].header, &file[i].sum, e);

		if (r < 0)
			return err_context(e, "nothing was compared");
	}
	return 0;
}

static int draw(struct buf *out, const struct comparison *c, const struct picture_style *style, struct err *e)
{
	char label[2][RECORDING_NAME_MAX + 16];
	struct picture_panel panel[2];

	for (int g = GROUP_OLD; g <= GROUP_NEW; g++) {
		const struct recording_header *h = c->arm[g].header;
		char scale[TEXT_MAX];

		snprintf(label[g], sizeof(label[g]), "%s  %s", g == GROUP_OLD ? "old" : "new",
			 c->factor == COMPARE_KERNELS ? h->release : text_scale(h, scale));
		panel[g] = (struct picture_panel){.label = label[g], .hist = &c->arm[g].response};
	}
	int r = buf_add(out, "\n", 1, e);
	return r < 0 ? r : picture_draw(out, panel, 2, style, e);
}

static int print(const struct compare_args *a, const struct comparison *c, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(16u << 20);
	struct picture_style style = show_style();
	int r;

	if (a->json) {
		r = to_json_comparison(&out, c, e);
	} else if (a->explain) {
		r = explain_text(&out, c, style.colour, e);
	} else {
		r = table_comparison(&out, c, e);
		if (r == 0 && !a->no_picture)
			r = draw(&out, c, &style, e);
		if (r == 0)
			r = table_verdict(&out, c, style.colour, e);
	}
	return r < 0 ? r : show(&out, e);
}

static int judge_files(const struct compare_args *a, struct compare_file *file, size_t n, struct err *e)
{
	static struct comparison c; /* some 40 KiB */
	enum compare_factor factor = a->setting ? COMPARE_SETTINGS : COMPARE_KERNELS;
	struct judge_plan plan = judge_plan_default;
	int r;

	if (a->plan && (r = plan_read(a->plan, &plan, e)) < 0)
		return r;
	if ((r = read_all(file, n, e)) < 0 || (r = compare(file, n, factor, &plan, a->plan, &c, e)) < 0)
		return r;
	r = print(a, &c, e);
	comparison_free(&c);
	if (r < 0)
		return r;
	return c.verdict.kind == VERDICT_PROMOTE ? 0 : c.verdict.kind == VERDICT_ROLLBACK ? EXIT_ROLLBACK : EXIT_HOLD;
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	size_t n;
	int r = split(argc, argv, NULL, &n, e);

	if (r < 0)
		return r;
	struct compare_file *file = calloc(n, sizeof(*file));
	if (!file)
		return err_sys(e, ENOMEM, "comparing %zu recordings", n);
	r = split(argc, argv, file, &n, e);
	if (r == 0)
		r = judge_files(&((struct canary *)target)->compare, file, n, e);
	free(file);
	return r;
}

static const struct opt options[] = {
    {"control", NULL, "Hosts that kept the old kernel follow: their OLD... -- NEW... of the same two times.",
     set_control},
    {"plan", "FILE",
     "The roster, margins and error rates (default: 4 canaries, 4 controls, 1 boot, 30 storms): a section [judge], "
     "whose keys are canaries, controls, boots, storms, endpoints, margin-p99, margin-p99.9, margin-exit, "
     "min-samples-p99, min-samples-p99.9, min-samples-exit, probing, min-passive-p99, min-passive-p99.9, "
     "min-passive-exit, models, covariance-from, reference-p99, reference-p99.9, reference-exit, alpha-promote, "
     "alpha-rollback, sd-floor, brake-sd, second-opinion, seed and spread; see kpcp-plan(5).",
     set_plan},
    {"setting", NULL, "Old and new are two settings (sysctls) of one kernel, in one boot or in several.", set_setting},
    {"explain", NULL, "Say in plain words what the verdict means, what to do, and what was left out.", set_explain},
    {"json", NULL, "Print JSON for machines.", set_json},
    {"no-picture", NULL, "Leave out the picture of the distributions.", set_no_picture},
};

const struct opt_command cmd_compare = {
    .name = "compare",
    .operands = "OLD... -- NEW... [--control OLD... -- NEW...]",
    .help =
	"Judges a new kernel by recordings of it and of the old one; exit code 0 PROMOTE, 2 ROLLBACK, 3 HOLD, 1 error.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
