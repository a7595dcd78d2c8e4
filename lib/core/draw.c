// SPDX-License-Identifier: Apache-2.0
/* Owns seeded random numbers and the shapes that errors are drawn from.
 * Must not know what is simulated with them. */
#include "draw.h"

#include <math.h>
#include <stddef.h>

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 over the golden ratio, made odd */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Mixed twice: neighbouring seeds and neighbouring sequences must not start a few steps apart on the one orbit. */
struct draw draw_start(uint64_t seed, uint64_t sequence)
{
	return (struct draw){.state = mix(mix(seed + GOLDEN) + mix(sequence + GOLDEN) * 3)};
}

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t draw_u64(struct draw *d)
{
	return mix(d->state += GOLDEN);
}

double draw_uniform(struct draw *d)
{
	return ((double)(draw_u64(d) >> 11) + 0.5) * 0x1p-53;
}

/* Marsaglia and Bray, "A convenient method for generating normal variables", SIAM Review 6 (1964). */
double draw_normal(struct draw *d)
{
	if (d->has_spare) {
		d->has_spare = false;
		return d->spare;
	}
	double x, y, s;
	do {
		/* One after the other: the order within an expression is the compiler's. */
		x = 2 * draw_uniform(d) - 1;
		y = 2 * draw_uniform(d) - 1;
		s = x * x + y * y;
	} while (s >= 1 || s == 0);
	double scale = sqrt(-2 * log(s) / s);
	d->spare = y * scale;
	d->has_spare = true;
	return x * scale;
}

/* R. W. Bailey, "Polar generation of random variates with the t-distribution", Mathematics of Computation 62 (1994):
 * like the polar method above, with nu (w^(-2/nu) - 1) instead of -2 ln w. Divided by sqrt(3), its standard deviation
 * for nu = 3, which cancels nu. */
static double t3(struct draw *d)
{
	double x, y, w;
	do {
		x = 2 * draw_uniform(d) - 1;
		y = 2 * draw_uniform(d) - 1;
		w = x * x + y * y;
	} while (w >= 1 || w == 0);
	double root = cbrt(w);
	return x * sqrt((1 / (root * root) - 1) / w);
}

static double lognormal(struct draw *d)
{
	return (exp(draw_normal(d)) - sqrt(M_E)) / sqrt(M_E * (M_E - 1));
}

const char *draw_shape_name(enum draw_shape s)
{
	switch (s) {
	case DRAW_NORMAL:
		return "normal";
	case DRAW_T3:
		return "t3";
	case DRAW_LOGNORMAL:
		return "lognormal";
	case DRAW_AR1:
		return "ar1";
	case DRAW_SHAPES:
		break;
	}
	return NULL;
}

double draw_value(struct draw *d, enum draw_shape s)
{
	if (s == DRAW_T3)
		return t3(d);
	if (s == DRAW_LOGNORMAL)
		return lognormal(d);
	return draw_normal(d);
}

double draw_next(struct draw *d, struct draw_series *s)
{
	double x = draw_value(d, s->shape);
	if (s->shape != DRAW_AR1)
		return x;
	if (s->started)
		x = s->phi * s->last + sqrt(1 - s->phi * s->phi) * x;
	s->started = true;
	s->last = x;
	return x;
}
