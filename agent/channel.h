// SPDX-License-Identifier: Apache-2.0
/* Owns the frames between the agent's two processes: the talker, which has the network and no rights, and the actor,
 * which has rights and no network. Must not know what the frames mean to either. */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* A SOCK_SEQPACKET pair; one frame is one packet: kind (1 byte), then the body, at most CHANNEL_BODY_MAX. */
#define CHANNEL_BODY_MAX (100u << 10)

enum channel_kind {
	CHANNEL_REPORT = 1, /* actor -> talker: a host_report as JSON; the talker keeps and repeats the newest */
	CHANNEL_UPLOAD,     /* actor -> talker: "ROLLOUT/EPOCH": upload the recording in the spool under that order */
	CHANNEL_REPLY,      /* talker -> actor: a poll_reply with an order, the JSON as it came */
	CHANNEL_UPLOADED, /* talker -> actor: "ROLLOUT/EPOCH ok" or "ROLLOUT/EPOCH refused TEXT" (a refusal for good) */
	CHANNEL_KIND_COUNT
};

/* Both ends, O_CLOEXEC. */
int must_check channel_pair(int ret[2], struct err *e);
/* Waits while the other end has much to read; -ETIMEDOUT after 30 s, -EPIPE: the other end is gone. */
int must_check channel_send(int fd, enum channel_kind kind, const void *body, size_t len, struct err *e);
/* 1: a frame, its body replaces ret's content; 0: timeout_ms is over (-1: never), or a signal came; -EPIPE: the other
 * end is gone; -EBADMSG: a frame that cannot be (unknown kind, too long, with descriptors): whoever gets one ends the
 * process. */
int must_check channel_receive(int fd, int timeout_ms, enum channel_kind *kind, struct buf *ret, struct err *e);
