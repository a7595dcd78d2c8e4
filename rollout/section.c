// SPDX-License-Identifier: Apache-2.0
/* Owns the check of a section by the parser of plans itself, so that what is printed is what is accepted.
 * Must not know where its values come from. */
#include "section.h"

#include "lib/fleet/directive.h"
#include "lib/report/show.h"

int section_print(const char *source, const struct buf *section, struct err *e)
{
	_cleanup_(buf_free) struct buf plan = BUF_INIT(DIRECTIVE_BYTES_MAX);
	static struct directive d;
	int r = buf_addf(&plan, e, "[rollout]\nname = check\nclusters = check\n%s", section->data);

	if (r == 0)
		r = directive_parse("the section", plan.data, plan.len, false, &d, e);
	if (r < 0)
		return err_context(e, "no plan can have what %s gives", source);
	return show(section, e);
}
