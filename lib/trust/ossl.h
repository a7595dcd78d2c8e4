// SPDX-License-Identifier: Apache-2.0
/* Owns what the files of lib/trust share in dealing with libcrypto: release of its objects, its error queue, PEM in
 * memory. Must not know keys, names or certificates of this project; not for use outside lib/trust. */
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

static inline void ossl_free_bio(BIO **p)
{
	BIO_free(*p);
}
static inline void ossl_free_pkey(EVP_PKEY **p)
{
	EVP_PKEY_free(*p);
}
static inline void ossl_free_md_ctx(EVP_MD_CTX **p)
{
	EVP_MD_CTX_free(*p);
}
static inline void ossl_free_cert(X509 **p)
{
	X509_free(*p);
}
static inline void ossl_free_req(X509_REQ **p)
{
	X509_REQ_free(*p);
}
static inline void ossl_free_name(X509_NAME **p)
{
	X509_NAME_free(*p);
}
static inline void ossl_free_alt_names(GENERAL_NAMES **p)
{
	GENERAL_NAMES_free(*p);
}

/* First in each public function: the thread's error queue is empty until its end, and is left empty. */
#define OSSL_CALL() _cleanup_(ossl_end) __attribute__((unused)) int ossl_call_ = ossl_begin()
int ossl_begin(void);
void ossl_end(int *unused);

/* The first cause in the error queue in words for people, without a full stop; never empty. Lives as long as the
 * block around it. */
#define OSSL_WHY_MAX 160
#define OSSL_WHY     ossl_why((char[OSSL_WHY_MAX]){0})
const char *ossl_why(char ret[OSSL_WHY_MAX]);

/* For every PEM reader's callback: refuses, where libcrypto's own would stop and ask a passphrase of the terminal. */
int ossl_no_passphrase(char *out, int size, int writing, void *user);

/* Appends what was written to a memory BIO, of TRUST_PEM_MAX bytes at most. */
int must_check ossl_take(BIO *from, struct buf *ret, struct err *e);

/* Wipes a buffer that held a secret, then frees it: for _cleanup_. */
void ossl_wipe(struct buf *b);
