// SPDX-License-Identifier: Apache-2.0
/* Owns what speaks against booting this host into other kernels, each with what to do about it.
 * Must not know packages, nor which kernel it would be. */
#include "act.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/num.h"

#define CPUS_MAX 8192u

/* "" where there is no such file. */
static int read_word(struct actor *a, const char *path, char *ret, size_t cap, struct err *e)
{
	int r = sys_read_text(&a->sys, path, ret, cap, e);

	if (r == -ENOENT) {
		ret[0] = 0;
		return 0;
	}
	return r;
}

static int refuse_kexec(struct actor *a, struct err *e)
{
	char word[64];
	int r;

	if ((r = read_word(a, "/proc/sys/kernel/kexec_load_disabled", word, sizeof(word), e)) < 0)
		return r;
	if (!word[0])
		return err_set(e, EPERM, "the running kernel has no kexec: boot one that has, from firmware");
	if (strcmp(word, "0") != 0)
		return err_set(e, EPERM,
			       "kernel.kexec_load_disabled is %s until the next boot: take it out of /etc/sysctl.d and "
			       "reboot",
			       word);
	if ((r = read_word(a, "/sys/kernel/security/lockdown", word, sizeof(word), e)) < 0)
		return r;
	if (word[0] && !strstr(word, "[none]"))
		return err_set(
		    e, EPERM,
		    "the kernel is locked down (%s): only kernels signed by an enrolled key could be loaded, "
		    "which this agent does not see to",
		    word);
	return 0;
}

/* Offline CPUs make a second kexec a triple fault. CPUs that could be plugged in are no matter: they are not there. */
static int refuse_cpus(struct actor *a, struct err *e)
{
	static unsigned present[CPUS_MAX], offline[CPUS_MAX];
	static char text[16384];
	size_t n_present = 0, n_offline = 0, i = 0;
	int r;

	if ((r = read_word(a, "/sys/devices/system/cpu/offline", text, sizeof(text), e)) < 0)
		return r;
	if (!text[0])
		return 0;
	if ((r = num_cpulist(text, offline, CPUS_MAX, &n_offline, e)) < 0 ||
	    (r = sys_read_text(&a->sys, "/sys/devices/system/cpu/present", text, sizeof(text), e)) < 0 ||
	    (r = num_cpulist(text, present, CPUS_MAX, &n_present, e)) < 0)
		return err_context(e, "which CPUs are offline");
	for (size_t k = 0; k < n_offline; k++) {
		while (i < n_present && present[i] < offline[k])
			i++;
		if (i < n_present && present[i] == offline[k])
			return err_set(e, EPERM,
				       "CPU %u is offline, and a jump would end in a reset: bring it online first "
				       "(echo 1 >/sys/devices/system/cpu/cpu%u/online)",
				       offline[k], offline[k]);
	}
	return 0;
}

/* With panic=0 a new kernel that panics stands still for ever; an armed kdump takes the machine back by itself. */
static int refuse_panic(struct actor *a, struct err *e)
{
	char panic[32], crash[32];
	int r;

	if ((r = read_word(a, "/proc/sys/kernel/panic", panic, sizeof(panic), e)) < 0 ||
	    (r = read_word(a, "/sys/kernel/kexec_crash_loaded", crash, sizeof(crash), e)) < 0)
		return r;
	if (strcmp(panic, "0") == 0 && strcmp(crash, "1") != 0)
		return err_set(
		    e, EPERM,
		    "kernel.panic is 0, so a kernel that panics would never come back: put panic=30 oops=panic "
		    "into GRUB_CMDLINE_LINUX, run update-grub and reboot");
	return 0;
}

/* kexec-tools' units turn a plain reboot into a kexec when told so: no boot would be from firmware. */
static int refuse_units(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(65536);
	char value[16];
	int r = a->sys.read(&a->sys, "/etc/default/kexec", &text, e);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (grub_shell_get(text.data ? text.data : "", text.len, "LOAD_KEXEC", value, sizeof(value)) &&
	    strcmp(value, "true") == 0)
		return err_set(e, EPERM,
			       "kexec-tools would turn each reboot into a kexec: set LOAD_KEXEC=false in "
			       "/etc/default/kexec");
	return 0;
}

/* One line of mountinfo: "36 35 98:0 / /boot rw,noatime shared:1 - ext4 /dev/sda1 rw". */
struct mount {
	char device[24], point[256], type[32];
};

static bool parse_mount(const char *line, size_t len, struct mount *ret)
{
	char copy[1024], *save = NULL, *word;
	unsigned n = 0;
	bool behind = false;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, line, len);
	copy[len] = 0;
	memset(ret, 0, sizeof(*ret));
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save), n++) {
		if (n == 2)
			snprintf(ret->device, sizeof(ret->device), "%.23s", word);
		else if (n == 4)
			snprintf(ret->point, sizeof(ret->point), "%.255s", word);
		else if (behind)
			return snprintf(ret->type, sizeof(ret->type), "%.31s", word) > 0;
		behind = n > 5 && strcmp(word, "-") == 0;
	}
	return false;
}

