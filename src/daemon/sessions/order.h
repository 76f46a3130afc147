/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_ORDER_H
#define SPATE_DAEMON_SESSIONS_ORDER_H

#include "daemon/main/daemon.h"

/*
 * An order is what is to be recorded, by `record` or by the schedule,
 * checked: the name is free, the streams are known and idle, the end is
 * ahead, and there are disks.
 */
enum { ORDER_STREAMS = 256 };

enum order_flag {
	/* A stream that is being recorded is shared; else it is refused,
	 * unless what has it is only armed. */
	ORDER_SHARE = 1,
	/* A name that is taken gets a letter: a ... z, A ... Z. */
	ORDER_RENAME = 2,
	/* A recording of that name that was interrupted goes on. */
	ORDER_RESUME = 4,
};

struct order {
	char name[128]; /* of the recording; with ORDER_RENAME order_check
			   may change it */
	struct stream *stream[ORDER_STREAMS];
	unsigned streams;
	struct session_when when;
	int priority;	  /* 0, or higher; the schedule's */
	unsigned flags;	  /* ORDER_ bits */
	unsigned scan;	  /* of the schedule; 0: typed */
	const char *send; /* a URL, while it is made; borrowed; NULL: nowhere */
};

/* What `record` asks for; checks it, too.  0 or -errno with a fault. */
int order_read(struct order *o, struct daemon *d, const json_t *request,
	       struct fault *fault);

/* Checks one that was filled in.  0 or -errno with a fault. */
int order_check(struct order *o, struct daemon *d, struct fault *fault);

/* Begins a session for each stream: all of them or none.  0 or -errno. */
int order_begin(struct daemon *d, const struct order *o, struct fault *fault);

/* -ENOENT with a fault that names those there are. */
int order_stream_unknown(struct daemon *d, const char *name,
			 struct fault *fault);

#endif
