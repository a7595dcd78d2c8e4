// SPDX-License-Identifier: Apache-2.0
/* Owns certificate requests: making one, and judging one that came from the network.
 * Must not know authorities or what a certificate says. */
#include "csr.h"

#include <errno.h>

#include <openssl/pem.h>

#include "key.h"
#include "subject.h"
#include "trust.h"

int trust_csr_make(const char *key_path, const char *name, struct buf *ret_pem, struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_free_name) X509_NAME *subject = NULL;
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	int r = subject_from_name(name, &subject, e);
	if (r == 0)
		r = key_read_private(key_path, &key, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_req) X509_REQ *req = X509_REQ_new();
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new(BIO_s_mem());
	if (!req || !bio || X509_REQ_set_version(req, X509_REQ_VERSION_1) != 1 ||
	    X509_REQ_set_subject_name(req, subject) != 1 || X509_REQ_set_pubkey(req, key) != 1 ||
	    X509_REQ_sign(req, key, EVP_sha256()) <= 0 || PEM_write_bio_X509_REQ(bio, req) != 1)
		return err_set(e, EIO, "cannot make a certificate request with %s: %s; check OpenSSL's installation",
			       key_path, OSSL_WHY);
	return ossl_take(bio, ret_pem, e);
}

int csr_parse(const char *pem, size_t len, X509_REQ **ret, struct err *e)
{
	if (len == 0 || len > TRUST_PEM_MAX)
		return err_set(e, EINVAL,
			       "a certificate request of %zu bytes is refused: 1 to %u are allowed; make a new one",
			       len, TRUST_PEM_MAX);
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(pem, (int)len);
	_cleanup_(ossl_free_req) X509_REQ *req =
	    bio ? PEM_read_bio_X509_REQ(bio, NULL, ossl_no_passphrase, NULL) : NULL;
	if (!req)
		return err_set(e, EINVAL, "the certificate request cannot be read: %s; make a new one", OSSL_WHY);
	EVP_PKEY *key = X509_REQ_get0_pubkey(req);
	if (!key)
		return err_set(e, EINVAL, "the certificate request holds no usable key: %s; make a new one", OSSL_WHY);
	int r = key_check(key, "the key in the certificate request", e);
	if (r < 0)
		return r;
	if (X509_REQ_get_signature_nid(req) != NID_ecdsa_with_SHA256)
		return err_set(e, EINVAL,
			       "the certificate request is not signed by ECDSA with SHA-256; make a new one with kpcp");
	if (X509_REQ_verify(req, key) != 1)
		return err_set(
		    e, EINVAL,
		    "the certificate request's signature does not match its key: it was changed on the way, or "
		    "its maker does not have the key; make a new one");
	*ret = steal_ptr(req);
	return 0;
}
