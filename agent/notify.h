// SPDX-License-Identifier: Apache-2.0
/* Owns what the service manager is told, over its socket.
 * Must not know when. */
#pragma once

/* One message, "READY=1" for example. Without a service manager nothing happens; one that does not listen is no error:
 * it notices by itself. */
void notify(const char *text);
