// SPDX-License-Identifier: Apache-2.0
/* Owns keys, signatures, certificates and digests: everything that decides who may be believed.
 * Must not know what is signed, nor where keys are kept beyond a path that it is given. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define TRUST_PEM_MAX    (16u << 10) /* bytes of any key, request or certificate in PEM form */
#define TRUST_SIG_MAX    256         /* bytes of a signature (DER), before base64 */
#define TRUST_NAME_MAX   65          /* a certificate's names, with the final 0 */
#define TRUST_RANDOM_MAX 256         /* random bytes in one call */

/* All keys are ECDSA P-256 (Ed25519 fails in EL 9's FIPS mode); digests are SHA-256; private keys are PKCS#8 PEM files
 * of mode 0600, written atomically, never over one that is there (-EEXIST). Outputs are untouched on failure. */

/* Makes a key pair: the private key into key_path, and the public key's PEM into ret_public where that is not NULL. */
int must_check trust_key_make(const char *key_path, struct buf *ret_public, struct err *e);

/* Signs the exact bytes; appends base64 (no line feeds) to ret. */
int must_check trust_sign(const char *key_path, const void *data, size_t len, struct buf *ret_base64, struct err *e);

/* 0 when the signature is of these exact bytes by the key in public_path (PEM); -EBADMSG when it is not or is
 * malformed; other codes when the key cannot be read. The message says what did not match and what to do. */
int must_check trust_verify(const char *public_path, const void *data, size_t len, const char *sig_base64,
			    struct err *e);

/* SHA-256 as 64 lower-case hexadecimal digits; "", which is no digest, where libcrypto has no memory for it. */
void trust_sha256(const void *data, size_t len, char ret[65]);
/* Of a descriptor's whole content, read from offset 0 by pread (the position does not move); at most max bytes
 * (-EFBIG). */
int must_check trust_sha256_fd(int fd, uint64_t max, char ret[65], struct err *e);

/* len random bytes from the system as lower-case hexadecimal, 2 * len digits and a final 0; at most
 * TRUST_RANDOM_MAX (-EINVAL). */
int must_check trust_random_hex(size_t len, char *ret, struct err *e);

/* What a certificate of this project says: CN is the name; O is the role; OU is the cluster of a host, else empty.
 * A name is 1 to 64 letters, digits, dots, dashes and underscores, and begins with none of dot and dash. */
enum trust_role { TRUST_NOBODY, TRUST_HOST, TRUST_OPERATOR, TRUST_SERVER };
struct trust_subject {
	enum trust_role role;
	char name[TRUST_NAME_MAX];
	char cluster[TRUST_NAME_MAX];
};
/* "kpcp-host", "kpcp-operator", "kpcp-server"; "nobody". The words in O. */
const char *trust_role_name(enum trust_role r);

/* Makes an authority: its key and its self-signed certificate (10 years, backdated by 5 minutes, CA, path length 0). */
int must_check trust_ca_make(const char *key_path, const char *cert_path, const char *name, struct err *e);

/* Makes a certificate request for the key in key_path; appends PEM. Its subject is only CN = name: the authority
 * decides the rest. */
int must_check trust_csr_make(const char *key_path, const char *name, struct buf *ret_pem, struct err *e);

/* Issues a certificate for the request's key, after checking the request's own signature: subject as given (not as
 * asked), days of validity, backdated by 5 minutes, random serial, extended key usage by role (server: serverAuth,
 * others: clientAuth); alt_names: for a server "IP:10.0.2.2,DNS:controller", NULL for DNS: and its name; for others
 * NULL. Appends PEM. -EINVAL for a request that is malformed, too weak (not P-256), or whose signature is wrong. */
int must_check trust_issue(const char *ca_key_path, const char *ca_cert_path, const char *csr_pem, size_t csr_len,
			   const struct trust_subject *subject, const char *alt_names, uint32_t days,
			   struct buf *ret_pem, struct err *e);

/* The subject of a certificate in PEM or DER form, without judging who signed it (TLS has done that). Names with
 * other characters than above, two of one kind, and a host without a cluster are -EINVAL; a role that is not ours is
 * TRUST_NOBODY, and belongs to no cluster. */
int must_check trust_subject_of(const void *cert, size_t len, struct trust_subject *ret, struct err *e);
