// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of requests and certificates: who gets which, what they say, and which are refused.
 * Must not know signatures over files. */
#include "trust_fixture.h"

static const struct trust_subject host = {TRUST_HOST, "host-1.example", "cluster_a"};

static X509 *to_cert(const struct buf *pem)
{
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(pem->data, (int)pem->len);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	assert_non_null(x);
	return x;
}

static X509 *load_cert(const char *name)
{
	_cleanup_(buf_free) struct buf b = get(name);
	return to_cert(&b);
}

static struct buf make_csr(void)
{
	struct err e = {0};
	struct buf csr = BUF_INIT(TRUST_PEM_MAX);
	assert_accepted(trust_csr_make(in_dir("key"), "host-1.example", &csr, &e));
	return csr;
}

static int issue(const struct buf *csr, const struct trust_subject *s, const char *alt, struct buf *ret, struct err *e)
{
	return trust_issue(in_dir("ca.key"), in_dir("ca.pem"), csr->data, csr->len, s, alt, 30, ret, e);
}

/* 0 or X509_V_ERR_*: what a TLS peer that trusts only the authority would say. */
static int verify(X509 *cert, X509 *authority, int purpose)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	assert_true(store && ctx && X509_STORE_add_cert(store, authority) == 1);
	assert_int_equal(X509_STORE_CTX_init(ctx, store, cert, NULL), 1);
	X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_X509_STRICT);
	assert_int_equal(X509_STORE_CTX_set_purpose(ctx, purpose), 1);
	int code = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return code;
}

static void assert_subject(const struct buf *pem, const struct trust_subject *wanted)
{
	struct err e = {0};
	struct trust_subject s;
	assert_accepted(trust_subject_of(pem->data, pem->len, &s, &e));
	assert_int_equal(s.role, wanted->role);
	assert_string_equal(s.name, wanted->name);
	assert_string_equal(s.cluster, wanted->cluster);
}

/* ---- the authority ---- */

static void test_an_authority_says_what_it_is(void **state)
{
	(void)state;
	_cleanup_(ossl_free_cert) X509 *ca = load_cert("ca.pem");
	assert_int_equal(X509_get_version(ca), X509_VERSION_3);
	assert_true(X509_get_extension_flags(ca) & EXFLAG_CA);
	assert_int_equal(X509_get_pathlen(ca), 0);
	assert_int_equal(X509_get_key_usage(ca), KU_KEY_CERT_SIGN);
	for (size_t i = 0; i < 2; i++) {
		int at = X509_get_ext_by_NID(ca, i ? NID_key_usage : NID_basic_constraints, -1);
		assert_true(at >= 0 && X509_EXTENSION_get_critical(X509_get_ext(ca, at)));
	}
	assert_non_null(X509_get0_subject_key_id(ca));
	assert_non_null(X509_get0_authority_key_id(ca));
	assert_int_equal(verify(ca, ca, X509_PURPOSE_ANY), X509_V_OK);
	int days, seconds;
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(ca), X509_get0_notAfter(ca)), 1);
	assert_true(days == 3650 && seconds == 300);

	struct err e = {0};
	struct trust_subject s;
	_cleanup_(buf_free) struct buf pem = get("ca.pem");
	assert_accepted(trust_subject_of(pem.data, pem.len, &s, &e));
	assert_int_equal(s.role, TRUST_NOBODY);
	assert_string_equal(s.name, "test-authority");
	struct stat st;
	assert_int_equal(stat(in_dir("ca.key"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(in_dir("ca.pem"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
}

static void test_an_authority_replaces_nothing(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf key = get("ca.key"), cert = get("ca.pem");
	assert_refused(trust_ca_make(in_dir("ca.key"), in_dir("new.pem"), "n", &e), EEXIST);
	assert_refused(trust_ca_make(in_dir("new.key"), in_dir("ca.pem"), "n", &e), EEXIST);
	assert_refused(trust_ca_make(in_dir("one"), in_dir("one"), "n", &e), EEXIST);
	assert_refused(trust_ca_make(in_dir("new.key"), in_dir("new.pem"), "two words", &e), EINVAL);
	static const char *const none[] = {"new.key", "new.pem", "one"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(access(in_dir(none[i]), F_OK), -1);
	_cleanup_(buf_free) struct buf key_after = get("ca.key"), cert_after = get("ca.pem");
	assert_string_equal(key.data, key_after.data);
	assert_string_equal(cert.data, cert_after.data);
}

/* ---- what is issued ---- */

static void check_leaf(X509 *cert, X509 *ca, X509 *other_ca, const struct trust_subject *s)
{
	int right = s->role == TRUST_SERVER ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
	int wrong = s->role == TRUST_SERVER ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER;
	assert_int_equal(verify(cert, ca, right), X509_V_OK);
	assert_int_equal(verify(cert, ca, wrong), X509_V_ERR_INVALID_PURPOSE);
	assert_int_equal(verify(cert, other_ca, right), X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
	assert_int_equal(X509_get_version(cert), X509_VERSION_3);
	assert_int_equal(X509_check_ca(cert), 0);
	assert_int_equal(X509_get_extension_flags(cert) & (EXFLAG_CA | EXFLAG_BCONS), EXFLAG_BCONS);
	assert_int_equal(X509_get_key_usage(cert), KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_get_extended_key_usage(cert), s->role == TRUST_SERVER ? XKU_SSL_SERVER : XKU_SSL_CLIENT);
	assert_non_null(X509_get0_subject_key_id(cert));
	assert_int_equal(ASN1_STRING_cmp(X509_get0_authority_key_id(cert), X509_get0_subject_key_id(ca)), 0);

	int days, seconds;
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert), X509_get0_notAfter(cert)), 1);
	assert_true(days == 30 && seconds == 300);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert), NULL), 1);
	assert_true(days == 0 && seconds >= 300);

	BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
	assert_non_null(serial);
	assert_true(!BN_is_negative(serial) && BN_num_bits(serial) > 64 && BN_num_bits(serial) <= 128);
	BN_free(serial);
}

