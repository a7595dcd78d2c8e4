// SPDX-License-Identifier: Apache-2.0
/* Owns socket options and limits of the listening side.
 * Must not know what is spoken on connections. */
#include "http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "lib/base/fs.h"

#define FILES_SPARED 64 /* for the database and all else */

static int bind_to(int fd, const struct addrinfo *to, uint16_t *ret_port)
{
	struct sockaddr_storage bound = {0};
	socklen_t len = sizeof(bound);
	int yes = 1;

	/* Accepted sockets inherit NODELAY; without it a reply waits for the acknowledgement of the one before. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 ||
	    bind(fd, to->ai_addr, to->ai_addrlen) < 0 || getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
		return -errno;
	*ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						      : ((struct sockaddr_in *)&bound)->sin_port);
	return 0;
}

int http_listen(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port, struct err *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found = NULL;
	char service[8];
	_cleanup_(fs_close) int fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found) != 0)
		return err_set(e, EINVAL, "'%s' is no numeric address to listen on", address);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : bind_to(fd, found, ret_port);
	freeaddrinfo(found);
	if (r < 0)
		return err_sys(e, -r, "cannot listen on %s port %s", address, service);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

uint32_t http_listen_files(uint32_t wanted)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return wanted;
	if (files.rlim_cur < files.rlim_max) {
		struct rlimit raised = {.rlim_cur = files.rlim_max, .rlim_max = files.rlim_max};
		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			files = raised;
	}
	if (files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= (rlim_t)wanted + FILES_SPARED)
		return wanted;
	return files.rlim_cur > 2 * FILES_SPARED ? (uint32_t)(files.rlim_cur - FILES_SPARED) : FILES_SPARED;
}
