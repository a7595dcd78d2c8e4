// SPDX-License-Identifier: Apache-2.0
/* Owns what is asked of dpkg-deb: the name, version and architecture of a package.
 * Must not know what the package is for. */
#pragma once

#include "lib/base/err.h"

#define DEB_TEXT_MAX 128

struct deb {
	char package[DEB_TEXT_MAX];
	char version[DEB_TEXT_MAX];
	char architecture[DEB_TEXT_MAX];
};

/* Of the file that fd is open on, so that it is the same one that is hashed; path is for messages. Bounded in time. */
int must_check deb_read(int fd, const char *path, struct deb *ret, struct err *e);