static void test_each_role_gets_its_certificate(void **state)
{
	(void)state;
	static const struct trust_subject subjects[] = {
	    {TRUST_HOST, "host-1.example", "cluster_a"},
	    {TRUST_OPERATOR, "alice", ""},
	    {TRUST_SERVER, "controller", ""},
	};
	struct err e = {0};
	assert_accepted(trust_ca_make(in_dir("ca2.key"), in_dir("ca2.pem"), "test-authority", &e));
	_cleanup_(ossl_free_cert) X509 *ca = load_cert("ca.pem"), *other_ca = load_cert("ca2.pem");
	_cleanup_(buf_free) struct buf csr = make_csr();
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX), again = BUF_INIT(TRUST_PEM_MAX);
		assert_accepted(issue(&csr, &subjects[i], NULL, &pem, &e));
		assert_accepted(issue(&csr, &subjects[i], NULL, &again, &e));
		assert_subject(&pem, &subjects[i]);
		_cleanup_(ossl_free_cert) X509 *cert = to_cert(&pem), *second = to_cert(&again);
		check_leaf(cert, ca, other_ca, &subjects[i]);
		assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(cert), X509_get0_serialNumber(second)), 0);
		/* It is for the request's key, and not one that may issue. */
		put("leaf.pem", pem.data, pem.len);
		assert_refused(
		    trust_issue(in_dir("key"), in_dir("leaf.pem"), csr.data, csr.len, &host, NULL, 1, &again, &e),
		    EINVAL);
	}
	_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	assert_refused(trust_issue(in_dir("ca2.key"), in_dir("ca.pem"), csr.data, csr.len, &host, NULL, 1, &pem, &e),
		       EINVAL);
	assert_refused(trust_issue(in_dir("none"), in_dir("ca.pem"), csr.data, csr.len, &host, NULL, 1, &pem, &e),
		       ENOENT);
	assert_refused(trust_issue(in_dir("ca.key"), in_dir("none"), csr.data, csr.len, &host, NULL, 1, &pem, &e),
		       ENOENT);
	assert_refused(trust_issue(in_dir("ca.key"), in_dir("ca.key"), csr.data, csr.len, &host, NULL, 1, &pem, &e),
		       EINVAL);
	assert_int_equal(pem.len, 0);
}

