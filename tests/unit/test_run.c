// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that programs are run without a shell, bounded, and leave nothing behind; and that the hands on files
 * do what they say. Must not know which programs the agent runs. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/run.h"
#include "agent/sys.h"

#define SECOND 1000000000ull

static int run_sh(const char *script, uint64_t timeout_ns, const volatile int *stop, struct run_result *ret,
		  struct err *e)
{
	const char *const argv[] = {"sh", "-c", script, "name", "a b", "$HOME;`x`", NULL};
	static const char *const env[] = {"EXTRA=1 2", NULL};
	struct run_command c = {.argv = argv, .env = env, .timeout_ns = timeout_ns, .stop = stop};

	return run_program(&c, ret, e);
}

static void test_words_and_environment(void **state)
{
	_cleanup_(run_result_free) struct run_result r = RUN_RESULT(4096);
	struct err e;

	(void)state;
	setenv("SECRET", "x", 1);
	assert_int_equal(run_sh("echo \"$1|$2|$EXTRA|$SECRET|$LC_ALL|$(pwd)\"; cat", 20 * SECOND, NULL, &r, &e), 0);
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out.data, "a b|$HOME;`x`|1 2||C.UTF-8|/\n");
	assert_false(r.cut);
}

static void test_status_and_last_line(void **state)
{
	_cleanup_(run_result_free) struct run_result r = RUN_RESULT(4096);
	struct err e;

	(void)state;
	assert_int_equal(
	    run_sh("echo out; echo first >&2; printf 'why\\033\\n \\n' >&2; exit 7", 20 * SECOND, NULL, &r, &e), 0);
	assert_int_equal(r.status, 7);
	assert_string_equal(r.last, "why ");
	run_result_free(&r);
	r = RUN_RESULT(4096);
	assert_int_equal(run_sh("echo one; printf two; kill -9 $$", 20 * SECOND, NULL, &r, &e), 0);
	assert_int_equal(r.status, 128 + SIGKILL);
	assert_string_equal(r.last, "two");
}

static void test_bounds(void **state)
{
	_cleanup_(run_result_free) struct run_result r = RUN_RESULT(10);
	struct err e;

	(void)state;
	assert_int_equal(run_sh("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 3",
				60 * SECOND, NULL, &r, &e),
			 0);
	assert_int_equal(r.status, 3);
	assert_true(r.cut);
	assert_int_equal(r.out.len, 10);
}

static void test_no_such_program(void **state)
{
	_cleanup_(run_result_free) struct run_result r = RUN_RESULT(10);
	const char *const argv[] = {"there-is-no-such-program", NULL};
	struct run_command c = {.argv = argv, .timeout_ns = SECOND};
	struct err e;

	(void)state;
	assert_int_equal(run_program(&c, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "there-is-no-such-program"));
}

/* Whether a process is there and no zombie. */
static bool alive(const char *pid)
{
	char path[64], line[256] = "";

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	return line[0] && !strstr(line, ") Z");
}

/* It was killed, and dies as soon as it gets a CPU. */
static bool dies(char *out)
{
	out[strcspn(out, "\n")] = 0;
	for (int i = 0; i < 1000 && alive(out); i++)
		usleep(10000);
	return !alive(out);
}

static void test_ended(void **state)
{
	_cleanup_(run_result_free) struct run_result r = RUN_RESULT(64);
	volatile int stop = 0;
	struct err e;

	(void)state;
	assert_int_equal(run_sh("sleep 600 & echo $!; wait", SECOND / 5, NULL, &r, &e), -ETIMEDOUT);
	assert_true(dies(r.out.data));
	run_result_free(&r);
	r = RUN_RESULT(64);
	stop = 1;
	assert_int_equal(run_sh("sleep 600", 600 * SECOND, &stop, &r, &e), -EINTR);
	run_result_free(&r);
	r = RUN_RESULT(64);
	/* It ends, and leaves a process in its group that holds its output open: nobody waits for that. */
	assert_int_equal(run_sh("sleep 600 & echo $!", 600 * SECOND, NULL, &r, &e), 0);
	assert_true(dies(r.out.data));
}

static void test_files(void **state)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(4096), names = BUF_INIT(20);
	char root[] = P_tmpdir "/kpcp-run-XXXXXX", digest[65];
	const struct sys_hands *h = &sys_hands_linux;
	struct sys s = sys_linux(root);
	uint64_t n = 0;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(h->make_dir(&s, "/d", 0700, &e), 0);
	assert_int_equal(h->make_dir(&s, "/d", 0700, &e), 0);
	assert_int_equal(h->write(&s, "/d/b", "abc", 3, 0600, &e), 0);
	assert_int_equal(h->write(&s, "/d/a\n", "", 0, 0600, &e), 0);
	assert_int_equal(h->write(&s, "/d/a", "", 0, 0600, &e), 0);
	assert_int_equal(h->make_dir(&s, "/d/b", 0700, &e), -ENOTDIR);
	assert_int_equal(h->list(&s, "/d", &names, &e), 0);
	assert_string_equal(names.data, "a\nb\n");
	assert_int_equal(h->list(&s, "/none", &names, &e), -ENOENT);
	assert_int_equal(h->size(&s, "/d/b", &n, &e), 0);
	assert_int_equal(n, 3);
	assert_int_equal(h->size(&s, "/d", &n, &e), -EINVAL);
	assert_int_equal(h->sha256(&s, "/d/b", 3, digest, &e), 0);
	assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(h->sha256(&s, "/d/b", 2, digest, &e), -EFBIG);
	assert_int_equal(h->set(&s, "/d/b", "12", &e), 0);
	assert_int_equal(s.read(&s, "/d/b", &text, &e), 0);
	assert_string_equal(text.data, "12c"); /* in place: what belongs to /proc is not made anew */
	assert_int_equal(h->set(&s, "/d/none", "1", &e), -ENOENT);
	assert_int_equal(h->free_bytes(&s, "/d", &n, &e), 0);
	assert_int_equal(h->remove(&s, "/d/none", &e), 0);
	assert_int_equal(h->remove(&s, "/d/a", &e), 0);
	assert_int_equal(h->remove(&s, "/d/a\n", &e), 0);
	assert_int_equal(h->remove(&s, "/d/b", &e), 0);
	char path[64];
	snprintf(path, sizeof(path), "%s/d", root);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words_and_environment),
	    cmocka_unit_test(test_status_and_last_line),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_no_such_program),
	    cmocka_unit_test(test_ended),
	    cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
