// SPDX-License-Identifier: Apache-2.0
/* Owns the search for certificates and requests that are read wrongly: a subject that no name may be, an output changed
 * on failure, a certificate that says something else than was decided. Must not know the form of either. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/trust/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char key_path[64], cert_path[64], dir[32];

static void require(int condition)
{
	if (!condition)
		abort();
}

static void remove_authority(void)
{
	unlink(key_path);
	unlink(cert_path);
	rmdir(dir);
}

/* A new one for each run: a private key has no place among the sources, not even one that nobody trusts. */
static void make_authority(void)
{
	struct err e = {0};
	snprintf(dir, sizeof(dir), "/tmp/kpcp-fuzz-cert-XXXXXX");
	require(mkdtemp(dir) != NULL);
	snprintf(key_path, sizeof(key_path), "%s/key", dir);
	snprintf(cert_path, sizeof(cert_path), "%s/cert", dir);
	require(atexit(remove_authority) == 0);
	require(trust_ca_make(key_path, cert_path, "fuzz", &e) == 0);
}

static void require_refusal(int r, const struct err *e)
{
	require(r == -EINVAL);
	require(e->code == EINVAL);
	require(strlen(e->text) > 10 && !strpbrk(e->text, "\n\r\t\033\177"));
}

static void require_name(const char *name, _Bool may_be_empty)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t len = strnlen(name, TRUST_NAME_MAX);
	require(len < TRUST_NAME_MAX && (len > 0 || may_be_empty));
	require(strspn(name, allowed) == len && name[0] != '.' && name[0] != '-');
}

static void check_subject(const void *data, size_t size)
{
	struct err e = {0};
	struct trust_subject s, before;
	memset(&s, 0x5a, sizeof(s));
	before = s;
	int r = trust_subject_of(data, size, &s, &e);
	if (r < 0) {
		require(memcmp(&s, &before, sizeof(s)) == 0);
		require_refusal(r, &e);
		return;
	}
	require(s.role <= TRUST_SERVER);
	require_name(s.name, 0);
	require_name(s.cluster, s.role != TRUST_HOST);
	require(s.role == TRUST_HOST || !s.cluster[0]);
}

static void check_request(const char *data, size_t size)
{
	static const struct trust_subject host = {TRUST_HOST, "host", "cluster"};
	struct err e = {0};
	struct trust_subject s = {0};
	_cleanup_(buf_free) struct buf pem = BUF_INIT(TRUST_PEM_MAX);
	int r = trust_issue(key_path, cert_path, data, size, &host, NULL, 1, &pem, &e);
	if (r < 0) {
		require(pem.len == 0);
		require_refusal(r, &e);
		return;
	}
	require(trust_subject_of(pem.data, pem.len, &s, &e) == 0);
	require(s.role == host.role && strcmp(s.name, host.name) == 0 && strcmp(s.cluster, host.cluster) == 0);
}

/* The input as the content of a PEM block: no mutation of base64 gets as far into DER as one of the bytes does. */
static void armour(const uint8_t *data, size_t size, struct buf *ret)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct err e = {0};
	require(buf_addf(ret, &e, "-----BEGIN CERTIFICATE REQUEST-----") == 0);
	for (size_t i = 0; i < size; i += 3) {
		uint32_t v = (uint32_t)data[i] << 16;
		v |= i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0;
		v |= i + 2 < size ? (uint32_t)data[i + 2] : 0;
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63], i + 1 < size ? digits[v >> 6 & 63] : '=',
				i + 2 < size ? digits[v & 63] : '='};
		require(i % 48 != 0 || buf_add(ret, "\n", 1, &e) == 0);
		require(buf_add(ret, four, sizeof(four), &e) == 0);
	}
	require(buf_addf(ret, &e, "\n-----END CERTIFICATE REQUEST-----\n") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!dir[0])
		make_authority();
	/* On the heap and no larger than the input, so that a read behind its end is seen. */
	char *copy = malloc(size ? size : 1);
	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	check_subject(copy, size);
	check_request(copy, size);
	free(copy);

	_cleanup_(buf_free) struct buf pem = BUF_INIT(4 * (size_t)TRUST_PEM_MAX);
	if (size <= TRUST_PEM_MAX) {
		armour(data, size, &pem);
		check_request(pem.data, pem.len);
	}
	return 0;
}
