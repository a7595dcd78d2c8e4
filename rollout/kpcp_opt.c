// SPDX-License-Identifier: Apache-2.0
/* Owns the options that several subcommands of kpcp share.
 * Must not know what the subcommands do with them. */

#include "kpcp.h"

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
