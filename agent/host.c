// SPDX-License-Identifier: Apache-2.0
/* Owns the answer to "what machine is this", read from /proc and /sys through struct sys.
 * Must not know what will be measured on it. */
#include "host.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/num.h"

#define NOTE_GNU_BUILD_ID 3u

static const char *const tunable_paths[HOST_TUNABLES] = {
    "/proc/sys/vm/percpu_pagelist_high_fraction",
    "/proc/sys/vm/pcp_batch_scale_max",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/lowmem_reserve_ratio",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/nr_hugepages",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
};

static void warn(struct host *h, const struct err *e)
{
	if (h->n_warnings < HOST_WARNINGS_MAX)
		snprintf(h->warning[h->n_warnings++], sizeof(h->warning[0]), "%.255s", e->text);
}

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v)); /* notes have the byte order of the machine that shows them */
	return v;
}

int host_parse_notes(const void *data, size_t len, uint8_t ret[20], struct err *e)
{
	const uint8_t *p = data;
	size_t at = 0;

	while (at < len) {
		if (len - at < 12)
			return err_set(e, EINVAL, "kernel notes end inside a header, at byte %zu", at);
		uint64_t name_len = load_u32(p + at), desc_len = load_u32(p + at + 4);
		uint32_t type = load_u32(p + at + 8);
		uint64_t name_at = at + 12, desc_at = name_at + ((name_len + 3) & ~3ull);

		if (desc_at > len || desc_len > len - desc_at)
			return err_set(e, EINVAL, "kernel notes end inside the note at byte %zu", at);
		if (type == NOTE_GNU_BUILD_ID && name_len == 4 && memcmp(p + name_at, "GNU", 4) == 0) {
			if (desc_len < 8 || desc_len > 20)
				return err_set(e, EINVAL, "the kernel's build-id has %llu bytes where 8 to 20 belong",
					       (unsigned long long)desc_len);
			memset(ret, 0, 20);
			memcpy(ret, p + desc_at, desc_len);
			return 0;
		}
		/* The last note may lack its padding. */
		uint64_t next = desc_at + ((desc_len + 3) & ~3ull);
		at = next > len ? len : (size_t)next;
	}
	return err_set(e, ENOENT, "the kernel shows no build-id in its notes");
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int host_parse_uuid(const char *text, uint8_t ret[16], struct err *e)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	uint8_t id[16] = {0};
	unsigned digits = 0;

	for (size_t i = 0; i < sizeof(shape); i++) {
		int digit = hex_digit(text[i]);

		if (shape[i] == 'x' ? digit < 0 : text[i] != shape[i])
			return err_set(e, EINVAL, "\"%.40s\" is not an identifier like %s", text, shape);
		if (shape[i] == 'x') {
			id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
			digits++;
		}
	}
	memcpy(ret, id, sizeof(id));
	return 0;
}

