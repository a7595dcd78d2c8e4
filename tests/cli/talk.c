// SPDX-License-Identifier: Apache-2.0
/* Owns an actor that is nothing but words: it runs the agent's talker, tells it what the test writes on standard input,
 * and prints what the talker says. Must not know controllers, nor what any order would do. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/channel.h"
#include "agent/talker.h"
#include "lib/base/num.h"
#include "lib/fleet/message.h"

static volatile int stop;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static int die(const struct err *e)
{
	fprintf(stderr, "talk: %s\n", e->text);
	return 1;
}

/* "report OUTCOME EPOCH" */
static int send_report(int channel, const char *outcome, uint64_t epoch, struct err *e)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT(MESSAGE_BYTES_MAX);
	struct host_report r = {.epoch = epoch, .pcp_batch_scale_max = -1, .uptime_s = 1};
	enum outcome o = OUTCOME_NONE;

	while (o < OUTCOME_HELD && strcmp(outcome_name(o), outcome) != 0)
		o++;
	r.outcome = o;
	snprintf(r.release, sizeof(r.release), "6.1.158-test");
	snprintf(r.boot_id, sizeof(r.boot_id), "00000000-0000-4000-8000-000000000001");
	snprintf(r.agent, sizeof(r.agent), KPCP_VERSION);
	int got = message_report_write(&r, &json, e);
	return got < 0 ? got : channel_send(channel, CHANNEL_REPORT, json.data, json.len, e);
}

/* One line of the test. */
static int say_line(int channel, char *line, struct err *e)
{
	char *at = line;
	const char *word = strsep(&at, " \n"), *first = at ? strsep(&at, " \n") : NULL;
	uint64_t epoch = 0;

	if (first && strcmp(word, "upload") == 0)
		return channel_send(channel, CHANNEL_UPLOAD, first, strlen(first), e);
	if (first && strcmp(word, "report") == 0 && at && num_u64(strsep(&at, " \n"), 0, 1000, &epoch, e) == 0)
		return send_report(channel, first, epoch, e);
	return err_set(e, EINVAL, "'%s' is no line: report OUTCOME EPOCH, or upload NAME", line);
}

static void print_frame(enum channel_kind kind, const struct buf *body)
{
	printf("%s %s\n", kind == CHANNEL_REPLY ? "reply" : "uploaded", body->data ? body->data : "");
	fflush(stdout);
}

static int serve(int channel, struct err *e)
{
	_cleanup_(buf_free) struct buf body = BUF_INIT(CHANNEL_BODY_MAX);
	char line[256];
	enum channel_kind kind;
	int r;

	for (;;) {
		struct pollfd p[2] = {{.fd = channel, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
		if (poll(p, 2, -1) < 0)
			return err_sys(e, errno, "cannot wait");
		if (p[0].revents && (r = channel_receive(channel, 0, &kind, &body, e)) < 0)
			return r == -EPIPE ? 0 : r;
		if (p[0].revents && r > 0)
			print_frame(kind, &body);
		if (!p[1].revents)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		if ((r = say_line(channel, line, e)) < 0)
			return r;
	}
}

int main(int argc, char **argv)
{
	static struct agent_conf c;
	struct err e = {0};
	int pair[2], status = 0;

	if (argc != 2)
		return fprintf(stderr, "usage: talk AGENT.CONF\n"), 1;
	/* Lines are taken one at a time, so that poll sees those behind. */
	setvbuf(stdin, NULL, _IONBF, 0);
	if (agent_conf_read(argv[1], &c, &e) < 0 || channel_pair(pair, &e) < 0)
		return die(&e);
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		signal(SIGTERM, on_term);
		signal(SIGPIPE, SIG_IGN);
		_exit(talker_run(&c, pair[1], &stop, &e) < 0 ? die(&e) : 0);
	}
	close(pair[1]);
	int r = serve(pair[0], &e);
	close(pair[0]);
	if (waitpid(pid, &status, 0) == pid && status != 0)
		return fprintf(stderr, "talk: the talker ended with status %d\n", status), 1;
	return r < 0 ? die(&e) : 0;
}
