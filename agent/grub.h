// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of GRUB's menu and environment block as text.
 * Must not know files, programs, or what is made of an entry. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define GRUB_ENTRY_MAX 160  /* a saved entry, as MESSAGE's default_entry */
#define GRUB_ARGS_MAX  2048 /* the kernel's COMMAND_LINE_SIZE on x86 */
#define GRUB_NAME_MAX  256

/* How one kernel is booted. */
struct grub_entry {
	char id[GRUB_ENTRY_MAX];    /* "gnulinux-advanced-UUID>gnulinux-RELEASE-advanced-UUID": what default takes */
	char args[GRUB_ARGS_MAX];   /* without the kernel's file, as the kernel is to see them */
	char initrd[GRUB_NAME_MAX]; /* file name without folders of the last one; "" for none */
};

/* The first entry of grub.cfg that boots vmlinuz-RELEASE and whose id names the release: the plain one. -ENOENT when
 * there is none; -EINVAL for arguments that only GRUB can work out (variables) or are too long. */
int must_check grub_find(const char *cfg, size_t len, const char *release, struct grub_entry *ret, struct err *e);

/* Whether the menu boots the saved entry: set default="${saved_entry}" is in it. */
bool grub_boots_saved(const char *cfg, size_t len);

/* The value of name in an environment block, or in what grub-editenv list prints; "" where it has none. -EINVAL when
 * it does not fit. */
int must_check grub_env_get(const char *text, size_t len, const char *name, char *ret, size_t cap, struct err *e);

/* The last value that a file of shell assignments like /etc/default/grub gives to name, without its quotes. False, and
 * ret as it was, where it gives none. */
bool grub_shell_get(const char *text, size_t len, const char *name, char *ret, size_t cap);
