// SPDX-License-Identifier: Apache-2.0
/* Owns the boots of the scripted machine, and the programs that it has.
 * Must not know what the agent does with it. */
#include "machine_boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int machine_kernel_of(const struct machine *m, const char *release)
{
	for (int i = 0; i < MACHINE_KERNELS; i++)
		if (m->kernel[i].installed && strcmp(m->kernel[i].release, release) == 0)
			return i;
	return -1;
}

void machine_load(struct machine *m, int kernel, const char *line)
{
	m->loaded = kernel;
	snprintf(m->loaded_line, sizeof(m->loaded_line), "%s", line);
	machine_put(m, "/sys/kernel/kexec_loaded", kernel >= 0 ? "1\n" : "0\n");
}

static int kernel_of_entry(const struct machine *m, const char *entry)
{
	char id[160];

	for (int i = 0; i < MACHINE_KERNELS; i++) {
		snprintf(id, sizeof(id), MACHINE_MENU ">gnulinux-%s-advanced-1234", m->kernel[i].release);
		if (m->kernel[i].installed && strcmp(id, entry) == 0)
			return i;
	}
	return 0; /* GRUB boots its first entry then */
}

static void write_menu(struct machine *m)
{
	char text[8192];
	int at =
	    snprintf(text, sizeof(text),
		     "set default=\"0\"\nif [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set "
		     "next_entry=\n   save_env next_entry\nelse\n   set default=\"${saved_entry}\"\nfi\n"
		     "submenu 'Advanced' $menuentry_id_option '" MACHINE_MENU "' {\n");

	for (int i = 0; i < MACHINE_KERNELS; i++) {
		if (m->kernel[i].installed)
			at += snprintf(text + at, sizeof(text) - (size_t)at,
				       "\tmenuentry 'Linux %s' --class os $menuentry_id_option "
				       "'gnulinux-%s-advanced-1234' {\n\t\tlinux\t/boot/vmlinuz-%s root=/dev/vda1 ro "
				       "panic=-1\n\t}\n",
				       m->kernel[i].release, m->kernel[i].release, m->kernel[i].release);
	}
	snprintf(text + at, sizeof(text) - (size_t)at, "}\n");
	machine_put(m, "/boot/grub/grub.cfg", text);
}

static void write_env(struct machine *m)
{
	char text[512];

	snprintf(text, sizeof(text), "# GRUB Environment Block\nsaved_entry=%s\nnext_entry=%s\n####", m->grub.saved,
		 m->grub.next);
	machine_put(m, "/boot/grub/grubenv", text);
}

static void write_notes(struct machine *m, const char *build)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

	for (unsigned i = 0; i < 20; i++) {
		unsigned high = (unsigned)(strchr(hex, build[2 * i]) - hex);
		unsigned low = (unsigned)(strchr(hex, build[2 * i + 1]) - hex);
		note[16 + i] = (uint8_t)(high << 4 | low);
	}
	machine_put_bytes(m, "/sys/kernel/notes", note, sizeof(note));
}

/* What a boot makes anew. */
static void come_up(struct machine *m, int kernel, const char *line)
{
	const char *transaction = strstr(line, "kpcp.transaction=");
	char text[2600];

	m->running = kernel;
	m->boots++;
	m->clock_ns = 20000000000u;
	m->going = GOING_NOWHERE;
	m->transaction[0] = 0;
	if (transaction)
		snprintf(m->transaction, sizeof(m->transaction), "%.60s", transaction + strlen("kpcp.transaction="));
	machine_load(m, -1, "");
	snprintf(text, sizeof(text), "%08x-0000-0000-0000-000000000000\n", m->boots);
	machine_put(m, "/proc/sys/kernel/random/boot_id", text);
	snprintf(text, sizeof(text), "%s\n", m->kernel[kernel].release);
	machine_put(m, "/proc/sys/kernel/osrelease", text);
	snprintf(text, sizeof(text), "%s\n", line);
	machine_put(m, "/proc/cmdline", text);
	write_notes(m, m->kernel[kernel].build);
	machine_put(m, "/proc/sys/vm/pcp_batch_scale_max", strstr(m->kernel[kernel].release, "kpcp") ? "5\n" : NULL);
	machine_put(m, "/proc/sys/vm/min_free_kbytes", "67584\n");
	machine_put(m, "/proc/sys/vm/watermark_scale_factor", "10\n");
}

