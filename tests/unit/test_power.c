// SPDX-License-Identifier: Apache-2.0
/* Owns the tests of planning: against the judged campaigns' published shares, by recurrence, out of range.
 * Must not know how plans are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "lib/base/attr.h"
#include "lib/core/power.h"

/* cmocka's own compares as float, which has seven digits. */
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

/* Shares of 20,000 simulated campaigns, by Welch alone. */
static void test_simulated(void **state)
{
	(void)state;
	const struct {
		double canaries, controls;
		uint32_t boots;
		double boot_sd, host_sd, at_1, at_margin;
	} t[] = {{4, 8, 1, .07, .02, .38, .051}, {4, 8, 4, .07, .02, .81, .048}, {6, 6, 4, .07, .02, .88, .047},
		 {8, 8, 4, .07, .02, .96, .048}, {8, 8, 4, .15, .03, .49, .050}, {24, 24, 4, .15, .03, .90, .050}};
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct power_spread s = {t[i].boot_sd, t[i].host_sd};
		double sd = power_difference_sd(&s, t[i].boots);
		assert_near(power_promote(sd, t[i].canaries, t[i].controls, .1, 1, .05), t[i].at_1, .015);
		assert_near(power_promote(sd, t[i].canaries, t[i].controls, .1, 1.1, .05), t[i].at_margin, .015);
	}
}

static void test_hosts(void **state)
{
	(void)state;
	/* 2 (1.645 + .842)^2 .05^2 / ln(1.1)^2 = 3.40 */
	assert_near(power_hosts_normal(.05, .1, 1, .05, .8), 4, 0);
	const double sd[] = {.02, .0534, .1105, .3};
	for (size_t i = 0; i < ARRAY_SIZE(sd); i++) {
		double n = power_hosts(sd[i], .1, 1, .05, .8, 3);
		assert_true(n >= 3 && n >= power_hosts_normal(sd[i], .1, 1, .05, .8));
		assert_true(power_promote(sd[i], n, n, .1, 1, .05) >= .8);
		if (n > 3)
			assert_true(power_promote(sd[i], n - 1, n - 1, .1, 1, .05) < .8);
	}
	/* What is at the margin can never be proven below it. */
	assert_true(isinf(power_hosts(.05, .1, 1.1, .05, .8, 3)));
	assert_true(isinf(power_hosts_normal(.05, .1, 1.1, .05, .8)));
}

static void test_out_of_range(void **state)
{
	(void)state;
	struct power_spread s = {.07, NAN};
	assert_true(isnan(power_difference_sd(&s, 4)));
	s.host_sd = .02;
	assert_true(isnan(power_difference_sd(&s, 0)));
	assert_near(power_promote(.05, 1, 8, .1, 1, .05), 0, 0);
	assert_true(isnan(power_promote(NAN, 8, 8, .1, 1, .05)));
	assert_true(isnan(power_hosts(0, .1, 1, .05, .8, 3)));
	assert_true(isnan(power_hosts(.05, .1, 1, .05, 1, 3)));
	assert_true(isnan(power_hosts_normal(NAN, .1, 1, .05, .8)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_simulated),
	    cmocka_unit_test(test_hosts),
	    cmocka_unit_test(test_out_of_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