/* The mount that path is in: the longest point that is path or a folder above it; the last one mounted there. */
static int find_mount(struct actor *a, const char *path, struct mount *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(4u << 20);
	size_t best = 0;
	int r = a->sys.read(&a->sys, "/proc/self/mountinfo", &text, e);

	if (r < 0)
		return r;
	for (const char *line = text.data ? text.data : ""; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;

		if (parse_mount(line, (size_t)(end - line), &m)) {
			size_t n = strlen(m.point);
			bool above = strcmp(m.point, "/") == 0 ||
				     (strncmp(path, m.point, n) == 0 && (path[n] == '/' || path[n] == 0));
			if (above && n >= best) {
				best = n;
				*ret = m;
			}
		}
		line = *end ? end + 1 : end;
	}
	return best > 0 ? 0 : err_set(e, ENOENT, "/proc/self/mountinfo does not show where %s is", path);
}

/* GRUB writes its block in place, sector by sector: only where that is the file, and no checksum covers it. Elsewhere a
 * one-shot entry is never cleared, and stays for good. */
static int refuse_grub_disk(struct actor *a, struct err *e)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "vfat", "xfs"};
	char path[96], word[64];
	bool plain = false;
	struct mount m;
	int r = find_mount(a, "/boot/grub", &m, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		plain |= strcmp(types[i], m.type) == 0;
	if (!plain)
		return err_set(e, EPERM,
			       "/boot is on %s, where GRUB cannot write its environment block: a one-shot boot would "
			       "stay for good; put /boot on a plain partition with ext4",
			       m.type);
	static const char *const layers[] = {"dm/name", "md/level", "../dm/name", "../md/level"};
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%s/%s", m.device, layers[i]);
		if ((r = read_word(a, path, word, sizeof(word), e)) < 0)
			return r;
		if (word[0])
			return err_set(e, EPERM,
				       "/boot is on LVM or RAID (%s), where GRUB cannot write its environment block: a "
				       "one-shot boot would stay for good; put /boot on a plain partition",
				       word);
	}
	return 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && memcmp(text + len - n, end, n) == 0;
}

/* The last GRUB_DEFAULT of /etc/default/grub and grub.d: what the next update-grub will make of the menu. */
static int read_setting(struct actor *a, const char *name, char *ret, size_t cap, struct err *e)
{
	_cleanup_(buf_free) struct buf names = BUF_INIT(65536), text = BUF_INIT(1u << 20);
	char path[PATH_MAX];
	int r = a->sys.read(&a->sys, "/etc/default/grub", &text, e);

	if (r < 0)
		return r;
	grub_shell_get(text.data ? text.data : "", text.len, name, ret, cap);
	r = a->sys.hands->list(&a->sys, "/etc/default/grub.d", &names, e);
	if (r == -ENOENT)
		return 0;
	for (const char *line = names.data; r == 0 && line && *line;) {
		const char *end = strchrnul(line, '\n');
		if (ends_with(line, (size_t)(end - line), ".cfg")) {
			snprintf(path, sizeof(path), "/etc/default/grub.d/%.*s", (int)(end - line), line);
			text.len = 0;
			if ((r = a->sys.read(&a->sys, path, &text, e)) == 0)
				grub_shell_get(text.data ? text.data : "", text.len, name, ret, cap);
		}
		line = *end ? end + 1 : end;
	}
	return r;
}

static int refuse_grub(struct actor *a, struct err *e)
{
	_cleanup_(buf_free) struct buf cfg = BUF_INIT(ACT_MENU_MAX);
	char value[64] = "0", save[64] = "false";
	int r;

	if ((r = read_setting(a, "GRUB_DEFAULT", value, sizeof(value), e)) < 0 ||
	    (r = read_setting(a, "GRUB_SAVEDEFAULT", save, sizeof(save), e)) < 0 ||
	    (r = a->sys.read(&a->sys, "/boot/grub/grub.cfg", &cfg, e)) < 0)
		return err_context(e, "this agent knows GRUB alone");
	if (strcmp(value, "saved") != 0)
		return err_set(e, EPERM,
			       "GRUB_DEFAULT is %s, so installing a kernel would change what boots: set it to saved in "
			       "/etc/default/grub, run update-grub and grub-set-default",
			       value);
	if (strcmp(save, "true") == 0)
		return err_set(
		    e, EPERM,
		    "GRUB_SAVEDEFAULT is true, so whatever boots would become the default: set it to false in "
		    "/etc/default/grub and run update-grub");
	if (!grub_boots_saved(cfg.data ? cfg.data : "", cfg.len))
		return err_set(e, EPERM, "GRUB's menu does not boot the saved entry yet: run update-grub");
	return refuse_grub_disk(a, e);
}

int act_refuse(struct actor *a, struct err *e)
{
	int r;

	if ((r = refuse_kexec(a, e)) < 0 || (r = refuse_cpus(a, e)) < 0 || (r = refuse_panic(a, e)) < 0 ||
	    (r = refuse_units(a, e)) < 0)
		return r;
	return refuse_grub(a, e);
}
