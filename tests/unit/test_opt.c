// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that command lines are taken as they are meant or refused with a way out, and what help looks like.
 * Must not know the commands of any program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/num.h"
#include "lib/base/opt.h"

struct settings {
	uint64_t storms;
	char out[64];
	unsigned json;
	unsigned calls;
	int exit_code;
	int operands;
	char first[64];
};

static int set_storms(void *target, const char *value, struct err *e)
{
	struct settings *s = target;
	s->calls++;
	return num_u64(value, 1, 1000, &s->storms, e);
}

static int set_out(void *target, const char *value, struct err *e)
{
	(void)e;
	struct settings *s = target;
	s->calls++;
	snprintf(s->out, sizeof(s->out), "%s", value);
	return 0;
}

static int set_json(void *target, const char *value, struct err *e)
{
	(void)e;
	struct settings *s = target;
	assert_null(value);
	s->calls++;
	s->json++;
	return 0;
}

static const struct opt opts[] = {
    {"storms", "COUNT", "How many storms make one recording, at least 30 where a verdict is wanted (default 30).",
     set_storms},
    {"out", "FILE", "Where the recording goes.", set_out},
    {"json", NULL, "Print for machines.", set_json},
};

/* A command line of at most 15 words, its words split at blanks; "''" is the empty word. */
struct line {
	char text[256];
	char *argv[17];
	int argc;
};

static void split(struct line *l, const char *text)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->text, sizeof(l->text), "%s", text);
	char *save = NULL;
	for (char *w = strtok_r(l->text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(l->argc < 16);
		l->argv[l->argc++] = strcmp(w, "''") == 0 ? w + 2 : w;
	}
}

static int parse(struct line *l, const char *text, struct settings *s, int *n, _Bool *help, struct err *e)
{
	split(l, text);
	memset(s, 0, sizeof(*s));
	return opt_parse(l->argc, l->argv, opts, ARRAY_SIZE(opts), s, n, help, e);
}

static void assert_message(const char *text, const char *message)
{
	struct line l;
	struct settings s;
	struct err e = {0};
	int n = 77;
	_Bool help = false;
	assert_int_equal(parse(&l, text, &s, &n, &help, &e), -EINVAL);
	assert_string_equal(e.text, message);
	assert_int_equal(e.code, EINVAL);
	assert_int_equal(n, 77);
	assert_false(help);
}

static void test_both_forms_of_a_value(void **state)
{
	(void)state;
	struct line l;
	struct settings s;
	struct err e = {0};
	int n = 0;
	_Bool help = false;
	assert_int_equal(parse(&l, "record --storms 5 --out=a=b --json", &s, &n, &help, &e), 0);
	assert_int_equal(s.storms, 5);
	assert_string_equal(s.out, "a=b");
	assert_int_equal(s.json, 1);
	assert_int_equal(n, 0);
	assert_false(help);
	assert_int_equal(parse(&l, "record --out=", &s, &n, &help, &e), 0);
	assert_string_equal(s.out, "");
	assert_int_equal(s.calls, 1);
	assert_int_equal(parse(&l, "record --out ''", &s, &n, &help, &e), 0);
	assert_int_equal(s.calls, 1);
	assert_int_equal(parse(&l, "record --out -", &s, &n, &help, &e), 0);
	assert_string_equal(s.out, "-");
	assert_int_equal(parse(&l, "record --out -x", &s, &n, &help, &e), 0);
	assert_string_equal(s.out, "-x");
	assert_int_equal(parse(&l, "record --out=--json", &s, &n, &help, &e), 0);
	assert_string_equal(s.out, "--json");
	assert_int_equal(s.json, 0);
	assert_int_equal(parse(&l, "record --storms 5 --storms=6 --json --json", &s, &n, &help, &e), 0);
	assert_int_equal(s.storms, 6);
	assert_int_equal(s.json, 2);
}

