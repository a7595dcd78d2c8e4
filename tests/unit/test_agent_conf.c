// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that agent.conf's values are taken or refused where they are read, each with its place.
 * Must not know what the settings are used for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent_conf.h"
#include "lib/base/fs.h"

static int read_text(const char *text, struct agent_conf *c, struct err *e)
{
	char path[] = "/tmp/kpcp-test-agent-conf-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text), e), 0);
	close(fd);
	int r = agent_conf_read(path, c, e);
	unlink(path);
	return r;
}

#define URL "[controller]\nurl = https://controller:8443\n"

static void test_defaults(void **state)
{
	static struct agent_conf c;
	struct err e = {0};
	char name[65] = "";

	(void)state;
	assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
	assert_int_equal(read_text(URL, &c, &e), 0);
	assert_string_equal(c.url, "https://controller:8443");
	assert_string_equal(c.ca, "/etc/kpcp/ca.pem");
	assert_string_equal(c.name, name);
	assert_string_equal(c.token_file, "/etc/kpcp/token");
	assert_string_equal(c.approver, "/etc/kpcp/approver.pub");
	assert_string_equal(c.state_dir, "/var/lib/kpcp");
	assert_string_equal(c.user, "kpcp-agent");
	assert_string_equal(c.canary, "/usr/bin/kpcp-canary");
	assert_int_equal(c.probation_ns, 900000000000ull);
}

static void test_all_keys(void **state)
{
	static struct agent_conf c;
	struct err e = {0};

	(void)state;
	assert_int_equal(read_text("[controller]\nurl = https://[fd00::1]:1\nca = /a/ca\n"
				   "[host]\nname = rack-7.host_1\ncluster = east\ntoken-file = /a/token\n"
				   "[trust]\napprover = /a/pub\n[state]\ndirectory = /a/state\nuser = nobody\n"
				   "[programs]\ncanary = /a/canary\n[safety]\nprobation = 90s\n",
				   &c, &e),
			 0);
	assert_string_equal(c.url, "https://[fd00::1]:1");
	assert_string_equal(c.ca, "/a/ca");
	assert_string_equal(c.name, "rack-7.host_1");
	assert_string_equal(c.cluster, "east");
	assert_string_equal(c.token_file, "/a/token");
	assert_string_equal(c.approver, "/a/pub");
	assert_string_equal(c.state_dir, "/a/state");
	assert_string_equal(c.user, "nobody");
	assert_string_equal(c.canary, "/a/canary");
	assert_int_equal(c.probation_ns, 90000000000ull);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
	    {"", "'url' of [controller] is required"},
	    {"[controller]\nurl = http://controller:8443\n",
	     ":2: url: 'http://controller:8443' does not begin with https"},
	    {"[controller]\nurl = https://controller\n", "has no port"},
	    {"[controller]\nurl = https://:8443\n", "has no port"},
	    {"[controller]\nurl = https://controller:0\n", "its port"},
	    {"[controller]\nurl = https://controller:65536\n", "its port"},
	    {"[controller]\nurl = https://controller:8443/\n", "its port"},
	    {"[controller]\nurl = https://controller:8443@evil:1\n", "where a host name"},
	    {"[controller]\nurl = https://user@controller:8443\n", "'@' where a host name"},
	    {"[controller]\nurl = https://con troller:8443\n", "' ' where a host name"},
	    {URL "ca = ca.pem\n", ":3: ca: 'ca.pem' is no absolute path"},
	    {URL "[host]\nname = ../x\n", ":4: name: '../x' has a character"},
	    {URL "[host]\nname = a/b\n", "has a character"},
	    {URL "[host]\ncluster = a/b\n", "has a character"},
	    {URL "[host]\nname = a b\n", "has a character"},
	    {URL "[host]\nname = \n", "is no name"},
	    {URL "[host]\nname = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
	     "65 characters, at most 64"},
	    {URL "[state]\nuser = root\n", "very rights"},
	    {URL "[state]\nuser = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "33 characters, at most 32"},
	    {URL "[state]\ndirectory = var\n", "no absolute path"},
	    {URL "[safety]\nprobation = 15\n", ":4: probation: "},
	    {URL "[safety]\nprobation = 59s\n", "probation"},
	    {URL "[safety]\nprobation = 1441min\n", "probation"},
	    {URL "[safty]\nprobation = 15min\n", "did you mean [safety]?"},
	    {URL "[host]\ntokenfile = /x\n", "did you mean 'token-file'?"},
	    {URL "url = https://controller:8443\n", "stands in line 2 already"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static struct agent_conf c, before;
		struct err e = {0};
		memset(&c, 0x5a, sizeof(c));
		before = c;
		int r = read_text(rows[i].text, &c, &e);
		if (r >= 0 || !strstr(e.text, rows[i].says))
			fail_msg("row %zu: %d, '%s' does not say '%s'", i, r, e.text, rows[i].says);
		assert_memory_equal(&c, &before, sizeof(c));
	}
}

static void test_no_file(void **state)
{
	static struct agent_conf c;
	struct err e = {0};

	(void)state;
	assert_int_equal(agent_conf_read("/nonexistent/agent.conf", &c, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/agent.conf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_all_keys),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_no_file),
	};
	return cmocka_run_group_tests_name("agent_conf", tests, NULL, NULL);
}