/* "<name>:   <number>" on a line of /proc/zoneinfo; false where the line is another one. */
static bool zone_field(const char *line, size_t len, const char *name, uint64_t *ret)
{
	char text[24];
	size_t name_len = strlen(name);
	struct err e;

	while (len > 0 && isspace((unsigned char)*line))
		line++, len--;
	if (len < name_len || memcmp(line, name, name_len) != 0)
		return false;
	line += name_len;
	len -= name_len;
	while (len > 0 && isspace((unsigned char)*line))
		line++, len--;
	if (len == 0 || len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = 0;
	return num_u64(text, 0, UINT32_MAX, ret, &e) == 0;
}

static bool cpu_in(uint64_t cpu, const unsigned *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

int host_parse_zoneinfo(const char *text, const unsigned *cpus, size_t n, struct host_pcp *ret, struct err *e)
{
	struct host_pcp found = {0};
	bool wanted = false;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		size_t len = (size_t)(end - line);
		uint64_t value;

		if (zone_field(line, len, "cpu:", &value))
			wanted = cpu_in(value, cpus, n);
		else if (wanted && zone_field(line, len, "high:", &value) && value > found.high)
			found.high = (uint32_t)value;
		else if (wanted && zone_field(line, len, "batch:", &value) && value > found.batch)
			found.batch = (uint32_t)value;
		line = *end ? end + 1 : end;
	}
	if (found.batch == 0)
		return err_set(e, ENODATA, "/proc/zoneinfo shows no page lists of the victims' CPUs");
	*ret = found;
	return 0;
}

int host_read_pcp(const struct sys *s, const unsigned *cpus, size_t n, struct host_pcp *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(64u << 20);
	int r = s->read(s, "/proc/zoneinfo", &b, e);

	return r < 0 ? r : host_parse_zoneinfo(b.data ? b.data : "", cpus, n, ret, e);
}

static int read_build_id(const struct sys *s, uint8_t ret[20], struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(1u << 20);
	int r = s->read(s, "/sys/kernel/notes", &b, e);

	return r < 0 ? r : host_parse_notes(b.data, b.len, ret, e);
}

/* Value in KiB of a line like "MemTotal:       24105000 kB". */
static int meminfo_field(const char *text, const char *name, uint64_t *ret_kib, struct err *e)
{
	size_t name_len = strlen(name);

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, name, name_len) == 0 && line[name_len] == ':') {
			char number[24];
			const char *p = line + name_len + 1;

			p += strspn(p, " \t");
			size_t digits = strspn(p, "0123456789");
			if (digits == 0 || digits >= sizeof(number) || strncmp(p + digits, " kB", 3) != 0)
				break;
			memcpy(number, p, digits);
			number[digits] = 0;
			return num_u64(number, 0, UINT64_MAX >> 10, ret_kib, e);
		}
		line = *end ? end + 1 : end;
	}
	return err_set(e, EINVAL, "/proc/meminfo has no readable %s", name);
}

static int read_memory(const struct sys *s, struct host *h, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(65536);
	int r = s->read(s, "/proc/meminfo", &b, e);

	if (r < 0)
		return r;
	const char *text = b.data ? b.data : "";
	if ((r = meminfo_field(text, "MemTotal", &h->memory_kib, e)) < 0)
		return r;
	return meminfo_field(text, "MemAvailable", &h->available_kib, e);
}

static int read_cpulist(const struct sys *s, const char *path, struct host_cpus *ret, struct err *e)
{
	char text[16384];
	int r = sys_read_text(s, path, text, sizeof(text), e);

	if (r < 0)
		return r;
	r = num_cpulist(text, ret->cpu, HOST_CPUS_MAX, &ret->n, e);
	return r < 0 ? err_context(e, "%s", path) : 0;
}

/* The CPUs that share the cache of the highest level; index numbers rise with the level. */
static void read_llc(const struct sys *s, struct host *h)
{
	static struct host_cpus shared;
	struct err e;
	bool missing = false;

	for (size_t i = 0; i < h->online.n; i++) {
		h->llc[i] = HOST_CPUS_MAX;
		for (int index = 5; index >= 0; index--) {
			char path[96];

			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list",
				 h->online.cpu[i], index);
			if (read_cpulist(s, path, &shared, &e) == 0 && shared.n > 0) {
				h->llc[i] = shared.cpu[0];
				break;
			}
		}
		missing |= h->llc[i] == HOST_CPUS_MAX;
	}
	if (missing) {
		err_set(&e, ENOENT, "/sys does not tell which CPUs share a cache: victims are spread by number alone");
		warn(h, &e);
	}
}

/* "always [madvise] never" -> "madvise". */
static void read_thp(const struct sys *s, struct host *h)
{
	char text[128];
	struct err e;

	snprintf(h->thp, sizeof(h->thp), "none");
	if (sys_read_text(s, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text), &e) < 0)
		return;
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	if (close) {
		*close = 0;
		snprintf(h->thp, sizeof(h->thp), "%.15s", open + 1);
	}
}