static void test_operands_move_to_the_front(void **state)
{
	(void)state;
	struct line l;
	struct settings s;
	struct err e = {0};
	int n = 0;
	_Bool help = false;
	assert_int_equal(parse(&l, "compare a --storms 5 b -- --json c - '' --out=f -- d", &s, &n, &help, &e), 0);
	static const char *const wanted[] = {"a", "b", "--", "c", "-", "", "--", "d"};
	assert_int_equal(n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_string_equal(l.argv[i], wanted[i]);
	assert_null(l.argv[n]);
	assert_int_equal(s.json, 1);
	assert_int_equal(s.storms, 5);
	assert_string_equal(s.out, "f");

	assert_int_equal(parse(&l, "compare a b c", &s, &n, &help, &e), 0);
	assert_int_equal(n, 3);
	assert_string_equal(l.argv[2], "c");
	assert_null(l.argv[3]);
	assert_int_equal(parse(&l, "compare", &s, &n, &help, &e), 0);
	assert_int_equal(n, 0);
	assert_null(l.argv[0]);
	assert_int_equal(opt_parse(0, l.argv, NULL, 0, NULL, &n, &help, &e), 0);
	assert_int_equal(n, 0);
}

static void test_unknown_options_name_the_nearest(void **state)
{
	(void)state;
	assert_message("r --strom 5", "unknown option '--strom'; did you mean --storms? (--help lists all)");
	assert_message("r --storm=5", "unknown option '--storm'; did you mean --storms? (--help lists all)");
	assert_message("r a --jsn", "unknown option '--jsn'; did you mean --json? (--help lists all)");
	assert_message("r --hlep", "unknown option '--hlep'; did you mean --help? (--help lists all)");
	assert_message("r -o f", "unknown option '-o'; did you mean --out? (--help lists all)");
	assert_message("r -storms=5", "unknown option '-storms'; did you mean --storms? (--help lists all)");
	assert_message("r ---json", "unknown option '---json'; did you mean --json? (--help lists all)");
	assert_message("r --=5", "unknown option '--'; did you mean --out? (--help lists all)");
	assert_message("r -=5", "unknown option '-'; did you mean --out? (--help lists all)");
	assert_message("r --Json", "unknown option '--Json'; did you mean --json? (--help lists all)");
	struct line l;
	struct err e = {0};
	int n = 0;
	_Bool help = false;
	split(&l, "r --json");
	assert_int_equal(opt_parse(l.argc, l.argv, NULL, 0, NULL, &n, &help, &e), -EINVAL);
	assert_string_equal(e.text, "unknown option '--json'; did you mean --help? (--help lists all)");
}

static void test_missing_and_superfluous_values(void **state)
{
	(void)state;
	assert_message("r --storms", "option --storms needs a value: --storms COUNT");
	assert_message("r --out --json", "option --out needs a value: --out FILE (or, if '--json' is it, with '=')");
	assert_message("r --out -- x", "option --out needs a value: --out FILE (or, if '--' is it, with '=')");
	assert_message("r --json=yes", "option --json takes no value, but got 'yes'; leave that out");
	assert_message("r --json=", "option --json takes no value, but got ''; leave that out");
	assert_message("r --help=all", "option --help takes no value, but got 'all'; leave that out");
}

static void test_errors_of_set_name_the_option(void **state)
{
	(void)state;
	assert_message("r --storms 5x", "--storms: '5x' is not understood; expected a whole number from 1 to 1000");
	struct line l;
	struct settings s;
	struct err e = {0};
	int n = 77;
	_Bool help = false;
	assert_int_equal(parse(&l, "r --storms=1001 --json", &s, &n, &help, &e), -ERANGE);
	assert_int_equal(s.json, 0);
	assert_int_equal(n, 77);
}

static void test_help_stops(void **state)
{
	(void)state;
	struct line l;
	struct settings s;
	struct err e = {0};
	int n = 77;
	_Bool help = false;
	assert_int_equal(parse(&l, "r a --json --help --nonsense", &s, &n, &help, &e), 0);
	assert_true(help);
	assert_int_equal(n, 0);
	assert_int_equal(s.json, 1);
	/* Where it is a value it is none. */
	help = false;
	assert_int_equal(parse(&l, "r --out=--help", &s, &n, &help, &e), 0);
	assert_false(help);
}

static void test_a_table_may_have_its_own_help(void **state)
{
	(void)state;
	static const struct opt own[] = {{"help", NULL, "x", set_json}};
	struct line l;
	struct settings s = {0};
	struct err e = {0};
	int n = 0;
	_Bool help = false;
	split(&l, "r --help");
	assert_int_equal(opt_parse(l.argc, l.argv, own, 1, &s, &n, &help, &e), 0);
	assert_false(help);
	assert_int_equal(s.json, 1);
}

static int run_plain(void *target, int argc, char **argv, struct err *e)
{
	(void)e;
	struct settings *s = target;
	s->operands = argc;
	snprintf(s->first, sizeof(s->first), "%s", argc > 0 ? argv[0] : "(none)");
	assert_null(argv[argc]);
	puts("ran");
	return s->exit_code;
}

static int run_failing(void *target, int argc, char **argv, struct err *e)
{
	(void)target;
	(void)argc;
	(void)argv;
	return err_set(e, ENODATA, "nothing there");
}

static const struct opt_command commands[] = {
    {"record", "[NAME]", "Measures this machine and writes a recording.", opts, ARRAY_SIZE(opts), run_plain},
    {"fail", "", "Fails.", NULL, 0, run_failing},
};

struct output {
	int code;
	char out[4096];
	char err[4096];
};

static void take(FILE *f, int fd, int saved, char *text, size_t size)
{
	fflush(fd == STDOUT_FILENO ? stdout : stderr);
	dup2(saved, fd);
	close(saved);
	rewind(f);
	text[fread(text, 1, size - 1, f)] = 0;
	fclose(f);
}

/* Runs opt_main with both outputs in files. */
static struct output run(const char *text, struct settings *s)
{
	struct line l;
	struct output o = {0};
	split(&l, text);
	fflush(stdout);
	FILE *out = tmpfile(), *err = tmpfile();
	assert_non_null(out);
	assert_non_null(err);
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
	dup2(fileno(out), STDOUT_FILENO);
	dup2(fileno(err), STDERR_FILENO);
	o.code = opt_main("prog", "Does things.", "1.2.3", l.argc, l.argv, commands, ARRAY_SIZE(commands), s);
	take(out, STDOUT_FILENO, saved_out, o.out, sizeof(o.out));
	take(err, STDERR_FILENO, saved_err, o.err, sizeof(o.err));
	return o;
}

static void test_main_runs_a_command(void **state)
{
	(void)state;
	struct settings s = {.exit_code = 3};
	struct output o = run("/usr/bin/prog record --storms 7 x", &s);
	assert_int_equal(o.code, 3);
	assert_string_equal(o.out, "ran\n");
	assert_string_equal(o.err, "");
	assert_int_equal(s.storms, 7);
	assert_int_equal(s.operands, 1);
	assert_string_equal(s.first, "x");
	s = (struct settings){0};
	o = run("prog record", &s);
	assert_int_equal(o.code, 0);
	assert_string_equal(s.first, "(none)");
}

static void test_main_prints_errors_once(void **state)
{
	(void)state;
	static const struct {
		const char *line, *message;
	} cases[] = {
	    {"prog fail", "prog: nothing there\n"},
	    {"prog record --storms", "prog: option --storms needs a value: --storms COUNT\n"},
	    {"prog recrod", "prog: unknown command 'recrod'; did you mean 'record'? (--help lists all)\n"},
	    {"prog --versoin", "prog: unknown command '--versoin'; did you mean '--version'? (--help lists all)\n"},
	    {"prog -h", "prog: unknown command '-h'; did you mean 'fail'? (--help lists all)\n"},
	    {"prog", "prog: a command is missing; 'prog --help' lists them\n"},
	    {"''", "prog: a command is missing; 'prog --help' lists them\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings s = {0};
		struct output o = run(cases[i].line, &s);
		assert_int_equal(o.code, 1);
		assert_string_equal(o.out, "");
		assert_string_equal(o.err, cases[i].message);
	}
}

static void test_main_prints_help_and_version(void **state)
{
	(void)state;
	struct settings s = {0};
	struct output o = run("prog --version", &s);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, "prog 1.2.3\n");
	o = run("prog --help", &s);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.err, "");
	assert_string_equal(
	    o.out, "Usage: prog COMMAND [OPTION...] [OPERAND...]\n\n"
		   "Does things.\n\n"
		   "Commands:\n"
		   "  record  Measures this machine and writes a recording.\n"
		   "  fail    Fails.\n\n"
		   "'prog COMMAND --help' lists the options of a command; 'prog --version' prints the version.\n");
	o = run("prog record --help", &s);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, "Usage: prog record [OPTION...] [NAME]\n\n"
				   "Measures this machine and writes a recording.\n\n"
				   "Options:\n"
				   "  --storms COUNT  How many storms make one recording, at least 30 where a\n"
				   "                  verdict is wanted (default 30).\n"
				   "  --out FILE      Where the recording goes.\n"
				   "  --json          Print for machines.\n"
				   "  --help          Print this text.\n");
	assert_int_equal(s.calls, 0);
	o = run("prog fail --help", &s);
	assert_string_equal(o.out, "Usage: prog fail [OPTION...]\n\nFails.\n\nOptions:\n  --help  Print this text.\n");
}

