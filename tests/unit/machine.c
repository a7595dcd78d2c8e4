// SPDX-License-Identifier: Apache-2.0
/* Owns the scripted machine: what each program and file does to the struct.
 * Must not know what the agent does with it. */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_boot.h"

static void set_file(struct machine *m, const char *path, const void *data, size_t len)
{
	struct machine_file *f = NULL;

	for (unsigned i = 0; i < m->n_files; i++)
		if (strcmp(m->file[i].path, path) == 0)
			f = &m->file[i];
	if (!f) {
		if (m->n_files == MACHINE_FILES)
			abort();
		f = &m->file[m->n_files++];
		memset(f, 0, sizeof(*f));
		snprintf(f->path, sizeof(f->path), "%s", path);
	}
	free(f->data);
	f->data = malloc(len + 1);
	if (!f->data)
		abort();
	memcpy(f->data, data, len);
	f->data[len] = 0;
	f->len = len;
}

void machine_put_bytes(struct machine *m, const char *path, const void *data, size_t len)
{
	set_file(m, path, data, len);
}

void machine_put(struct machine *m, const char *path, const char *text)
{
	if (text) {
		set_file(m, path, text, strlen(text));
		return;
	}
	for (unsigned i = 0; i < m->n_files; i++) {
		if (strcmp(m->file[i].path, path) == 0) {
			free(m->file[i].data);
			m->file[i] = m->file[--m->n_files];
			return;
		}
	}
}

const char *machine_text(const struct machine *m, const char *path)
{
	for (unsigned i = 0; i < m->n_files; i++)
		if (strcmp(m->file[i].path, path) == 0)
			return m->file[i].data;
	return NULL;
}

void machine_free(struct machine *m)
{
	for (unsigned i = 0; i < m->n_files; i++)
		free(m->file[i].data);
	m->n_files = 0;
}

/* One step that changes something: true when it is done. Once power or the process is gone nothing is. */
static bool step_begins(struct machine *m)
{
	if (m->dead)
		return false;
	m->steps++;
	if (m->cut == CUT_NONE || m->steps != m->cut_at)
		return true;
	m->dead = true;
	return m->cut == CUT_POWER_DONE;
}

static int step_ends(const struct machine *m, struct err *e)
{
	return m->dead ? err_set(e, EIO, "cut at step %u", m->steps) : 0;
}

#define SELF(s) ((struct machine *)(s)->self)

static int do_read(const struct sys *s, const char *path, struct buf *ret, struct err *e)
{
	struct machine *m = SELF(s);
	size_t n = strlen(path);

	if (m->dead)
		return err_set(e, EIO, "%s: dead", path);
	if (n > 5 && strcmp(path + n - 5, "/lift") == 0 && m->idle)
		m->idle(m->target);
	for (unsigned i = 0; i < m->n_files; i++)
		if (strcmp(m->file[i].path, path) == 0)
			return buf_add(ret, m->file[i].data, m->file[i].len, e);
	return err_sys(e, ENOENT, "cannot open %s", path);
}

static uint64_t do_now(const struct sys *s)
{
	return SELF(s)->clock_ns;
}

static uint64_t do_unix(const struct sys *s)
{
	(void)s;
	return 1796083300;
}

/* A machine that goes down asks its processes to end. */
static int do_sleep(const struct sys *s, uint64_t ns)
{
	struct machine *m = SELF(s);

	if (m->clock_ns < ns)
		m->clock_ns = ns;
	if (m->going != GOING_NOWHERE && !m->dead)
		m->stop = 1;
	return 0;
}

static uint64_t do_random(const struct sys *s)
{
	(void)s;
	return 4;
}

static int do_write(const struct sys *s, const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	struct machine *m = SELF(s);

	(void)mode;
	if (m->full)
		return err_set(e, ENOSPC, "%s: no space left", path);
	if (step_begins(m))
		set_file(m, path, data, len);
	return step_ends(m, e);
}

static int do_set(const struct sys *s, const char *path, const char *text, struct err *e)
{
	struct machine *m = SELF(s);
	char line[64];

	if (!machine_text(m, path))
		return err_sys(e, ENOENT, "%s", path);
	if (step_begins(m) && !(m->sticky && strcmp(path, m->sticky) == 0)) {
		snprintf(line, sizeof(line), "%s\n", text);
		machine_put(m, path, line);
	}
	return step_ends(m, e);
}

static int do_remove(const struct sys *s, const char *path, struct err *e)
{
	struct machine *m = SELF(s);

	/* Nothing there: no step. */
	if (!m->dead && !machine_text(m, path) && !(m->deb && strstr(path, "/download/")))
		return 0;
	if (step_begins(m)) {
		machine_put(m, path, NULL);
		if (strstr(path, "/download/"))
			m->deb = false;
	}
	return step_ends(m, e);
}

static int do_make_dir(const struct sys *s, const char *path, unsigned mode, struct err *e)
{
	(void)path, (void)mode;
	return SELF(s)->dead ? err_set(e, EIO, "dead") : 0;
}