static int read_scale(const struct sys *s, struct host *h, struct err *e)
{
	char text[32];
	int64_t value;

	h->pcp_batch_scale_max = -1;
	int r = sys_read_text(s, "/proc/sys/vm/pcp_batch_scale_max", text, sizeof(text), e);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if ((r = num_i64(text, 0, 64, &value, e)) < 0)
		return err_context(e, "/proc/sys/vm/pcp_batch_scale_max");
	h->pcp_batch_scale_max = (int32_t)value;
	return 0;
}

/* Whoever loads an x86 kernel leaves its type and version in the boot parameters; 13 is kexec's, of the system call and
 * of kexec-tools alike (Documentation/arch/x86/boot.rst, type_of_loader). Other architectures show nothing. */
#define LOADER_KEXEC 13

static enum reboot_method read_reboot(const struct sys *s)
{
	char text[32];
	uint64_t loader;

	if (sys_read_text(s, "/proc/sys/kernel/bootloader_type", text, sizeof(text), NULL) < 0 ||
	    num_u64(text, 0, UINT32_MAX, &loader, NULL) < 0)
		return REBOOT_UNKNOWN;
	return loader >> 4 == LOADER_KEXEC ? REBOOT_KEXEC : REBOOT_FIRMWARE;
}

int host_read(const struct sys *s, struct host *ret, struct err *e)
{
	struct err minor;
	char boot_id[64];
	int r;

	memset(ret, 0, sizeof(*ret));
	if ((r = sys_read_text(s, "/proc/sys/kernel/hostname", ret->name, sizeof(ret->name), e)) < 0 ||
	    (r = sys_read_text(s, "/proc/sys/kernel/osrelease", ret->release, sizeof(ret->release), e)) < 0 ||
	    (r = sys_read_text(s, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id), e)) < 0)
		return r;
	if ((r = host_parse_uuid(boot_id, ret->boot_id, e)) < 0)
		return err_context(e, "/proc/sys/kernel/random/boot_id");
	if ((r = read_cpulist(s, "/sys/devices/system/cpu/online", &ret->online, e)) < 0 ||
	    (r = read_memory(s, ret, e)) < 0 || (r = read_scale(s, ret, e)) < 0)
		return r;
	if (read_build_id(s, ret->build_id, &minor) < 0)
		warn(ret, &minor);
	if (sys_read_text(s, "/sys/devices/system/clocksource/clocksource0/current_clocksource", ret->clocksource,
			  sizeof(ret->clocksource), &minor) < 0) {
		warn(ret, &minor);
		snprintf(ret->clocksource, sizeof(ret->clocksource), "unknown");
	}
	ret->reboot = read_reboot(s);
	read_thp(s, ret);
	read_llc(s, ret);
	return 0;
}

int host_read_tunables(const struct sys *s, struct host_tunables *ret, struct err *e)
{
	for (size_t i = 0; i < HOST_TUNABLES; i++) {
		int r = sys_read_text(s, tunable_paths[i], ret->value[i], HOST_TUNABLE_MAX, e);

		if (r == -ENOENT)
			snprintf(ret->value[i], HOST_TUNABLE_MAX, "(absent)");
		else if (r < 0)
			return r;
	}
	return 0;
}

/* "/proc/sys/vm/x" is known to people as "vm.x". */
static void tunable_name(size_t i, char *ret, size_t cap)
{
	const char *path = tunable_paths[i], *vm = "/proc/sys/vm/";

	if (strncmp(path, vm, strlen(vm)) == 0)
		snprintf(ret, cap, "vm.%s", path + strlen(vm));
	else
		snprintf(ret, cap, "%s", path);
}

int host_same_tunables(const struct host_tunables *before, const struct host_tunables *after, struct err *e)
{
	for (size_t i = 0; i < HOST_TUNABLES; i++) {
		char name[128];

		if (strcmp(before->value[i], after->value[i]) == 0)
			continue;
		tunable_name(i, name, sizeof(name));
		return err_set(e, EBUSY,
			       "%s changed from \"%s\" to \"%s\" during the recording, which voids it: find out who "
			       "changes it, then record again",
			       name, before->value[i], after->value[i]);
	}
	return 0;
}
