// SPDX-License-Identifier: Apache-2.0
/* Owns detached signatures over exact bytes, in base64.
 * Must not know what is signed, nor how keys are kept. */
#include <errno.h>
#include <string.h>

#include "key.h"
#include "trust.h"

#define BASE64_LEN(bytes) (((bytes) + 2) / 3 * 4)

int trust_sign(const char *key_path, const void *data, size_t len, struct buf *ret_base64, struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	int r = key_read_private(key_path, &key, e);
	if (r < 0)
		return r;

	unsigned char sig[TRUST_SIG_MAX];
	size_t sig_len = sizeof(sig);
	_cleanup_(ossl_free_md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!ctx || EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) != 1 ||
	    EVP_DigestSign(ctx, sig, &sig_len, len > 0 ? data : "", len) != 1)
		return err_set(e, EIO, "cannot sign with %s: %s; check OpenSSL's installation", key_path, OSSL_WHY);

	unsigned char text[BASE64_LEN(TRUST_SIG_MAX) + 1];
	int n = EVP_EncodeBlock(text, sig, (int)sig_len);
	return buf_add(ret_base64, text, (size_t)n, e);
}

/* Only what trust_sign writes: EVP_DecodeBlock alone takes blanks and stray bits too, and so more than one text for
 * one signature. Returns the signature's length, 0 where the text is not one. */
static size_t decode(const char *text, unsigned char ret[TRUST_SIG_MAX])
{
	size_t len = strnlen(text, BASE64_LEN(TRUST_SIG_MAX) + 1);
	if (len == 0 || len % 4 != 0 || len > BASE64_LEN(TRUST_SIG_MAX))
		return 0;
	unsigned char bytes[BASE64_LEN(TRUST_SIG_MAX) / 4 * 3];
	int n = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len);
	/* It counts the zeros that padding stands for. */
	n -= (text[len - 1] == '=') + (text[len - 2] == '=');
	if (n <= 0 || n > TRUST_SIG_MAX)
		return 0;
	unsigned char again[BASE64_LEN(TRUST_SIG_MAX) + 1];
	if (EVP_EncodeBlock(again, bytes, n) != (int)len || memcmp(again, text, len) != 0)
		return 0;
	memcpy(ret, bytes, (size_t)n);
	return (size_t)n;
}

int trust_verify(const char *public_path, const void *data, size_t len, const char *sig_base64, struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = NULL;
	int r = key_read_public(public_path, &key, e);
	if (r < 0)
		return r;

	unsigned char sig[TRUST_SIG_MAX];
	size_t sig_len = decode(sig_base64, sig);
	if (sig_len == 0)
		return err_set(e, EBADMSG,
			       "the signature is malformed: it is not base64 of 1 to %d bytes on one line; get it "
			       "again from whoever signed",
			       TRUST_SIG_MAX);
	_cleanup_(ossl_free_md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!ctx || EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) != 1)
		return err_set(e, EIO, "cannot verify with %s: %s; check OpenSSL's installation", public_path,
			       OSSL_WHY);
	if (EVP_DigestVerify(ctx, sig, sig_len, len > 0 ? data : "", len) != 1)
		return err_set(
		    e, EBADMSG,
		    "the signature does not match: these %zu bytes were not signed by the key in %s; get the "
		    "bytes and their signature again, or check that this is the signer's key",
		    len, public_path);
	return 0;
}
