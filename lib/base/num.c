// SPDX-License-Identifier: Apache-2.0
/* Owns the grammar of each kind of number and the checks of their ranges.
 * Must not know configuration or command lines. */
#include "num.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 80 /* bytes of a refused text that a message shows */

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1}, {"K", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {"T", 1ull << 40}};
#define SECOND_NS 1000000000ull

static const struct unit time_units[] = {{"ns", 1},
					 {"us", 1000},
					 {"ms", 1000000},
					 {"s", SECOND_NS},
					 {"min", 60 * SECOND_NS},
					 {"h", 3600 * SECOND_NS},
					 {"d", 86400 * SECOND_NS}};

/* fmt describes what belongs there, range included: "a whole number from 0 to 6". */
static int refuse(const char *s, int code, struct err *e, const char *fmt, ...) printf_like(4, 5);
static int refuse(const char *s, int code, struct err *e, const char *fmt, ...)
{
	char expected[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(expected, sizeof(expected), fmt, ap);
	va_end(ap);
	return err_set(e, code, "'%.*s%s' is %s; expected %s", SHOWN, s, strlen(s) > SHOWN ? "..." : "",
		       code == ERANGE ? "out of range" : "not understood", expected);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the first character after the digits, NULL when there are none. *overflow is set (never cleared) when the
 * value does not fit. */
static const char *read_digits(const char *s, uint64_t *ret, bool *overflow)
{
	uint64_t v = 0;
	if (!is_digit(*s))
		return NULL;
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (unsigned)(*s - '0'), &v))
			*overflow = true;
	}
	*ret = v;
	return s;
}

int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *e)
{
	uint64_t v;
	bool overflow = false;
	const char *end = read_digits(s, &v, &overflow);
	int code = !end || *end ? EINVAL : overflow || v < min || v > max ? ERANGE : 0;
	if (code)
		return refuse(s, code, e, "a whole number from %ju to %ju", (uintmax_t)min, (uintmax_t)max);
	*ret = v;
	return 0;
}

int num_u32(const char *s, uint32_t min, uint32_t max, uint32_t *ret, struct err *e)
{
	uint64_t v;
	int r = num_u64(s, min, max, &v, e);

	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

int num_i64(const char *s, int64_t min, int64_t max, int64_t *ret, struct err *e)
{
	uint64_t magnitude = 0;
	bool overflow = false;
	bool negative = *s == '-';
	const char *end = read_digits(s + negative, &magnitude, &overflow);
	int code = !end || *end ? EINVAL : 0;

	int64_t v = 0;
	if (!code) {
		if (overflow || magnitude > (uint64_t)INT64_MAX + negative)
			code = ERANGE;
		else
			v = (int64_t)(negative ? 0 - magnitude : magnitude);
		if (v < min || v > max)
			code = ERANGE;
	}
	if (code)
		return refuse(s, code, e, "a whole number from %jd to %jd", (intmax_t)min, (intmax_t)max);
	*ret = v;
	return 0;
}

/* digits, optionally "." digits, optionally an exponent where one is allowed; a minus sign in front. strtod alone
 * would take blanks, hexadecimal, "inf" and "nan" as well. */
static bool is_decimal(const char *s, bool exponent_allowed)
{
	if (*s == '-')
		s++;
	if (!is_digit(*s))
		return false;
	while (is_digit(*s))
		s++;
	if (*s == '.') {
		s++;
		if (!is_digit(*s))
			return false;
		while (is_digit(*s))
			s++;
	}
	if (exponent_allowed && (*s == 'e' || *s == 'E')) {
		s++;
		if (*s == '+' || *s == '-')
			s++;
		if (!is_digit(*s))
			return false;
		while (is_digit(*s))
			s++;
	}
	return *s == 0;
}

/* s has passed is_decimal. The locale is given because a library may have set one with a decimal comma. */
static int to_double(const char *s, double *ret, struct err *e)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return err_sys(e, errno, "cannot read the number '%.*s'", SHOWN, s);
	double v = strtod_l(s, NULL, c);
	freelocale(c);
	*ret = v + 0.0; /* "-0" is 0 */
	return 0;
}

int num_f64(const char *s, double min, double max, double *ret, struct err *e)
{
	double v;
	int code = EINVAL;
	if (is_decimal(s, true)) {
		int r = to_double(s, &v, e);
		if (r < 0)
			return r;
		code = isfinite(v) && v >= min && v <= max ? 0 : ERANGE;
	}
	if (code)
		return refuse(s, code, e, "a decimal number such as 0.05 from %g to %g", min, max);
	*ret = v;
	return 0;
}

int num_percent(const char *s, double min, double max, double *ret, struct err *e)
{
	/* The decimal point moves in the text, so that "0.8%" is the same double as 0.008. */
	static const char shift[] = "e-2";
	char text[64 + sizeof(shift)];
	size_t len = strlen(s);
	double v;
	int code = EINVAL;
	if (len > 1 && s[len - 1] == '%' && len - 1 <= 64) {
		memcpy(text, s, len - 1);
		text[len - 1] = 0;
		if (is_decimal(text, false)) {
			memcpy(text + len - 1, shift, sizeof(shift));
			int r = to_double(text, &v, e);
			if (r < 0)
				return r;
			code = isfinite(v) && v >= min && v <= max ? 0 : ERANGE;
		}
	}
	if (code)
		return refuse(s, code, e, "a percentage with its sign, such as 10%%, from %.10g%% to %.10g%%",
			      min * 100, max * 100);
	*ret = v;
	return 0;
}

