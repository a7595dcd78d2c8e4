// SPDX-License-Identifier: Apache-2.0
/* Owns the search for states on disk that are taken and do not read back to the same, and for texts of GRUB and of a
 * host's health that are read outside of their bounds. Must not know disks. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/grub.h"
#include "agent/health.h"
#include "agent/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* What was taken is written, read again and written again: both texts are the same. */
static void round_trip(const struct journal *j)
{
	_cleanup_(buf_free) struct buf a = BUF_INIT(JOURNAL_BYTES_MAX), b = BUF_INIT(JOURNAL_BYTES_MAX);
	struct journal back;
	struct err e = {0};

	/* By hand a text may have what the agent itself never writes. */
	if (journal_encode(j, &a, &e) < 0) {
		require(e.code == EINVAL && a.len == 0);
		return;
	}
	require(journal_decode("state", a.data, a.len, &back, &e) == 0);
	require(journal_encode(&back, &b, &e) == 0);
	require(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
}

static void try_state(const char *text, size_t len)
{
	struct journal j;
	struct err e = {0};
	int r = journal_decode("state", text, len, &j, &e);

	require(r == 0 || (r == -EINVAL || r == -ERANGE || r == -EFBIG));
	require(r == 0 || e.code == -r);
	if (r == 0)
		round_trip(&j);
}

static void try_health(const char *text, size_t len)
{
	_cleanup_(health_free) struct health h = {0}, again = {0};
	_cleanup_(buf_free) struct buf a = BUF_INIT(HEALTH_BYTES_MAX);
	struct err e;
	char why[256];

	if (health_decode(text, len, &h, &e) < 0)
		return;
	require(health_encode(&h, &a, &e) == 0);
	require(health_decode(a.data, a.len, &again, &e) == 0);
	require(health_compare(&h, &again, why, sizeof(why)) == HEALTH_GOOD);
}

static void try_grub(const char *text, size_t len)
{
	struct grub_entry g;
	char value[GRUB_ENTRY_MAX];
	struct err e;

	if (grub_find(text, len, "6.1", &g, &e) == 0)
		require(strlen(g.id) > 0 && strlen(g.id) < sizeof(g.id) && strlen(g.args) < sizeof(g.args));
	(void)grub_boots_saved(text, len);
	if (grub_env_get(text, len, "saved_entry", value, sizeof(value), &e) == 0)
		require(strlen(value) < sizeof(value));
	if (grub_shell_get(text, len, "GRUB_DEFAULT", value, sizeof(value)))
		require(strlen(value) < sizeof(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_free) struct buf sealed = BUF_INIT(1u << 20);
	struct err e;
	/* Exactly as long as the text. */
	char *text = malloc(size > 0 ? size : 1);

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	try_state(text, size);
	try_health(text, size);
	try_grub(text, size);
	/* The sum is no obstacle to who looks for errors behind it. */
	if (buf_add(&sealed, text, size, &e) == 0 && journal_seal(&sealed, &e) == 0)
		try_state(sealed.data, sealed.len);
	free(text);
	return 0;
}