static void test_alternative_names(void **state)
{
	(void)state;
	struct err e = {0};
	static const struct trust_subject server = {TRUST_SERVER, "controller", ""};
	_cleanup_(buf_free) struct buf csr = make_csr(), pem = BUF_INIT(TRUST_PEM_MAX), own = BUF_INIT(TRUST_PEM_MAX);
	assert_accepted(issue(&csr, &server, "IP:10.0.2.2,DNS:ctl.example,IP:fd00::1", &pem, &e));
	_cleanup_(ossl_free_cert) X509 *cert = to_cert(&pem);
	assert_int_equal(X509_check_ip_asc(cert, "10.0.2.2", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "fd00::1", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "10.0.2.3", 0), 0);
	assert_int_equal(X509_check_host(cert, "ctl.example", 0, 0, NULL), 1);
	assert_int_equal(X509_check_host(cert, "controller", 0, 0, NULL), 0);
	assert_accepted(issue(&csr, &server, NULL, &own, &e));
	_cleanup_(ossl_free_cert) X509 *plain = to_cert(&own);
	assert_int_equal(X509_check_host(plain, "controller", 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL), 1);

	static const char *const wrong[] = {
	    "",
	    ",",
	    "DNS:a,",
	    ",DNS:a",
	    "DNS:",
	    "IP:",
	    "IP:10.0.2",
	    "IP:10.0.2.256",
	    "IP:x",
	    "a.example",
	    "DNS:*.example",
	    "DNS:a b",
	    "DNS:a..b",
	    "DNS:.a",
	    "DNS:-a",
	    "DNS:a\nIP:1.2.3.4",
	    "email:copy",
	    "dirName:x",
	    "otherName:1.2.3;UTF8:x",
	    "critical,DNS:a",
	    "URI:http://a",
	    "@section",
	    "dns:a",
	    "DNS:a, DNS:b",
	    "IP:10.0.2.2/24",
	};
	size_t len = pem.len;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_refused(issue(&csr, &server, wrong[i], &pem, &e), EINVAL);
	_cleanup_(buf_free) struct buf many = BUF_INIT(4096);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(buf_addf(&many, &e, "%sDNS:n%u", i ? "," : "", i), 0);
	assert_accepted(issue(&csr, &server, many.data, &own, &e));
	assert_int_equal(buf_addf(&many, &e, ",DNS:n16"), 0);
	assert_refused(issue(&csr, &server, many.data, &pem, &e), EINVAL);
	many.len = 0;
	assert_int_equal(buf_addf(&many, &e, "DNS:%0300d", 1), 0);
	assert_refused(issue(&csr, &server, many.data, &pem, &e), EINVAL);
	assert_refused(issue(&csr, &host, "DNS:a", &pem, &e), EINVAL);
	assert_int_equal(pem.len, len);
}

static const char *const bad_names[] = {"",
					"a b",
					"a\nb",
					"a/b",
					"a=b",
					"a+b",
					"a,b",
					"a\\b",
					"a\"b",
					"..",
					".a",
					"-a",
					"a*",
					"a@b",
					"\303\244",
					"a\001",
					"CN=a",
					"/O=kpcp-operator",
					"12345678901234567890123456789012345678901234567890123456789012345"};

