// SPDX-License-Identifier: Apache-2.0
/* Owns the step from a subcommand's wish to the controller's JSON: configuration, connection, path, parsing.
 * Must not know what is asked, nor how an answer is shown. */
#pragma once

#include <jansson.h>

#include "client.h"
#include "kpcp.h"
#include "kpcp_conf.h"

#define ASK_PATH_MAX 256

/* Filled in place and never copied: the client has pointers into it. A zeroed one is empty. */
struct ask {
	struct kpcp_conf conf;
	struct client *client;
	bool raw; /* texts are for --json and stay as they came */
};

/* Reads the configuration that args names, and makes ready to talk. */
int must_check ask_open(const struct kpcp *args, struct ask *ret, struct err *e);
void ask_close(struct ask *a);       /* for _cleanup_ */
void ask_free_json(json_t **object); /* for _cleanup_ */

/* prefix, name, suffix: "/v1/hosts/", "h1", "". -EINVAL for a name that is not of the form (lib/fleet/form.h). */
struct form;
int must_check ask_path(const struct form *form, const char *prefix, const char *name, const char *suffix,
			char ret[ASK_PATH_MAX], struct err *e);

/* One exchange; body NULL: a GET. The answer must be a JSON object, which the caller frees. Errors are client_call's,
 * and -EPROTO for an answer that is no JSON. */
int must_check ask(struct ask *a, const char *path, const void *body, size_t len, json_t **ret, struct err *e);
/* The same with a JSON body, which is freed; NULL stands for memory that ran out while it was made. */
int must_check ask_with(struct ask *a, const char *path, json_t *body, json_t **ret, struct err *e);

/* Prints the object as JSON to standard output. */
int must_check ask_print_json(const json_t *object, struct err *e);
