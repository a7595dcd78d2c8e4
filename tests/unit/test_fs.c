// SPDX-License-Identifier: Apache-2.0
/* Owns the proof that files are read whole, and replaced whole or not at all, whatever fails on the way.
 * Must not know what files the project has. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/fs.h"

#define NOBODY 65534

static char dir[64]; /* of the running test */

static unsigned count_entries(const char *path)
{
	unsigned n = 0;
	DIR *d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static const char *in_dir(const char *name)
{
	static char path[2][512];
	static unsigned turn;
	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void put(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void assert_content(const char *path, const void *data, size_t len)
{
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(4 << 20);
	assert_int_equal(fs_read(path, &b, &e), 0);
	assert_int_equal(b.len, len);
	if (len > 0)
		assert_memory_equal(b.data, data, len);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/kpcp-test-fs-XXXXXX");
	umask(022);
	return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	DIR *d = opendir(dir);
	if (!d)
		return -1;
	for (struct dirent *x; (x = readdir(d));) {
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0 && unlinkat(dirfd(d), x->d_name, 0) < 0)
			unlinkat(dirfd(d), x->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return rmdir(dir);
}

static void test_reads_whole_files(void **state)
{
	(void)state;
	size_t len = 300001;
	char *data = malloc(len);
	assert_non_null(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 7);
	put(in_dir("big"), data, len);
	assert_content(in_dir("big"), data, len);
	put(in_dir("empty"), "", 0);
	assert_content(in_dir("empty"), "", 0);
	free(data);

	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(1 << 16);
	assert_int_equal(fs_read(in_dir("empty"), &b, &e), 0);
	assert_string_equal(b.data, "");
	assert_int_equal(fs_read("/proc/self/status", &b, &e), 0);
	assert_memory_equal(b.data, "Name:", 5);
}

static void test_read_appends(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(100);
	put(in_dir("f"), "abc", 3);
	assert_int_equal(buf_add(&b, "x", 1, &e), 0);
	assert_int_equal(fs_read(in_dir("f"), &b, &e), 0);
	assert_int_equal(fs_read(in_dir("f"), &b, &e), 0);
	assert_string_equal(b.data, "xabcabc");
}

static void test_read_keeps_to_the_bound(void **state)
{
	(void)state;
	struct err e = {0};
	put(in_dir("f"), "12345678", 8);
	_cleanup_(buf_free) struct buf b = BUF_INIT(10);
	assert_int_equal(buf_add(&b, "ab", 2, &e), 0);
	assert_int_equal(fs_read(in_dir("f"), &b, &e), 0);
	assert_string_equal(b.data, "ab12345678");

	b.len = 3;
	b.data[3] = 0;
	assert_int_equal(fs_read(in_dir("f"), &b, &e), -EFBIG);
	assert_int_equal(e.code, EFBIG);
	assert_int_equal(b.len, 3);
	assert_string_equal(b.data, "ab1");
	assert_non_null(strstr(e.text, in_dir("f")));
	assert_non_null(strstr(e.text, "is larger than the 10 bytes that are read"));
	assert_int_equal(fs_read("/dev/zero", &b, &e), -EFBIG);
	assert_string_equal(b.data, "ab1");
	b.max = 1; /* under what is there */
	assert_int_equal(fs_read(in_dir("f"), &b, &e), -EFBIG);
	assert_string_equal(b.data, "ab1");
}

static void test_read_failures_name_the_path(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(10);
	assert_int_equal(fs_read(in_dir("none"), &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, in_dir("none")));
	assert_non_null(strstr(e.text, "No such file"));
	assert_null(b.data);
	assert_int_equal(fs_read(dir, &b, &e), -EISDIR);
	assert_non_null(strstr(e.text, dir));
	assert_int_equal(b.len, 0);
	assert_int_equal(fs_read_line(in_dir("none"), &b, &e), -ENOENT);
	assert_int_equal(fs_read("", &b, NULL), -ENOENT);
}

static void hangs(int signal)
{
	static const char text[] = "the read waits for a writer that never comes\n";

	(void)signal;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) > 0 ? 3 : 4);
}

/* A named pipe keeps nobody waiting, whether it has a writer or none, nor does a link to one. */
static void test_read_refuses_named_pipes(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(100);
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	assert_int_equal(symlink("pipe", in_dir("link")), 0);
	signal(SIGALRM, hangs);
	alarm(5);
	assert_int_equal(fs_read(in_dir("pipe"), &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, in_dir("pipe")));
	assert_non_null(strstr(e.text, "named pipe"));
	assert_int_equal(fs_read_line(in_dir("link"), &b, &e), -EINVAL);
	int both = open(in_dir("pipe"), O_RDWR | O_CLOEXEC);
	assert_true(both >= 0);
	assert_int_equal(write(both, "abc", 3), 3);
	assert_int_equal(fs_read(in_dir("pipe"), &b, &e), -EINVAL);
	assert_int_equal(b.len, 0);
	close(both);
	alarm(0);
}

/* kpcp plan <(...), and a pipe as /dev/stdin: the writer may take its time. */
static void test_read_takes_pipes_of_the_shell(void **state)
{
	(void)state;
	struct err e = {0};
	_cleanup_(buf_free) struct buf b = BUF_INIT(100);
	char path[32];
	int pair[2];
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", pair[0]);
	signal(SIGALRM, hangs);
	alarm(10);
	pid_t writer = fork();
	if (writer == 0) {
		usleep(200000);
		_exit(write(pair[1], "late", 4) == 4 ? 0 : 1);
	}
	close(pair[1]);
	assert_int_equal(fs_read(path, &b, &e), 0);
	assert_string_equal(b.data, "late");
	alarm(0);
	close(pair[0]);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void test_read_line_cuts_one_line_feed(void **state)
{
	(void)state;
	static const struct {
		const char *file, *wanted;
	} cases[] = {{"5\n", "5"}, {"5", "5"}, {"\n", ""}, {"a\n\n", "a\n"}, {"", ""}, {"a\nb\n", "a\nb"}};
	struct err e = {0};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_free) struct buf b = BUF_INIT(10);
		put(in_dir("f"), cases[i].file, strlen(cases[i].file));
		assert_int_equal(fs_read_line(in_dir("f"), &b, &e), 0);
		assert_string_equal(b.data, cases[i].wanted);
		assert_int_equal(b.len, strlen(cases[i].wanted));
	}
	_cleanup_(buf_free) struct buf b = BUF_INIT(10);
	put(in_dir("f"), "", 0);
	assert_int_equal(buf_add(&b, "before\n", 7, &e), 0);
	assert_int_equal(fs_read_line(in_dir("f"), &b, &e), 0);
	assert_string_equal(b.data, "before\n");
}

static void test_write_creates_and_replaces(void **state)
{
	(void)state;
	struct err e = {0};
	struct stat st;
	assert_int_equal(fs_write_atomic(in_dir("f"), "one", 3, 0640, &e), 0);
	assert_content(in_dir("f"), "one", 3);
	assert_int_equal(stat(in_dir("f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(fs_write_atomic(in_dir("f"), "second", 6, 0666, &e), 0);
	assert_content(in_dir("f"), "second", 6);
	assert_int_equal(stat(in_dir("f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fs_write_atomic(in_dir("f"), NULL, 0, 0600, &e), 0);
	assert_content(in_dir("f"), "", 0);
	assert_int_equal(count_entries(dir), 1);
}

static void test_write_takes_every_form_of_path(void **state)
{
	(void)state;
	struct err e = {0};
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(fs_write_atomic("bare", "1", 1, 0600, &e), 0);
	assert_int_equal(fs_write_atomic("./dotted", "2", 1, 0600, &e), 0);
	assert_content(in_dir("bare"), "1", 1);
	assert_content(in_dir("dotted"), "2", 1);
	assert_int_equal(fs_write_atomic("", "x", 1, 0600, &e), -EINVAL);
	assert_int_equal(fs_write_atomic("sub/", "x", 1, 0600, &e), -EINVAL);
	assert_int_equal(fs_write_atomic("/", "x", 1, 0600, &e), -EINVAL);
	assert_non_null(strstr(e.text, "'/'"));
	assert_int_equal(count_entries(dir), 2);
	assert_int_equal(fchdir(here), 0);
	close(here);
}

static void test_write_replaces_a_link_and_not_its_target(void **state)
{
	(void)state;
	struct err e = {0};
	struct stat st;
	put(in_dir("target"), "old", 3);
	assert_int_equal(symlink("target", in_dir("link")), 0);
	assert_int_equal(fs_write_atomic(in_dir("link"), "new", 3, 0600, &e), 0);
	assert_int_equal(lstat(in_dir("link"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_content(in_dir("target"), "old", 3);
}

static void test_write_onto_a_directory_changes_nothing(void **state)
{
	(void)state;
	struct err e = {0};
	assert_int_equal(mkdir(in_dir("d"), 0755), 0);
	assert_int_equal(fs_write_atomic(in_dir("d"), "x", 1, 0600, &e), -EISDIR);
	assert_non_null(strstr(e.text, in_dir("d")));
	assert_non_null(strstr(e.text, "stays as it was"));
	assert_int_equal(count_entries(dir), 1);
	assert_int_equal(count_entries(in_dir("d")), 0);
}

static void test_write_where_names_do_not_fit(void **state)
{
	(void)state;
	struct err e = {0};
	char name[300], path[5000];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(fs_write_atomic(in_dir(name), "x", 1, 0600, &e), -ENAMETOOLONG);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	memcpy(path + 4990, "/f", 2);
	assert_int_equal(fs_write_atomic(path, "x", 1, 0600, &e), -ENAMETOOLONG);
	assert_int_equal(fs_write_atomic(in_dir("none/f"), "x", 1, 0600, &e), -ENOENT);
	assert_non_null(strstr(e.text, in_dir("none")));
	put(in_dir("file"), "x", 1);
	assert_int_equal(fs_write_atomic(in_dir("file/f"), "x", 1, 0600, &e), -ENOTDIR);
	assert_int_equal(count_entries(dir), 1);
}

static void test_write_into_a_read_only_directory(void **state)
{
	(void)state;
	struct err e = {0};
	put(in_dir("f"), "old", 3);
	assert_int_equal(chmod(dir, 0555), 0);
	/* root may write anywhere */
	uid_t was = geteuid();
	if (was == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	int r = fs_write_atomic(in_dir("f"), "new", 3, 0600, &e);
	if (was == 0)
		assert_int_equal(seteuid(was), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(r, -EACCES);
	assert_non_null(strstr(e.text, in_dir("f")));
	assert_content(in_dir("f"), "old", 3);
	assert_int_equal(count_entries(dir), 1);
}

static void test_write_that_stops_in_the_middle(void **state)
{
	(void)state;
	struct err e = {0};
	put(in_dir("f"), "old", 3);
	struct rlimit was;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	struct rlimit small = {.rlim_cur = 4096, .rlim_max = was.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	static const char data[10000];
	int r = fs_write_atomic(in_dir("f"), data, sizeof(data), 0600, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(e.text, "writing stopped after 4096 of 10000 bytes"));
	assert_non_null(strstr(e.text, "stays as it was"));
	assert_content(in_dir("f"), "old", 3);
	assert_int_equal(count_entries(dir), 1);
}

static void test_write_without_space(void **state)
{
	(void)state;
	struct err e = {0};
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=64k") < 0) {
		print_message("cannot mount a small file system here (%s)\n", strerror(errno));
		skip();
	}
	put(in_dir("f"), "old", 3);
	static const char data[200000];
	int r = fs_write_atomic(in_dir("f"), data, sizeof(data), 0600, &e);
	assert_content(in_dir("f"), "old", 3);
	assert_int_equal(count_entries(dir), 1);
	/* What was written before the disk was full is given back: what fits can be written afterwards. */
	int again = fs_write_atomic(in_dir("f"), data, 32768, 0600, &e);
	assert_content(in_dir("f"), data, 32768);
	assert_int_equal(umount(dir), 0);
	assert_int_equal(again, 0);
	assert_int_equal(r, -ENOSPC);
}

static void test_no_descriptor_is_left_open(void **state)
{
	(void)state;
	struct err e = {0};
	unsigned before = count_entries("/proc/self/fd");
	_cleanup_(buf_free) struct buf b = BUF_INIT(2);
	assert_int_equal(fs_write_atomic(in_dir("f"), "abc", 3, 0600, &e), 0);
	assert_int_equal(fs_write_atomic(dir, "abc", 3, 0600, &e), -EISDIR);
	assert_int_equal(fs_read(in_dir("f"), &b, &e), -EFBIG);
	assert_int_equal(fs_read(dir, &b, &e), -EISDIR);
	assert_int_equal(count_entries("/proc/self/fd"), before);
}

static void test_close_takes_the_descriptor_and_leaves_errno(void **state)
{
	(void)state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int copy = fd;
	errno = ENOSPC;
	fs_close(&fd);
	assert_int_equal(fd, -1);
	fs_close(&fd);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	fd = copy; /* closed already: the error of close(2) stays inside, too */
	errno = ENOSPC;
	fs_close(&fd);
	assert_int_equal(errno, ENOSPC);
}

static void test_write_all_reports_the_device(void **state)
{
	(void)state;
	struct err e = {0};
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, "x", 1, &e), -ENOSPC);
	assert_string_equal(e.text, "writing stopped after 0 of 1 bytes: No space left on device");
	assert_int_equal(fs_write_all(fd, NULL, 0, &e), 0);
	close(fd);
	assert_int_equal(fs_write_all(-1, "x", 1, &e), -EBADF);
}

static void test_write_all_does_not_spin_on_a_full_pipe(void **state)
{
	(void)state;
	struct err e = {0};
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	static const char data[1 << 20];
	assert_int_equal(fs_write_all(fds[1], data, sizeof(data), &e), -EAGAIN);
	assert_non_null(strstr(e.text, "of 1048576 bytes"));
	close(fds[0]);
	close(fds[1]);
}

static volatile sig_atomic_t interruptions;

static void on_alarm(int number)
{
	(void)number;
	interruptions = interruptions + 1;
}

/* Reads slowly, so that signals meet the writer in the middle of a write. */
static int read_slowly(int fd, size_t wanted)
{
	size_t got = 0;
	for (;;) {
		unsigned char chunk[8192];
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n <= 0)
			return n == 0 && got == wanted ? 0 : 1;
		for (ssize_t i = 0; i < n; i++, got++) {
			if (chunk[i] != (unsigned char)(got % 251))
				return 2;
		}
		usleep(300);
	}
}

static void test_write_all_goes_on_after_signals_and_short_writes(void **state)
{
	(void)state;
	static unsigned char data[1 << 20];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i % 251);
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(fds[1]);
		_exit(read_slowly(fds[0], sizeof(data)));
	}
	close(fds[0]);

	struct sigaction act = {.sa_handler = on_alarm}; /* no SA_RESTART */
	struct itimerval often = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000};
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	struct err e = {0};
	int r = fs_write_all(fds[1], data, sizeof(data), &e);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	close(fds[1]);

	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(r, 0);
	assert_int_equal(status, 0);
	assert_true(interruptions > 0);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
	    IN_DIR(test_reads_whole_files),
	    IN_DIR(test_read_appends),
	    IN_DIR(test_read_keeps_to_the_bound),
	    IN_DIR(test_read_failures_name_the_path),
	    IN_DIR(test_read_refuses_named_pipes),
	    IN_DIR(test_read_takes_pipes_of_the_shell),
	    IN_DIR(test_read_line_cuts_one_line_feed),
	    IN_DIR(test_write_creates_and_replaces),
	    IN_DIR(test_write_takes_every_form_of_path),
	    IN_DIR(test_write_replaces_a_link_and_not_its_target),
	    IN_DIR(test_write_onto_a_directory_changes_nothing),
	    IN_DIR(test_write_where_names_do_not_fit),
	    IN_DIR(test_write_into_a_read_only_directory),
	    IN_DIR(test_write_that_stops_in_the_middle),
	    IN_DIR(test_write_without_space),
	    IN_DIR(test_no_descriptor_is_left_open),
	    cmocka_unit_test(test_close_takes_the_descriptor_and_leaves_errno),
	    cmocka_unit_test(test_write_all_reports_the_device),
	    cmocka_unit_test(test_write_all_does_not_spin_on_a_full_pipe),
	    cmocka_unit_test(test_write_all_goes_on_after_signals_and_short_writes),
	};
	return cmocka_run_group_tests_name("fs", tests, NULL, NULL);
}
