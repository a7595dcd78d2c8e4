// SPDX-License-Identifier: Apache-2.0
/* Owns the reading of "IP:10.0.2.2,DNS:controller" into the alternative names of a server's certificate.
 * Must not know certificates; not for use outside lib/trust. */
#pragma once

#include "ossl.h"

#define ALTNAME_MAX 16 /* names a certificate */

/* Only IP and DNS: libcrypto's own reader of such texts also takes directories, sections of its configuration, and
 * more. -EINVAL names the part that is wrong. */
int must_check altname_parse(const char *text, GENERAL_NAMES **ret, struct err *e);
