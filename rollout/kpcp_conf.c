// SPDX-License-Identifier: Apache-2.0
/* Owns the table of kpcp.conf's keys and the order of the places where the file may be.
 * Must not know what is asked of the controller. */
#include "kpcp_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/conf.h"
#include "lib/base/num.h"

#define MS_NS 1000000u

/* What is filled in, and where relative paths begin. */
struct target {
	struct kpcp_conf conf;
	char folder[PATH_MAX]; /* of the file that symbolic links end at; with a '/' at its end, or "" */
};

static int set_path(const struct target *t, const char *value, char ret[PATH_MAX], struct err *e)
{
	if (!*value)
		return err_set(e, EINVAL, "a path is missing");
	if (snprintf(ret, PATH_MAX, "%s%s", *value == '/' ? "" : t->folder, value) >= PATH_MAX)
		return err_set(e, ENAMETOOLONG, "the path '%s' is too long", value);
	return 0;
}

static int set_url(void *t, const char *value, struct err *e)
{
	struct kpcp_conf *c = &((struct target *)t)->conf;
	size_t len = strlen(value);

	if (len > 0 && value[len - 1] == '/')
		len--;
	if (strncmp(value, "https://", 8) != 0 || len <= 8 || len >= sizeof(c->url) ||
	    memchr(value + 8, '/', len - 8) || strpbrk(value, "@?# "))
		return err_set(e, EINVAL, "'%s' is not the address of a controller; the form is https://NAME:PORT",
			       value);
	memcpy(c->url, value, len);
	c->url[len] = 0;
	return 0;
}

static int set_ca(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct target *)t)->conf.ca, e);
}

static int set_cert(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct target *)t)->conf.cert, e);
}

static int set_key(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct target *)t)->conf.key, e);
}

static int set_timeout(void *t, const char *value, struct err *e)
{
	uint64_t ns;
	int r = num_duration(value, 100ull * MS_NS, 600000ull * MS_NS, &ns, e);

	if (r == 0)
		((struct target *)t)->conf.timeout_ms = ns / MS_NS;
	return r;
}

static int set_approver_key(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct target *)t)->conf.approver_key, e);
}

static int set_approver_public(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct target *)t)->conf.approver_public, e);
}

static const struct conf_key keys[] = {
    {"controller", "url", set_url, true},
    {"controller", "ca", set_ca, true},
    {"controller", "cert", set_cert, true},
    {"controller", "key", set_key, true},
    {"controller", "timeout", set_timeout, false},
    {"approval", "key", set_approver_key, false},
    {"approval", "public", set_approver_public, false},
};

static int find(struct kpcp_conf *c, struct err *e)
{
	const char *home = getenv("HOME");

	if (home && *home && snprintf(c->path, sizeof(c->path), "%s/.config/kpcp.conf", home) < (int)sizeof(c->path) &&
	    access(c->path, F_OK) == 0)
		return 0;
	snprintf(c->path, sizeof(c->path), "%s", KPCP_CONF_SYSTEM);
	if (access(c->path, F_OK) == 0)
		return 0;
	return err_set(e, ENOENT,
		       "there is neither ~/.config/kpcp.conf nor %s, so the controller is not known: name a file by "
		       "--config, or copy the kpcp.conf that 'kpcp init' wrote",
		       KPCP_CONF_SYSTEM);
}

int kpcp_conf_read(const char *path, struct kpcp_conf *ret, struct err *e)
{
	struct target t = {.conf = {.timeout_ms = 30000}};
	int r = 0;

	if (!path)
		r = find(&t.conf, e);
	else if (snprintf(t.conf.path, sizeof(t.conf.path), "%s", path) >= (int)sizeof(t.conf.path))
		r = err_set(e, ENAMETOOLONG, "the path '%.80s...' is too long", path);
	if (r < 0)
		return r;
	/* Where it has none, conf_read says why the file cannot be read. */
	if (realpath(t.conf.path, t.folder))
		*(strrchr(t.folder, '/') + 1) = 0;
	else
		*t.folder = 0;
	r = conf_read(t.conf.path, keys, ARRAY_SIZE(keys), &t, e);
	if (r < 0)
		return r;
	*ret = t.conf;
	return 0;
}