static void test_main_fails_where_output_is_lost(void **state)
{
	(void)state;
	struct line l;
	split(&l, "prog record");
	struct settings s = {.exit_code = 2};
	fflush(stdout);
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
	FILE *full = fopen("/dev/full", "w"), *err = tmpfile();
	assert_non_null(full);
	assert_non_null(err);
	dup2(fileno(full), STDOUT_FILENO);
	dup2(fileno(err), STDERR_FILENO);
	int code = opt_main("prog", "Does things.", "1", l.argc, l.argv, commands, ARRAY_SIZE(commands), &s);
	dup2(saved_out, STDOUT_FILENO);
	close(saved_out);
	__fpurge(stdout);
	clearerr(stdout);
	char text[256];
	take(err, STDERR_FILENO, saved_err, text, sizeof(text));
	fclose(full);
	assert_int_equal(code, 1);
	assert_string_equal(text, "prog: cannot write to standard output: No space left on device\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_both_forms_of_a_value),
	    cmocka_unit_test(test_operands_move_to_the_front),
	    cmocka_unit_test(test_unknown_options_name_the_nearest),
	    cmocka_unit_test(test_missing_and_superfluous_values),
	    cmocka_unit_test(test_errors_of_set_name_the_option),
	    cmocka_unit_test(test_help_stops),
	    cmocka_unit_test(test_a_table_may_have_its_own_help),
	    cmocka_unit_test(test_main_runs_a_command),
	    cmocka_unit_test(test_main_prints_errors_once),
	    cmocka_unit_test(test_main_prints_help_and_version),
	    cmocka_unit_test(test_main_fails_where_output_is_lost),
	};
	return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
