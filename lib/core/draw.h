// SPDX-License-Identifier: Apache-2.0
/* Owns seeded random numbers: the same from one seed everywhere, up to the last bits of libm.
 * Must not know what is simulated with them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Not for secrets. Copied by value: a copy goes on with the same numbers. */
struct draw {
	uint64_t state;
	double spare; /* the second of a pair of normals */
	bool has_spare;
};

/* One of 2^64 sequences for each seed; sequences are numbered, so that campaign 17 draws the same numbers whatever
 * campaign 16 took. */
struct draw draw_start(uint64_t seed, uint64_t sequence);

uint64_t draw_u64(struct draw *d);
double draw_uniform(struct draw *d); /* above 0, below 1; steps of 2^-53 */
double draw_normal(struct draw *d);  /* mean 0, variance 1 */

enum draw_shape { DRAW_NORMAL, DRAW_T3, DRAW_LOGNORMAL, DRAW_AR1, DRAW_SHAPES };
const char *draw_shape_name(enum draw_shape s); /* "normal", "t3", "lognormal", "ar1" */

/* One value of mean 0 and variance 1: Student's t with 3 degrees of freedom over sqrt(3); (e^z - sqrt(e)) / sqrt(e^2 -
 * e), z standard normal, of skewness 6.2. DRAW_AR1 is a normal here: its memory is draw_series'. */
double draw_value(struct draw *d, enum draw_shape s);

/* Values of one series in time, each of mean 0 and variance 1. Where the shape is DRAW_AR1, neighbours correlate by
 * phi: x_i = phi x_(i-1) + sqrt(1 - phi^2) z_i, and the first value comes from the stationary distribution, so that no
 * value is milder than the others. Otherwise they are independent. */
struct draw_series {
	enum draw_shape shape;
	double phi; /* above -1, below 1 */
	double last;
	bool started;
};
double draw_next(struct draw *d, struct draw_series *s);
