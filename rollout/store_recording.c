// SPDX-License-Identifier: Apache-2.0
/* Owns recordings in the store: which one belongs to which order, and where its file is.
 * Must not know how they are judged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/report/rec_file.h"
#include "lib/report/text.h"
#include "lib/trust/trust.h"
#include "store_impl.h"
#include "store_view.h"

struct member {
	bool there;
	char release[65];
	char build_id[41];
};

static int member_row(void *target, const struct db_row *r, struct err *e)
{
	struct member *m = target;
	int x = db_copy(r, 0, m->release, sizeof(m->release), e);

	m->there = true;
	return x < 0 ? x : db_copy(r, 1, m->build_id, sizeof(m->build_id), e);
}

static int number_row(void *target, const struct db_row *r, struct err *e)
{
	(void)e;
	*(int64_t *)target = db_int(r, 0);
	return 0;
}

static void boot_id_text(const uint8_t id[16], char ret[37])
{
	char hex[33];

	text_hex(id, 16, hex);
	snprintf(ret, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static bool has_build_id(const struct recording_header *h)
{
	static const uint8_t none[sizeof(h->build_id)];

	return memcmp(h->build_id, none, sizeof(none)) != 0;
}

static int not_ours(struct err *e, const char *what, const char *is, const char *should)
{
	return err_set(e, EINVAL,
		       "the recording does not belong to the order: its %s is %.80s where it should be "
		       "%.80s; it was not counted",
		       what, is, should);
}

/* The kernel that the order was to measure, and with a preset the setting, where a recording can tell. */
static int check_target(const struct recording_header *h, const struct order *o, const struct directive *d,
			const struct member *m, struct err *e)
{
	bool newer = d->factor == FACTOR_KERNEL && o->target_new;
	const char *release = newer ? d->kernel.release : m->release;
	const char *build_id = newer ? d->kernel.build_id : m->build_id;
	char is[41], scale[16];

	if (strcmp(h->release, release) != 0)
		return not_ours(e, "kernel release", h->release, release);
	text_hex(h->build_id, sizeof(h->build_id), is);
	/* A new kernel is known by its build-id alone; an old one may show none. */
	if ((newer || (build_id[0] && has_build_id(h))) && strcmp(is, build_id) != 0)
		return not_ours(e, "kernel's build-id", is, build_id);
	snprintf(scale, sizeof(scale), "%d", h->pcp_batch_scale_max);
	for (uint32_t i = 0; d->factor == FACTOR_PRESET && o->target_new && i < d->preset.n; i++)
		if (strcmp(d->preset.setting[i].key, "vm.pcp_batch_scale_max") == 0 &&
		    strcmp(d->preset.setting[i].value, scale) != 0)
			return not_ours(e, "vm.pcp_batch_scale_max", scale, d->preset.setting[i].value);
	return 0;
}

static int check_boot(struct store *s, const struct store_mem *h, const struct directive *d, const char *boot_id,
		      const char *sha256, struct err *e)
{
	const struct order *o = &h->order.order;
	int64_t reported = 0, others = 0, again = 0, left = 0;
	int r = DB_QUERY(s->db, number_row, &reported, NULL, e,
			 "SELECT COUNT(*) FROM boots WHERE rollout = $1 AND host = $2 AND boot_id = $3",
			 DB_T(o->rollout), DB_T(h->pub.name), DB_T(boot_id));

	if (r == 0 && reported == 0)
		return not_ours(e, "boot id", boot_id, "one that the host has reported in this rollout");
	/* With a preset, all may be of one boot, but no recording comes twice. */
	if (r == 0)
		r = DB_QUERY(s->db, number_row, &again, NULL, e,
			     "SELECT COUNT(*) FROM recordings WHERE rollout = $1 AND host = $2 AND sha256 = $3",
			     DB_T(o->rollout), DB_T(h->pub.name), DB_T(sha256));
	if (r == 0 && again > 0)
		return err_set(e, EINVAL, "the recording was sent before, for another order; it was not counted again");
	if (r == 0 && d->factor == FACTOR_KERNEL)
		r = DB_QUERY(
		    s->db, number_row, &others, NULL, e,
		    "SELECT COUNT(*) FROM recordings WHERE rollout = $1 AND host = $2 AND NOT (arm = $3 AND boot "
		    "= $4) AND boot_id = $5",
		    DB_T(o->rollout), DB_T(h->pub.name), DB_T(arm_name(o->arm)), DB_I(o->boot), DB_T(boot_id));
	if (r == 0 && others > 0)
		return not_ours(e, "boot id", boot_id, "one that was not measured before");
	if (r == 0 && d->factor == FACTOR_KERNEL)
		r = DB_QUERY(s->db, number_row, &left, NULL, e,
			     "SELECT COUNT(*) FROM orders WHERE host = $1 AND epoch = $2 AND boot_before = $3",
			     DB_T(h->pub.name), DB_I(o->epoch), DB_T(boot_id));
	if (r == 0 && left > 0)
		return not_ours(e, "boot id", boot_id, "another one than before the order");
	return r;
}

