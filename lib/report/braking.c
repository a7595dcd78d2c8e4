// SPDX-License-Identifier: Apache-2.0
/* Owns which values of which boots make a block, and the brake's plan out of the judge's.
 * Must not know where hosts' values come from. */
#include "braking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool braking_plan(const struct judge_plan *p, struct brake_plan *ret)
{
	struct brake_plan b = brake_plan_default;

	b.canaries = p->canaries;
	b.controls = p->controls;
	b.horizon = p->boots;
	b.metrics = 0;
	for (int x = 0; x < ENDPOINT_COUNT; x++)
		b.metrics += p->judged[x];
	if (p->brake_sd > 0)
		b.block_sd = p->brake_sd;
	if (p->canaries < 2 || p->controls < 1 || b.metrics == 0)
		return false;
	*ret = b;
	return true;
}

static double mean_old(const struct judge_host *h, enum endpoint x)
{
	double sum = 0;

	for (uint32_t i = 0; i < h->n_old; i++)
		sum += h->old_boot[i].y[x];
	return h->n_old > 0 ? sum / h->n_old : NAN;
}

/* value: room for n; canaries from its begin on, controls from its end down. */
static struct brake_x block(const struct brake_plan *b, const struct judge_host *hosts, size_t n, uint32_t boot,
			    enum endpoint x, double *value)
{
	size_t k = 0, m = 0;

	for (size_t i = 0; i < n; i++) {
		const struct judge_host *h = &hosts[i];
		double v = boot < h->n_new ? h->new_boot[boot].y[x] - mean_old(h, x) : NAN;

		if (h->control)
			value[n - ++m] = v;
		else
			value[k++] = v;
	}
	return brake_difference(b, value, k, value + n - m, m);
}

int braking_look(const struct judge_plan *p, const struct judge_host *hosts, size_t n, uint32_t blocks,
		 struct brake *ret, struct err *e)
{
	struct brake_plan plan;
	struct brake b;

	if (!braking_plan(p, &plan))
		return err_set(e, EINVAL, "brake: %u canaries and %u controls; it needs 2 and 1", p->canaries,
			       p->controls);
	int r = brake_start(&plan, &b, e);
	if (r < 0)
		return r;
	double *value = calloc(n ? n : 1, sizeof(*value));
	if (!value)
		return err_sys(e, ENOMEM, "the brake of %zu hosts", n);
	for (uint32_t i = 0; i < blocks; i++) {
		struct brake_x x[BRAKE_METRICS_MAX];
		uint32_t metrics = 0;

		for (int k = 0; k < ENDPOINT_COUNT; k++)
			if (p->judged[k])
				x[metrics++] = block(&plan, hosts, n, i, (enum endpoint)k, value);
		brake_look(&b, x, 0);
	}
	free(value);
	*ret = b;
	return 0;
}
