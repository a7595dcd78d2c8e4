// SPDX-License-Identifier: Apache-2.0
/* Owns what the tests of lib/trust share: a folder with a key and an authority for each test, and keys of other kinds.
 * Must not know what is tested. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "lib/base/fs.h"
#include "lib/trust/ossl.h"
#include "lib/trust/trust.h"

static char dir[64];

static inline const char *in_dir(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

/* Not fs_write_atomic: its fsync makes hundreds of these slow, and so does truncating on some file systems. */
static inline void put(const char *name, const void *data, size_t len)
{
	unlink(in_dir(name));
	FILE *f = fopen(in_dir(name), "we");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline struct buf get(const char *name)
{
	struct err e = {0};
	struct buf b = BUF_INIT(1 << 20);
	assert_int_equal(fs_read(in_dir(name), &b, &e), 0);
	return b;
}

/* A refusal has the code, a text that tells what to do, and leaves nothing in the error queue. */
#define assert_refused(call, number)                   \
	do {                                           \
		e = (struct err){0};                   \
		assert_int_equal((call), -(number));   \
		assert_int_equal(e.code, (number));    \
		assert_true(strlen(e.text) > 10);      \
		assert_int_equal(ERR_peek_error(), 0); \
	} while (0)

static inline void accept_(int r, const struct err *e, const char *call, int line)
{
	if (r != 0)
		fail_msg("line %d: %s: %s", line, call, e->text);
	assert_int_equal(ERR_peek_error(), 0);
}
#define assert_accepted(call) accept_((call), &e, #call, __LINE__)

static inline void wipe(void)
{
	DIR *d = opendir(dir);
	assert_non_null(d);
	for (struct dirent *x; (x = readdir(d));) {
		if (x->d_name[0] != '.' || x->d_name[1])
			unlinkat(dirfd(d), x->d_name, 0);
	}
	closedir(d);
}

/* Each test begins with a key pair "key", "pub", and an authority "ca.key", "ca.pem". */
static inline int setup(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf pub = BUF_INIT(TRUST_PEM_MAX);
	snprintf(dir, sizeof(dir), "/tmp/kpcp-test-trust-XXXXXX");
	umask(022);
	if (!mkdtemp(dir) || trust_key_make(in_dir("key"), &pub, &e) < 0 ||
	    trust_ca_make(in_dir("ca.key"), in_dir("ca.pem"), "test-authority", &e) < 0)
		return -1;
	put("pub", pub.data, pub.len);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	wipe();
	return rmdir(dir);
}

/* Writes a key of another kind: its private PEM as name, its public one as name.pub. */
static inline EVP_PKEY *put_key(const char *name, EVP_PKEY *key)
{
	assert_non_null(key);
	char pub[64];
	snprintf(pub, sizeof(pub), "%s.pub", name);
	unlink(in_dir(name));
	FILE *f = fopen(in_dir(name), "we");
	assert_non_null(f);
	assert_int_equal(PEM_write_PKCS8PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
	f = fopen(in_dir(pub), "we");
	assert_non_null(f);
	assert_int_equal(PEM_write_PUBKEY(f, key), 1);
	fclose(f);
	return key;
}

static inline EVP_PKEY *explicit_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	assert_non_null(key);
	assert_int_equal(EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, "explicit"), 1);
	return key;
}