int num_share(const char *s, double min, double max, double *ret, struct err *e)
{
	size_t len = strlen(s);
	double v;

	if (len > 0 && s[len - 1] == '%')
		return num_percent(s, min, max, ret, e);
	int r = num_f64(s, min, max, &v, e);
	if (r < 0)
		return r;
	if (v >= 1)
		return refuse(s, ERANGE, e, "a share such as 7%% or 0.07, and from 1 on with its sign: 100%%");
	*ret = v;
	return 0;
}

/* Returns 0, EINVAL or ERANGE. */
static int read_scaled(const char *s, const struct unit *units, size_t n, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t v;
	bool overflow = false;
	const char *end = read_digits(s, &v, &overflow);
	if (!end)
		return EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			overflow = true;
		if (overflow || v < min || v > max)
			return ERANGE;
		*ret = v;
		return 0;
	}
	return EINVAL;
}

#define SCALED_MAX 32

/* In the largest unit that gives a whole number. units rise. */
static void show_scaled(uint64_t v, const struct unit *units, size_t n, char out[SCALED_MAX])
{
	size_t i = n - 1;
	while (i > 0 && (v == 0 || v % units[i].factor != 0))
		i--;
	snprintf(out, SCALED_MAX, "%ju%s", (uintmax_t)(v / units[i].factor), units[i].name);
}

int num_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *e)
{
	int code = read_scaled(s, size_units, ARRAY_SIZE(size_units), min, max, ret);
	if (!code)
		return 0;
	char low[SCALED_MAX], high[SCALED_MAX];
	show_scaled(min, size_units, ARRAY_SIZE(size_units), low);
	show_scaled(max, size_units, ARRAY_SIZE(size_units), high);
	return refuse(s, code, e, "a size in bytes or with K, M, G or T (powers of 1024), such as 64K, from %s to %s",
		      low, high);
}

int num_duration(const char *s, uint64_t min, uint64_t max, uint64_t *ret_ns, struct err *e)
{
	int code = read_scaled(s, time_units, ARRAY_SIZE(time_units), min, max, ret_ns);
	if (!code)
		return 0;
	char low[SCALED_MAX], high[SCALED_MAX];
	show_scaled(min, time_units, ARRAY_SIZE(time_units), low);
	show_scaled(max, time_units, ARRAY_SIZE(time_units), high);
	return refuse(s, code, e, "a duration with its unit (ns, us, ms, s, min, h or d), such as 10ms, from %s to %s",
		      low, high);
}

int num_seconds(const char *s, uint64_t min_s, uint64_t max_s, uint64_t *ret_s, struct err *e)
{
	uint64_t ns;
	int r = num_duration(s, min_s * SECOND_NS, max_s * SECOND_NS, &ns, e);

	if (r < 0)
		return r;
	if (ns % SECOND_NS != 0)
		return refuse(s, EINVAL, e, "a whole number of seconds");
	*ret_s = ns / SECOND_NS;
	return 0;
}

int num_bool(const char *s, _Bool *ret, struct err *e)
{
	if (strcmp(s, "yes") == 0)
		*ret = true;
	else if (strcmp(s, "no") == 0)
		*ret = false;
	else
		return refuse(s, EINVAL, e, "yes or no");
	return 0;
}

/* Sets the bits of one "N" or "N-M"; returns what follows it, NULL with *code set when it is wrong. */
static const char *read_cpu_range(const char *s, uint64_t set[NUM_CPU_MAX / 64], int *code)
{
	uint64_t first, last;
	bool overflow = false;
	*code = EINVAL;
	const char *end = read_digits(s, &first, &overflow);
	if (!end)
		return NULL;
	last = first;
	if (*end == '-') {
		end = read_digits(end + 1, &last, &overflow);
		if (!end)
			return NULL;
	}
	if (overflow || first >= NUM_CPU_MAX || last >= NUM_CPU_MAX) {
		*code = ERANGE;
		return NULL;
	}
	if (last < first)
		return NULL;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		set[cpu / 64] |= 1ull << (cpu % 64);
	return end;
}

int num_cpulist(const char *s, unsigned *ret, size_t cap, size_t *n, struct err *e)
{
	uint64_t set[NUM_CPU_MAX / 64] = {0};
	int code = 0;
	const char *end = read_cpu_range(s, set, &code);
	while (end && *end == ',')
		end = read_cpu_range(end + 1, set, &code);
	if (!end || *end)
		return refuse(s, end ? EINVAL : code, e, "a list of CPUs such as 0-3,8, each from 0 to %d",
			      NUM_CPU_MAX - 1);

	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(set); i++)
		count += (size_t)__builtin_popcountll(set[i]);
	if (count > cap)
		return refuse(s, ERANGE, e, "a list of at most %zu CPUs, not of %zu", cap, count);

	size_t at = 0;
	for (unsigned cpu = 0; cpu < NUM_CPU_MAX; cpu++) {
		if (set[cpu / 64] >> (cpu % 64) & 1)
			ret[at++] = cpu;
	}
	*n = count;
	return 0;
}
