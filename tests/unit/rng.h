// SPDX-License-Identifier: Apache-2.0
/* Owns the tests' random numbers: the same from one seed with every compiler.
 * Must not know what is drawn with them. */
#pragma once

#include <math.h>
#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t rng_state;
static inline uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline double uniform(void)
{
	return ((double)(rng() >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void)
{
	/* One after the other: the order within an expression is the compiler's. */
	double radius = sqrt(-2 * log(uniform()));
	double angle = 2 * M_PI * uniform();
	return radius * cos(angle);
}
