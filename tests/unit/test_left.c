// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that an agent ends only what another one left in the unit's own control group, and no package manager.
 * Must not know how processes are found or ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/left.h"

static void test_package_managers_are_not_ended(void **state)
{
	static const struct left_process p[] = {
	    {10, 10, "apt-get"}, {11, 10, "http"},        {20, 20, "dpkg"},        {21, 20, "linux-image-6.1"},
	    {22, 20, "sh"},      {30, 30, "kpcp-canary"}, {31, 31, "kpcp-canary"}, {40, 40, "dpkg-query"},
	};
	static const bool keep[] = {true, true, true, true, true, false, false, false};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_int_equal(left_is_packaging(p, ARRAY_SIZE(p), i), keep[i]);
}

static void test_only_the_units_own_control_group(void **state)
{
	char path[64] = "before";
	struct err e = {0};

	(void)state;
	assert_int_equal(left_group_of("0::/system.slice/kpcp-agent.service\n", "kpcp-agent.service", path, 64, &e), 0);
	assert_string_equal(path, "/system.slice/kpcp-agent.service");
	assert_int_equal(
	    left_group_of("4:cpu:/\n1:name=systemd:/x/kpcp-agent.service\n0::/\n", "kpcp-agent.service", path, 64, &e),
	    0);
	assert_string_equal(path, "/x/kpcp-agent.service");
	static const char *const strangers[] = {
	    "",
	    "0::/\n",
	    "0::/user.slice/session-1.scope\n",
	    "0::/system.slice/not-kpcp-agent.service\n",
	    "0::/system.slice/kpcp-agent.service/below\n",
	    "3:cpu:/system.slice/kpcp-agent.service\n",
	    "0::kpcp-agent.service\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		assert_true(left_group_of(strangers[i], "kpcp-agent.service", path, 64, &e) < 0);
		assert_string_equal(path, "/x/kpcp-agent.service");
	}
	assert_true(left_group_of("0::/system.slice/kpcp-agent.service", "kpcp-agent.service", path, 32, &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_package_managers_are_not_ended),
	    cmocka_unit_test(test_only_the_units_own_control_group),
	};
	return cmocka_run_group_tests_name("left", tests, NULL, NULL);
}
