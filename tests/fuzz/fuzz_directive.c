// SPDX-License-Identifier: Apache-2.0
/* Owns the search for plans and directives that are taken wrongly: with something that people cannot see, out of range,
 * in two forms for one approval, or refused without the place. Must not know the keys beyond what every plan holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/directive.h"
#include "lib/fleet/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void require_refusal(int r, const struct err *e)
{
	require(r == -EINVAL || r == -ERANGE || r == -EFBIG);
	require(e->code == -r);
	require(strncmp(e->text, "plan.conf:", strlen("plan.conf:")) == 0 && !strpbrk(e->text, "\n\r\t\033\177"));
}

static void require_sound(const struct directive *d)
{
	struct err e;

	require(form_check(&form_name, d->name, &e) == 0);
	require(d->n_clusters >= 1 && d->n_clusters <= DIRECTIVE_CLUSTERS_MAX);
	for (uint32_t i = 0; i < d->n_clusters; i++)
		require(form_check(&form_name, d->cluster[i], &e) == 0);
	require(form_check(&form_name, d->canaries_from, &e) == 0 && form_check(&form_name, d->controls_from, &e) == 0);
	require(d->deadline_s >= 1 && d->order_timeout_s >= 1 && d->soak_s >= 1 && d->budget >= 1);
	require(d->n_waves >= 1 && d->n_waves <= DIRECTIVE_WAVES_MAX && d->wave_percent[d->n_waves - 1] == 100);
	for (uint32_t i = 1; i < d->n_waves; i++)
		require(d->wave_percent[i - 1] < d->wave_percent[i]);
	require(d->judge.canaries >= 1);
	require(d->evidence == EVIDENCE_MEASURED ? d->judge.controls >= 2 : d->judge.controls == 0);
	if (d->factor == FACTOR_KERNEL) {
		require(form_check(&form_package, d->kernel.package, &e) == 0);
		require(form_check(&form_version, d->kernel.version, &e) == 0);
		require(form_check(&form_release, d->kernel.release, &e) == 0);
		require(form_check(&form_sha256, d->kernel.sha256, &e) == 0);
		require(form_check(&form_build_id, d->kernel.build_id, &e) == 0);
		require(d->preset.n == 0 && d->preset.name[0] == 0);
		return;
	}
	require(d->factor == FACTOR_PRESET && d->kernel.package[0] == 0);
	require(d->preset.n >= 1 && form_check(&form_name, d->preset.name, &e) == 0);
	for (uint32_t i = 0; i < d->preset.n; i++) {
		require(directive_setting_ok(d->preset.setting[i].key));
		require(strspn(d->preset.setting[i].value, "-0123456789") == strlen(d->preset.setting[i].value));
	}
}

static int parse(const char *text, size_t size, bool approved, struct directive *ret)
{
	static struct directive before;
	struct err e = {0};

	memset(ret, 0x55, sizeof(*ret));
	before = *ret;
	int r = directive_parse("plan.conf", text, size, approved, ret, &e);
	if (r < 0) {
		require(memcmp(ret, &before, sizeof(before)) == 0);
		require_refusal(r, &e);
		return r;
	}
	require(ret->approved == approved);
	require(form_plain_span(text, size, true) == size);
	require_sound(ret);
	return 0;
}

/* Two directives that differ in their approval alone. */
static void require_same(const struct directive *a, const struct directive *b)
{
	static struct directive x, y;

	x = *a;
	y = *b;
	x.approved = y.approved = false;
	x.serial = y.serial = x.expires_unix_s = y.expires_unix_s = 0;
	require(memcmp(&x, &y, sizeof(x)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct directive plan, directive;
	struct buf b = BUF_INIT(DIRECTIVE_BYTES_MAX);
	struct err e = {0};
	/* Exactly as long as the text and without a final 0. */
	char *text = malloc(size > 0 ? size : 1);

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	if (parse(text, size, false, &plan) == 0) {
		require(directive_approve("plan.conf", text, size, 5, 6, &b, &e) == 0);
		require(b.len > size && memcmp(b.data, text, size) == 0);
		require(parse(b.data, b.len, false, &directive) < 0);
		require(parse(b.data, b.len, true, &directive) == 0);
		require(directive.serial == 5 && directive.expires_unix_s == 6);
		require_same(&plan, &directive);
	} else if (parse(text, size, true, &directive) == 0) {
		/* Only what directive_approve makes of the plan before it is a directive. */
		char tail[128];
		int n = snprintf(tail, sizeof(tail), "\n[approval]\nserial = %" PRIu64 "\nexpires = %" PRIu64 "\n",
				 directive.serial, directive.expires_unix_s);

		require((size_t)n <= size && memcmp(text + size - n, tail, (size_t)n) == 0);
		if (size - (size_t)n <= DIRECTIVE_BYTES_MAX - 128) {
			require(parse(text, size - (size_t)n, false, &plan) == 0);
			require_same(&plan, &directive);
		}
	}
	buf_free(&b);
	free(text);
	return 0;
}
