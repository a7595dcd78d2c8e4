// SPDX-License-Identifier: Apache-2.0
/* Owns `kpcp init`: one new folder with all keys, certificates and configurations that a fleet starts with.
 * Must not know how keys and certificates are made, nor what the settings are used for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kpcp.h"
#include "kpcp_conf.h"
#include "lib/base/fs.h"
#include "lib/base/num.h"
#include "lib/report/show.h"
#include "lib/trust/trust.h"
#include "rolloutd_conf.h"
#include "view.h"

#define DAYS     1825 /* five years: half of what the authority's own certificate has */
#define HOST_MAX 256

/* The folder while it is made, beside the place where it goes in one step. Empty: none to remove. */
struct folder {
	char path[PATH_MAX];
};

static const char *const files[] = {"ca.key",        "ca.pem",       "server.key",   "server.pem",
				    "operator.key",  "operator.pem", "approver.key", "approver.pub",
				    "rolloutd.conf", "kpcp.conf",    "agent.conf"};

static int in(const struct folder *f, const char *name, char ret[PATH_MAX], struct err *e)
{
	if ((size_t)snprintf(ret, PATH_MAX, "%s/%s", f->path, name) >= PATH_MAX)
		return err_sys(e, ENAMETOOLONG, "cannot make %s in the new folder", name);
	return 0;
}

/* Removes what is not finished: only the files that are made here, so that nothing else can be lost. */
static void discard(struct folder *f)
{
	char path[PATH_MAX];

	if (!*f->path)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (in(f, files[i], path, NULL) == 0)
			unlink(path);
	if (in(f, "state", path, NULL) == 0)
		rmdir(path);
	rmdir(f->path);
	*f->path = 0;
}

static int write_file(const struct folder *f, const char *name, const struct buf *text, unsigned mode, struct err *e)
{
	char path[PATH_MAX];
	int r = in(f, name, path, e);

	return r < 0 ? r : fs_write_atomic(path, text->data, text->len, mode, e);
}

/* A key, and a certificate for it by the new authority. */
static int certify(const struct folder *f, const char *stem, const struct trust_subject *subject, const char *alt_names,
		   struct err *e)
{
	_cleanup_(buf_free) struct buf csr = BUF_INIT(TRUST_PEM_MAX), pem = BUF_INIT(TRUST_PEM_MAX);
	char ca_key[PATH_MAX], ca[PATH_MAX], key[PATH_MAX], name[32];

	snprintf(name, sizeof(name), "%s.key", stem);
	int r = in(f, name, key, e);
	if (r == 0)
		r = in(f, "ca.key", ca_key, e);
	if (r == 0)
		r = in(f, "ca.pem", ca, e);
	if (r == 0)
		r = trust_key_make(key, NULL, e);
	if (r == 0)
		r = trust_csr_make(key, subject->name, &csr, e);
	if (r == 0)
		r = trust_issue(ca_key, ca, csr.data, csr.len, subject, alt_names, DAYS, &pem, e);
	snprintf(name, sizeof(name), "%s.pem", stem);
	return r < 0 ? r : write_file(f, name, &pem, 0644, e);
}

static int make_trust(const struct folder *f, const struct kpcp *a, struct err *e)
{
	const struct trust_subject server = {.role = TRUST_SERVER, .name = "controller"};
	struct trust_subject who = {.role = TRUST_OPERATOR};
	_cleanup_(buf_free) struct buf public = BUF_INIT(TRUST_PEM_MAX);
	char key[PATH_MAX], cert[PATH_MAX];

	if ((size_t)snprintf(who.name, sizeof(who.name), "%s", a->init.who) >= sizeof(who.name))
		return err_set(e, EINVAL, "--operator: a name has at most %zu characters", sizeof(who.name) - 1);
	int r = in(f, "ca.key", key, e);
	if (r == 0)
		r = in(f, "ca.pem", cert, e);
	if (r == 0)
		r = trust_ca_make(key, cert, "kpcp-ca", e);
	if (r == 0)
		r = certify(f, "server", &server, a->init.server, e);
	if (r == 0)
		r = certify(f, "operator", &who, NULL, e);
	if (r == 0)
		r = in(f, "approver.key", key, e);
	if (r == 0)
		r = trust_key_make(key, &public, e);
	return r < 0 ? r : write_file(f, "approver.pub", &public, 0644, e);
}

/* The first name of --server, as it stands in an address: "controller", "10.0.2.2", "[fd00::1]". Whether it is a good
 * name, and the others too, is for the certificate's maker to say. */
static int address_of(const char *server, char ret[HOST_MAX], struct err *e)
{
	bool ip = strncmp(server, "IP:", 3) == 0;
	const char *name = ip ? server + 3 : strncmp(server, "DNS:", 4) == 0 ? server + 4 : NULL;
	int len = name ? (int)strcspn(name, ",") : 0;

	if (len <= 0 || len > HOST_MAX - 3)
		return err_set(
		    e, EINVAL,
		    "--server: '%.80s' does not begin with a name; the form is IP:10.0.2.2,DNS:controller, and "
		    "the first one is what kpcp.conf will point at",
		    server);
	bool six = ip && memchr(name, ':', (size_t)len);
	snprintf(ret, HOST_MAX, "%s%.*s%s", six ? "[" : "", len, name, six ? "]" : "");
	return 0;
}

