// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that agent/host.c reads machines right, and refuses what it cannot read.
 * Must not know the machine that it runs on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/host.h"

static const char gnu_note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU\0"
			       "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14";
#define GNU_NOTE_LEN (sizeof(gnu_note) - 1)

static const char zoneinfo[] = "Node 0, zone      DMA\n"
			       "  pages free     2\n"
			       "        high     63\n"
			       "  pagesets\n"
			       "    cpu: 0\n"
			       "              count:    0\n"
			       "              high:     9\n"
			       "              batch:    1\n"
			       "    cpu: 17\n"
			       "              count:    0\n"
			       "              high:     8\n"
			       "              batch:    1\n"
			       "Node 0, zone   Normal\n"
			       "        high     70000\n"
			       "  pagesets\n"
			       "    cpu: 0\n"
			       "              count: 320\n"
			       "              high:  9000\n"
			       "              batch: 63\n"
			       "              high_min: 5\n"
			       "              high_max: 45056\n"
			       "    cpu: 17\n"
			       "              count: 320\n"
			       "              high:  423\n"
			       "              batch: 31\n"
			       "  vm stats threshold: 24\n";

/* A machine with holes in its CPU numbers, two caches, no pcp_batch_scale_max. */
static const struct sys_file machine[] = {
    {"/proc/sys/kernel/hostname", "host-7\n", 0},
    {"/proc/sys/kernel/osrelease", "6.1.0-28-cloud-amd64\n", 0},
    {"/proc/sys/kernel/random/boot_id", "00112233-4455-6677-8899-aabbccddeeff\n", 0},
    {"/sys/devices/system/cpu/online", "0-1,16-17\n", 0},
    {"/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list", "0\n", 0},
    {"/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-1\n", 0},
    {"/sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_list", "0-1\n", 0},
    {"/sys/devices/system/cpu/cpu16/cache/index3/shared_cpu_list", "16-17\n", 0},
    {"/sys/devices/system/cpu/cpu17/cache/index3/shared_cpu_list", "16-17\n", 0},
    {"/proc/meminfo", "MemTotal:        1000000 kB\nMemFree:           1000 kB\nMemAvailable:     900000 kB\n", 0},
    {"/sys/kernel/notes", gnu_note, GNU_NOTE_LEN},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", 0},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", 0},
    {"/proc/sys/kernel/bootloader_type", "114\n", 0},
    {"/proc/zoneinfo", zoneinfo, 0},
    {"/proc/sys/vm/min_free_kbytes", "67584\n", 0},
    {"/proc/sys/vm/pcp_batch_scale_max", "5\n", 0},
};
#define MACHINE_FILES (sizeof(machine) / sizeof(machine[0]))

