// SPDX-License-Identifier: Apache-2.0
/* Owns the certificates that this project makes: an authority's own, and those that it issues.
 * Must not know how requests and names are judged, nor who asks. */
#include <errno.h>
#include <unistd.h>

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/pem.h>

#include "altname.h"
#include "csr.h"
#include "key.h"
#include "lib/base/fs.h"
#include "newfile.h"
#include "subject.h"
#include "trust.h"

#define CA_DAYS     3650
#define DAYS_MAX    3650
#define BACKDATE_S  300 /* clocks of hosts differ */
#define SERIAL_BITS 128

static _Bool set_serial(X509 *cert)
{
	BIGNUM *n = BN_new();
	/* 0 is no serial number, and once in 2^128. */
	_Bool ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 && !BN_is_zero(n) &&
		   BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
	BN_free(n);
	return ok;
}

static _Bool set_frame(X509 *cert, const X509_NAME *issuer, const X509_NAME *subject, EVP_PKEY *key, uint32_t days)
{
	return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
	       X509_set_issuer_name(cert, issuer) == 1 && X509_set_subject_name(cert, subject) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(cert), -BACKDATE_S) &&
	       X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) && X509_set_pubkey(cert, key) == 1;
}

/* value is always one of this file's own: libcrypto's language for extensions is not for strangers' texts. */
static _Bool extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *x = X509V3_EXT_nconf_nid(NULL, &ctx, nid, value);
	_Bool ok = x && X509_add_ext(cert, x, -1) == 1;
	X509_EXTENSION_free(x);
	return ok;
}

static int to_pem(X509 *cert, struct buf *ret, struct err *e)
{
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new(BIO_s_mem());
	if (!bio || PEM_write_bio_X509(bio, cert) != 1)
		return err_set(e, EIO, "cannot write the certificate: %s", OSSL_WHY);
	return ossl_take(bio, ret, e);
}

static int make_authority(EVP_PKEY *key, const char *name, struct buf *ret_pem, struct err *e)
{
	_cleanup_(ossl_free_name) X509_NAME *subject = NULL;
	int r = subject_from_name(name, &subject, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_cert) X509 *cert = X509_new();
	if (!cert || !set_frame(cert, subject, subject, key, CA_DAYS) ||
	    !extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !extend(cert, cert, NID_key_usage, "critical,keyCertSign") ||
	    !extend(cert, cert, NID_subject_key_identifier, "hash") ||
	    !extend(cert, cert, NID_authority_key_identifier, "keyid:always") ||
	    X509_sign(cert, key, EVP_sha256()) <= 0)
		return err_set(e, EIO, "cannot make the authority's certificate: %s; check OpenSSL's installation",
			       OSSL_WHY);
	return to_pem(cert, ret_pem, e);
}

int trust_ca_make(const char *key_path, const char *cert_path, const char *name, struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	_cleanup_(ossl_wipe) struct buf key_pem = BUF_INIT(TRUST_PEM_MAX);
	_cleanup_(buf_free) struct buf cert_pem = BUF_INIT(TRUST_PEM_MAX);
	int r = key_generate(&key, &key_pem, e);
	if (r == 0)
		r = make_authority(key, name, &cert_pem, e);
	if (r == 0)
		r = newfile_write(key_path, key_pem.data, key_pem.len, 0600, e);
	if (r < 0)
		return err_context(e, "cannot make an authority");
	r = newfile_write(cert_path, cert_pem.data, cert_pem.len, 0644, e);
	if (r < 0) {
		/* Made a moment ago and good for nothing without its certificate. */
		unlink(key_path);
		return err_context(e, "cannot make an authority");
	}
	return 0;
}

