// SPDX-License-Identifier: Apache-2.0
/* Owns the decision whether an order may be begun: order, directive and what the host remembers in, a verdict out.
 * Must not know files, keys, clocks or how an order is carried out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "journal.h"
#include "lifecycle.h"

/* How far an order's epoch may be above the newest: nobody signs epochs, and one near the end of their range would make
 * every order behind it an old one. No controller grants a host as many; one that starts anew may have missed that
 * many. */
#define VERIFY_STEP_MAX (1u << 20)

struct verify {
	const struct journal *j;
	const struct order *order;
	const struct directive
	    *directive; /* NULL: it could not be read, or its signature is wrong; then problem says */
	const char *problem;
	uint64_t unix_s;     /* this machine's clock */
	bool denied;         /* the directive's build-id crashed here once */
	const char *plan;    /* the directive's, as journal.plan; NULL as directive */
	const char *cluster; /* that this host is of by its own configuration; "" or NULL: that does not say */
};

enum verify_verdict {
	VERIFY_ACCEPTED, /* event says what it is to the lifecycle */
	VERIFY_KNOWN,    /* the order that was seen last: its outcome is said again */
	VERIFY_OLD,      /* an epoch below the last: from a controller that is behind; nothing is said */
	VERIFY_FAR,      /* an epoch that no controller of this host can have come to: nothing is said to it */
	VERIFY_BUSY,     /* another order is being done, and this is no way back: it has to come again */
	VERIFY_NOTHING,  /* a way back for a rollout that this host has nothing of: done already */
	VERIFY_REFUSED,  /* reason says why and what to do */
	VERIFY_UNSIGNED, /* as refused, but nobody who may has signed it: it is answered, and leaves no trace here */
};

struct verify_answer {
	enum verify_verdict verdict;
	enum event event;
	char reason[MESSAGE_TEXT_MAX];
};

void verify_order(const struct verify *v, struct verify_answer *ret);
/* Whether nothing of a rollout is going on in that state: another one may begin. */
bool verify_settled(enum host_state s);
