// SPDX-License-Identifier: Apache-2.0
/* Owns the comparison of a descriptor with the stream that systemd names.
 * Must not know systemd beyond this. */
#include "journal_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "num.h"

bool journal_stream(int fd)
{
	const char *text = getenv("JOURNAL_STREAM"), *colon = text ? strchr(text, ':') : NULL;
	char device_text[24];
	uint64_t device, inode;
	struct stat st;

	if (!colon || (size_t)(colon - text) >= sizeof(device_text))
		return false;
	memcpy(device_text, text, (size_t)(colon - text));
	device_text[colon - text] = 0;
	return num_u64(device_text, 0, UINT64_MAX, &device, NULL) == 0 &&
	       num_u64(colon + 1, 0, UINT64_MAX, &inode, NULL) == 0 && fstat(fd, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}
