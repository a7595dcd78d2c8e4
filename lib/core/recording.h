// SPDX-License-Identifier: Apache-2.0
/* Owns the data of a recording: one host, one boot, one probe; what was measured in it, storm by storm.
 * Must not know how it was measured, nor how it is stored. */
#pragma once

#include <stdint.h>

#include "hist.h"

#define RECORDING_NAME_MAX 65 /* host, kernel release: 64 characters and the final 0 */
/* Storms in one recording: 17 KiB each at worst, so that WIRE_FILE_MAX holds them. */
#define RECORDING_STORMS_MAX 3000

/* What a comparison needs to be fair: two recordings whose shapes differ anywhere are never compared. */
struct recording_shape {
	char probe[32];         /* what measured: "victim-4k-active/1" */
	char layout[32];        /* HIST_LAYOUT */
	uint32_t victims;       /* pinned victim processes */
	uint32_t burst_pages;   /* pages faulted per operation */
	uint64_t period_ns;     /* from one intended start to the next */
	uint64_t window_ns;     /* after SIGKILL; operations with an intended start inside are the sample */
	uint32_t processes;     /* of each storm */
	uint64_t process_pages; /* populated by each, base pages */
};

/* How the boot that was measured came up. A kexec leaves devices and firmware as they were, and what that costs must
 * not pass for a kernel's doing. */
enum reboot_method { REBOOT_UNKNOWN, REBOOT_FIRMWARE, REBOOT_KEXEC, REBOOT_METHODS };

struct recording_header {
	struct recording_shape shape;
	char host[RECORDING_NAME_MAX];
	char release[RECORDING_NAME_MAX]; /* uname -r */
	uint8_t build_id[20];             /* GNU build-id of the running kernel; zeros where it has none */
	uint8_t boot_id[16];              /* of /proc/sys/kernel/random/boot_id */
	char tool[32];                    /* version of kpcp that recorded */
	char clocksource[32];
	uint64_t start_unix_s;
	uint64_t seed;
	uint32_t cpus; /* online */
	uint64_t memory_kib;
	int32_t pcp_batch_scale_max; /* the sysctl; -1 where the kernel has none */
	uint32_t storms_planned;
	enum reboot_method reboot;
};

/* One storm: N processes populate memory and are killed at one moment. */
struct recording_storm {
	uint32_t index;
	uint64_t exit_ns;     /* SIGKILL to the last waitpid */
	uint64_t exit_pages;  /* resident before SIGKILL, base pages */
	uint64_t missed;      /* slots of the window that no operation could start in before the next was due */
	struct hist response; /* end - intended start */
	struct hist service;  /* end - actual start */
};
