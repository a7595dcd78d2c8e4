// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that agent/grub.c finds a kernel's entry, its arguments and the saved entry in what GRUB's own
 * generators write. Must not know files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/grub.h"

#define MENU     "submenu 'Advanced options' $menuentry_id_option 'adv-1' {\n"
#define ENTRY(r) "\tmenuentry 'With " r "' --class os $menuentry_id_option 'gnulinux-" r "-1' {\n"
#define HEAD                                                                                                   \
	"if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\nelse\n   set " \
	"default=\"${saved_entry}\"\nfi\nfunction load_video {\n  if [ x$f = xy ]; then\n    insmod all\n  fi\n}\n"
#define SIMPLE \
	"menuentry 'Debian' $menuentry_id_option 'gnulinux-simple-1' {\n\tlinux /boot/vmlinuz-6.1.0-9 root=x\n}\n"

static int find(const char *text, const char *release, struct grub_entry *ret, struct err *e)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy, text, len); /* no byte behind the end is looked at */
	char *exact = realloc(copy, len > 0 ? len : 1);
	int r = grub_find(exact, len, release, ret, e);
	free(exact);
	return r;
}

static void test_entry(void **state)
{
	static const char text[] = HEAD SIMPLE MENU ENTRY(
	    "6.1.0-9") "\t\tload_video\n\t\techo\t'Loading ...'\n"
		       "\t\tlinux\t/boot/vmlinuz-6.1.0-9 root=UUID=5-6 ro  quiet panic=30 \n"
		       "\t\tinitrd\t/boot/early.img /boot/initrd.img-6.1.0-9\n\t}\n" ENTRY(
			   "6.1.0-9-recovery") "\t\tlinux\t/boot/vmlinuz-6.1.0-9 root=UUID=5-6 ro "
					       "single\n\t}\n" ENTRY("6.1.0-99") "\t\tlinux /vmlinuz-6.1.0-99 "
										 "root=/dev/vda1\n\t}\n}\n";
	struct grub_entry g;
	struct err e;

	(void)state;
	assert_int_equal(find(text, "6.1.0-9", &g, &e), 0);
	assert_string_equal(g.id, "adv-1>gnulinux-6.1.0-9-1");
	assert_string_equal(g.args, "root=UUID=5-6 ro quiet panic=30");
	assert_string_equal(g.initrd, "initrd.img-6.1.0-9");
	assert_int_equal(find(text, "6.1.0-99", &g, &e), 0);
	assert_string_equal(g.id, "adv-1>gnulinux-6.1.0-99-1");
	assert_string_equal(g.args, "root=/dev/vda1");
	assert_string_equal(g.initrd, "");
	memset(&g, 0x55, sizeof(g));
	struct grub_entry before = g;
	assert_int_equal(find(text, "6.1.0-8", &g, &e), -ENOENT);
	assert_non_null(strstr(e.text, "update-grub"));
	assert_memory_equal(&g, &before, sizeof(g));
	assert_int_equal(find("", "6.1.0-8", &g, &e), -ENOENT);
}

/* Without submenus, as GRUB_DISABLE_SUBMENU=y makes it; with quotes of each kind. */
static void test_quotes(void **state)
{
	static const char text[] =
	    "menuentry 'It'\\''s 6.1' --id 'gnulinux-6.1-1' {\n"
	    "linux /boot/vmlinuz-6.1 dyndbg=\"file a.c +p\" a=\"b\\\"c\" d='e f' $vt_handoff\n}\n";
	struct grub_entry g;
	struct err e;

	(void)state;
	assert_int_equal(find(text, "6.1", &g, &e), 0);
	assert_string_equal(g.id, "gnulinux-6.1-1");
	assert_string_equal(g.args, "\"dyndbg=file a.c +p\" a=b\"c \"d=e f\"");
}

