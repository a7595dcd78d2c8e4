// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of certificate requests for lib/trust/cert.c.
 * Must not know what is issued for them; not for use outside lib/trust. */
#pragma once

#include "ossl.h"

/* A request in PEM form whose key is P-256, signed by that key with ECDSA and SHA-256: whoever made it has the key.
 * All else is -EINVAL. */
int must_check csr_parse(const char *pem, size_t len, X509_REQ **ret, struct err *e);
