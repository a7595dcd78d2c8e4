// SPDX-License-Identifier: Apache-2.0
/* Owns the bound on how often one client may ask for something dear: a bucket of tries that fills by one a second.
 * Must not know what is asked for, nor the clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RATE_BURST 30

/* Clients are told apart by a hash of their address; two that fall together share. Zeroed to begin with. */
struct rate {
	struct {
		uint64_t at_s;
		uint32_t used;
	} slot[1024];
};

/* Takes one try. False: there is none; one comes in a second. */
bool rate_take(struct rate *r, const char *client, uint64_t now_s);
