// SPDX-License-Identifier: Apache-2.0
/* Owns the answer to "what machine is this": names, kernel, CPUs, caches, memory, page-list sizes.
 * Must not know what will be measured on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/recording.h"
#include "sys.h"

#define HOST_CPUS_MAX     8192u
#define HOST_WARNINGS_MAX 8
#define HOST_TUNABLES     14
#define HOST_TUNABLE_MAX  160

struct host_cpus {
	size_t n;
	unsigned cpu[HOST_CPUS_MAX]; /* rising */
};

/* About 100 KiB: keep it on the heap or static. */
struct host {
	char name[RECORDING_NAME_MAX];
	char release[RECORDING_NAME_MAX];
	uint8_t build_id[20]; /* zeros where the kernel tells none */
	uint8_t boot_id[16];
	char clocksource[32];
	enum reboot_method reboot; /* how this kernel came up; unknown where the machine does not tell */
	char thp[16];              /* the mode that is set: "always", "madvise", "never"; "none" without THP */
	struct host_cpus online;
	/* The first CPU that shares the last-level cache with online.cpu[i]; HOST_CPUS_MAX where /sys tells none. */
	unsigned llc[HOST_CPUS_MAX];
	uint64_t memory_kib;
	uint64_t available_kib;
	int32_t pcp_batch_scale_max; /* -1: this kernel has no such sysctl */
	unsigned n_warnings;
	char warning[HOST_WARNINGS_MAX][256]; /* what could not be read and is recorded as missing */
};

/* The largest values of the given CPUs over all zones, in pages. */
struct host_pcp {
	uint32_t batch;
	uint32_t high;
};

/* What must not change while a recording is made; text as the kernel shows it, "(absent)" where it has none. */
struct host_tunables {
	char value[HOST_TUNABLES][HOST_TUNABLE_MAX];
};

/* Everything in struct host. Fails where a recording would be worthless without the fact (boot id, kernel release,
 * CPUs, memory); what is merely nice to have becomes a warning. */
int must_check host_read(const struct sys *s, struct host *ret, struct err *e);

/* Reads /proc/zoneinfo, which takes every zone's lock: never while anything is measured. */
int must_check host_read_pcp(const struct sys *s, const unsigned *cpus, size_t n, struct host_pcp *ret, struct err *e);

int must_check host_read_tunables(const struct sys *s, struct host_tunables *ret, struct err *e);
/* 0 when both are the same; otherwise -EBUSY and which one changed from what to what. */
int must_check host_same_tunables(const struct host_tunables *before, const struct host_tunables *after, struct err *e);

/* The GNU build-id out of the bytes of /sys/kernel/notes. -EINVAL on notes that are cut or malformed, -ENOENT where
 * there is none; ret untouched then. Shorter ids are padded with zeros. */
int must_check host_parse_notes(const void *data, size_t len, uint8_t ret[20], struct err *e);
/* "8-4-4-4-12" hexadecimal digits -> 16 bytes. */
int must_check host_parse_uuid(const char *text, uint8_t ret[16], struct err *e);
/* The text of /proc/zoneinfo; as host_read_pcp. */
int must_check host_parse_zoneinfo(const char *text, const unsigned *cpus, size_t n, struct host_pcp *ret,
				   struct err *e);
