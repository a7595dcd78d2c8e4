// SPDX-License-Identifier: Apache-2.0
/* Owns the loop of asking, showing and waiting, and the telling of changes.
 * Must not know options. */
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "decide.h"
#include "lib/report/show.h"
#include "reply.h"
#include "view.h"

#define ROWS_DEFAULT 24

/* What was told so far, to tell only what is new: "" is a rollout's line, others are hosts' progress; of all rollouts,
 * their lines by name. */
struct told {
	json_t *text;
	bool terminal;
	bool away; /* the controller does not answer, and that was said */
};

static void told_free(struct told *t)
{
	json_decref(t->text);
}

int watch_end(const char *state, bool until_done, struct err *e)
{
	enum rollout_state s;
	int r = rollout_state_parse(state, &s, e);

	if (r < 0)
		return err_set(e, EPROTO,
			       "the controller says '%.40s', which is no rollout's state to this version of kpcp",
			       state);
	if (s == ROLLOUT_DONE)
		return WATCH_DONE;
	if (s == ROLLOUT_HOLD && until_done)
		return WATCH_PERSON;
	if (!rollout_state_final(s))
		return WATCH_GOES_ON;
	return until_done ? WATCH_BACK : WATCH_DONE;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void wait_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* From the upper left corner on, over what was there; what is below the last row is left out. */
static int redraw(const struct buf *view, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(2 * VIEW_BYTES_MAX);
	struct winsize size;
	int rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : ROWS_DEFAULT;
	int r = buf_addf(&out, e, "\033[H");

	for (const char *at = view->len ? view->data : ""; r == 0 && *at && rows > 1; rows--) {
		int len = (int)strcspn(at, "\n");

		r = buf_addf(&out, e, "%.*s\033[K\n", len, at);
		at += len + (at[len] == '\n');
	}
	if (r == 0)
		r = buf_addf(&out, e, "\033[J");
	return r < 0 ? r : show(&out, e);
}

/* Prints "TIME text" when text is another one than what was told of key before. */
static int tell(struct told *t, const char *key, const char *first, const char *text, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(64u << 10);
	const char *before = json_string_value(json_object_get(t->text, key));
	char at[VIEW_TEXT_MAX];

	if (!*text || (before && strcmp(before, text) == 0))
		return 0;
	if (json_object_set_new(t->text, key, json_string(text)) < 0)
		return err_sys(e, ENOMEM, "cannot follow the rollout");
	size_t len = strcspn(text, "\n");
	int r = buf_addf(&out, e, "%s %s%s%.*s\n", view_time((int64_t)time(NULL), at), first, *first ? ": " : "",
			 (int)len, text);
	return r < 0 ? r : show(&out, e);
}

static int tell_rollout(struct told *t, const char *key, const json_t *rollout, struct err *e)
{
	_cleanup_(buf_free) struct buf line = BUF_INIT(16u << 10);
	int r = view_rollout_line(rollout, &line, e);

	return r < 0 ? r : tell(t, key, "", line.data, e);
}

static int tell_changes(struct told *t, const struct watch *w, const json_t *answer, struct err *e)
{
	struct reply reply = {.e = e};
	const json_t *list = reply_list(&reply, answer, w->one ? "members" : "rollouts"), *x;
	int r = w->one ? tell_rollout(t, "", answer, e) : 0;
	size_t i;

	json_array_foreach(list, i, x)
	{
		const char *name = reply_text(&reply, x, w->one ? "host" : "name");

		if (r == 0 && w->one)
			r = tell(t, name, name, reply_text(&reply, x, "progress"), e);
		else if (r == 0)
			r = tell_rollout(t, name, x, e);
	}
	if (r == 0 && reply.failed == 0 && !w->one && json_array_size(list) == 0)
		r = tell(t, "", "", "no rollouts yet", e);
	return reply.failed < 0 ? reply.failed : r;
}

static int show_answer(struct told *t, const struct watch *w, const json_t *answer, struct err *e)
{
	_cleanup_(buf_free) struct buf view = BUF_INIT(VIEW_BYTES_MAX);

	if (w->quiet)
		return 0;
	if (!t->terminal)
		return tell_changes(t, w, answer, e);
	int r = w->one ? view_rollout(answer, &view, e) : view_rollouts(answer, &view, e);
	return r < 0 ? r : redraw(&view, e);
}

/* One question and what follows from its answer: an enum watch_exit, WATCH_GOES_ON, or a negative errno. */
static int step(struct ask *a, struct told *t, const struct watch *w, json_t **last, struct err *e)
{
	_cleanup_(ask_free_json) json_t *answer = NULL;
	struct reply reply = {.e = e};
	int r = ask(a, w->path, NULL, 0, &answer, e);

	if (r == -EAGAIN && *last) {
		if (!t->away)
			fprintf(stderr, "kpcp: %s; asking on\n", e->text);
		t->away = true;
		return WATCH_GOES_ON;
	}
	if (r < 0)
		return r;
	if (t->away)
		fprintf(stderr, "kpcp: the controller answers again\n");
	t->away = false;
	r = show_answer(t, w, answer, e);
	if (r < 0)
		return r;
	json_decref(*last);
	*last = steal_ptr(answer);
	if (!w->one)
		return WATCH_GOES_ON;
	const char *state = reply_text(&reply, *last, "state");
	return reply.failed < 0 ? reply.failed : watch_end(state, w->until_done, e);
}

int watch(struct ask *a, const struct watch *w, json_t **last, struct err *e)
{
	_cleanup_(told_free) struct told t = {.text = json_object(), .terminal = isatty(STDOUT_FILENO) == 1};
	uint64_t end = w->timeout_s ? now_ns() + w->timeout_s * 1000000000 : UINT64_MAX;

	if (t.terminal && !w->quiet)
		printf("\033[2J");
	for (;;) {
		int r = step(a, &t, w, last, e);
		uint64_t now = now_ns();

		if (r != WATCH_GOES_ON)
			return r;
		if (now >= end) {
			fprintf(stderr, "kpcp: no end after %" PRIu64 " s; the rollout goes on\n", w->timeout_s);
			return WATCH_PERSON;
		}
		wait_ns(w->interval_ns < end - now ? w->interval_ns : end - now);
	}
}
