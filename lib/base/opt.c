// SPDX-License-Identifier: Apache-2.0
/* Owns the parsing of arguments against tables, and the help that is printed from the same tables.
 * Must not know what an option or a command does. */
#include "opt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "near.h"

#define HELP_WIDTH 80

static void free_ptr(void *variable)
{
	void **p = variable;
	free(*p);
}

/* The nearest option to word, "help" among them; NULL where memory is short. */
static const char *nearest_option(const char *word, const struct opt *opts, size_t n)
{
	_cleanup_(free_ptr) const char **names = calloc(n + 1, sizeof(*names));
	if (!names)
		return NULL;
	for (size_t i = 0; i < n; i++)
		names[i] = opts[i].name;
	names[n] = "help";
	return near_find(word, names, n + 1);
}

static int unknown_option(const char *arg, const struct opt *opts, size_t n, struct err *e)
{
	size_t len = strcspn(arg, "=");
	char word[128];
	size_t dashes = strspn(arg, "-");
	snprintf(word, sizeof(word), "%.*s", (int)(len > dashes ? len - dashes : 0), arg + (len > dashes ? dashes : 0));
	const char *nearest = nearest_option(word, opts, n);
	return err_set(e, EINVAL, "unknown option '%.*s'; did you mean --%s? (--help lists all)", (int)len, arg,
		       nearest ? nearest : "help");
}

static const struct opt *find_option(const char *name, size_t len, const struct opt *opts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(opts[i].name) == len && memcmp(opts[i].name, name, len) == 0)
			return &opts[i];
	}
	return NULL;
}

/* Handles argv[i], which starts with a dash. Returns how many arguments it took, 0 for --help. */
static int parse_option(int argc, char **argv, int i, const struct opt *opts, size_t n, void *target, struct err *e)
{
	const char *arg = argv[i];
	if (strncmp(arg, "--", 2) != 0)
		return unknown_option(arg, opts, n, e);
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] == '=' ? name + len + 1 : NULL;
	const struct opt *o = find_option(name, len, opts, n);
	bool is_help = !o && len == 4 && memcmp(name, "help", 4) == 0;
	if (!o && !is_help)
		return unknown_option(arg, opts, n, e);
	if (value && (is_help || !o->arg))
		return err_set(e, EINVAL, "option --%.*s takes no value, but got '%s'; leave that out", (int)len, name,
			       value);
	if (is_help)
		return 0;

	int taken = 1;
	if (o->arg && !value) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		if (!next || strncmp(next, "--", 2) == 0)
			return err_set(e, EINVAL, "option --%s needs a value: --%s %s%s%s%s", o->name, o->name, o->arg,
				       next ? " (or, if '" : "", next ? next : "", next ? "' is it, with '=')" : "");
		value = next;
		taken = 2;
	}
	int r = o->set(target, value, e);
	if (r < 0) {
		err_context(e, "--%s", o->name);
		return r;
	}
	return taken;
}

int opt_parse(int argc, char **argv, const struct opt *opts, size_t n_opts, void *target, int *n_operands, _Bool *help,
	      struct err *e)
{
	int operands = 0;
	for (int i = 1; i < argc;) {
		if (argv[i][0] != '-' || argv[i][1] == 0 || strcmp(argv[i], "--") == 0) {
			argv[operands++] = argv[i++];
			continue;
		}
		int r = parse_option(argc, argv, i, opts, n_opts, target, e);
		if (r < 0)
			return r;
		if (r == 0) {
			*help = true;
			*n_operands = 0;
			return 0;
		}
		i += r;
	}
	if (operands < argc)
		argv[operands] = NULL;
	*n_operands = operands;
	return 0;
}

