// SPDX-License-Identifier: Apache-2.0
/* Owns the proof of digests, keys and signatures: what is made is right, and what was changed in one bit is refused.
 * Must not know certificates. */
#include "trust_fixture.h"

static unsigned count_entries(void)
{
	unsigned n = 0;
	DIR *d = opendir(dir);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* ---- digests and random digits ---- */

static const struct {
	const char *text, *sha256;
} golden[] = {
    /* FIPS 180-4's examples. */
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void test_sha256(void **state)
{
	(void)state;
	struct err e = {0};
	char hex[65];
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		trust_sha256(golden[i].text, strlen(golden[i].text), hex);
		assert_string_equal(hex, golden[i].sha256);
	}
	trust_sha256(NULL, 0, hex);
	assert_string_equal(hex, golden[0].sha256);

	char *a = malloc(1000000);
	assert_non_null(a);
	memset(a, 'a', 1000000);
	put("a", a, 1000000);
	free(a);
	_cleanup_(fs_close) int fd = open(in_dir("a"), O_RDONLY | O_CLOEXEC);
	assert_true(lseek(fd, 77, SEEK_SET) == 77);
	assert_accepted(trust_sha256_fd(fd, 1000000, hex, &e));
	assert_string_equal(hex, MILLION_A);
	assert_accepted(trust_sha256_fd(fd, UINT64_MAX, hex, &e));
	assert_string_equal(hex, MILLION_A);
	assert_true(lseek(fd, 0, SEEK_CUR) == 77);

	memset(hex, 'x', sizeof(hex) - 1);
	assert_refused(trust_sha256_fd(fd, 999999, hex, &e), EFBIG);
	assert_refused(trust_sha256_fd(fd, 0, hex, &e), EFBIG);
	assert_refused(trust_sha256_fd(-1, 10, hex, &e), EBADF);
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_refused(trust_sha256_fd(ends[0], 10, hex, &e), ESPIPE);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(strspn(hex, "x"), 64);

	put("empty", "", 0);
	_cleanup_(fs_close) int empty = open(in_dir("empty"), O_RDONLY | O_CLOEXEC);
	assert_accepted(trust_sha256_fd(empty, 0, hex, &e));
	assert_string_equal(hex, golden[0].sha256);
}

static void test_random_hex(void **state)
{
	(void)state;
	struct err e = {0};
	char a[2 * TRUST_RANDOM_MAX + 1], b[2 * TRUST_RANDOM_MAX + 1];
	static const size_t lens[] = {0, 1, 16, TRUST_RANDOM_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(a, 'x', sizeof(a));
		assert_accepted(trust_random_hex(lens[i], a, &e));
		assert_int_equal(strlen(a), 2 * lens[i]);
		assert_int_equal(strspn(a, "0123456789abcdef"), 2 * lens[i]);
	}
	assert_accepted(trust_random_hex(TRUST_RANDOM_MAX, b, &e));
	assert_string_not_equal(a, b);
	assert_refused(trust_random_hex(TRUST_RANDOM_MAX + 1, a, &e), EINVAL);
}

/* ---- keys ---- */

static void test_a_key_is_pkcs8_and_private(void **state)
{
	(void)state;
	struct err e = {0};
	struct stat st;
	umask(0);
	assert_accepted(trust_key_make(in_dir("k2"), NULL, &e));
	umask(022);
	assert_int_equal(stat(in_dir("k2"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	_cleanup_(buf_free) struct buf k = get("k2"), pub = get("pub");
	static const char head[] = "-----BEGIN PRIVATE KEY-----\n", pub_head[] = "-----BEGIN PUBLIC KEY-----\n";
	assert_memory_equal(k.data, head, strlen(head));
	assert_memory_equal(pub.data, pub_head, strlen(pub_head));
	assert_int_equal(count_entries(), 5); /* key, pub, ca.key, ca.pem, k2; no temporary file */
}

static void test_a_key_never_replaces_a_file(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf out = BUF_INIT(TRUST_PEM_MAX), before = get("key");
	assert_int_equal(buf_add(&out, "x", 1, &e), 0);
	assert_refused(trust_key_make(in_dir("key"), &out, &e), EEXIST);
	assert_non_null(strstr(e.text, in_dir("key")));
	assert_string_equal(out.data, "x");
	_cleanup_(buf_free) struct buf after = get("key");
	assert_string_equal(before.data, after.data);

	/* A link that leads nowhere is a file of that name too: nothing is made at its other end. */
	assert_int_equal(symlink(in_dir("elsewhere"), in_dir("link")), 0);
	assert_refused(trust_key_make(in_dir("link"), &out, &e), EEXIST);
	assert_int_equal(access(in_dir("elsewhere"), F_OK), -1);
	assert_refused(trust_key_make(in_dir("no/key"), &out, &e), ENOENT);

	/* What has no room for the public key gets no file either. */
	_cleanup_(buf_free) struct buf small = BUF_INIT(20);
	assert_refused(trust_key_make(in_dir("k3"), &small, &e), EFBIG);
	assert_int_equal(small.len, 0);
	assert_int_equal(access(in_dir("k3"), F_OK), -1);
	assert_int_equal(count_entries(), 5); /* as set up, and "link" */
}

static void test_damaged_keys_are_refused(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf key = get("key"), pub = get("pub"), sig = BUF_INIT(1024);
	assert_accepted(trust_sign(in_dir("key"), "abc", 3, &sig, &e));
	size_t sig_len = sig.len;
	/* Up to the last character but the line feed; the PEM reader needs no final one. */
	for (size_t len = 0; len < key.len - 1; len++) {
		put("cut", key.data, len);
		assert_refused(trust_sign(in_dir("cut"), "abc", 3, &sig, &e), EINVAL);
	}
	for (size_t len = 0; len < pub.len - 1; len++) {
		put("cut", pub.data, len);
		assert_refused(trust_verify(in_dir("cut"), "abc", 3, sig.data, &e), EINVAL);
	}
	static const char garbage[] = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
	put("bad", garbage, strlen(garbage));
	assert_refused(trust_verify(in_dir("bad"), "abc", 3, sig.data, &e), EINVAL);
	assert_refused(trust_sign(in_dir("bad"), "abc", 3, &sig, &e), EINVAL);
	assert_refused(trust_verify(in_dir("key"), "abc", 3, sig.data, &e), EINVAL);
	assert_refused(trust_sign(in_dir("pub"), "abc", 3, &sig, &e), EINVAL);
	assert_refused(trust_verify(in_dir("none"), "abc", 3, sig.data, &e), ENOENT);
	assert_non_null(strstr(e.text, "/none"));
	assert_refused(trust_sign(in_dir("none"), "abc", 3, &sig, &e), ENOENT);

	_cleanup_(buf_free) struct buf long_pub = BUF_INIT(1 << 20);
	assert_int_equal(buf_addf(&long_pub, &e, "%s%*s", pub.data, (int)TRUST_PEM_MAX, ""), 0);
	put("long", long_pub.data, long_pub.len);
	assert_refused(trust_verify(in_dir("long"), "abc", 3, sig.data, &e), EFBIG);
	assert_int_equal(sig.len, sig_len);
}

static void test_an_encrypted_key_asks_nobody(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(ossl_free_pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
	static const char *const names[] = {"pkcs8", "old"};
	FILE *f = fopen(in_dir("pkcs8"), "we");
	assert_non_null(f);
	assert_int_equal(PEM_write_PKCS8PrivateKey(f, key, EVP_aes_128_cbc(), "word", 4, NULL, NULL), 1);
	fclose(f);
	f = fopen(in_dir("old"), "we");
	assert_non_null(f);
	assert_int_equal(PEM_write_PrivateKey_ex(f, key, EVP_aes_128_cbc(), (const unsigned char *)"word", 4, NULL,
						 NULL, NULL, NULL),
			 1);
	fclose(f);
	_cleanup_(buf_free) struct buf sig = BUF_INIT(1024);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_refused(trust_sign(in_dir(names[i]), "abc", 3, &sig, &e), EINVAL);
		assert_non_null(strstr(e.text, "encrypted"));
	}
}

static void test_only_p256_keys(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf sig = BUF_INIT(1024), out = BUF_INIT(TRUST_PEM_MAX);
	assert_accepted(trust_sign(in_dir("key"), "abc", 3, &sig, &e));
	EVP_PKEY *keys[] = {
	    put_key("rsa", EVP_RSA_gen(2048)),      put_key("p384", EVP_EC_gen("P-384")),
	    put_key("k1", EVP_EC_gen("secp256k1")), put_key("ed", EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")),
	    put_key("explicit", explicit_key()),
	};
	static const char *const names[] = {"rsa", "p384", "k1", "ed", "explicit"};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char pub[32];
		snprintf(pub, sizeof(pub), "%s.pub", names[i]);
		assert_refused(trust_sign(in_dir(names[i]), "abc", 3, &out, &e), EINVAL);
		assert_non_null(strstr(e.text, "P-256"));
		assert_refused(trust_verify(in_dir(pub), "abc", 3, sig.data, &e), EINVAL);
		assert_non_null(strstr(e.text, "P-256"));
		assert_refused(trust_csr_make(in_dir(names[i]), "n", &out, &e), EINVAL);
		EVP_PKEY_free(keys[i]);
	}
	assert_int_equal(out.len, 0);
}

/* ---- signatures ---- */

static void test_a_signature_is_of_the_exact_bytes(void **state)
{
	(void)state;
	struct err e = {0};
	unsigned char data[64];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 5); /* with a zero byte, and bytes above 127 */
	_cleanup_(buf_free) struct buf sig = BUF_INIT(1024), empty = BUF_INIT(1024), pub = BUF_INIT(TRUST_PEM_MAX);
	assert_accepted(trust_sign(in_dir("key"), data, sizeof(data), &sig, &e));
	assert_accepted(trust_verify(in_dir("pub"), data, sizeof(data), sig.data, &e));
	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_refused(trust_verify(in_dir("pub"), data, sizeof(data), sig.data, &e), EBADMSG);
		data[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	assert_non_null(strstr(e.text, "does not match"));
	assert_refused(trust_verify(in_dir("pub"), data, sizeof(data) - 1, sig.data, &e), EBADMSG);
	assert_refused(trust_verify(in_dir("pub"), NULL, 0, sig.data, &e), EBADMSG);

	assert_accepted(trust_sign(in_dir("key"), NULL, 0, &empty, &e));
	assert_accepted(trust_verify(in_dir("pub"), NULL, 0, empty.data, &e));
	assert_accepted(trust_verify(in_dir("pub"), "", 0, empty.data, &e));

	assert_accepted(trust_key_make(in_dir("other"), &pub, &e));
	put("other.pub", pub.data, pub.len);
	assert_refused(trust_verify(in_dir("other.pub"), data, sizeof(data), sig.data, &e), EBADMSG);
	assert_non_null(strstr(e.text, in_dir("other.pub")));

	/* Appended, or nothing. */
	_cleanup_(buf_free) struct buf b = BUF_INIT(100);
	assert_int_equal(buf_add(&b, "sig=", 4, &e), 0);
	assert_accepted(trust_sign(in_dir("key"), data, sizeof(data), &b, &e));
	assert_accepted(trust_verify(in_dir("pub"), data, sizeof(data), b.data + 4, &e));
	b.max = b.len + 10;
	size_t len = b.len;
	assert_refused(trust_sign(in_dir("key"), data, sizeof(data), &b, &e), EFBIG);
	assert_int_equal(b.len, len);
}

static void test_a_signature_has_one_text(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf sig = BUF_INIT(1024), t = BUF_INIT(4096);
	assert_accepted(trust_sign(in_dir("key"), "abc", 3, &sig, &e));
	assert_null(strpbrk(sig.data, "\r\n "));
	for (size_t i = 0; i < sig.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			char was = sig.data[i];
			sig.data[i] ^= (char)(1 << bit);
			assert_refused(trust_verify(in_dir("pub"), "abc", 3, sig.data, &e), EBADMSG);
			sig.data[i] = was;
		}
	}
	static const char *const around[] = {"%s\n", " %s", "%s ", "%s=", "%s====", "%s\nAAAA", "-%s", "%sMA=="};
	for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
		t.len = 0;
		const char *at = strstr(around[i], "%s");
		assert_int_equal(buf_add(&t, around[i], (size_t)(at - around[i]), &e), 0);
		assert_int_equal(buf_addf(&t, &e, "%s%s", sig.data, at + 2), 0);
		assert_refused(trust_verify(in_dir("pub"), "abc", 3, t.data, &e), EBADMSG);
	}
	static const char *const junk[] = {
	    "", "=", "==", "====", "AAAA", "MA==", "MAYCAQACAQA=", "M", "\377\377\377\377"};
	for (size_t i = 0; i < ARRAY_SIZE(junk); i++)
		assert_refused(trust_verify(in_dir("pub"), "abc", 3, junk[i], &e), EBADMSG);
	for (size_t len = 1; len < sig.len; len++) {
		t.len = 0;
		assert_int_equal(buf_add(&t, sig.data, len, &e), 0);
		assert_refused(trust_verify(in_dir("pub"), "abc", 3, t.data, &e), EBADMSG);
	}
	for (size_t len = 340; len <= 2000; len += 4) {
		t.len = 0;
		for (size_t i = 0; i < len; i++)
			assert_int_equal(buf_add(&t, "A", 1, &e), 0);
		assert_refused(trust_verify(in_dir("pub"), "abc", 3, t.data, &e), EBADMSG);
	}
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
	    IN_DIR(test_sha256),
	    IN_DIR(test_random_hex),
	    IN_DIR(test_a_key_is_pkcs8_and_private),
	    IN_DIR(test_a_key_never_replaces_a_file),
	    IN_DIR(test_damaged_keys_are_refused),
	    IN_DIR(test_an_encrypted_key_asks_nobody),
	    IN_DIR(test_only_p256_keys),
	    IN_DIR(test_a_signature_is_of_the_exact_bytes),
	    IN_DIR(test_a_signature_has_one_text),
	};
	return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