static void test_names_that_are_refused(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf csr = make_csr(), pem = BUF_INIT(TRUST_PEM_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad_names); i++) {
		struct trust_subject s = host, c = host;
		/* The longest comes without its final 0: that must not be relied on. */
		memcpy(s.name, bad_names[i], strnlen(bad_names[i], sizeof(s.name) - 1) + 1);
		memcpy(c.cluster, bad_names[i], strnlen(bad_names[i], sizeof(c.cluster) - 1) + 1);
		assert_refused(issue(&csr, &s, NULL, &pem, &e), EINVAL);
		assert_refused(issue(&csr, &c, NULL, &pem, &e), EINVAL);
		assert_refused(trust_csr_make(in_dir("key"), bad_names[i], &pem, &e), EINVAL);
		assert_refused(trust_ca_make(in_dir("x.key"), in_dir("x.pem"), bad_names[i], &e), EINVAL);
	}
	static const struct trust_subject wrong[] = {{TRUST_NOBODY, "a", ""},
						     {(enum trust_role)4, "a", ""},
						     {TRUST_OPERATOR, "a", "c"},
						     {TRUST_SERVER, "a", "c"}};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_refused(issue(&csr, &wrong[i], NULL, &pem, &e), EINVAL);
	static const uint32_t days[] = {0, 3651, UINT32_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(days); i++)
		assert_refused(
		    trust_issue(in_dir("ca.key"), in_dir("ca.pem"), csr.data, csr.len, &host, NULL, days[i], &pem, &e),
		    EINVAL);
	assert_int_equal(pem.len, 0);

	static const char longest[] = "1234567890123456789012345678901234567890123456789012345678901234";
	struct trust_subject s = {TRUST_HOST, "", ""};
	memcpy(s.name, longest, sizeof(longest));
	memcpy(s.cluster, longest, sizeof(longest));
	assert_accepted(issue(&csr, &s, NULL, &pem, &e));
	assert_subject(&pem, &s);
	assert_string_equal(trust_role_name((enum trust_role)99), "nobody");
}

/* ---- requests ---- */

static void add_entry(X509_NAME *to, int nid, int type, const char *text, int len)
{
	assert_int_equal(X509_NAME_add_entry_by_NID(to, nid, type, (const unsigned char *)text, len, -1, 0), 1);
}

/* A request for holder's key, signed by signer's; with what it asks for. */
static X509_REQ *build_req(EVP_PKEY *holder, EVP_PKEY *signer, const EVP_MD *md)
{
	X509_REQ *req = X509_REQ_new();
	X509_NAME *name = X509_NAME_new();
	STACK_OF(X509_EXTENSION) *wishes = sk_X509_EXTENSION_new_null();
	assert_true(req && name && wishes);
	add_entry(name, NID_organizationName, MBSTRING_UTF8, "kpcp-operator", -1);
	add_entry(name, NID_commonName, MBSTRING_UTF8, "alice", -1);
	sk_X509_EXTENSION_push(wishes, X509V3_EXT_nconf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE"));
	sk_X509_EXTENSION_push(wishes, X509V3_EXT_nconf_nid(NULL, NULL, NID_subject_alt_name, "DNS:controller"));
	assert_int_equal(X509_REQ_set_version(req, X509_REQ_VERSION_1), 1);
	assert_int_equal(X509_REQ_set_subject_name(req, name), 1);
	assert_int_equal(X509_REQ_set_pubkey(req, holder), 1);
	assert_int_equal(X509_REQ_add_extensions(req, wishes), 1);
	assert_true(X509_REQ_sign(req, signer, md) > 0);
	sk_X509_EXTENSION_pop_free(wishes, X509_EXTENSION_free);
	X509_NAME_free(name);
	return req;
}

static struct buf req_to_pem(X509_REQ *req)
{
	struct err e = {0};
	struct buf b = BUF_INIT(1 << 20);
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_X509_REQ(bio, req), 1);
	char *data;
	long len = BIO_get_mem_data(bio, &data);
	assert_int_equal(buf_add(&b, data, (size_t)len, &e), 0);
	X509_REQ_free(req);
	return b;
}

static void test_a_request_gets_nothing_that_it_asks_for(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
	_cleanup_(buf_free) struct buf csr = req_to_pem(build_req(key, key, EVP_sha256())),
				       pem = BUF_INIT(TRUST_PEM_MAX);
	assert_accepted(issue(&csr, &host, NULL, &pem, &e));
	assert_subject(&pem, &host);
	_cleanup_(ossl_free_cert) X509 *cert = to_cert(&pem), *ca = load_cert("ca.pem");
	assert_int_equal(X509_check_ca(cert), 0);
	assert_int_equal(X509_get_extension_flags(cert) & (EXFLAG_CA | EXFLAG_BCONS), EXFLAG_BCONS);
	assert_int_equal(X509_get_ext_by_NID(cert, NID_subject_alt_name, -1), -1);
	assert_int_equal(X509_get_ext_count(cert), 5);
	assert_int_equal(X509_check_private_key(cert, key), 1);
	assert_int_equal(verify(cert, ca, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(cert)), 3);
}

