// SPDX-License-Identifier: Apache-2.0
/* Owns the form of alternative names: which kinds there are and what each may hold.
 * Must not know certificates. */
#include "altname.h"

#include <errno.h>
#include <string.h>

#include <openssl/asn1.h>

#define PART_MAX 260 /* bytes: "DNS:" and the longest name that DNS has */

static _Bool dns_ok(const char *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t len = strlen(s);
	return len > 0 && len <= 253 && strspn(s, allowed) == len && s[0] != '.' && s[0] != '-' && !strstr(s, "..");
}

static _Bool add(GENERAL_NAMES *to, int type, ASN1_STRING *value)
{
	GENERAL_NAME *g = value ? GENERAL_NAME_new() : NULL;
	if (!g) {
		ASN1_STRING_free(value);
		return 0;
	}
	GENERAL_NAME_set0_value(g, type, value);
	if (sk_GENERAL_NAME_push(to, g) > 0)
		return 1;
	GENERAL_NAME_free(g);
	return 0;
}

static int parse_part(const char *part, GENERAL_NAMES *to, struct err *e)
{
	if (strncmp(part, "IP:", 3) == 0) {
		ASN1_OCTET_STRING *ip = a2i_IPADDRESS(part + 3);
		if (!ip)
			return err_set(e, EINVAL, "'%s' is not an address; write it like IP:10.0.2.2 or IP:fd00::1",
				       part);
		return add(to, GEN_IPADD, ip) ? 0 : err_sys(e, ENOMEM, "cannot hold '%s'", part);
	}
	if (strncmp(part, "DNS:", 4) == 0) {
		if (!dns_ok(part + 4))
			return err_set(e, EINVAL, "'%s' is not a name in DNS; write it like DNS:controller.example",
				       part);
		ASN1_IA5STRING *name = ASN1_IA5STRING_new();
		if (name && ASN1_STRING_set(name, part + 4, -1) != 1) {
			ASN1_IA5STRING_free(name);
			name = NULL;
		}
		return add(to, GEN_DNS, name) ? 0 : err_sys(e, ENOMEM, "cannot hold '%s'", part);
	}
	return err_set(e, EINVAL, "'%s' is no alternative name; write IP:ADDRESS or DNS:NAME, with commas between",
		       part);
}

int altname_parse(const char *text, GENERAL_NAMES **ret, struct err *e)
{
	_cleanup_(ossl_free_alt_names) GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	if (!names)
		return err_sys(e, ENOMEM, "cannot hold alternative names");
	for (unsigned n = 0;; n++) {
		char part[PART_MAX];
		size_t len = strcspn(text, ",");
		if (n == ALTNAME_MAX)
			return err_set(e, EINVAL, "more than %d alternative names; leave some out", ALTNAME_MAX);
		if (len >= sizeof(part))
			return err_set(e, EINVAL, "an alternative name of %zu bytes; at most %d are allowed", len,
				       PART_MAX - 1);
		memcpy(part, text, len);
		part[len] = 0;
		int r = parse_part(part, names, e);
		if (r < 0)
			return r;
		if (!text[len])
			break;
		text += len + 1;
	}
	*ret = steal_ptr(names);
	return 0;
}
