/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_LIVE_LIVE_PRIV_H
#define SPATE_FUSE_LIVE_LIVE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "control/control.h"
#include "fuse/live/live.h"
#include "store/record/map_page.h"

/*
 * Declarations that the files of fuse/live share.
 *
 *   live.c         what readers call
 *   live_talk.c    the thread that talks to the daemon
 *   live_memory.c  the daemon's memory, mapped while a reader copies from it
 */

/* The daemon's arena and its page (a table of blocks), mapped read-only. */
struct live_memory {
	/* the last holder unmaps; acq_rel, so that it sees all reads done */
	atomic_uint refs;
	const struct map_page *page;
	const uint8_t *arena;
	uint64_t page_bytes, arena_bytes;
};

/*
 * Maps both, and closes both descriptors, also on failure.  Returns 0 or
 * -errno.
 */
int live_memory_map(struct live_memory **memory, int arena, int page);
struct live_memory *live_memory_get(struct live_memory *m); /* may be NULL */
void live_memory_put(struct live_memory *m);		    /* may be NULL */

/* A recording that grows. */
struct live_name {
	struct live_name *next; /* live::names */
	char name[256];
	uint64_t id;	   /* in the page; valid for the present connection */
	uint64_t floor;	   /* all blocks below are durable or lost */
	bool known;	   /* the daemon has it, and `id` is valid */
	bool answered;	   /* the daemon has answered, whatever it said */
	bool waited;	   /* a reader has waited for the first answer */
	int64_t wanted_ns; /* steady ns: when a reader looked at it last */
	int64_t asked_ns;  /* steady ns: when the daemon was asked last */
	int64_t due_ns;	   /* steady ns: when the daemon is to be asked next */
};

struct live {
	char *socket;
	int wake; /* an eventfd that wakes the thread */

	pthread_mutex_t lock; /* held for a moment only, never while waiting */
	/* signalled at an answer, and at the thread's end */
	pthread_cond_t news;
	/* ---- under the lock ----------------------------------------- */
	unsigned refs; /* holders: the opener and the thread */
	bool running, closing;
	struct live_name *names;
	struct live_memory *memory; /* NULL: none is shared */
	bool connected;
	int64_t retry_ns; /* steady ns: no connection before */
	struct live_facts facts;

	/* ---- used by the thread alone ------------------------------- */
	struct control *control; /* connection to the daemon; NULL: none */
	int64_t pause_ns;	 /* ns until the next attempt */
	int said;		 /* the error that was logged last */
};

/* Called with the lock. */
struct live_name *live_find(struct live *l, const char *name);

/* Wakes the thread.  With or without the lock. */
void live_wake(struct live *l);
void live_drop(struct live *l); /* called without the lock */

/*
 * Starts the thread if there is none.  Called with the lock.  Returns 0 or
 * -errno.
 */
int live_talk(struct live *l);

#endif
