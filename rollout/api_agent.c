// SPDX-License-Identifier: Apache-2.0
/* Owns the agents' routes: enrolment, polls and recordings.
 * Must not know what agents do, nor what is decided about them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <syslog.h>

#include "api_call.h"
#include "http_tls.h"
#include "lib/base/num.h"
#include "lib/fleet/form.h"
#include "tick.h"

/* The names in the body and in the request are only compared: what the certificate says comes from the token. */
static int read_enrolment(struct api_call *c, struct enrolment *x, struct err *e)
{
	char asked[TRUST_NAME_MAX];

	if (message_enrolment_read(c->q->body, c->q->body_len, x, e) < 0)
		return -EINVAL;
	int r = http_tls_asked_name(x->csr, strlen(x->csr), asked, e);
	if (r < 0)
		return r;
	if (strcmp(asked, x->host) != 0)
		return err_set(e, EINVAL,
			       "the certificate request is for '%s', but the enrolment for '%s'; make a request for %s",
			       asked, x->host, x->host);
	return 0;
}

static int issue(struct api_call *c, const struct enrolment *x, const char *cluster, struct buf *cert, struct err *e)
{
	struct trust_subject subject = {.role = TRUST_HOST};
	const struct api_config *conf = &c->api->config;
	struct err ours;

	memcpy(subject.name, x->host, strlen(x->host) + 1);
	memcpy(subject.cluster, cluster, strlen(cluster) + 1);
	int r = trust_issue(conf->ca_key, conf->ca, x->csr, strlen(x->csr), &subject, NULL, conf->days, cert, e);

	/* A host throws its token away when it is refused: never for what is wrong here. */
	if (r == -EINVAL && api_check(conf, &ours) == 0)
		return r;
	return api_ours(r, e);
}

int api_enrol(struct api_call *c, struct err *e)
{
	struct enrolment x;
	char cluster[DIRECTIVE_NAME_MAX] = "", text[256], fingerprint[65];
	_cleanup_(buf_free) struct buf cert = BUF_INIT(TRUST_PEM_MAX);

	if (!rate_take(&c->api->enrolments, c->q->peer, c->now))
		return err_set(e, EAGAIN, "too many enrolments from %s; try again in a few seconds", c->q->peer);
	int r = read_enrolment(c, &x, e);
	if (r == 0)
		r = store_enrol_begin(c->api->store, &x, c->now, cluster, &cert, e);
	if (r == 0) {
		r = issue(c, &x, cluster, &cert, e);
		if (r == 0)
			r = api_ours(http_tls_fingerprint(cert.data, cert.len, fingerprint, e), e);
		if (r == 0)
			r = store_enrol_finish(c->api->store, &x, cert.data, cert.len, fingerprint, c->now, e);
		if (r == 0) {
			snprintf(text, sizeof(text), "enrolled %s into cluster %s, from %s", x.host, cluster,
				 c->q->peer);
			c->api->log(LOG_INFO, text);
		}
	}
	if (r < 0)
		return r;
	c->ret->status = 200;
	c->ret->type = "application/x-pem-file";
	return buf_add(&c->ret->body, cert.data, cert.len, e);
}

int api_poll(struct api_call *c, struct err *e)
{
	_cleanup_(poll_reply_free) struct poll_reply reply = {0};
	struct host_report report;
	const char *host = c->q->who->name;
	bool ended = false, changed;

	if (message_report_read(c->q->body, c->q->body_len, &report, e) < 0)
		return -EINVAL;
	int r = store_poll(c->api->store, host, &report, c->now, &reply, &ended, e);
	if (r < 0)
		return r;
	if (ended) {
		struct err failed = {0};
		poll_reply_free(&reply);
		/* The report is taken; a step that fails is tried again within a second. */
		if (tick(c->api->store, c->now, &changed, &failed) < 0)
			c->api->log(LOG_ERR, failed.text);
		r = store_reply(c->api->store, host, &reply, e);
	}
	if (r == 0)
		r = message_reply_write(&reply, &c->ret->body, e);
	if (r < 0)
		return r;
	c->ret->status = 200;
	c->ret->type = "application/json";
	return 0;
}

static int read_recording_path(const struct api_call *c, uint64_t *ret_epoch, struct err *e)
{
	if (form_check(&form_name, c->part[0], e) < 0)
		return err_context(e, "the rollout in the path");
	if (num_u64(c->part[1], 1, MESSAGE_EPOCH_MAX, ret_epoch, e) < 0) {
		err_context(e, "the epoch in the path");
		return -EINVAL;
	}
	return 0;
}

int api_recording_wanted(struct api_call *c, struct err *e)
{
	uint64_t epoch;
	int r = read_recording_path(c, &epoch, e);

	return r < 0 ? r : store_recording_wanted(c->api->store, c->q->who->name, c->part[0], epoch, e);
}

int api_recording(struct api_call *c, struct err *e)
{
	uint64_t epoch;
	int r = read_recording_path(c, &epoch, e);

	if (r == 0)
		r = store_recording(c->api->store, c->q->who->name, c->part[0], epoch, c->q->body, c->q->body_len,
				    c->now, e);
	if (r == 0)
		c->ret->status = 204;
	return r;
}
