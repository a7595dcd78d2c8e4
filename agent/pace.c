// SPDX-License-Identifier: Apache-2.0
/* Owns the figures of the talker's waits.
 * Must not know clocks, the network or the channel. */
#include "pace.h"

#define WAIT_MAX_S    3600u
#define BACKOFF_MAX_S 300u
#define AGAIN_NS      (60 * PACE_SECOND_NS)

/* Evenly in [0, most]; the modulo's bias is below 2^-20 for the spans here. */
static uint64_t spread(uint64_t most, uint64_t random)
{
	return random % (most + 1);
}

uint64_t pace_wait_ns(uint32_t wait_s, uint64_t random)
{
	uint64_t s = wait_s < 1 ? 1 : wait_s > WAIT_MAX_S ? WAIT_MAX_S : wait_s;

	return s * PACE_SECOND_NS + spread(s * PACE_SECOND_NS / 4, random);
}

uint64_t pace_backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random)
{
	uint64_t most = failures > 8 ? BACKOFF_MAX_S : 1ull << failures;
	uint64_t ns, least = 0;

	if (most > BACKOFF_MAX_S)
		most = BACKOFF_MAX_S;
	ns = PACE_SECOND_NS + (most > 1 ? spread((most - 1) * PACE_SECOND_NS, random) : 0);
	if (retry_after_s > 0)
		least = pace_wait_ns(retry_after_s > WAIT_MAX_S ? WAIT_MAX_S : (uint32_t)retry_after_s, random);
	return ns > least ? ns : least;
}

bool pace_hand_over(const struct pace_seen *seen, uint64_t epoch, uint64_t last_epoch, uint64_t since_last_ns)
{
	if (seen->outcome == OUTCOME_RUNNING)
		return false;
	if (epoch == seen->epoch && seen->outcome != OUTCOME_NONE)
		return false;
	return epoch != last_epoch || since_last_ns >= AGAIN_NS;
}

bool pace_final(long status)
{
	return status == 400 || status == 409 || status == 413;
}