static int read_authority(const char *cert_path, const EVP_PKEY *key, const char *key_path, X509 **ret, struct err *e)
{
	_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	int r = fs_read(cert_path, &pem, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(pem.len ? pem.data : "", (int)pem.len);
	_cleanup_(ossl_free_cert) X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, ossl_no_passphrase, NULL) : NULL;
	if (!cert)
		return err_set(e, EINVAL, "%s holds no certificate: %s; give the authority's", cert_path, OSSL_WHY);
	if (X509_check_ca(cert) != 1)
		return err_set(e, EINVAL, "%s is not an authority's certificate; give the one that was made with %s",
			       cert_path, key_path);
	if (X509_check_private_key(cert, key) != 1)
		return err_set(e, EINVAL, "%s and %s do not belong together; give the two that were made together",
			       cert_path, key_path);
	*ret = steal_ptr(cert);
	return 0;
}

static int add_alt_names(X509 *cert, const struct trust_subject *subject, const char *alt_names, struct err *e)
{
	if (subject->role != TRUST_SERVER)
		return alt_names ? err_set(e, EINVAL, "only a server has alternative names; leave them out for %s",
					   trust_role_name(subject->role))
				 : 0;
	char own[sizeof("DNS:") + TRUST_NAME_MAX];
	snprintf(own, sizeof(own), "DNS:%s", subject->name);
	_cleanup_(ossl_free_alt_names) GENERAL_NAMES *names = NULL;
	int r = altname_parse(alt_names ? alt_names : own, &names, e);
	if (r < 0)
		return r;
	if (X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) != 1)
		return err_set(e, EIO, "cannot write the alternative names: %s", OSSL_WHY);
	return 0;
}

static int make_leaf(X509_REQ *req, X509 *authority, const struct trust_subject *subject, const char *alt_names,
		     uint32_t days, X509 **ret, struct err *e)
{
	_cleanup_(ossl_free_name) X509_NAME *name = NULL;
	int r = subject_to_x509(subject, &name, e);
	if (r < 0)
		return r;
	const char *use = subject->role == TRUST_SERVER ? "serverAuth" : "clientAuth";
	_cleanup_(ossl_free_cert) X509 *cert = X509_new();
	/* Of the request only the key is taken: what else it asks for is not its maker's to decide. */
	if (!cert || !set_frame(cert, X509_get_subject_name(authority), name, X509_REQ_get0_pubkey(req), days) ||
	    !extend(cert, authority, NID_basic_constraints, "critical,CA:FALSE") ||
	    !extend(cert, authority, NID_key_usage, "critical,digitalSignature") ||
	    !extend(cert, authority, NID_ext_key_usage, use) ||
	    !extend(cert, authority, NID_subject_key_identifier, "hash") ||
	    !extend(cert, authority, NID_authority_key_identifier, "keyid:always"))
		return err_set(e, EIO, "cannot make the certificate: %s", OSSL_WHY);
	r = add_alt_names(cert, subject, alt_names, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(cert);
	return 0;
}

int trust_issue(const char *ca_key_path, const char *ca_cert_path, const char *csr_pem, size_t csr_len,
		const struct trust_subject *subject, const char *alt_names, uint32_t days, struct buf *ret_pem,
		struct err *e)
{
	OSSL_CALL();
	if (days == 0 || days > DAYS_MAX)
		return err_set(e, EINVAL, "a certificate for %u days is refused: 1 to %d are allowed", days, DAYS_MAX);
	_cleanup_(ossl_free_req) X509_REQ *req = NULL;
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	_cleanup_(ossl_free_cert) X509 *authority = NULL, *cert = NULL;
	int r = csr_parse(csr_pem, csr_len, &req, e);
	if (r == 0)
		r = key_read_private(ca_key_path, &key, e);
	if (r == 0)
		r = read_authority(ca_cert_path, key, ca_key_path, &authority, e);
	if (r == 0)
		r = make_leaf(req, authority, subject, alt_names, days, &cert, e);
	if (r < 0)
		return r;
	if (X509_sign(cert, key, EVP_sha256()) <= 0)
		return err_set(e, EIO, "cannot sign the certificate with %s: %s", ca_key_path, OSSL_WHY);
	return to_pem(cert, ret_pem, e);
}
