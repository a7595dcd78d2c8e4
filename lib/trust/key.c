// SPDX-License-Identifier: Apache-2.0
/* Owns key pairs: making, writing and reading them, and the rule that every key is ECDSA P-256.
 * Must not know signatures or certificates. */
#include "key.h"

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

#include "lib/base/fs.h"
#include "newfile.h"
#include "trust.h"

int key_check(const EVP_PKEY *key, const char *what, struct err *e)
{
	char group[64] = "";
	size_t len;
	int by_parameters = 1;
	/* A curve that is spelled out by its parameters can be one made to measure. */
	if (EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group, sizeof(group), &len) == 1 &&
	    EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &by_parameters) == 1 &&
	    strcmp(group, SN_X9_62_prime256v1) == 0 && by_parameters == 0)
		return 0;
	const char *type = EVP_PKEY_get0_type_name(key);
	return err_set(e, EINVAL, "%s is of type %s%s%s%s, and only ECDSA P-256 is used here; make one with kpcp", what,
		       type ? type : "unknown", group[0] ? " " : "", group,
		       group[0] && by_parameters ? " by explicit parameters" : "");
}

static int read_pem(const char *path, struct buf *ret, struct err *e)
{
	int r = fs_read(path, ret, e);
	/* -EBADMSG, which some file systems give, means one thing here: a signature that does not match. */
	return r == -EBADMSG ? err_set(e, EIO, "cannot read %s: its file system is damaged", path) : r;
}

int key_read_private(const char *path, EVP_PKEY **ret, struct err *e)
{
	_cleanup_(ossl_wipe) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	int r = read_pem(path, &pem, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(pem.len ? pem.data : "", (int)pem.len);
	_cleanup_(ossl_free_pkey) EVP_PKEY *key =
	    bio ? PEM_read_bio_PrivateKey(bio, NULL, ossl_no_passphrase, NULL) : NULL;
	if (!key)
		return err_set(e, EINVAL, "%s holds no private key: %s; give the file that the key was made into", path,
			       OSSL_WHY);
	r = key_check(key, path, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(key);
	return 0;
}

int key_read_public(const char *path, EVP_PKEY **ret, struct err *e)
{
	_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	int r = read_pem(path, &pem, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(pem.len ? pem.data : "", (int)pem.len);
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, ossl_no_passphrase, NULL) : NULL;
	if (!key)
		return err_set(e, EINVAL, "%s holds no public key: %s; give the signer's public key in PEM form", path,
			       OSSL_WHY);
	r = key_check(key, path, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(key);
	return 0;
}

int key_generate(EVP_PKEY **ret, struct buf *ret_pem, struct err *e)
{
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new(BIO_s_secmem());
	if (!key || !bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return err_set(e, EIO, "cannot make a P-256 key: %s; check OpenSSL's installation", OSSL_WHY);
	int r = ossl_take(bio, ret_pem, e);
	if (r < 0)
		return r;
	*ret = steal_ptr(key);
	return 0;
}

int trust_key_make(const char *key_path, struct buf *ret_public, struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_wipe) struct buf private_pem = BUF_INIT(TRUST_PEM_MAX);
	_cleanup_(buf_free) struct buf public_pem = BUF_INIT(TRUST_PEM_MAX);
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	int r = key_generate(&key, &private_pem, e);
	if (r < 0)
		return r;
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new(BIO_s_mem());
	if (!bio || PEM_write_bio_PUBKEY(bio, key) != 1)
		return err_set(e, EIO, "cannot write the public key for %s: %s", key_path, OSSL_WHY);
	r = ossl_take(bio, &public_pem, e);
	/* Room is made before the file: once that stands, nothing can fail any more. */
	char *room;
	if (r == 0 && ret_public)
		r = buf_reserve(ret_public, public_pem.len, &room, e);
	if (r == 0)
		r = newfile_write(key_path, private_pem.data, private_pem.len, 0600, e);
	if (r < 0)
		return err_context(e, "cannot make the key %s", key_path);
	if (ret_public) {
		memcpy(room, public_pem.data, public_pem.len);
		ret_public->len += public_pem.len;
	}
	return 0;
}
