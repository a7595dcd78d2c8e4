// SPDX-License-Identifier: Apache-2.0
/* Owns OpenSSL's settings for the server side.
 * Must not know sockets, HTTP, or what a client may do. */
#include "http_tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

static int failed(struct err *e, const char *what, const char *path)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());
	int r = err_set(e, EINVAL, "%s%s%s cannot be used: %s", what, *path ? " " : "", path,
			reason ? reason : "no reason known");
	ERR_clear_error();
	return r;
}

/* An encrypted key must fail, and not ask on a terminal. */
static int no_password(char *out, int size, int rw, void *arg)
{
	(void)out, (void)size, (void)rw, (void)arg;
	return 0;
}

static void free_ctx(SSL_CTX **ctx)
{
	SSL_CTX_free(*ctx);
}

int http_tls_open(const char *ca, const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *e)
{
	static const unsigned char id[] = "kpcp-rolloutd";

	_cleanup_(free_ctx) SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_session_id_context(ctx, id, sizeof(id) - 1) != 1 || SSL_CTX_set_num_tickets(ctx, 1) != 1)
		return failed(e, "OpenSSL", "");
	SSL_CTX_set_default_passwd_cb(ctx, no_password);
	if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		return failed(e, "the certificate", cert);
	if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return failed(e, "the key", key);
	STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca);
	if (!names)
		return failed(e, "the authority's certificate", ca);
	SSL_CTX_set_client_CA_list(ctx, names); /* owns them */
	if (SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1)
		return failed(e, "the authority's certificate", ca);

	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, NULL);
	SSL_CTX_set_max_cert_list(ctx, TRUST_PEM_MAX);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* tickets alone: no memory for each client */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);         /* 25 instead of 40 KiB for each idle connection */
	*ret = steal_ptr(ctx);
	return 0;
}

/* "" where there is no memory for it: that is nobody's. */
static void fingerprint(const unsigned char *der, int len, char ret[65])
{
	ret[0] = 0;
	if (len > 0)
		trust_sha256(der, (size_t)len, ret);
}

bool http_tls_peer(struct ssl_st *ssl, struct trust_subject *ret, char ret_fingerprint[65], time_t *ret_not_after)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	struct trust_subject who;
	struct err e = {0};
	struct tm until;
	unsigned char *der = NULL;

	if (!cert || SSL_get_verify_result(ssl) != X509_V_OK || ASN1_TIME_to_tm(X509_get0_notAfter(cert), &until) != 1)
		return false;
	int len = i2d_X509(cert, &der);
	bool ours = len > 0 && trust_subject_of(der, (size_t)len, &who, &e) == 0 && who.role != TRUST_NOBODY;
	if (ours)
		fingerprint(der, len, ret_fingerprint);
	OPENSSL_free(der);
	ERR_clear_error();
	if (!ours)
		return false;
	*ret = who;
	*ret_not_after = timegm(&until);
	return true;
}

static void free_bio(BIO **b)
{
	BIO_free(*b);
}

static void free_cert(X509 **c)
{
	X509_free(*c);
}

int http_tls_fingerprint(const char *pem, size_t len, char ret[65], struct err *e)
{
	_cleanup_(free_bio) BIO *in = len <= TRUST_PEM_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	_cleanup_(free_cert) X509 *cert = in ? PEM_read_bio_X509(in, NULL, no_password, NULL) : NULL;
	unsigned char *der = NULL;
	char hex[65];

	int n = cert ? i2d_X509(cert, &der) : -1;
	fingerprint(der, n, hex);
	OPENSSL_free(der);
	ERR_clear_error();
	if (!hex[0])
		return err_set(e, EIO, "the certificate that was made cannot be read back");
	memcpy(ret, hex, sizeof(hex));
	return 0;
}

static void free_request(X509_REQ **r)
{
	X509_REQ_free(*r);
}

int http_tls_asked_name(const char *pem, size_t len, char ret[TRUST_NAME_MAX], struct err *e)
{
	_cleanup_(free_bio) BIO *in = len <= TRUST_PEM_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	_cleanup_(free_request) X509_REQ *request = in ? PEM_read_bio_X509_REQ(in, NULL, no_password, NULL) : NULL;

	if (!request) {
		ERR_clear_error();
		return err_set(e, EINVAL, "the certificate request cannot be read; make a new one");
	}
	X509_NAME *name = X509_REQ_get_subject_name(request);
	int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
	const ASN1_STRING *cn = at >= 0 ? X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)) : NULL;
	int n = cn ? ASN1_STRING_length(cn) : 0;
	if (n <= 0 || n >= TRUST_NAME_MAX || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0 ||
	    memchr(ASN1_STRING_get0_data(cn), 0, (size_t)n))
		return err_set(e, EINVAL, "the certificate request has no name that can be used; make a new one");
	memcpy(ret, ASN1_STRING_get0_data(cn), (size_t)n);
	ret[n] = 0;
	return 0;
}