static void test_refused(void **state)
{
	static char text[8192], args[4096];
	struct grub_entry g;
	struct err e;

	(void)state;
	assert_int_equal(find(MENU ENTRY("6.1") "linux /vmlinuz-6.1 root=$root\n}\n}\n", "6.1", &g, &e), -EINVAL);
	assert_non_null(strstr(e.text, "/etc/default/grub"));
	assert_int_equal(find(MENU ENTRY("6.1") "linux /vmlinuz-6.1 a=\"x\n}\n}\n", "6.1", &g, &e), -EINVAL);
	/* Not closed: cut off. */
	assert_int_equal(find(MENU ENTRY("6.1") "linux /vmlinuz-6.1 root=x\n", "6.1", &g, &e), -ENOENT);
	/* Outside of an entry. */
	assert_int_equal(find(MENU "linux /vmlinuz-6.1 root=x\n}\n", "6.1", &g, &e), -ENOENT);
	for (size_t i = 0; i < 2100; i += 10)
		memcpy(args + i, "abcd=efgh ", 11);
	snprintf(text, sizeof(text), "%slinux /vmlinuz-6.1 %s\n}\n}\n", MENU ENTRY("6.1"), args);
	assert_int_equal(find(text, "6.1", &g, &e), -EINVAL);
	/* An id that the contract has no room for cannot be a default. */
	memset(args, 'x', 300);
	args[300] = 0;
	snprintf(text, sizeof(text), "menuentry 'a' --id '6.1%s' {\nlinux /vmlinuz-6.1 r\n}\n", args);
	assert_int_equal(find(text, "6.1", &g, &e), -ENOENT);
	/* More braces than anybody nests. */
	memset(text, 0, sizeof(text));
	for (int i = 0; i < 40; i++)
		snprintf(text + strlen(text), 64, "submenu 'm' {\n");
	snprintf(text + strlen(text), 256, "%slinux /vmlinuz-6.1 r\n}\n", ENTRY("6.1"));
	assert_int_equal(find(text, "6.1", &g, &e), -ENOENT);
}

static void test_saved(void **state)
{
	static const char comment[] = "# set default=\"${saved_entry}\"\n";
	static const char numbered[] = "set default=\"0\"\nset default=\"${next_entry}\"\n";

	(void)state;
	assert_true(grub_boots_saved(HEAD, strlen(HEAD)));
	assert_false(grub_boots_saved(numbered, strlen(numbered)));
	assert_false(grub_boots_saved(comment, strlen(comment)));
	assert_false(grub_boots_saved("", 0));
}

static void test_environment(void **state)
{
	static const char text[] = "# GRUB Environment Block\nsaved_entry=a>b c\nnext_entry=\nnext_entry2=x\n####";
	char value[8];
	struct err e;

	(void)state;
	assert_int_equal(grub_env_get(text, strlen(text), "saved_entry", value, sizeof(value), &e), 0);
	assert_string_equal(value, "a>b c");
	assert_int_equal(grub_env_get(text, strlen(text), "next_entry", value, sizeof(value), &e), 0);
	assert_string_equal(value, "");
	assert_int_equal(grub_env_get(text, strlen(text), "entry", value, sizeof(value), &e), 0);
	assert_string_equal(value, "");
	assert_int_equal(grub_env_get("x=12345678\n", 11, "x", value, sizeof(value), &e), -EINVAL);
}

static void test_shell(void **state)
{
	static const char text[] =
	    "# GRUB_DEFAULT=1\nGRUB_DEFAULT=0\nGRUB_DEFAULT_X=3\nexport GRUB_DEFAULT=\"saved\" # x\n";
	char value[16] = "before";

	(void)state;
	assert_true(grub_shell_get(text, strlen(text), "GRUB_DEFAULT", value, sizeof(value)));
	assert_string_equal(value, "saved");
	assert_false(grub_shell_get(text, strlen(text), "GRUB_TIMEOUT", value, sizeof(value)));
	assert_string_equal(value, "saved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_entry), cmocka_unit_test(test_quotes),      cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_saved), cmocka_unit_test(test_environment), cmocka_unit_test(test_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
