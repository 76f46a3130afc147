/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_ORDER_H
#define SPATE_DAEMON_ORDER_H

#include "daemon/daemon.h"

/*
 * An order is what `record` was asked to do, checked: the name is free, the
 * streams are known and idle, the end is ahead, and there are disks.
 */
enum { ORDER_STREAMS = 256 };

struct order {
	const char *name; /* the request's */
	struct stream *stream[ORDER_STREAMS];
	unsigned streams;
	int64_t stop_at; /* steady; 0: not by itself */
};

/* 0 or -errno with a fault.  `request` must outlive the order. */
int order_read(struct order *o, struct daemon *d, const json_t *request,
	       struct fault *fault);

/* Begins a session for each stream: all of them or none.  0 or -errno. */
int order_begin(struct daemon *d, const struct order *o, struct fault *fault);

/* -ENOENT with a fault that names those there are. */
int order_stream_unknown(struct daemon *d, const char *name,
			 struct fault *fault);

#endif
