// SPDX-License-Identifier: Apache-2.0
/* Owns who a certificate says that its holder is: what names may be, and how they are written and read.
 * Must not know keys, signatures or validity. */
#include "subject.h"

#include <errno.h>
#include <string.h>

#include <openssl/asn1.h>
#include <openssl/pem.h>

static const char *const role_names[] = {
    [TRUST_NOBODY] = "nobody",
    [TRUST_HOST] = "kpcp-host",
    [TRUST_OPERATOR] = "kpcp-operator",
    [TRUST_SERVER] = "kpcp-server",
};

const char *trust_role_name(enum trust_role r)
{
	return (size_t)r < ARRAY_SIZE(role_names) ? role_names[r] : role_names[TRUST_NOBODY];
}

/* Not isalnum: what a letter is may not depend on the locale. */
static _Bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

_Bool subject_name_ok(const char *text, size_t len)
{
	if (len == 0 || len >= TRUST_NAME_MAX || text[0] == '.' || text[0] == '-')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (!is_letter_or_digit(text[i]) && text[i] != '.' && text[i] != '-' && text[i] != '_')
			return 0;
	}
	return 1;
}

static int refuse_name(struct err *e, const char *what)
{
	return err_set(e, EINVAL,
		       "%s cannot be used: a name is 1 to %d letters, digits, dots, dashes and underscores, and begins "
		       "with none of dot and dash; choose another",
		       what, TRUST_NAME_MAX - 1);
}

int subject_check(const struct trust_subject *s, struct err *e)
{
	if (s->role != TRUST_HOST && s->role != TRUST_OPERATOR && s->role != TRUST_SERVER)
		return err_set(e, EINVAL,
			       "a certificate is for a host, an operator or a server; name one of these roles");
	if (!subject_name_ok(s->name, strnlen(s->name, sizeof(s->name))))
		return refuse_name(e, "the name for the certificate");
	if (s->role == TRUST_HOST && !subject_name_ok(s->cluster, strnlen(s->cluster, sizeof(s->cluster))))
		return refuse_name(e, "the cluster for the host's certificate");
	if (s->role != TRUST_HOST && s->cluster[0])
		return err_set(e, EINVAL, "only a host belongs to a cluster; leave the cluster out for %s",
			       trust_role_name(s->role));
	return 0;
}

static _Bool add(X509_NAME *to, int nid, const char *text)
{
	return X509_NAME_add_entry_by_NID(to, nid, MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0) == 1;
}

int subject_from_name(const char *name, X509_NAME **ret, struct err *e)
{
	if (!subject_name_ok(name, strnlen(name, TRUST_NAME_MAX)))
		return refuse_name(e, "the name that was given");
	_cleanup_(ossl_free_name) X509_NAME *x = X509_NAME_new();
	if (!x || !add(x, NID_commonName, name))
		return err_set(e, EIO, "cannot write the name %s into a certificate: %s", name, OSSL_WHY);
	*ret = steal_ptr(x);
	return 0;
}

int subject_to_x509(const struct trust_subject *s, X509_NAME **ret, struct err *e)
{
	int r = subject_check(s, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_name) X509_NAME *x = X509_NAME_new();
	if (!x || !add(x, NID_organizationName, trust_role_name(s->role)) ||
	    (s->cluster[0] && !add(x, NID_organizationalUnitName, s->cluster)) || !add(x, NID_commonName, s->name))
		return err_set(e, EIO, "cannot write the name %s into a certificate: %s", s->name, OSSL_WHY);
	*ret = steal_ptr(x);
	return 0;
}

/* The one entry of that kind; NULL in *ret where there is none. Two are refused: programs differ in which one they
 * believe. */
static int find(const X509_NAME *names, int nid, const char *what, const ASN1_STRING **ret, struct err *e)
{
	int at = X509_NAME_get_index_by_NID(names, nid, -1);
	if (at < 0) {
		*ret = NULL;
		return 0;
	}
	if (X509_NAME_get_index_by_NID(names, nid, at) >= 0)
		return err_set(e, EINVAL, "the certificate has more than one %s; have it issued again", what);
	*ret = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(names, at));
	return *ret ? 0 : err_set(e, EINVAL, "the certificate's %s cannot be read; have it issued again", what);
}

static int copy(const ASN1_STRING *from, const char *what, char ret[TRUST_NAME_MAX], struct err *e)
{
	const char *text = from ? (const char *)ASN1_STRING_get0_data(from) : NULL;
	int len = from ? ASN1_STRING_length(from) : 0;
	if (!text || len <= 0 || !subject_name_ok(text, (size_t)len))
		return refuse_name(e, what);
	memcpy(ret, text, (size_t)len);
	ret[len] = 0;
	return 0;
}

static enum trust_role role_of(const ASN1_STRING *o)
{
	if (!o || ASN1_STRING_length(o) <= 0)
		return TRUST_NOBODY;
	size_t len = (size_t)ASN1_STRING_length(o);
	for (size_t i = TRUST_NOBODY + 1; i < ARRAY_SIZE(role_names); i++) {
		if (strlen(role_names[i]) == len && memcmp(role_names[i], ASN1_STRING_get0_data(o), len) == 0)
			return (enum trust_role)i;
	}
	return TRUST_NOBODY;
}

static int read_subject(const X509_NAME *names, struct trust_subject *ret, struct err *e)
{
	struct trust_subject s = {0};
	const ASN1_STRING *cn, *o, *ou;
	int r = find(names, NID_commonName, "name (CN)", &cn, e);
	if (r == 0)
		r = find(names, NID_organizationName, "role (O)", &o, e);
	if (r == 0)
		r = find(names, NID_organizationalUnitName, "cluster (OU)", &ou, e);
	if (r == 0)
		r = copy(cn, "the certificate's name (CN)", s.name, e);
	if (r < 0)
		return r;
	s.role = role_of(o);
	if (s.role == TRUST_HOST) {
		r = copy(ou, "the certificate's cluster (OU)", s.cluster, e);
		if (r < 0)
			return r;
	}
	*ret = s;
	return 0;
}

/* By the first byte, not by looking for a PEM block: one could be hidden within DER. */
static X509 *parse(const unsigned char *data, size_t len)
{
	if (data[0] == 0x30) {
		const unsigned char *at = data;
		X509 *cert = d2i_X509(NULL, &at, (long)len);
		if (cert && at != data + len) {
			X509_free(cert);
			return NULL;
		}
		return cert;
	}
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(data, (int)len);
	return bio ? PEM_read_bio_X509(bio, NULL, ossl_no_passphrase, NULL) : NULL;
}

int trust_subject_of(const void *cert, size_t len, struct trust_subject *ret, struct err *e)
{
	OSSL_CALL();
	if (len == 0 || len > TRUST_PEM_MAX)
		return err_set(e, EINVAL,
			       "a certificate of %zu bytes is refused: 1 to %u are allowed; have it issued again", len,
			       TRUST_PEM_MAX);
	_cleanup_(ossl_free_cert) X509 *x = parse(cert, len);
	if (!x)
		return err_set(e, EINVAL, "the certificate cannot be read: %s; have it issued again", OSSL_WHY);
	return read_subject(X509_get_subject_name(x), ret, e);
}