static void test_weak_and_forged_requests_are_refused(void **state)
{
	(void)state;
	struct err e = {0};
	EVP_PKEY *good = EVP_EC_gen("P-256");
	EVP_PKEY *keys[] = {EVP_RSA_gen(2048), EVP_EC_gen("P-384"), EVP_EC_gen("secp256k1"),
			    EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), explicit_key()};
	_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		_cleanup_(buf_free) struct buf csr =
		    req_to_pem(build_req(keys[i], keys[i], i == 3 ? NULL : EVP_sha256()));
		assert_refused(issue(&csr, &host, NULL, &pem, &e), EINVAL);
		assert_non_null(strstr(e.text, "P-256"));
		/* Nor with a signature by a good key. */
		_cleanup_(buf_free) struct buf mixed = req_to_pem(build_req(keys[i], good, EVP_sha256()));
		assert_refused(issue(&mixed, &host, NULL, &pem, &e), EINVAL);
	}
	EVP_PKEY *thief = EVP_EC_gen("P-256");
	_cleanup_(buf_free) struct buf stolen = req_to_pem(build_req(good, thief, EVP_sha256()));
	assert_refused(issue(&stolen, &host, NULL, &pem, &e), EINVAL);
	assert_non_null(strstr(e.text, "signature does not match"));
	_cleanup_(buf_free) struct buf sha1 = req_to_pem(build_req(good, good, EVP_sha1()));
	assert_refused(issue(&sha1, &host, NULL, &pem, &e), EINVAL);
	assert_int_equal(pem.len, 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		EVP_PKEY_free(keys[i]);
	EVP_PKEY_free(good);
	EVP_PKEY_free(thief);
}

static void test_damaged_requests_are_refused(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf csr = make_csr(), pem = BUF_INIT(TRUST_PEM_MAX), t = BUF_INIT(1 << 20);
	for (size_t len = 0; len < csr.len - 1; len += 7) {
		struct buf cut = csr;
		cut.len = len;
		assert_refused(issue(&cut, &host, NULL, &pem, &e), EINVAL);
	}
	/* Every bit of its DER: what still parses has a wrong signature. */
	_cleanup_(ossl_free_bio) BIO *bio = BIO_new_mem_buf(csr.data, (int)csr.len);
	_cleanup_(ossl_free_req) X509_REQ *req = PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL);
	unsigned char *der = NULL;
	int der_len = i2d_X509_REQ(req, &der);
	assert_true(der_len > 0);
	for (int bit = 0; bit < 8 * der_len; bit++) {
		der[bit / 8] ^= (unsigned char)(1 << bit % 8);
		unsigned char base64[4096];
		assert_true(EVP_EncodeBlock(base64, der, der_len) < (int)sizeof(base64));
		der[bit / 8] ^= (unsigned char)(1 << bit % 8);
		t.len = 0;
		assert_int_equal(buf_addf(&t, &e, "-----BEGIN CERTIFICATE REQUEST-----\n"), 0);
		for (const char *at = (char *)base64; *at; at += strnlen(at, 64))
			assert_int_equal(buf_addf(&t, &e, "%.64s\n", at), 0);
		assert_int_equal(buf_addf(&t, &e, "-----END CERTIFICATE REQUEST-----\n"), 0);
		assert_refused(issue(&t, &host, NULL, &pem, &e), EINVAL);
	}
	OPENSSL_free(der);

	/* A header that says "encrypted" makes no one ask for a passphrase. */
	const char *body = strchr(csr.data, '\n') + 1;
	t.len = 0;
	assert_int_equal(buf_addf(&t, &e,
				  "-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
				  "AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n%s",
				  body),
			 0);
	assert_refused(issue(&t, &host, NULL, &pem, &e), EINVAL);
	assert_non_null(strstr(e.text, "encrypted"));
	/* Exactly the bound, and one more. */
	t.len = 0;
	assert_int_equal(buf_addf(&t, &e, "%s%*s", csr.data, (int)(TRUST_PEM_MAX - csr.len), ""), 0);
	assert_int_equal(t.len, TRUST_PEM_MAX);
	assert_accepted(issue(&t, &host, NULL, &pem, &e));
	assert_int_equal(buf_add(&t, " ", 1, &e), 0);
	assert_refused(issue(&t, &host, NULL, &pem, &e), EINVAL);
}

