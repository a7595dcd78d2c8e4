// SPDX-License-Identifier: Apache-2.0
/* Owns the search for zoneinfo that is taken wrongly: accepted though the model cannot bear it, refused without a
 * reason, outputs changed on failure. Must not know what kernels print. */
#include <stdlib.h>
#include <string.h>

#include "lib/core/pcp.h"
#include "lib/core/zoneinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_zone(const struct zoneinfo_zone *z)
{
	static const struct pcp_sysctl settings[] = {{0, 0}, {5, 0}, {6, 8}, {5, -1}};
	struct pcp_zone in = {z->managed, z->low - z->boost, z->cpus, 12};

	require(z->managed > 0 && z->cpus > 0 && z->name[0] && z->pcp_high.from <= z->pcp_high.to);
	for (int k = 0; k < PCP_KERNEL_COUNT; k++)
		for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
			struct pcp_limits x = pcp_limits((enum pcp_kernel)k, &settings[i], &in);

			require(x.batch >= 1 && x.high_min >= 4ull * x.batch);
			require(pcp_worst_hold((enum pcp_kernel)k, &settings[i], &in) >= x.batch);
			require(pcp_parked((enum pcp_kernel)k, &settings[i], &in) >= x.high_min);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zoneinfo z, before;
	struct err e = {0};
	/* On the heap and no larger than the input, so that a read behind its end is seen. */
	char *copy = malloc(size ? size : 1);

	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	memset(&z, 0x5a, sizeof(z));
	before = z;
	int r = zoneinfo_parse(copy, size, &z, &e);
	if (r < 0) {
		require(memcmp(&z, &before, sizeof(z)) == 0);
		require(e.code == -r && strlen(e.text) > 0 && !strpbrk(e.text, "\n\r\t\033\177"));
	} else {
		require(z.n > 0 && z.n <= ZONEINFO_ZONES_MAX);
		for (size_t i = 0; i < z.n; i++)
			check_zone(&z.zone[i]);
	}
	free(copy);
	return 0;
}
