// SPDX-License-Identifier: Apache-2.0
/* Owns the options that several subcommands of kpcp share.
 * Must not know what the subcommands do with them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kpcp.h"
#include "lib/base/num.h"

#define SECOND_NS 1000000000u

int kpcp_set_config(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->config = value;
	return 0;
}

int kpcp_set_json(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct kpcp *)t)->json = true;
	return 0;
}

int kpcp_seconds(const char *value, uint64_t min_s, uint64_t max_s, uint64_t *ret_s, struct err *e)
{
	char digits[16];
	size_t len = strlen(value);
	uint64_t unit_s = len > 0 && value[len - 1] == 'h' ? 3600 : len > 0 && value[len - 1] == 'd' ? 86400 : 0, v = 0;
	int r;

	if (unit_s && len <= sizeof(digits)) {
		snprintf(digits, sizeof(digits), "%.*s", (int)(len - 1), value);
		r = num_u64(digits, 0, max_s / unit_s, &v, NULL);
		v *= unit_s;
	} else {
		r = num_duration(value, 0, max_s * SECOND_NS, &v, NULL);
		if (r == 0 && v % SECOND_NS != 0)
			r = -EINVAL;
		v /= SECOND_NS;
	}
	if (r < 0 || v < min_s || v > max_s)
		return err_set(e, r == -EINVAL ? EINVAL : ERANGE,
			       "'%.80s' is %s; expected whole seconds such as 90s, 15min, 24h or 7d, from %ju to %ju s",
			       value, r == -EINVAL ? "not understood" : "out of range", (uintmax_t)min_s,
			       (uintmax_t)max_s);
	*ret_s = v;
	return 0;
}