static const char rolloutd_text[] =
    "# The controller: kpcp-rolloutd --config THIS-FILE. Paths are relative to this file.\n"
    "[listen]\naddress = %s\nport = %" PRIu64 "\n\n"
    "[tls]\nca = ca.pem\ncert = server.pem\nkey = server.key\n\n"
    "# Directives are believed when they are signed by the key that belongs to this one.\n"
    "[approval]\npublic = approver.pub\n\n"
    "# By this key hosts' certificates are made.\n"
    "[enrolment]\nca-key = ca.key\n\n"
    "# The database and the recordings. Remove the line where systemd's unit starts the controller: it may write to\n"
    "# the default alone, /var/lib/kpcp-rolloutd.\n"
    "[state]\ndirectory = state\n";

static const char kpcp_text[] =
    "# The operator: kpcp COMMAND --config THIS-FILE, or a symbolic link to it from ~/.config/kpcp.conf.\n"
    "# Paths are relative to this file.\n"
    "[controller]\nurl = https://%s:%" PRIu64 "\nca = ca.pem\ncert = operator.pem\nkey = operator.key\n\n"
    "# Remove the line 'key' once approver.key is where it belongs: on a machine that is offline.\n"
    "[approval]\nkey = approver.key\npublic = approver.pub\n";

static const char agent_text[] =
    "# Each host: goes to /etc/kpcp/agent.conf, beside ca.pem and approver.pub. What else can be set: "
    "kpcp-agent.conf(5).\n"
    "[controller]\nurl = https://%s:%" PRIu64 "\n\n"
    "# Name the host's cluster, and it refuses plans of others, whatever the controller says.\n"
    ";[host]\n;cluster = east\n";

/* Whether nobody but this machine reaches any of the names. */
static bool only_here(const char *server)
{
	static const char *const here[] = {"IP:127.", "IP:::1,", "DNS:localhost,"};

	for (const char *at = server; *at;) {
		size_t len = strcspn(at, ",");
		char word[64];
		bool found = false;

		snprintf(word, sizeof(word), "%.*s,", (int)len, at);
		for (size_t i = 0; i < ARRAY_SIZE(here); i++)
			found |= strncmp(word, here[i], strlen(here[i])) == 0;
		if (!found)
			return false;
		at += len + (at[len] == ',');
	}
	return true;
}

/* Where the controller listens: on all of its addresses, unless it is for this machine alone. */
static const char *listen_address(const char *server, const char *host)
{
	if (only_here(server))
		return *host == '[' ? "::1" : strncmp(server, "IP:", 3) == 0 ? host : "127.0.0.1";
	return *host == '[' ? "::" : "0.0.0.0";
}

/* Writes the files, and reads those of controller and operator back as these will. */
static int make_conf(const struct folder *f, const struct kpcp *a, struct err *e)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT(16u << 10);
	char host[HOST_MAX], path[PATH_MAX];
	struct rolloutd_conf rolloutd;
	struct kpcp_conf kpcp;
	int r = address_of(a->init.server, host, e);

	if (r == 0)
		r = buf_addf(&text, e, kpcp_text, host, a->init.port);
	if (r == 0)
		r = write_file(f, "kpcp.conf", &text, 0644, e);
	if (r == 0)
		r = in(f, "kpcp.conf", path, e);
	if (r == 0)
		r = kpcp_conf_read(path, &kpcp, e);
	buf_free(&text);
	if (r == 0)
		r = buf_addf(&text, e, agent_text, host, a->init.port);
	if (r == 0)
		r = write_file(f, "agent.conf", &text, 0644, e);
	buf_free(&text);
	if (r == 0)
		r = buf_addf(&text, e, rolloutd_text, listen_address(a->init.server, host), a->init.port);
	if (r == 0)
		r = write_file(f, "rolloutd.conf", &text, 0644, e);
	if (r == 0)
		r = in(f, "rolloutd.conf", path, e);
	if (r == 0)
		r = rolloutd_conf_read(path, &rolloutd, e);
	if (r == 0)
		r = in(f, "state", path, e);
	if (r == 0 && mkdir(path, 0700) < 0)
		r = err_sys(e, errno, "cannot make %s", path);
	return r;
}

