// SPDX-License-Identifier: Apache-2.0
/* Owns a machine that is only a struct: files, kernels, GRUB, systemd, apt, kexec, and power that can fail at any step.
 * Must not know what the agent does with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/run.h"
#include "agent/sys.h"

#define MACHINE_FILES          96
#define MACHINE_KERNELS        3
#define MACHINE_OLD            "6.1.190+stock-guest-00000001"
#define MACHINE_NEW            "6.1.192+kpcp1-guest-00000002"
#define MACHINE_OTHER          "6.1.5+own-guest-00000003"
#define MACHINE_OLD_ID         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define MACHINE_NEW_ID         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define MACHINE_SHA            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MACHINE_DEB            "linux-image-" MACHINE_NEW
#define MACHINE_MENU           "gnulinux-advanced-1234"
#define MACHINE_ENTRY(release) MACHINE_MENU ">gnulinux-" release "-advanced-1234"

enum machine_fault {
	FAULT_NONE,
	FAULT_PANICS,          /* before anything runs in it, without a trace */
	FAULT_PANICS_RECORDED, /* the same, and pstore has it */
	FAULT_OOPSES,          /* it runs, with a BUG in its log */
	FAULT_WARNS,
	FAULT_LOSES_NIC,
	FAULT_FAILS_UNIT,
};

enum machine_cut {
	CUT_NONE,
	CUT_KILL,       /* the process dies; the machine goes on, also with the reboot that was asked for */
	CUT_POWER,      /* power fails: what is not on disk is gone, firmware boots the default */
	CUT_POWER_DONE, /* the same right after the step was done, not before it */
};

struct machine_kernel {
	const char *release, *build, *package, *version;
	bool installed;
	enum machine_fault fault;
};

struct machine_grub {
	char saved[160], next[160];
};

struct machine {
	struct sys sys;
	struct machine_kernel kernel[MACHINE_KERNELS];
	/* on disk */
	struct machine_file {
		char path[160];
		char *data;
		size_t len;
		bool kernels; /* of /proc and /sys: made anew by each boot */
	} file[MACHINE_FILES];
	unsigned n_files;
	struct machine_grub grub, grub_synced;
	char held[128]; /* package */
	bool deb;       /* in the download folder */
	unsigned crash_records;
	/* this boot */
	int running;
	unsigned boots;
	char transaction[80];
	int loaded; /* -1: nothing */
	char loaded_line[2400];
	uint64_t clock_ns;
	enum { GOING_NOWHERE, GOING_REBOOT, GOING_KEXEC } going;
	/* the process */
	volatile int stop;
	unsigned steps, cut_at;
	enum machine_cut cut;
	bool dead;
	/* what may go wrong, or was seen */
	const char *deb_sha;
	bool no_kexec_file; /* ENOSYS */
	bool stuck;         /* systemctl does nothing */
	bool grub_forgets;  /* grub-set-default has no effect */
	bool grub_keeps;    /* the one-shot entry is never cleared by a boot */
	bool full;          /* no file can be written */
	const char *fails;  /* a program that ends with status 1 */
	const char *sticky; /* a sysctl's path that keeps its value */
	bool starting;      /* systemd never gets ready */
	unsigned recordings;
	bool recorded_by_kexec;
	int recorded_in;
	unsigned installs, downloads, firmware_boots, kexec_boots;
	/* Called whenever the agent has nothing to do or is between two things. */
	void (*idle)(void *target);
	void *target;
};

void machine_init(struct machine *m);
void machine_free(struct machine *m);
/* Adds or replaces; text may be NULL: removes. */
void machine_put(struct machine *m, const char *path, const char *text);
const char *machine_text(const struct machine *m, const char *path); /* NULL where there is none */
/* What the machine does once the process is gone: stays up, or boots as it was told or as the cut says. */
void machine_after(struct machine *m);
/* By firmware, without an orderly end. */
void machine_reset(struct machine *m);
