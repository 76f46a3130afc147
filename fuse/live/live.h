/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_LIVE_LIVE_H
#define SPATE_FUSE_LIVE_LIVE_H

#include "store/read/opened.h"

/*
 * Live is what spated knows of recordings that it is making, and what it has of
 * them in memory: who reads one sees a block when it is full, and not when it
 * is durable; and it costs no disk.
 *
 * It has one thread, from the first time that a recording grows on, which asks
 * the daemon (verb `map`) and waits for it; nobody else does, but for a moment
 * when a recording is looked at for the first time.  Without a daemon, or with
 * one that shares no memory, recordings are what their indexes say.  The
 * connection is tried again and again, as long as somebody reads what grows,
 * and the daemon's memory is held no longer than its connection.
 */
struct live;

/* `socket` is copied.  Connects to nobody yet.  0 or -errno. */
int live_open(struct live **live, const char *socket);

/* The hooks are not called any more.  Waits a moment for its thread; of a
 * daemon that does not answer it is left behind. */
void live_close(struct live *l); /* NULL: nothing */

/* For those who open recordings (store/read/opened.h); good until it is closed. */
struct opened_hooks live_hooks(struct live *l);

struct live_facts {
	bool connected, shares; /* to a daemon; its memory */
	unsigned recordings;	/* that are followed */
	uint64_t asked;		/* times, since it was opened */
	uint64_t copied;	/* bytes; */
	uint64_t missed;	/* times that bytes were not there, or not any
				   more */
};
void live_facts(struct live *l, struct live_facts *f);

#endif
