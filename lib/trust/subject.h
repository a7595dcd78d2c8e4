// SPDX-License-Identifier: Apache-2.0
/* Owns the way between struct trust_subject and the names of X.509, for the other files of lib/trust.
 * Must not know keys or signatures; not for use outside lib/trust. */
#pragma once

#include "ossl.h"
#include "trust.h"

/* Whether text of len bytes is a name: 1 to 64 letters, digits, dots, dashes and underscores, the first of them no dot
 * and no dash (so that a name is never "..", a hidden file or an option). */
_Bool subject_name_ok(const char *text, size_t len);

/* Whether it can be issued: a role of ours, a name, a cluster for a host and for no other. -EINVAL. */
int must_check subject_check(const struct trust_subject *s, struct err *e);

/* CN = name alone: what an authority and a request say. */
int must_check subject_from_name(const char *name, X509_NAME **ret, struct err *e);
int must_check subject_to_x509(const struct trust_subject *s, X509_NAME **ret, struct err *e);