static void boot_firmware(struct machine *m)
{
	int kernel;

	do {
		kernel = kernel_of_entry(m, m->grub.next[0] ? m->grub.next : m->grub.saved);
		if (!m->grub_keeps)
			m->grub.next[0] = 0;
		m->grub_synced = m->grub;
		m->firmware_boots++;
		m->crash_records += m->kernel[kernel].fault == FAULT_PANICS_RECORDED;
	} while (m->kernel[kernel].fault == FAULT_PANICS || m->kernel[kernel].fault == FAULT_PANICS_RECORDED);
	write_env(m);
	come_up(m, kernel, "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro panic=-1");
}

static void boot_kexec(struct machine *m)
{
	int kernel = m->loaded;
	char line[sizeof(m->loaded_line)];

	memcpy(line, m->loaded_line, sizeof(line));
	m->kexec_boots++;
	if (m->kernel[kernel].fault == FAULT_PANICS || m->kernel[kernel].fault == FAULT_PANICS_RECORDED) {
		m->crash_records += m->kernel[kernel].fault == FAULT_PANICS_RECORDED;
		boot_firmware(m);
		return;
	}
	come_up(m, kernel, line);
}

void machine_reset(struct machine *m)
{
	m->grub = m->grub_synced;
	boot_firmware(m);
}

void machine_after(struct machine *m)
{
	bool power = m->dead && (m->cut == CUT_POWER || m->cut == CUT_POWER_DONE);

	m->dead = false;
	m->stop = 0;
	if (power)
		machine_reset(m);
	else if (m->going == GOING_KEXEC)
		boot_kexec(m);
	else if (m->going == GOING_REBOOT) {
		m->grub_synced = m->grub;
		boot_firmware(m);
	}
}

void machine_first_boot(struct machine *m)
{
	static const char *const files[][2] = {
	    {"/proc/sys/kernel/hostname", "h1\n"},
	    {"/proc/sys/kernel/kexec_load_disabled", "0\n"},
	    {"/proc/sys/kernel/panic", "-1\n"},
	    {"/proc/sys/kernel/tainted", "0\n"},
	    {"/sys/devices/system/cpu/online", "0-3\n"},
	    {"/sys/devices/system/cpu/present", "0-3\n"},
	    {"/sys/devices/system/cpu/offline", "\n"},
	    {"/proc/meminfo", "MemTotal:       1000000 kB\nMemAvailable:    900000 kB\n"},
	    {"/proc/self/mountinfo", "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro\n"},
	    {"/proc/modules", "virtio_net 1 0 - Live 0x0\n"},
	    {"/etc/default/grub", "GRUB_DEFAULT=saved\nGRUB_TIMEOUT=0\n"},
	    {"/etc/default/kexec", "LOAD_KEXEC=false\n"},
	    {"/boot", "900000000"},
	    {"/boot/vmlinuz-" MACHINE_OLD, "kernel"},
	    {"/lib/modules/" MACHINE_NEW "/modules.dep", "kernel/drivers/net/virtio-net.ko.xz: kernel/x.ko\n"},
	    {"/etc/apt/sources.list.d/kpcp.sources", "Types: deb\n"},
	    {"/sys/class/dmi/id/product_name", "Scripted Machine\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		machine_put(m, files[i][0], files[i][1]);
	write_menu(m);
	m->loaded = -1;
	boot_firmware(m);
}

static bool is(const char *const *argv, const char *a, const char *b)
{
	return strcmp(argv[0], a) == 0 && (!b || (argv[1] && strcmp(argv[1], b) == 0));
}

static bool has_word(const char *const *argv, const char *word)
{
	for (; *argv; argv++)
		if (strcmp(*argv, word) == 0)
			return true;
	return false;
}

static void look_packages(struct machine *m, struct run_result *ret, struct err *e)
{
	for (int i = 0; i < MACHINE_KERNELS; i++)
		if (m->kernel[i].installed &&
		    buf_addf(&ret->out, e, "installed %s %s\n", m->kernel[i].version, m->kernel[i].package) < 0)
			abort();
}

/* Numbers between dots: enough for the versions here. */
static bool older(const char *a, const char *b)
{
	unsigned x[3] = {0}, y[3] = {0};

	if (sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]) < 2 || sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]) < 2)
		abort();
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i];
	return false;
}