/* Brings a directory's entries to the disk. */
static int sync_folder(const char *path, struct err *e)
{
	_cleanup_(fs_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? err_sys(e, errno, "cannot bring %s to the disk", path) : 0;
}

static int sync_parent(const char *path, struct err *e)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return sync_folder(".", e);
	snprintf(parent, sizeof(parent), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return sync_folder(parent, e);
}

static int refuse_existing(const char *dir, struct err *e)
{
	return err_set(
	    e, EEXIST,
	    "%s is there already, and init makes new folders only: name another one. (Keys that are in use are "
	    "never replaced: hosts would no longer believe them.)",
	    dir);
}

static int make(const char *dir, const struct kpcp *a, struct err *e)
{
	_cleanup_(discard) struct folder f = {""};
	char path[PATH_MAX];
	struct stat st;

	if (lstat(dir, &st) == 0)
		return refuse_existing(dir, e);
	if ((size_t)snprintf(path, sizeof(path), "%s.new-XXXXXX", dir) >= sizeof(path))
		return err_sys(e, ENAMETOOLONG, "cannot make a folder beside %s", dir);
	if (!mkdtemp(path)) /* mode 0700 */
		return err_sys(e, errno, "cannot make a folder beside %s", dir);
	memcpy(f.path, path, sizeof(path));
	int r = make_trust(&f, a, e);
	if (r == 0)
		r = make_conf(&f, a, e);
	if (r == 0)
		r = sync_folder(f.path, e);
	if (r < 0)
		return err_context(e, "%s was not made", dir);
	if (renameat2(AT_FDCWD, f.path, AT_FDCWD, dir, RENAME_NOREPLACE) < 0)
		return errno == EEXIST ? refuse_existing(dir, e)
				       : err_sys(e, errno, "cannot name the new folder %s", dir);
	*f.path = 0;
	return sync_parent(dir, e);
}

static int tell(const char *dir, const struct kpcp *a, struct err *e)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT(64u << 10);
	char until[VIEW_TEXT_MAX], host[HOST_MAX];

	view_time((int64_t)time(NULL) + DAYS * 86400ll, until);
	int r = address_of(a->init.server, host, e);
	if (r == 0)
		r = buf_addf(&out, e, "%s has all that a controller, an operator, an approver and hosts need.\n", dir);
	if (r == 0)
		r = buf_addf(
		    &out, e,
		    "controller  rolloutd.conf, state/, server.key, server.pem, ca.key, ca.pem, approver.pub\n"
		    "            start it here, or copy these: kpcp-rolloutd --config %s/rolloutd.conf\n"
		    "            it stays in the foreground and listens on %s port %" PRIu64 "%s; for systemd's\n"
		    "            unit, copy them to /etc/kpcp and remove [state] directory from rolloutd.conf\n",
		    dir, listen_address(a->init.server, host), a->init.port,
		    only_here(a->init.server) ? " (this machine alone)" : "");
	if (r == 0)
		r = buf_addf(&out, e,
			     "operator    kpcp.conf, operator.key, operator.pem, ca.pem, approver.pub\n"
			     "            kpcp COMMAND --config %s/kpcp.conf, or link ~/.config/kpcp.conf to it\n",
			     dir);
	if (r == 0)
		r = buf_addf(
		    &out, e,
		    "approver    approver.key: whoever has it decides what hosts run. Move it to a machine that is\n"
		    "            offline; there 'kpcp approve --no-submit', here 'kpcp submit'\n"
		    "each host   agent.conf, ca.pem and approver.pub to /etc/kpcp/, and to /etc/kpcp/token what this "
		    "prints:\n"
		    "            kpcp token HOST --cluster NAME\n"
		    "The certificates of controller and operator are valid until %.10s.\n",
		    until);
	return r < 0 ? r : show(&out, e);
}

static int run(void *target, int argc, char **argv, struct err *e)
{
	const struct kpcp *a = target;
	char dir[PATH_MAX];
	sigset_t stops, before;

	if (argc != 1)
		return err_set(e, EINVAL,
			       "init makes one folder, but got %d; the form is: kpcp init DIR --server NAMES", argc);
	if (!a->init.server)
		return err_set(e, EINVAL,
			       "--server is missing: the names and addresses by which hosts and operators reach the "
			       "controller, such as --server IP:10.0.2.2,DNS:controller");
	size_t len = strlen(argv[0]);
	while (len > 1 && argv[0][len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(dir))
		return err_set(e, EINVAL, "'%.80s' is no name of a new folder", argv[0]);
	snprintf(dir, sizeof(dir), "%.*s", (int)len, argv[0]);

	/* It takes a moment only, and an interruption would leave keys in a folder that nobody knows. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	sigprocmask(SIG_BLOCK, &stops, &before);
	int r = make(dir, a, e);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? r : tell(dir, a, e);
}

static int set_server(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->init.server = value;
	return 0;
}

static int set_operator(void *t, const char *value, struct err *e)
{
	(void)e;
	((struct kpcp *)t)->init.who = value;
	return 0;
}

static int set_port(void *t, const char *value, struct err *e)
{
	return num_u64(value, 1, 65535, &((struct kpcp *)t)->init.port, e);
}

static const struct opt options[] = {
    {"server", "NAMES",
     "Names and addresses of the controller, as IP:10.0.2.2,DNS:controller; kpcp.conf points at the first one.",
     set_server},
    {"operator", "NAME", "Who the operator's certificate is for (default: operator).", set_operator},
    {"port", "PORT", "Where the controller listens (default: 8443).", set_port},
};

const struct opt_command cmd_init = {
    .name = "init",
    .operands = "DIR",
    .help = "Makes a new folder with all keys, certificates and configurations that a fleet starts with.",
    .opts = options,
    .n_opts = ARRAY_SIZE(options),
    .run = run,
};
