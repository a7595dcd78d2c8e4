// SPDX-License-Identifier: Apache-2.0
/* Owns the way from libcrypto's error queue to words, and from its memory BIOs to our buffers.
 * Must not know keys, names or certificates of this project. */
#include "ossl.h"

#include <errno.h>
#include <stdio.h>

#include <openssl/asn1.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "trust.h"

int ossl_begin(void)
{
	ERR_clear_error();
	return 0;
}

void ossl_end(int *unused)
{
	(void)unused;
	ERR_clear_error();
}

static const char *pem_words(int reason)
{
	switch (reason) {
	case PEM_R_NO_START_LINE:
		return "it has no PEM block of that kind";
	case PEM_R_BAD_BASE64_DECODE:
	case PEM_R_BAD_END_LINE:
	case PEM_R_SHORT_HEADER:
		return "its PEM block is cut short or damaged";
	case PEM_R_BAD_PASSWORD_READ:
	case PEM_R_PROBLEMS_GETTING_PASSWORD:
		return "it is encrypted, and no passphrase is ever asked for";
	default:
		return NULL;
	}
}

const char *ossl_why(char ret[OSSL_WHY_MAX])
{
	/* The oldest: what comes after it only says which callers gave up because of it. */
	unsigned long code = ERR_peek_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	const char *words = ERR_GET_LIB(code) == ERR_LIB_PEM ? pem_words(ERR_GET_REASON(code)) : NULL;
	if (words)
		snprintf(ret, OSSL_WHY_MAX, "%s", words);
	else if (ERR_GET_REASON(code) == ERR_R_INTERRUPTED_OR_CANCELLED)
		snprintf(ret, OSSL_WHY_MAX, "%s", pem_words(PEM_R_BAD_PASSWORD_READ)); /* ossl_no_passphrase did that */
	else if (ERR_GET_LIB(code) == ERR_LIB_ASN1)
		snprintf(ret, OSSL_WHY_MAX, "its content is damaged or of another kind: %s",
			 reason ? reason : "unknown");
	else if (ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER)
		snprintf(ret, OSSL_WHY_MAX, "its content is damaged or of another kind");
	else if (code)
		snprintf(ret, OSSL_WHY_MAX, "OpenSSL says: %s", reason ? reason : "unknown reason");
	else
		snprintf(ret, OSSL_WHY_MAX, "OpenSSL gives no reason");
	return ret;
}

int ossl_no_passphrase(char *out, int size, int writing, void *user)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)user;
	return -1;
}

int ossl_take(BIO *from, struct buf *ret, struct err *e)
{
	char *data;
	long len = BIO_get_mem_data(from, &data);
	if (len <= 0 || len > (long)TRUST_PEM_MAX)
		return err_set(e, EIO, "OpenSSL wrote %ld bytes of PEM, and 1 to %u can be; check its installation",
			       len, TRUST_PEM_MAX);
	return buf_add(ret, data, (size_t)len, e);
}

void ossl_wipe(struct buf *b)
{
	if (b->data)
		OPENSSL_cleanse(b->data, b->cap);
	buf_free(b);
}
