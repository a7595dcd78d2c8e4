// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp preset`: the section [preset] of a plan from a file in the form of sysctl.d(5).
 * Must not know which settings a preset may have, nor how one is set. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kpcp.h"
#include "lib/base/fs.h"
#include "lib/fleet/form.h"
#include "lib/fleet/setting.h"
#include "section.h"

#define FILE_BYTES_MAX (64u << 10)
#define LINE_BYTES_MAX 512

struct preset {
	struct directive_setting setting[DIRECTIVE_SETTINGS_MAX];
	int line[DIRECTIVE_SETTINGS_MAX];
	uint32_t n;
};

/* sysctl.d(5): where the first separator is a slash, slashes separate and dots belong to names. */
static void use_dots(char *key)
{
	const char *first = strpbrk(key, "./=");

	if (!first || *first != '/')
		return;
	for (; *key && *key != '='; key++)
		*key = *key == '/' ? '.' : *key == '.' ? '/' : *key;
}

static int add_line(struct preset *p, char *text, int line, struct err *e)
{
	struct directive_setting one;
	uint32_t n;

	/* "-key = value": go on when it cannot be set. A preset that cannot be set is taken back all the same. */
	text += *text == '-';
	text += strspn(text, " \t");
	if (strchr(text, ','))
		return err_set(e, EINVAL, "a ',' belongs to no key and no whole number");
	use_dots(text);
	int r = setting_parse(text, &one, 1, &n, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p->n; i++)
		if (strcmp(p->setting[i].key, one.key) == 0)
			return err_set(e, EINVAL, "%s stands in line %d already; remove one of them", one.key,
				       p->line[i]);
	if (p->n == DIRECTIVE_SETTINGS_MAX)
		return err_set(e, EINVAL, "more than %d settings", DIRECTIVE_SETTINGS_MAX);
	p->setting[p->n] = one;
	p->line[p->n++] = line;
	return 0;
}

static int read_preset(const char *path, struct preset *p, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(FILE_BYTES_MAX);
	char line[LINE_BYTES_MAX];
	int r = fs_read(path, &text, e), number = 1;

	if (r < 0)
		return r;
	for (size_t at = 0; at < text.len; number++) {
		const char *from = text.data + at, *feed = memchr(from, '\n', text.len - at);
		size_t len = feed ? (size_t)(feed - from) : text.len - at;

		at += len + 1;
		if (memchr(from, 0, len) || len >= sizeof(line))
			return err_set(e, EINVAL, "%s:%d: %s; is this file a preset?", path, number,
				       len >= sizeof(line) ? "the line is very long" : "a NUL byte");
		while (len > 0 && strchr(" \t\r", from[len - 1]))
			len--;
		snprintf(line, sizeof(line), "%.*s", (int)len, from);
		char *start = line + strspn(line, " \t");
		if (!*start || *start == '#' || *start == ';')
			continue;
		r = add_line(p, start, number, e);
		if (r < 0)
			return err_context(e, "%s:%d", path, number);
	}
	return p->n > 0 ? 0 : err_set(e, EINVAL, "%s sets nothing, so a rollout of it would change nothing", path);
}

/* "/etc/sysctl.d/90-kpcp-latency.conf" -> "kpcp-latency". */
static void name_of(const char *path, char ret[DIRECTIVE_NAME_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits = strspn(name, "0123456789"), len = strlen(name);

	if (len > 5 && strcmp(name + len - 5, ".conf") == 0)
		len -= 5;
	if (digits > 0 && name[digits] == '-' && digits + 1 < len) {
		name += digits + 1;
		len -= digits + 1;
	}
	snprintf(ret, DIRECTIVE_NAME_MAX, "%.*s", (int)len, name);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	_cleanup_(buf_free) struct buf out = BUF_INIT(16u << 10);
	char name[DIRECTIVE_NAME_MAX];
	struct preset p = {.n = 0};

	if (argc != 1)
		return err_set(e, EINVAL, "preset reads one file, but got %d; the form is: kpcp preset FILE", argc);
	int r = read_preset(argv[0], &p, e);
	name_of(argv[0], name);
	if (r == 0 && !a->preset.name && form_check(&form_name, name, e) < 0)
		return err_context(e, "the preset needs a name by --name, as the file's own does not do");
	if (r == 0)
		r = buf_addf(&out, e, "[preset]\nname = %s\nsettings = ", a->preset.name ? a->preset.name : name);
	for (uint32_t i = 0; r == 0 && i < p.n; i++)
		r = buf_addf(&out, e, "%s%s=%s", i ? ", " : "", p.setting[i].key, p.setting[i].value);
	if (r == 0)
		r = buf_add(&out, "\n", 1, e);
	return r < 0 ? r : section_print(argv[0], &out, e);
}

static int set_name(void *t, const char *value, struct err *e)
{
	((struct kpcp *)t)->preset.name = value;
	return form_check(&form_name, value, e);
}

static const struct opt options[] = {
    {"name", "NAME", "What the preset is called (default: the file's name without leading digits and .conf).",
     set_name},
};

const struct opt_command cmd_preset = {
    .name = "preset",
    .operands = "FILE",
    .help = "Prints the section [preset] of a plan from a file in the form of sysctl.d(5).",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
