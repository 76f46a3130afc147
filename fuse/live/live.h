/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_LIVE_LIVE_H
#define SPATE_FUSE_LIVE_LIVE_H

#include "store/read/open_recordings.h"

/*
 * Follows recordings that spated is making: which blocks they have, and the
 * data of blocks that are still in the daemon's memory.  A reader sees a block
 * when it is full, not only when it is durable, and reading it costs no disk.
 *
 * One thread, which begins when a growing recording is first read, asks the
 * daemon (verb `map`) and waits for it.  Other threads wait only for a moment,
 * when a recording is looked at for the first time.  Without a daemon, or with
 * one that shares no memory, recordings are what their indexes say.  The thread
 * connects again and again while a growing recording is read, and holds the
 * daemon's memory no longer than its connection.
 */
struct live;

/*
 * Makes a live; connects to nothing yet.  `socket` is copied.  Returns 0 or
 * -errno.
 */
int live_open(struct live **live, const char *socket);

/*
 * Ends it; the hooks must not be called any more.  Waits a moment for the
 * thread; if the daemon does not answer, the thread is left behind, and frees
 * everything when it ends.
 */
void live_close(struct live *l); /* may be NULL */

/* Hooks for open recordings (store/read/open_recordings.h); valid until
 * live_close(). */
struct open_recordings_hooks live_hooks(struct live *l);

struct live_facts {
	bool connected, shares; /* to a daemon; its memory is mapped */
	unsigned recordings;	/* recordings that are followed */
	uint64_t asked;		/* requests since it was opened */
	uint64_t copied;	/* bytes copied from the daemon's memory */
	/* times that bytes were not in memory, or no longer */
	uint64_t missed;
};

/* Copies the counters.  Any thread. */
void live_facts(struct live *l, struct live_facts *f);

#endif