static int do_list(const struct sys *s, const char *path, struct buf *ret, struct err *e)
{
	struct machine *m = SELF(s);

	if (m->dead)
		return err_set(e, EIO, "dead");
	if (strstr(path, "/download"))
		return m->deb ? buf_addf(ret, e, "%s_6.1.192_amd64.deb\n", MACHINE_DEB) : 0;
	if (strcmp(path, "/sys/fs/pstore") == 0) {
		for (unsigned i = 0; i < m->crash_records; i++)
			if (buf_addf(ret, e, "dmesg-efi-%u\n", i) < 0)
				return -ENOMEM;
		return 0;
	}
	if (strcmp(path, "/sys/class/net") == 0)
		return buf_addf(ret, e, "eth0\nlo\n%s", m->kernel[m->running].fault == FAULT_LOSES_NIC ? "" : "eth1\n");
	if (strcmp(path, "/sys/class/net/eth0/device") == 0 || strcmp(path, "/sys/class/net/eth1/device") == 0)
		return 0;
	return err_sys(e, ENOENT, "%s", path);
}

static int do_size(const struct sys *s, const char *path, uint64_t *ret, struct err *e)
{
	struct machine *m = SELF(s);

	if (m->dead)
		return err_set(e, EIO, "dead");
	for (unsigned i = 0; i < m->n_files; i++) {
		if (strcmp(m->file[i].path, path) == 0) {
			*ret = m->file[i].len;
			return 0;
		}
	}
	return err_sys(e, ENOENT, "%s", path);
}

static int do_free(const struct sys *s, const char *path, uint64_t *ret, struct err *e)
{
	const char *text = machine_text(SELF(s), "/boot");

	(void)path, (void)e;
	*ret = text ? strtoull(text, NULL, 10) : 0;
	return 0;
}

static int do_sha256(const struct sys *s, const char *path, uint64_t max, char ret[65], struct err *e)
{
	struct machine *m = SELF(s);

	(void)path, (void)max, (void)e;
	snprintf(ret, 65, "%s", m->deb_sha);
	return 0;
}

static int do_kexec_load(const struct sys *s, const char *kernel, const char *initrd, const char *line, struct err *e)
{
	struct machine *m = SELF(s);

	(void)initrd;
	if (m->no_kexec_file)
		return err_sys(e, ENOSYS, "kexec_file_load");
	if (step_begins(m)) {
		int i = machine_kernel_of(m, kernel + strlen("/boot/vmlinuz-"));
		if (i < 0)
			return err_sys(e, ENOENT, "%s", kernel);
		machine_load(m, i, line);
	}
	return step_ends(m, e);
}

static int do_kexec_unload(const struct sys *s, struct err *e)
{
	struct machine *m = SELF(s);

	if (m->no_kexec_file)
		return err_sys(e, ENOSYS, "kexec_file_load");
	if (step_begins(m))
		machine_load(m, -1, "");
	return step_ends(m, e);
}

static int do_kernel_log(const struct sys *s, struct buf *ret, struct err *e)
{
	enum machine_fault f = SELF(s)->kernel[SELF(s)->running].fault;

	return buf_addf(ret, e, "Linux version\n%s",
			f == FAULT_OOPSES  ? "BUG: unable to handle page fault\n"
			: f == FAULT_WARNS ? "WARNING: CPU: 0 PID: 1\n"
					   : "");
}

static int do_run(const struct sys *s, const struct run_command *c, struct run_result *ret, struct err *e)
{
	struct machine *m = SELF(s);

	if (m->dead)
		return err_set(e, EIO, "dead");
	if (m->fails && strcmp(m->fails, c->argv[0]) == 0) {
		ret->status = 1;
		snprintf(ret->last, sizeof(ret->last), "it fails");
		return 0;
	}
	/* Programs that only look are no steps. */
	if (machine_looks(m, c->argv, ret, e))
		return 0;
	if (step_begins(m))
		machine_does(m, c, ret);
	return step_ends(m, e);
}

static const struct sys_hands hands = {.write = do_write,
				       .set = do_set,
				       .remove = do_remove,
				       .make_dir = do_make_dir,
				       .list = do_list,
				       .size = do_size,
				       .free_bytes = do_free,
				       .sha256 = do_sha256,
				       .run = do_run,
				       .kexec_load = do_kexec_load,
				       .kexec_unload = do_kexec_unload,
				       .kernel_log = do_kernel_log};

void machine_init(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	m->sys = (struct sys){.root = "",
			      .read = do_read,
			      .now_ns = do_now,
			      .unix_s = do_unix,
			      .sleep_until = do_sleep,
			      .random = do_random,
			      .hands = &hands,
			      .self = m};
	m->kernel[0] = (struct machine_kernel){MACHINE_OLD,       MACHINE_OLD_ID, "linux-image-" MACHINE_OLD,
					       "6.1.190-1+stock", true,           FAULT_NONE};
	m->kernel[1] =
	    (struct machine_kernel){MACHINE_NEW, MACHINE_NEW_ID, MACHINE_DEB, "6.1.192-1+kpcp1", false, FAULT_NONE};
	m->kernel[2] = (struct machine_kernel){
	    MACHINE_OTHER, "cccccccccccccccccccccccccccccccccccccccc", "", "6.1.5-1", true, FAULT_NONE};
	m->deb_sha = MACHINE_SHA;
	snprintf(m->grub.saved, sizeof(m->grub.saved), MACHINE_ENTRY(MACHINE_OLD));
	m->grub_synced = m->grub;
	machine_first_boot(m);
}
