// SPDX-License-Identifier: Apache-2.0
/* Owns the datagram to the service manager, as sd_notify(3) describes it.
 * Must not know when it is sent. */
#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/fs.h"

void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(a.sun_path))
		return;
	size_t len = strlen(path);
	memcpy(a.sun_path, path, len);
	if (*path == '@')
		a.sun_path[0] = 0; /* a name without a file */
	_cleanup_(fs_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*path == '/'));
	/* Full or gone: see above. */
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a, size) < 0)
		return;
}
