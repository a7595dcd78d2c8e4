// SPDX-License-Identifier: Apache-2.0
/* Owns the main of kpcp-rolloutd: options, log lines, systemd's notifications, and the order in which parts are opened.
 * Must not know what any of them does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "http.h"
#include "lib/base/fs.h"
#include "lib/base/journal_stream.h"
#include "lib/base/opt.h"
#include "rolloutd_conf.h"
#include "store.h"
#include "tick.h"

#define PROGRAM "kpcp-rolloutd"
#define IDLE_S  30 /* over the longest wait between two polls: their connection stays */

struct options {
	const char *config;
	bool version;
};

struct rolloutd {
	struct rolloutd_conf conf;
	struct api api;
	struct store *store;
	struct http *http;
	struct quiet failures;
	bool watched; /* systemd wants to hear from us */
};

/* Priorities in front where systemd's journal reads them. */
static void log_line(int priority, const char *text)
{
	if (journal_stream(STDERR_FILENO))
		fprintf(stderr, "<%d>%s\n", priority, text);
	else
		fprintf(stderr, "%s\n", text);
}

static void log_http(void *user, int priority, const char *text)
{
	(void)user;
	log_line(priority, text);
}

/* The protocol of sd_notify(3): one datagram. Whoever is not asked says nothing; who does not hear it has no use for
 * an error. */
static void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_(fs_close) int fd = -1;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (*path == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
		log_line(LOG_WARNING, "systemd does not hear us");
}

static bool on_head(void *user, const struct http_request *q, size_t *ret_max, struct http_reply *ret)
{
	return api_admit(&((struct rolloutd *)user)->api, q, ret_max, ret);
}

static void on_request(void *user, const struct http_request *q, struct http_reply *ret)
{
	api_answer(&((struct rolloutd *)user)->api, q, ret);
}

static void on_second(void *user)
{
	struct rolloutd *d = user;
	struct err e = {0};
	char line[ERR_TEXT_MAX + 64];
	bool changed;
	uint64_t now = (uint64_t)time(NULL);

	int r = tick(d->store, now, &changed, &e);
	if (r == 0)
		r = store_flush(d->store, now, &e);
	if (r < 0 && quiet_line(&d->failures, now * 1000u, e.text, line, sizeof(line)))
		log_line(LOG_ERR, line);
	if (d->watched)
		notify("WATCHDOG=1");
}

static int open_store(struct rolloutd *d, struct err *e)
{
	const struct store_waits waits = {.idle_s = d->conf.poll_s, .busy_s = d->conf.busy_poll_s};

	if (mkdir(d->conf.state_dir, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make the state directory %s", d->conf.state_dir);
	return store_open(d->conf.state_dir, &waits, &d->store, e);
}

static int open_http(struct rolloutd *d, struct err *e)
{
	const struct rolloutd_conf *c = &d->conf;
	uint32_t wait_s = c->poll_s > c->busy_poll_s ? c->poll_s : c->busy_poll_s;
	const struct http_config config = {
	    .address = c->address,
	    .port = c->port,
	    .ca = c->ca,
	    .cert = c->cert,
	    .key = c->key,
	    .connections_max = c->connections,
	    .request_s = c->request_timeout_s,
	    .idle_s = wait_s + wait_s / 4 + IDLE_S,
	};
	const struct http_service service = {
	    .user = d, .admit = on_head, .answer = on_request, .second = on_second, .log = log_http};

	return http_open(&config, &service, &d->http, e);
}

static int serve(struct rolloutd *d, struct err *e)
{
	char text[128];
	int r = open_store(d, e);

	if (r < 0)
		return r;
	d->api = (struct api){
	    .config = {.ca = d->conf.ca, .ca_key = d->conf.ca_key, .approver = d->conf.approver, .days = d->conf.days},
	    .store = d->store,
	    .log = log_line,
	};
	r = api_check(&d->api.config, e);
	if (r == 0)
		r = open_http(d, e);
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "listening on %s port %u", d->conf.address, http_port(d->http));
	log_line(LOG_INFO, text);
	d->watched = getenv("WATCHDOG_USEC") != NULL;
	notify("READY=1");
	r = http_run(d->http, e);
	notify("STOPPING=1");
	struct err late = {0};
	if (store_flush(d->store, (uint64_t)time(NULL), &late) < 0)
		log_line(LOG_ERR, late.text);
	log_line(LOG_INFO, "ended");
	return r;
}

static int set_config(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct options *)t)->config = value;
	return 0;
}

static int set_version(void *t, const char *value, struct err *e)
{
	(void)value, (void)e;
	((struct options *)t)->version = true;
	return 0;
}

static void print_help(void)
{
	puts("Usage: " PROGRAM " [OPTION...]\n\n"
	     "Rolls kernels and presets out over a fleet: takes approved plans from kpcp and reports from agents over\n"
	     "HTTPS, and decides what happens next. Ends on SIGTERM.\n\n"
	     "Options:\n"
	     "  --config FILE  the configuration (default: " ROLLOUTD_CONF_SYSTEM ")\n"
	     "  --version      Print the version.\n"
	     "  --help         Print this text.");
}

static int run(const struct options *o, struct err *e)
{
	static struct rolloutd d;
	int r = rolloutd_conf_read(o->config, &d.conf, e);

	if (r == -ENOENT)
		r = err_set(e, ENOENT,
			    "there is no configuration %s: name another file by --config FILE, or make one by 'kpcp "
			    "init'",
			    o->config);
	if (r == 0)
		r = serve(&d, e);
	http_close(&d.http);
	store_close(&d.store);
	return r;
}

int main(int argc, char **argv)
{
	static const struct opt opts[] = {{"config", "FILE", "", set_config}, {"version", NULL, "", set_version}};
	struct options o = {.config = ROLLOUTD_CONF_SYSTEM};
	char line[ERR_TEXT_MAX + sizeof(PROGRAM) + 2];
	struct err e = {0};
	_Bool help = 0;
	int n = 0;
	int r = opt_parse(argc, argv, opts, ARRAY_SIZE(opts), &o, &n, &help, &e);

	if (r == 0 && help) {
		print_help();
		return EXIT_SUCCESS;
	}
	if (r == 0 && n > 0)
		r = err_set(&e, EINVAL, "'%s' is not expected; all there is is --config FILE", argv[0]);
	if (r == 0 && o.version) {
		puts(PROGRAM " " KPCP_VERSION);
		return EXIT_SUCCESS;
	}
	if (r == 0)
		r = run(&o, &e);
	if (r == 0)
		return EXIT_SUCCESS;
	snprintf(line, sizeof(line), PROGRAM ": %s", e.text);
	log_line(LOG_ERR, line);
	return EXIT_FAILURE;
}
