// SPDX-License-Identifier: Apache-2.0
/* Owns the reading and making of keys for the other files of lib/trust.
 * Must not know signatures or certificates; not for use outside lib/trust. */
#pragma once

#include "ossl.h"

/* 0, or -EINVAL unless the key is ECDSA P-256 by its name (not by parameters that look like it). what: whose key it
 * is, for the message. */
int must_check key_check(const EVP_PKEY *key, const char *what, struct err *e);

int must_check key_read_private(const char *path, EVP_PKEY **ret, struct err *e);
int must_check key_read_public(const char *path, EVP_PKEY **ret, struct err *e);

/* A new key, and its private PEM appended to ret_pem, which the caller wipes. */
int must_check key_generate(EVP_PKEY **ret, struct buf *ret_pem, struct err *e);
