// SPDX-License-Identifier: Apache-2.0
/* Owns the keys of agent.conf, their defaults and what values they may have.
 * Must not know what the settings are used for. */
#include "agent_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/conf.h"
#include "lib/base/num.h"

#define SECOND_NS 1000000000ull

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static int copy(char *to, size_t cap, const char *value, struct err *e)
{
	size_t len = strlen(value);

	if (len >= cap)
		return err_set(e, ENAMETOOLONG, "%zu characters, at most %zu are possible", len, cap - 1);
	memcpy(to, value, len + 1);
	return 0;
}

/* Letters, digits, dots, dashes and underscores, a letter or digit first: what a certificate may carry as a name. */
static int check_name(const char *value, struct err *e)
{
	size_t first = strspn(value, letters);

	for (const char *c = value + first; *c; c++) {
		if (!strchr(letters, *c) && !strchr(".-_", *c))
			return err_set(e, EINVAL,
				       "'%s' has a character that names do not have; use letters, digits, "
				       "dots, dashes and underscores",
				       value);
	}
	if (first == 0)
		return err_set(e, EINVAL, "'%s' is no name; it begins with a letter or a digit", value);
	return 0;
}

/* The port behind a host name or address; plain http is refused, as is everything that a URL may have behind it. */
static int check_url(const char *value, struct err *e)
{
	static const char scheme[] = "https://";
	static const char want[] = "write https://NAME:PORT, nothing behind it";
	uint64_t port;

	if (strncmp(value, scheme, strlen(scheme)) != 0)
		return err_set(e, EINVAL, "'%s' does not begin with https://; %s", value, want);
	const char *host = value + strlen(scheme);
	const char *colon = strrchr(host, ':');
	if (!colon || colon == host || strchr(colon, ']'))
		return err_set(e, EINVAL, "'%s' has no port; %s", value, want);
	for (const char *c = host; c < colon; c++) {
		/* ":" and brackets: a numeric IPv6 address */
		if (!strchr(letters, *c) && !strchr(*host == '[' ? ".-:[]" : ".-", *c))
			return err_set(e, EINVAL, "'%s' has '%c' where a host name or address belongs; %s", value, *c,
				       want);
	}
	if (num_u64(colon + 1, 1, 65535, &port, e) < 0)
		return err_context(e, "'%s': its port; %s", value, want);
	return 0;
}

static int set_url(void *target, const char *value, struct err *e)
{
	struct agent_conf *c = target;
	int r = check_url(value, e);

	return r < 0 ? r : copy(c->url, sizeof(c->url), value, e);
}

static int set_name(void *target, const char *value, struct err *e)
{
	struct agent_conf *c = target;
	int r = check_name(value, e);

	return r < 0 ? r : copy(c->name, sizeof(c->name), value, e);
}

static int set_cluster(void *target, const char *value, struct err *e)
{
	struct agent_conf *c = target;
	int r = check_name(value, e);

	return r < 0 ? r : copy(c->cluster, sizeof(c->cluster), value, e);
}

static int set_user(void *target, const char *value, struct err *e)
{
	struct agent_conf *c = target;
	int r = check_name(value, e);

	if (r == 0 && strcmp(value, "root") == 0)
		r = err_set(e, EINVAL,
			    "'root' has the very rights that the network's process must not have; name a "
			    "user of its own");
	return r < 0 ? r : copy(c->user, sizeof(c->user), value, e);
}

static int set_path(char *to, const char *value, struct err *e)
{
	if (*value != '/')
		return err_set(e, EINVAL, "'%s' is no absolute path; begin it with '/'", value);
	return copy(to, PATH_MAX, value, e);
}

static int set_ca(void *target, const char *value, struct err *e)
{
	return set_path(((struct agent_conf *)target)->ca, value, e);
}

static int set_token_file(void *target, const char *value, struct err *e)
{
	return set_path(((struct agent_conf *)target)->token_file, value, e);
}

static int set_approver(void *target, const char *value, struct err *e)
{
	return set_path(((struct agent_conf *)target)->approver, value, e);
}

static int set_directory(void *target, const char *value, struct err *e)
{
	return set_path(((struct agent_conf *)target)->state_dir, value, e);
}

static int set_canary(void *target, const char *value, struct err *e)
{
	return set_path(((struct agent_conf *)target)->canary, value, e);
}

static int set_probation(void *target, const char *value, struct err *e)
{
	struct agent_conf *c = target;

	/* Below, a healthy host would be taken back while its services still start; above, a sick one is no help. */
	return num_duration(value, 60 * SECOND_NS, 86400 * SECOND_NS, &c->probation_ns, e);
}

static const struct conf_key keys[] = {
    {"controller", "url", set_url, true},
    {"controller", "ca", set_ca, false},
    {"host", "name", set_name, false},
    {"host", "cluster", set_cluster, false},
    {"host", "token-file", set_token_file, false},
    {"trust", "approver", set_approver, false},
    {"state", "directory", set_directory, false},
    {"state", "user", set_user, false},
    {"programs", "canary", set_canary, false},
    {"safety", "probation", set_probation, false},
};

static int name_of_machine(struct agent_conf *c, const char *path, struct err *e)
{
	char name[sizeof(c->name)];
	int r;

	if (gethostname(name, sizeof(name)) < 0)
		return err_sys(e, errno, "cannot read the machine's host name; set name in [host] of %s", path);
	name[sizeof(name) - 1] = 0;
	r = set_name(c, name, e);
	return r < 0 ? err_context(e, "the machine's host name is none for a fleet; set name in [host] of %s", path)
		     : 0;
}

int agent_conf_read(const char *path, struct agent_conf *ret, struct err *e)
{
	struct agent_conf c = {.ca = "/etc/kpcp/ca.pem",
			       .token_file = "/etc/kpcp/token",
			       .approver = "/etc/kpcp/approver.pub",
			       .state_dir = "/var/lib/kpcp",
			       .user = "kpcp-agent",
			       .canary = "/usr/bin/kpcp-canary",
			       .probation_ns = 900 * SECOND_NS};
	int r = conf_read(path, keys, ARRAY_SIZE(keys), &c, e);

	if (r == -ENOENT)
		return err_set(
		    e, ENOENT,
		    "there is no configuration %s: name another file by --config FILE, or copy the agent.conf "
		    "that 'kpcp init' made",
		    path);
	if (r < 0)
		return r;
	if (!*c.name) {
		r = name_of_machine(&c, path, e);
		if (r < 0)
			return r;
	}
	*ret = c;
	return 0;
}
