// SPDX-License-Identifier: Apache-2.0
/* Owns the way of a plan from its file to what it says.
 * Must not know what is done with it. */
#include "plan_file.h"

#include "lib/base/fs.h"

int plan_file_read(const char *path, bool approved, struct buf *text, struct directive *ret, struct err *e)
{
	int r = fs_read(path, text, e);

	return r < 0 ? r : directive_parse(path, text->len ? text->data : "", text->len, approved, ret, e);
}

int plan_file_describe(const struct directive *d, struct buf *out, struct err *e)
{
	int r;

	if (d->factor == FACTOR_KERNEL)
		r = buf_addf(out, e, "kernel %s %s", d->kernel.package, d->kernel.version);
	else
		r = buf_addf(out, e, "preset %s", d->preset.name);
	for (uint32_t i = 0; r == 0 && d->factor == FACTOR_PRESET && i < d->preset.n; i++)
		r = buf_addf(out, e, "%s%s=%s", i ? ", " : " (", d->preset.setting[i].key, d->preset.setting[i].value);
	if (r == 0)
		r = buf_addf(out, e, "%s on cluster%s", d->factor == FACTOR_PRESET ? ")" : "",
			     d->n_clusters == 1 ? "" : "s");
	for (uint32_t i = 0; r == 0 && i < d->n_clusters; i++)
		r = buf_addf(out, e, " %s", d->cluster[i]);
	return r;
}