static int path_of(const struct store *s, const char *rollout, const char *host, enum arm arm, uint32_t boot,
		   char ret[PATH_MAX], struct err *e)
{
	int len = snprintf(ret, PATH_MAX, "%s/recordings/%s/%s-%s-%u.kpcp", s->dir, rollout, host, arm_name(arm), boot);

	return len < PATH_MAX ? 0 : err_set(e, ENAMETOOLONG, "%.80s...: the path is too long", ret);
}

static int write_in_folder(const struct store *s, const struct store_mem *h, const void *data, size_t len,
			   struct err *e)
{
	const struct order *o = &h->order.order;
	_cleanup_(fs_close) int all = -1;
	char path[PATH_MAX], above[PATH_MAX + 16];
	int r = path_of(s, o->rollout, h->pub.name, o->arm, o->boot, path, e);

	if (r < 0)
		return r;
	char *name = strrchr(path, '/');
	*name = 0;
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_sys(e, errno, "making %s", path);
	/* The folder's own entry must be on the disk before a row says that there is a file in it. */
	snprintf(above, sizeof(above), "%s/recordings", s->dir);
	all = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (all < 0 || fsync(all) < 0)
		return err_sys(e, errno, "syncing %s", above);
	*name = '/';
	return fs_write_atomic(path, data, len, 0640, e);
}

/* What is wrong with the store's own folder is wrong with no recording, whatever its errno says to others. */
static int write_file(const struct store *s, const struct store_mem *h, const void *data, size_t len, struct err *e)
{
	int r = write_in_folder(s, h, data, len, e);

	if (r < 0 && r != -ENOSPC) {
		e->code = EIO;
		r = -EIO;
	}
	return r < 0 ? err_context(e, "the recording could not be kept") : 0;
}

static int write_row(struct store *s, const struct store_mem *h, const char *boot_id, const char *sha256,
		     uint32_t storms, uint64_t now, struct err *e)
{
	const struct order *o = &h->order.order;
	char text[64];
	int r =
	    DB_RUN(s->db, NULL, e,
		   "INSERT INTO recordings (rollout, host, arm, boot, epoch, boot_id, sha256, at) VALUES ($1, $2, $3, "
		   "$4, $5, $6, $7, $8) ON CONFLICT (rollout, host, arm, boot) DO UPDATE SET epoch = $5, boot_id = $6, "
		   "sha256 = $7, at = $8",
		   DB_T(o->rollout), DB_T(h->pub.name), DB_T(arm_name(o->arm)), DB_I(o->boot), DB_I(o->epoch),
		   DB_T(boot_id), DB_T(sha256), DB_I(now));

	return r < 0 ? r
		     : store_say(s, o->rollout, h->pub.name, now, e, "%s: its recording is in, of %u storms",
				 store_order_text(o, text), storms);
}

static int known_row(void *target, const struct db_row *r, struct err *e)
{
	(void)r, (void)e;
	*(bool *)target = true;
	return 0;
}

/* Is it the one that is there already? */
static int is_there(struct store *s, const struct store_mem *h, const char *sha256, bool *ret, struct err *e)
{
	const struct order *o = &h->order.order;

	*ret = false;
	return DB_QUERY(s->db, known_row, ret, NULL, e,
			"SELECT 1 FROM recordings WHERE rollout = $1 AND host = $2 AND epoch = $3 AND sha256 = $4",
			DB_T(o->rollout), DB_T(h->pub.name), DB_I(o->epoch), DB_T(sha256));
}