/* ---- reading certificates ---- */

struct entry {
	int nid, type;
	const char *text;
	int len;
};

/* Certificates of strangers: only trust_subject_of ever sees these, so that a signature by any key will do. */
static struct buf foreign_der(const struct entry entries[static 4])
{
	struct err e = {0};
	struct buf b = BUF_INIT(1 << 20);
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
	_cleanup_(ossl_free_cert) X509 *x = X509_new();
	X509_NAME *name = X509_NAME_new();
	for (size_t i = 0; i < 4 && entries[i].nid; i++)
		add_entry(name, entries[i].nid, entries[i].type, entries[i].text, entries[i].len);
	assert_true(X509_set_subject_name(x, name) == 1 && X509_set_pubkey(x, key) == 1);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 60);
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	X509_NAME_free(name);
	unsigned char *der = NULL;
	int len = i2d_X509(x, &der);
	assert_true(len > 0);
	assert_int_equal(buf_add(&b, der, (size_t)len, &e), 0);
	OPENSSL_free(der);
	return b;
}

#define CN(text)                                                      \
	{                                                             \
		NID_commonName, MBSTRING_UTF8, text, sizeof(text) - 1 \
	}
#define O(text)                                                             \
	{                                                                   \
		NID_organizationName, MBSTRING_UTF8, text, sizeof(text) - 1 \
	}
#define OU(text)                                                                  \
	{                                                                         \
		NID_organizationalUnitName, MBSTRING_UTF8, text, sizeof(text) - 1 \
	}