struct fixture {
	struct sys_file file[MACHINE_FILES];
	uint64_t clock_ns;
	struct sys sys;
	struct host host;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memcpy(f->file, machine, sizeof(machine));
	f->sys = sys_null(f->file, MACHINE_FILES, &f->clock_ns);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static struct sys_file *file_of(struct fixture *f, const char *path)
{
	for (size_t i = 0; i < MACHINE_FILES; i++)
		if (strcmp(f->file[i].path, path) == 0)
			return &f->file[i];
	fail_msg("no canned %s", path);
	return NULL;
}

static void replace(struct fixture *f, const char *path, const char *text)
{
	struct sys_file *file = file_of(f, path);

	file->text = text;
	file->len = 0;
}

static void take_away(struct fixture *f, const char *path)
{
	file_of(f, path)->path = "/gone";
}

static void test_machine(void **state)
{
	struct fixture *f = *state;
	static const uint8_t boot[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	struct err e;

	assert_int_equal(host_read(&f->sys, &f->host, &e), 0);
	assert_string_equal(f->host.name, "host-7");
	assert_string_equal(f->host.release, "6.1.0-28-cloud-amd64");
	assert_memory_equal(f->host.boot_id, boot, 16);
	assert_int_equal(f->host.build_id[0], 1);
	assert_int_equal(f->host.build_id[19], 20);
	assert_int_equal(f->host.online.n, 4);
	assert_int_equal(f->host.online.cpu[2], 16);
	assert_int_equal(f->host.llc[1], 0);
	assert_int_equal(f->host.llc[3], 16);
	assert_int_equal(f->host.memory_kib, 1000000);
	assert_int_equal(f->host.available_kib, 900000);
	assert_int_equal(f->host.pcp_batch_scale_max, 5);
	assert_string_equal(f->host.thp, "madvise");
	assert_string_equal(f->host.clocksource, "tsc");
	assert_int_equal(f->host.reboot, REBOOT_FIRMWARE); /* GRUB 2 */
	assert_int_equal(f->host.n_warnings, 0);
}

static void test_how_it_came_up(void **state)
{
	struct fixture *f = *state;
	struct err e;

	replace(f, "/proc/sys/kernel/bootloader_type", "208\n");
	assert_int_equal(host_read(&f->sys, &f->host, &e), 0);
	assert_int_equal(f->host.reboot, REBOOT_KEXEC);
	replace(f, "/proc/sys/kernel/bootloader_type", "x\n");
	assert_int_equal(host_read(&f->sys, &f->host, &e), 0);
	assert_int_equal(f->host.reboot, REBOOT_UNKNOWN);
	take_away(f, "/proc/sys/kernel/bootloader_type");
	assert_int_equal(host_read(&f->sys, &f->host, &e), 0);
	assert_int_equal(f->host.reboot, REBOOT_UNKNOWN);
	assert_int_equal(f->host.n_warnings, 0);
}

static void test_what_is_missing_is_a_warning(void **state)
{
	struct fixture *f = *state;
	static const uint8_t none[20];
	struct err e;

	take_away(f, "/proc/sys/vm/pcp_batch_scale_max");
	take_away(f, "/sys/kernel/mm/transparent_hugepage/enabled");
	take_away(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	take_away(f, "/sys/devices/system/cpu/cpu17/cache/index3/shared_cpu_list");
	file_of(f, "/sys/kernel/notes")->len = GNU_NOTE_LEN - 1;
	assert_int_equal(host_read(&f->sys, &f->host, &e), 0);
	assert_int_equal(f->host.pcp_batch_scale_max, -1);
	assert_string_equal(f->host.thp, "none");
	assert_string_equal(f->host.clocksource, "unknown");
	assert_int_equal(f->host.llc[3], HOST_CPUS_MAX);
	assert_memory_equal(f->host.build_id, none, 20);
	assert_int_equal(f->host.n_warnings, 3);
	assert_non_null(strstr(f->host.warning[0], "end inside the note at byte 0"));
}

static void refuses(struct fixture *f, const char *path, const char *text, const char *message)
{
	struct sys_file *file = file_of(f, path), before = *file;
	struct err e = {0};

	replace(f, path, text);
	assert_true(host_read(&f->sys, &f->host, &e) < 0);
	if (!strstr(e.text, message))
		fail_msg("\"%s\" does not say \"%s\"", e.text, message);
	*file = before;
}

static void test_refuses(void **state)
{
	struct fixture *f = *state;
	struct err e;

	refuses(f, "/proc/sys/kernel/random/boot_id", "00112233-4455-6677-8899-aabbccddeef\n", "boot_id");
	refuses(f, "/proc/sys/kernel/random/boot_id", "00112233-4455-6677-8899-aabbccddeefff\n", "identifier");
	refuses(f, "/proc/sys/kernel/random/boot_id", "00112233x4455-6677-8899-aabbccddeeff\n", "identifier");
	refuses(f, "/sys/devices/system/cpu/online", "0-\n", "/sys/devices/system/cpu/online");
	refuses(f, "/proc/meminfo", "MemTotal: 1000000\nMemAvailable: 5 kB\n", "MemTotal");
	refuses(f, "/proc/meminfo", "MemTotal: 1000000 kB\n", "MemAvailable");
	refuses(f, "/proc/sys/vm/pcp_batch_scale_max", "five\n", "pcp_batch_scale_max");
	refuses(f, "/proc/sys/kernel/osrelease",
		"0123456789012345678901234567890123456789012345678901234567890123456789\n", "at most 64");
	take_away(f, "/proc/sys/kernel/random/boot_id");
	assert_int_equal(host_read(&f->sys, &f->host, &e), -ENOENT);
}

static void test_notes(void **state)
{
	uint8_t id[20] = {9}, two[3 * sizeof(gnu_note)];
	static const char linux_note[] = "\6\0\0\0\4\0\0\0\1\1\0\0Linux\0\0\0\0\0\0\0";
	static const char short_note[] = "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\1\2\3\4\5\6\7\10";
	struct err e;

	(void)state;
	memcpy(two, linux_note, sizeof(linux_note) - 1);
	memcpy(two + sizeof(linux_note) - 1, gnu_note, GNU_NOTE_LEN);
	size_t len = sizeof(linux_note) - 1 + GNU_NOTE_LEN;
	assert_int_equal(host_parse_notes(two, len, id, &e), 0);
	assert_int_equal(id[19], 20);
	/* Cut anywhere: never an id, never a byte read outside (the sanitizers watch a copy of the right size). */
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *copy = malloc(cut + !cut);

		assert_non_null(copy);
		memcpy(copy, two, cut);
		assert_true(host_parse_notes(copy, cut, id, &e) < 0);
		free(copy);
	}
	assert_int_equal(host_parse_notes(linux_note, sizeof(linux_note) - 1, id, &e), -ENOENT);
	assert_int_equal(host_parse_notes(short_note, sizeof(short_note) - 1, id, &e), 0);
	assert_int_equal(id[7], 8);
	assert_int_equal(id[8], 0);
	/* Lengths that overflow. */
	memset(two, 0xff, 12);
	assert_int_equal(host_parse_notes(two, len, id, &e), -EINVAL);
}

static void test_zoneinfo(void **state)
{
	static const unsigned first[] = {0}, second[] = {17}, both[] = {0, 17}, other[] = {5};
	struct host_pcp pcp = {7, 7};
	struct err e;

	(void)state;
	assert_int_equal(host_parse_zoneinfo(zoneinfo, first, 1, &pcp, &e), 0);
	assert_int_equal(pcp.high, 9000);
	assert_int_equal(pcp.batch, 63);
	assert_int_equal(host_parse_zoneinfo(zoneinfo, second, 1, &pcp, &e), 0);
	assert_int_equal(pcp.high, 423);
	assert_int_equal(pcp.batch, 31);
	assert_int_equal(host_parse_zoneinfo(zoneinfo, both, 2, &pcp, &e), 0);
	assert_int_equal(pcp.high, 9000);
	pcp.high = 1;
	assert_int_equal(host_parse_zoneinfo(zoneinfo, other, 1, &pcp, &e), -ENODATA);
	assert_int_equal(pcp.high, 1);
	assert_int_equal(host_parse_zoneinfo("", first, 1, &pcp, &e), -ENODATA);
}

static void test_tunables(void **state)
{
	struct fixture *f = *state;
	struct host_tunables *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
	struct err e = {0};

	assert_non_null(before);
	assert_non_null(after);
	assert_int_equal(host_read_tunables(&f->sys, before, &e), 0);
	assert_int_equal(host_read_tunables(&f->sys, after, &e), 0);
	assert_int_equal(host_same_tunables(before, after, &e), 0);
	replace(f, "/proc/sys/vm/pcp_batch_scale_max", "0\n");
	assert_int_equal(host_read_tunables(&f->sys, after, &e), 0);
	assert_int_equal(host_same_tunables(before, after, &e), -EBUSY);
	assert_non_null(strstr(e.text, "vm.pcp_batch_scale_max changed from \"5\" to \"0\""));
	replace(f, "/proc/sys/vm/pcp_batch_scale_max", "5\n");
	replace(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	assert_int_equal(host_read_tunables(&f->sys, after, &e), 0);
	assert_int_equal(host_same_tunables(before, after, &e), -EBUSY);
	assert_non_null(strstr(e.text, "current_clocksource changed from \"tsc\" to \"hpet\""));
	take_away(f, "/proc/sys/vm/min_free_kbytes");
	replace(f, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	assert_int_equal(host_read_tunables(&f->sys, after, &e), 0);
	assert_int_equal(host_same_tunables(before, after, &e), -EBUSY);
	assert_non_null(strstr(e.text, "vm.min_free_kbytes changed from \"67584\" to \"(absent)\""));
	free(before);
	free(after);
}

static void test_null_clock(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->sys.now_ns(&f->sys), 0);
	assert_int_equal(f->sys.sleep_until(&f->sys, 5000000000), 0);
	assert_int_equal(f->sys.now_ns(&f->sys), 5000000000);
	assert_int_equal(f->sys.sleep_until(&f->sys, 1), 0);
	assert_int_equal(f->sys.now_ns(&f->sys), 5000000000);
	assert_int_equal(f->sys.unix_s(&f->sys), 1704067205);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_machine, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_how_it_came_up, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_what_is_missing_is_a_warning, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refuses, set_up, tear_down),
	    cmocka_unit_test(test_notes),
	    cmocka_unit_test(test_zoneinfo),
	    cmocka_unit_test_setup_teardown(test_tunables, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_null_clock, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
