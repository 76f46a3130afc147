/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_ORDER_H
#define SPATE_DAEMON_SESSIONS_ORDER_H

#include "daemon/sessions/recorder.h"

/*
 * An order is a request to record, by `spate record` or by the schedule.  A
 * checked order has a free name, known and idle streams, an end in the future,
 * and disks.  The event loop's thread.
 */
enum { ORDER_STREAMS = 256 };

enum order_flag {
	/* A stream that is being recorded is shared.  Without this flag it is
	 * refused, unless its recording is only armed. */
	ORDER_SHARE = 1,
	/* A taken name gets a letter: a ... z, A ...  Z. */
	ORDER_RENAME = 2,
	/* An interrupted recording of that name goes on. */
	ORDER_RESUME = 4,
};

/* A request to record, with its streams (borrowed from the setup, which keeps
 * them for this turn of the event loop). */
struct order {
	/* of the recording; order_check may change it with ORDER_RENAME */
	char name[128];
	struct stream *stream[ORDER_STREAMS];
	unsigned streams;
	struct session_when when;
	int priority;	/* of a scan; larger is more important */
	unsigned flags; /* ORDER_ bits */
	unsigned scan;	/* number of the schedule's scan; 0: a client's order */
	/* URL to send to while it is recorded; borrowed; NULL: none */
	const char *send;
	char by[SESSION_BY]; /* the client that ordered it; "": not told */
};

/* Reads the request `record`, for order_check.  Returns 0, or -errno with a
 * fault. */
int order_read(struct order *o, struct recorder *r, const json_t *request,
	       struct fault *fault);

/* Checks an order that the caller filled in.  Returns 0, or -errno with a
 * fault. */
int order_check(struct order *o, struct recorder *r, struct fault *fault);

/* Begins a session for each stream, all or none.  Returns 0, or -errno with a
 * fault. */
int order_begin(struct recorder *r, const struct order *o, struct fault *fault);

/* Names of the recordings of an order.  The event loop's thread. */

/* Returns the path of the first disk that has anything of this name, or
 * NULL. */
const char *order_name_disk(struct recorder *r, const char *name);

#endif