bool machine_looks(struct machine *m, const char *const *argv, struct run_result *ret, struct err *e)
{
	int r = 0;

	if (is(argv, "grub-editenv", NULL) && has_word(argv, "list"))
		r = buf_addf(&ret->out, e, "saved_entry=%s\nnext_entry=%s\n", m->grub.saved, m->grub.next);
	else if (is(argv, "dpkg-query", "--search"))
		r = buf_addf(&ret->out, e, "linux-image-%s: %s\n", argv[2] + strlen("/boot/vmlinuz-"), argv[2]);
	else if (is(argv, "dpkg-query", "--show"))
		look_packages(m, ret, e);
	else if (is(argv, "dpkg", "--compare-versions"))
		ret->status = older(argv[2], argv[4]) ? 0 : 1;
	else if (is(argv, "apt-mark", "showhold"))
		r = strcmp(argv[2], m->held) == 0 ? buf_addf(&ret->out, e, "%s\n", m->held) : 0;
	else if (is(argv, "systemctl", "is-system-running"))
		r = buf_addf(&ret->out, e, "%s\n", m->starting ? "starting" : "running");
	else if (is(argv, "systemctl", "list-units"))
		r = m->kernel[m->running].fault == FAULT_FAILS_UNIT
			? buf_addf(&ret->out, e, "db.service loaded failed failed Database\n")
			: 0;
	else
		return false;
	if (r < 0)
		abort();
	return true;
}

static void install(struct machine *m)
{
	m->installs++;
	m->kernel[1].installed = true;
	machine_put(m, "/boot/vmlinuz-" MACHINE_NEW, "kernel");
	write_menu(m);
}

static void does_grub(struct machine *m, const char *const *argv)
{
	if (is(argv, "grub-set-default", NULL) && !m->grub_forgets)
		snprintf(m->grub.saved, sizeof(m->grub.saved), "%s", argv[1]);
	else if (is(argv, "grub-reboot", NULL))
		snprintf(m->grub.next, sizeof(m->grub.next), "%s", argv[1]);
	else if (is(argv, "grub-editenv", NULL) && has_word(argv, "unset"))
		m->grub.next[0] = 0;
	else if (is(argv, "sync", NULL))
		m->grub_synced = m->grub;
	write_env(m);
}

static void does_record(struct machine *m, const char *const *argv)
{
	m->recordings++;
	m->recorded_by_kexec = m->transaction[0] != 0;
	m->recorded_in = m->running;
	for (; argv[0] && argv[1]; argv++)
		if (strcmp(argv[0], "--out") == 0)
			machine_put(m, argv[1], "recording");
}

void machine_does(struct machine *m, const struct run_command *c, struct run_result *ret)
{
	const char *const *argv = c->argv;

	if (is(argv, "systemctl", "kexec") || is(argv, "systemctl", "reboot")) {
		/* With a kernel loaded, a newer systemd would jump. */
		if (!m->stuck)
			m->going = m->loaded >= 0 ? GOING_KEXEC : GOING_REBOOT;
	} else if (strncmp(argv[0], "grub-", 5) == 0 || is(argv, "sync", NULL)) {
		does_grub(m, argv);
	} else if (is(argv, "apt-get", NULL) && has_word(argv, "download")) {
		m->downloads++;
		m->deb = true;
	} else if (is(argv, "apt-get", NULL) && has_word(argv, "install")) {
		install(m);
	} else if (is(argv, "apt-mark", NULL)) {
		snprintf(m->held, sizeof(m->held), "%s", strcmp(argv[1], "hold") == 0 ? argv[2] : "");
	} else if (is(argv, "kexec", "-c")) {
		machine_load(m, machine_kernel_of(m, argv[3] + strlen("/boot/vmlinuz-")), strchr(argv[4], '=') + 1);
	} else if (is(argv, "kexec", "-u")) {
		machine_load(m, -1, "");
	} else if (has_word(argv, "record")) {
		does_record(m, argv);
	} else if (!is(argv, "dpkg", "--configure") && !is(argv, "apt-get", NULL) && !is(argv, "update-grub", NULL)) {
		ret->status = 127;
	}
}