static int check_all(struct store *s, const struct store_mem *h, const void *data, size_t len, const char *sha256,
		     char boot_id[37], uint32_t *storms, struct err *e)
{
	struct recording_header header;
	static struct summary sum; /* two histograms: large, and its count of storms is all that is used */
	struct directive d;
	struct member m = {0};
	const struct order *o = &h->order.order;
	int r = rec_file_parse("the recording", data, len, &header, &sum, e);

	if (r < 0) {
		/* Whatever is wrong with it, it is what was sent that is wrong. */
		if (e && r != -ENOMEM)
			e->code = EINVAL;
		return err_context(e, "it was not counted");
	}
	if (strcmp(header.host, h->pub.name) != 0)
		return not_ours(e, "host", header.host, h->pub.name);
	r = DB_QUERY(s->db, member_row, &m, NULL, e,
		     "SELECT release_before, build_id_before FROM members WHERE rollout = $1 AND host = $2",
		     DB_T(o->rollout), DB_T(h->pub.name));
	if (r == 0 && !m.there)
		return err_set(e, EBADMSG, "the database: an order to %s, which is no member", h->pub.name);
	if (r == 0)
		r = store_directive(s, o->rollout, &d, e);
	if (r == 0)
		r = check_target(&header, o, &d, &m, e);
	boot_id_text(header.boot_id, boot_id);
	*storms = sum.storms;
	return r < 0 ? r : check_boot(s, h, &d, boot_id, sha256, e);
}

int store_recording_wanted(struct store *s, const char *host, const char *rollout, uint64_t epoch, struct err *e)
{
	const struct store_mem *h = store_find(s, host);

	if (!h || h->pub.retired || !h->out || h->order.order.verb != VERB_MEASURE || h->order.order.epoch != epoch ||
	    strcmp(h->order.order.rollout, rollout) != 0)
		return err_set(e, ESTALE,
			       "no order %llu of rollout %.64s to measure is out to %.64s; the recording was "
			       "not counted, and can be thrown away",
			       (unsigned long long)epoch, rollout, host);
	return 0;
}

int store_recording(struct store *s, const char *host, const char *rollout, uint64_t epoch, const void *data,
		    size_t len, uint64_t now, struct err *e)
{
	struct store_mem *h = store_find(s, host);
	char boot_id[37], sha256[65];
	uint32_t storms;
	bool there;

	int r = store_recording_wanted(s, host, rollout, epoch, e);

	if (r < 0)
		return r;
	if (len > MESSAGE_RECORDING_MAX)
		return err_set(e, EFBIG, "the recording has %zu bytes, more than %u; it was not counted", len,
			       MESSAGE_RECORDING_MAX);
	trust_sha256(data, len, sha256);
	r = is_there(s, h, sha256, &there, e);
	if (r < 0 || there)
		return r;
	r = check_all(s, h, data, len, sha256, boot_id, &storms, e);
	/* The file first: a row without its file would be counted, a file without its row is not. */
	if (r == 0)
		r = write_file(s, h, data, len, e);
	if (r < 0 || (r = db_begin(s->db, true, e)) < 0)
		return r;
	r = store_end(s, write_row(s, h, boot_id, sha256, storms, now, e), e);
	return r < 0 ? err_context(e, "taking a recording of %s", host) : 0;
}

/* ---- for the verdict ---- */

static int list_row(void *target, const struct db_row *r, struct err *e)
{
	struct store_recording_file *f = store_list_add(target);
	const char *role;

	if (!f)
		return err_sys(e, ENOMEM, "listing recordings");
	int x = db_copy(r, 0, f->host, sizeof(f->host), e);
	if (x == 0)
		x = arm_parse(db_text(r, 1, NULL), &f->arm, e);
	f->boot = (uint32_t)db_int(r, 2);
	role = db_text(r, 3, NULL);
	f->control = strcmp(role, role_name(ROLE_CONTROL)) == 0;
	return x;
}

int store_recording_files(struct store *s, const char *rollout, struct store_recording_file **ret, size_t *n,
			  struct err *e)
{
	struct store_list l = {.item = sizeof(struct store_recording_file)};
	int r =
	    DB_QUERY(s->db, list_row, &l, NULL, e,
		     "SELECT c.host, c.arm, c.boot, m.role FROM recordings c JOIN members m ON m.rollout = c.rollout "
		     "AND m.host = c.host WHERE c.rollout = $1 ORDER BY c.host, c.arm, c.boot",
		     DB_T(rollout));
	struct store_recording_file *f = (struct store_recording_file *)(void *)l.data;

	for (size_t i = 0; r == 0 && i < l.n; i++)
		r = path_of(s, rollout, f[i].host, f[i].arm, f[i].boot, f[i].path, e);
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	*n = l.n;
	return 0;
}
