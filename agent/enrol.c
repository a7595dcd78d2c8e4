// SPDX-License-Identifier: Apache-2.0
/* Owns the files of an enrolment and their checks.
 * Must not know the network nor when it is tried again. */
#include "enrol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/fleet/message.h"
#include "lib/trust/trust.h"

#define TOKEN_DIGITS 64u

static int path_of(char ret[PATH_MAX], const char *dir, const char *name, struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/talker/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? err_sys(e, ENAMETOOLONG, "%s/talker/%s", dir, name) : 0;
}

int enrol_paths(const struct agent_conf *c, struct enrol_files *ret, struct err *e)
{
	int r = path_of(ret->key, c->state_dir, "host.key", e);

	if (r == 0)
		r = path_of(ret->cert, c->state_dir, "host.pem", e);
	if (r == 0)
		r = path_of(ret->token, c->state_dir, "token", e);
	return r;
}

/* A token's 64 digits; blanks and line feeds after them do not matter. */
static int read_token(const char *path, char ret[TOKEN_DIGITS + 1], struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(256);
	int r = fs_read(path, &b, e);

	if (r < 0)
		return r;
	while (b.len > 0 && strchr(" \t\r\n", b.data[b.len - 1]))
		b.len--;
	for (size_t i = 0; i < b.len; i++) {
		if (!memchr("0123456789abcdef", b.data[i], 16))
			b.len = 0;
	}
	if (b.len != TOKEN_DIGITS)
		r = err_set(e, EINVAL,
			    "%s holds no token, which has %u hexadecimal digits; make one with 'kpcp token' "
			    "and put it there",
			    path, TOKEN_DIGITS);
	else
		memcpy(ret, b.data, TOKEN_DIGITS);
	ret[r < 0 ? 0 : TOKEN_DIGITS] = 0;
	explicit_bzero(b.data, b.cap);
	return r;
}

struct hand_over {
	const char *path;
	const char *token;
};

static int write_token(void *target, struct err *e)
{
	const struct hand_over *h = target;

	return fs_write_atomic(h->path, h->token, TOKEN_DIGITS, 0600, e);
}

int enrol_hand_over(const struct agent_conf *c, const struct drop_user *u, struct err *e)
{
	struct enrol_files f;
	char token[TOKEN_DIGITS + 1];
	struct err none = {0};
	int r = read_token(c->token_file, token, &none);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_set(e, none.code, "%s", none.text);
	r = enrol_paths(c, &f, e);
	if (r == 0)
		r = drop_briefly(u, write_token, &(struct hand_over){.path = f.token, .token = token}, e);
	explicit_bzero(token, sizeof(token));
	if (r < 0)
		return err_context(e, "handing the token of %s over to the user %s", c->token_file, u->name);
	/* Only now: should the machine stop in between, both files are there, and the next start writes the same. */
	if (unlink(c->token_file) < 0)
		return err_sys(e, errno, "cannot delete %s, whose token is handed over; delete it", c->token_file);
	return 0;
}

bool enrol_has_token(const struct enrol_files *f)
{
	return access(f->token, F_OK) == 0;
}

bool enrol_has_cert(const struct enrol_files *f)
{
	return access(f->cert, F_OK) == 0;
}

int enrol_request(const struct enrol_files *f, const char *name, struct buf *ret, struct err *e)
{
	struct enrolment x = {{0}};
	_cleanup_(buf_free) struct buf csr = BUF_INIT(sizeof(x.csr) - 1);
	int r = read_token(f->token, x.token, e);

	if (r < 0)
		return r;
	r = trust_key_make(f->key, NULL, e);
	/* The key of an earlier attempt is as good: it has never left this folder. */
	if (r == 0 || r == -EEXIST)
		r = trust_csr_make(f->key, name, &csr, e);
	if (r < 0)
		return err_context(e, "asking for this host's certificate");
	memcpy(x.csr, csr.data, csr.len);
	snprintf(x.host, sizeof(x.host), "%s", name);
	r = message_enrolment_write(&x, ret, e);
	explicit_bzero(x.token, sizeof(x.token));
	return r;
}

int enrol_finish(const struct enrol_files *f, const char *name, const struct buf *pem, struct err *e)
{
	struct trust_subject s;
	int r;

	if (pem->len == 0 || pem->len > TRUST_PEM_MAX)
		return err_set(e, EBADMSG,
			       "the controller answered the enrolment with %zu bytes, which are no "
			       "certificate",
			       pem->len);
	r = trust_subject_of(pem->data, pem->len, &s, e);
	if (r < 0)
		return err_context(e, "the certificate that the controller answered the enrolment with");
	if (s.role != TRUST_HOST || strcmp(s.name, name) != 0)
		return err_set(e, EBADMSG,
			       "the controller gave a certificate to %s '%s' where the host '%s' asked for "
			       "its own; make the token for this host's name, or set [host] name",
			       trust_role_name(s.role), s.name, name);
	r = fs_write_atomic(f->cert, pem->data, pem->len, 0600, e);
	if (r < 0)
		return r;
	enrol_forget_token(f);
	return 0;
}

bool enrol_token_refused(long status, const struct buf *answer)
{
	static const char *const begins[] = {"this token ", "the token for "};

	for (size_t i = 0; status == 403 && i < ARRAY_SIZE(begins); i++) {
		size_t len = strlen(begins[i]);

		if (answer->len > len && memcmp(answer->data, begins[i], len) == 0)
			return true;
	}
	return false;
}

void enrol_forget_token(const struct enrol_files *f)
{
	/* A token that cannot be deleted is used up all the same: the controller takes none twice. */
	if (unlink(f->token) < 0)
		return;
}