static void test_subjects_of_strangers(void **state)
{
	(void)state;
	static const struct {
		struct entry entries[4];
		struct trust_subject wanted;
	} cases[] = {
	    {{CN("a")}, {TRUST_NOBODY, "a", ""}},
	    {{O("kpcp-host"), OU("c"), CN("a")}, {TRUST_HOST, "a", "c"}},
	    {{O("kpcp-operator"), CN("a")}, {TRUST_OPERATOR, "a", ""}},
	    {{O("kpcp-operator"), OU("c"), CN("a")}, {TRUST_OPERATOR, "a", ""}},
	    {{O("kpcp-server"), CN("a")}, {TRUST_SERVER, "a", ""}},
	    {{O("kpcp-operator\0"), CN("a")}, {TRUST_NOBODY, "a", ""}},
	    {{O("kpcp-operato"), CN("a")}, {TRUST_NOBODY, "a", ""}},
	    {{O("KPCP-operator"), CN("a")}, {TRUST_NOBODY, "a", ""}},
	    {{O("nobody"), CN("a")}, {TRUST_NOBODY, "a", ""}},
	    {{O("Some Company, Inc."), OU("c"), CN("a")}, {TRUST_NOBODY, "a", ""}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_free) struct buf der = foreign_der(cases[i].entries);
		assert_subject(&der, &cases[i].wanted);
	}

	static const struct entry refused[][4] = {
	    {{0}},
	    {O("kpcp-operator")},
	    {O("kpcp-operator"), CN("a"), CN("b")},
	    {O("kpcp-operator"), CN("a"), CN("a")},
	    {O("kpcp-operator"), O("x"), CN("a")},
	    {O("x"), O("kpcp-operator"), CN("a")},
	    {O("kpcp-host"), CN("a")},
	    {O("kpcp-host"), CN("a"), OU("c"), OU("d")},
	    {O("kpcp-host"), CN("a"), OU("c/d")},
	    {O("kpcp-host"), CN("a"), OU("c\0")},
	    {CN("a\0b")},
	    {CN("a\0")},
	    {CN("\0a")},
	    {CN("a\n")},
	    {CN("a\nb")},
	    {CN("a/CN=b")},
	    {CN("a=b")},
	    {CN("a b")},
	    {CN("..")},
	    {CN("-a")},
	    {CN("\303\244")},
	    {{NID_commonName, V_ASN1_BMPSTRING, "\0a\0b", 4}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct err e = {0};
		struct trust_subject s = {TRUST_NOBODY, "before", "before"};
		_cleanup_(buf_free) struct buf der = foreign_der(refused[i]);
		assert_refused(trust_subject_of(der.data, der.len, &s, &e), EINVAL);
		assert_string_equal(s.name, "before");
		assert_string_equal(s.cluster, "before");
	}
}

static void test_forms_of_certificates(void **state)
{
	(void)state;
	struct err e = {0};
	struct trust_subject s;
	_cleanup_(buf_free) struct buf csr = make_csr(), pem = BUF_INIT(1 << 20);
	assert_accepted(issue(&csr, &host, NULL, &pem, &e));
	_cleanup_(ossl_free_cert) X509 *cert = to_cert(&pem);
	unsigned char *der = NULL;
	int len = i2d_X509(cert, &der);
	_cleanup_(buf_free) struct buf b = BUF_INIT(1 << 20);
	assert_int_equal(buf_add(&b, der, (size_t)len, &e), 0);
	OPENSSL_free(der);
	assert_subject(&b, &host);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_refused(trust_subject_of(b.data, cut, &s, &e), EINVAL);
	for (size_t cut = 0; cut < pem.len - 1; cut += 3)
		assert_refused(trust_subject_of(pem.data, cut, &s, &e), EINVAL);

	/* Nothing may come after DER: above all no other certificate. */
	assert_int_equal(buf_add(&b, pem.data, pem.len, &e), 0);
	assert_refused(trust_subject_of(b.data, b.len, &s, &e), EINVAL);
	assert_refused(trust_subject_of(csr.data, csr.len, &s, &e), EINVAL);
	assert_refused(trust_subject_of("", 0, &s, &e), EINVAL);
	assert_refused(trust_subject_of("garbage", 7, &s, &e), EINVAL);

	assert_int_equal(buf_addf(&pem, &e, "%*s", (int)(TRUST_PEM_MAX - pem.len), ""), 0);
	assert_subject(&pem, &host);
	assert_int_equal(buf_add(&pem, " ", 1, &e), 0);
	assert_refused(trust_subject_of(pem.data, pem.len, &s, &e), EINVAL);
}

static void test_the_error_queue_of_others_is_not_ours(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf csr = make_csr(), pem = BUF_INIT(TRUST_PEM_MAX);
	struct trust_subject s;
	ERR_raise_data(ERR_LIB_USER, 1, "left by another");
	assert_accepted(issue(&csr, &host, NULL, &pem, &e));
	ERR_raise(ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ);
	assert_refused(trust_subject_of("garbage", 7, &s, &e), EINVAL);
	assert_null(strstr(e.text, "encrypted"));
	assert_non_null(strstr(e.text, "no PEM block"));
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
	    IN_DIR(test_an_authority_says_what_it_is),
	    IN_DIR(test_an_authority_replaces_nothing),
	    IN_DIR(test_each_role_gets_its_certificate),
	    IN_DIR(test_alternative_names),
	    IN_DIR(test_names_that_are_refused),
	    IN_DIR(test_a_request_gets_nothing_that_it_asks_for),
	    IN_DIR(test_weak_and_forged_requests_are_refused),
	    IN_DIR(test_damaged_requests_are_refused),
	    IN_DIR(test_subjects_of_strangers),
	    IN_DIR(test_forms_of_certificates),
	    IN_DIR(test_the_error_queue_of_others_is_not_ours),
	};
	return cmocka_run_group_tests_name("trust_cert", tests, NULL, NULL);
}