/* Prints text from a column on, breaking it at blanks before HELP_WIDTH; a word that is longer stands alone. */
static void print_wrapped(FILE *out, const char *text, int column)
{
	int at = column;
	while (*text) {
		int len = (int)strcspn(text, " ");
		if (at > column && at + 1 + len > HELP_WIDTH) {
			fprintf(out, "\n%*s", column, "");
			at = column;
		} else if (at > column) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", len, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static int label_width(const struct opt *o)
{
	return (int)(strlen("--") + strlen(o->name) + (o->arg ? 1 + strlen(o->arg) : 0));
}

static void print_option(FILE *out, const struct opt *o, int width)
{
	fprintf(out, "  --%s%s%s%*s", o->name, o->arg ? " " : "", o->arg ? o->arg : "", width - label_width(o) + 2, "");
	print_wrapped(out, o->help, width + 4);
}

void opt_print_help(FILE *out, const char *program, const struct opt_command *c)
{
	static const struct opt help = {.name = "help", .help = "Print this text."};
	int width = label_width(&help);
	for (size_t i = 0; i < c->n_opts; i++) {
		if (label_width(&c->opts[i]) > width)
			width = label_width(&c->opts[i]);
	}
	bool operands = c->operands && *c->operands;
	fprintf(out, "Usage: %s %s [OPTION...]%s%s\n\n", program, c->name, operands ? " " : "",
		operands ? c->operands : "");
	print_wrapped(out, c->help, 0);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < c->n_opts; i++)
		print_option(out, &c->opts[i], width);
	print_option(out, &help, width);
}

static void print_overview(FILE *out, const char *program, const char *summary, const struct opt_command *commands,
			   size_t n)
{
	int width = 0;
	for (size_t i = 0; i < n; i++) {
		if ((int)strlen(commands[i].name) > width)
			width = (int)strlen(commands[i].name);
	}
	fprintf(out, "Usage: %s COMMAND [OPTION...] [OPERAND...]\n\n", program);
	print_wrapped(out, summary, 0);
	fputs("\nCommands:\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "  %-*s  ", width, commands[i].name);
		print_wrapped(out, commands[i].help, width + 4);
	}
	fprintf(out, "\n'%s COMMAND --help' lists the options of a command; '%s --version' prints the version.\n",
		program, program);
}

static int unknown_command(const char *word, const struct opt_command *commands, size_t n, struct err *e)
{
	_cleanup_(free_ptr) const char **names = calloc(n + 2, sizeof(*names));
	if (!names)
		return err_sys(e, ENOMEM, "unknown command '%s'", word);
	for (size_t i = 0; i < n; i++)
		names[i] = commands[i].name;
	names[n] = "--help";
	names[n + 1] = "--version";
	return err_set(e, EINVAL, "unknown command '%s'; did you mean '%s'? (--help lists all)", word,
		       near_find(word, names, n + 2));
}

static int run_command(const char *program, int argc, char **argv, const struct opt_command *c, void *target,
		       struct err *e)
{
	int operands = 0;
	_Bool help = false;
	int r = opt_parse(argc, argv, c->opts, c->n_opts, target, &operands, &help, e);
	if (r < 0)
		return r;
	if (help) {
		opt_print_help(stdout, program, c);
		return 0;
	}
	return c->run(target, operands, argv, e);
}

static int dispatch(const char *program, const char *summary, const char *version, int argc, char **argv,
		    const struct opt_command *commands, size_t n, void *target, struct err *e)
{
	if (argc < 2)
		return err_set(e, EINVAL, "a command is missing; '%s --help' lists them", program);
	if (strcmp(argv[1], "--help") == 0) {
		print_overview(stdout, program, summary, commands, n);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", program, version);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(commands[i].name, argv[1]) == 0)
			return run_command(program, argc - 1, argv + 1, &commands[i], target, e);
	}
	return unknown_command(argv[1], commands, n, e);
}

/* A file that gets the number of a closed standard stream would get what is printed to that stream, too. Each closed
 * one becomes a directory opened for reading, so that printing fails as before. */
static int hold_streams(struct err *e)
{
	int fd;
	do
		fd = open("/", O_RDONLY | O_DIRECTORY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return err_sys(e, errno, "cannot open /");
	close(fd);
	return 0;
}

int opt_main(const char *program, const char *summary, const char *version, int argc, char **argv,
	     const struct opt_command *commands, size_t n, void *target)
{
	struct err e = {0};
	/* A file that may not grow is an error to report like a full disk, not a reason to die. */
	signal(SIGXFSZ, SIG_IGN);
	int r = hold_streams(&e);
	if (r == 0)
		r = dispatch(program, summary, version, argc, argv, commands, n, target, &e);
	/* A verdict that never reached the reader must not look like one that did. */
	if (fflush(stdout) != 0 && r >= 0)
		r = err_sys(&e, errno, "cannot write to standard output");
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", program, e.text);
		return 1;
	}
	return r;
}
