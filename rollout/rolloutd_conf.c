// SPDX-License-Identifier: Apache-2.0
/* Owns the table of rolloutd.conf's keys, their ranges and defaults.
 * Must not know what the settings are used for. */
#include "rolloutd_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/conf.h"
#include "lib/base/num.h"

static int set_path(const struct rolloutd_conf *c, const char *value, char ret[PATH_MAX], struct err *e)
{
	const char *slash = strrchr(c->path, '/');
	int folder = *value == '/' || !slash ? 0 : (int)(slash - c->path) + 1;

	if (!*value)
		return err_set(e, EINVAL, "a path is missing");
	if (snprintf(ret, PATH_MAX, "%.*s%s", folder, c->path, value) >= PATH_MAX)
		return err_set(e, ENAMETOOLONG, "the path '%s' is too long", value);
	return 0;
}

static int set_seconds(const char *value, uint32_t min_s, uint32_t max_s, uint32_t *ret_s, struct err *e)
{
	uint64_t s;
	int r = num_seconds(value, min_s, max_s, &s, e);

	if (r == 0)
		*ret_s = (uint32_t)s;
	return r;
}

static int set_address(void *t, const char *value, struct err *e)
{
	struct rolloutd_conf *c = t;

	if (!*value || strspn(value, "0123456789abcdefABCDEF.:%") != strlen(value) ||
	    strlen(value) >= sizeof(c->address))
		return err_set(e, EINVAL, "'%s' is no numeric address; 0.0.0.0 or :: listens on all", value);
	memcpy(c->address, value, strlen(value) + 1);
	return 0;
}

static int set_port(void *t, const char *value, struct err *e)
{
	uint32_t port;
	int r = num_u32(value, 0, 65535, &port, e);

	if (r == 0)
		((struct rolloutd_conf *)t)->port = (uint16_t)port;
	return r;
}

static int set_connections(void *t, const char *value, struct err *e)
{
	return num_u32(value, 16, 1000000, &((struct rolloutd_conf *)t)->connections, e);
}

static int set_request_timeout(void *t, const char *value, struct err *e)
{
	return set_seconds(value, 1, 3600, &((struct rolloutd_conf *)t)->request_timeout_s, e);
}

static int set_ca(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->ca, e);
}

static int set_cert(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->cert, e);
}

static int set_key(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->key, e);
}

static int set_approver(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->approver, e);
}

static int set_ca_key(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->ca_key, e);
}

static int set_days(void *t, const char *value, struct err *e)
{
	return num_u32(value, 1, 3650, &((struct rolloutd_conf *)t)->days, e);
}

static int set_directory(void *t, const char *value, struct err *e)
{
	return set_path(t, value, ((struct rolloutd_conf *)t)->state_dir, e);
}

static int set_poll(void *t, const char *value, struct err *e)
{
	return set_seconds(value, 1, 3600, &((struct rolloutd_conf *)t)->poll_s, e);
}

static int set_busy_poll(void *t, const char *value, struct err *e)
{
	return set_seconds(value, 1, 3600, &((struct rolloutd_conf *)t)->busy_poll_s, e);
}

static const struct conf_key keys[] = {
    {"listen", "address", set_address, false},
    {"listen", "port", set_port, false},
    {"listen", "connections", set_connections, false},
    {"listen", "request-timeout", set_request_timeout, false},
    {"tls", "ca", set_ca, true},
    {"tls", "cert", set_cert, true},
    {"tls", "key", set_key, true},
    {"approval", "public", set_approver, true},
    {"enrolment", "ca-key", set_ca_key, true},
    {"enrolment", "days", set_days, false},
    {"state", "directory", set_directory, false},
    {"agents", "poll-interval", set_poll, false},
    {"agents", "busy-poll-interval", set_busy_poll, false},
};

int rolloutd_conf_read(const char *path, struct rolloutd_conf *ret, struct err *e)
{
	struct rolloutd_conf c = {.address = "0.0.0.0",
				  .port = 8443,
				  .connections = 16384,
				  .request_timeout_s = 60,
				  .days = 90,
				  .state_dir = "/var/lib/kpcp-rolloutd",
				  .poll_s = 60,
				  .busy_poll_s = 5};
	if (snprintf(c.path, sizeof(c.path), "%s", path) >= (int)sizeof(c.path))
		return err_set(e, ENAMETOOLONG, "the path '%.80s...' is too long", path);
	int r = conf_read(c.path, keys, ARRAY_SIZE(keys), &c, e);
	if (r < 0)
		return r;
	*ret = c;
	return 0;
}
