// SPDX-License-Identifier: Apache-2.0
/* Owns SHA-256 of memory and of files, and random digits from the system.
 * Must not know keys, nor what is hashed. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ossl.h"
#include "trust.h"

#define SHA256_BYTES 32
#define READ_CHUNK   (32u << 10)

static void to_hex(const unsigned char *bytes, size_t len, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		ret[2 * i] = digits[bytes[i] >> 4];
		ret[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret[2 * len] = 0;
}

void trust_sha256(const void *data, size_t len, char ret[65])
{
	OSSL_CALL();
	unsigned char md[SHA256_BYTES];
	unsigned n = 0;
	/* Empty, not half a digest and not the old content: nothing that is compared with it may match. */
	ret[0] = 0;
	if (EVP_Digest(len > 0 ? data : "", len, md, &n, EVP_sha256(), NULL) == 1 && n == sizeof(md))
		to_hex(md, sizeof(md), ret);
}

static int hash_file(EVP_MD_CTX *ctx, int fd, uint64_t max, struct err *e)
{
	unsigned char chunk[READ_CHUNK];
	uint64_t at = 0;
	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, errno, "cannot hash the file: reading stopped at byte %llu",
				       (unsigned long long)at);
		if (n == 0)
			return 0;
		at += (uint64_t)n;
		if (at > max)
			return err_set(e, EFBIG, "the file is larger than the %llu bytes that it may have",
				       (unsigned long long)max);
		if (EVP_DigestUpdate(ctx, chunk, (size_t)n) != 1)
			return err_set(e, EIO, "cannot hash the file: %s", OSSL_WHY);
	}
}

int trust_sha256_fd(int fd, uint64_t max, char ret[65], struct err *e)
{
	OSSL_CALL();
	_cleanup_(ossl_free_md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!ctx || EVP_DigestInit_ex2(ctx, EVP_sha256(), NULL) != 1)
		return err_set(e, EIO, "cannot hash the file: %s; check OpenSSL's installation", OSSL_WHY);
	int r = hash_file(ctx, fd, max, e);
	if (r < 0)
		return r;
	unsigned char md[SHA256_BYTES];
	unsigned n = 0;
	if (EVP_DigestFinal_ex(ctx, md, &n) != 1 || n != sizeof(md))
		return err_set(e, EIO, "cannot hash the file: %s", OSSL_WHY);
	to_hex(md, sizeof(md), ret);
	return 0;
}

int trust_random_hex(size_t len, char *ret, struct err *e)
{
	unsigned char bytes[TRUST_RANDOM_MAX];
	if (len > sizeof(bytes))
		return err_set(e, EINVAL, "%zu random bytes are asked for at once, and at most %zu can be", len,
			       sizeof(bytes));
	ssize_t n;
	/* Up to 256 bytes come whole, or not at all. */
	do
		n = getrandom(bytes, len, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 || (size_t)n != len)
		return err_sys(e, n < 0 ? errno : EIO, "the system gives no random bytes");
	to_hex(bytes, len, ret);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}
