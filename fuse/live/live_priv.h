/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_LIVE_LIVE_PRIV_H
#define SPATE_FUSE_LIVE_LIVE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "control/control.h"
#include "fuse/live/live.h"
#include "store/record/map_page.h"

/*
 *   live.c         what those who read ask for
 *   live_talk.c    the thread that talks to the daemon
 *   live_memory.c  the daemon's memory, as long as anybody copies of it
 */

/* The arena and its page, mapped to be read. */
struct live_memory {
	atomic_uint refs; /* the last one unmaps: acq_rel, as of a block */
	const struct map_page *page;
	const uint8_t *arena;
	uint64_t page_bytes, arena_bytes;
};

/* Takes both descriptors, also on an error.  0 or -errno. */
int live_memory_map(struct live_memory **memory, int arena, int page);
struct live_memory *live_memory_get(struct live_memory *m); /* NULL: NULL */
void live_memory_put(struct live_memory *m);		    /* NULL: nothing */

/* A recording that grows. */
struct live_name {
	struct live_name *next; /* live::names */
	char name[256];
	uint64_t id;	   /* in the page; of the connection that there is */
	uint64_t floor;	   /* below all is durable, or lost */
	bool known;	   /* id is one: the daemon has it */
	bool answered;	   /* once, whatever it was, */
	bool waited;	   /* for the first time */
	int64_t wanted_ns; /* steady: when it was looked at last, */
	int64_t asked_ns;  /* asked for last, */
	int64_t due_ns;	   /* and when it is next */
};

struct live {
	char *socket;
	int wake; /* an eventfd: of the thread */

	pthread_mutex_t lock; /* for a moment; nobody waits with it */
	pthread_cond_t news;  /* an answer, and the thread's end */
	/* ---- under the lock */
	unsigned refs; /* who opened it, and the thread */
	bool running, closing;
	struct live_name *names;
	struct live_memory *memory; /* NULL: none is shared */
	bool connected;
	int64_t retry_ns; /* not connected before this; steady */
	struct live_facts facts;

	/* ---- the thread's */
	struct control *control;
	int64_t pause_ns; /* before it is tried again */
	int said;	  /* the error that was logged last */
};

/* Under the lock. */
struct live_name *live_find(struct live *l, const char *name);
void live_wake(struct live *l);
void live_drop(struct live *l); /* without it */

/* Has a thread, if there is none yet.  Under the lock.  0 or -errno. */
int live_talk(struct live *l);

#endif
