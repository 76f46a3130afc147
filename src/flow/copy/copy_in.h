/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_IN_H
#define SPATE_FLOW_COPY_COPY_IN_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "flow/copy/copy_link.h"
#include "flow/copy/copy_blocks.h"
#include "flow/output/output.h"
#include "flow/memory/block_pool.h"
#include "store/disk/disk.h"
#include "store/disk/layout.h"

/*
 * A copy that comes in is a recording that another spate sends, from its first
 * connection until it is durable here.  The threads of its connections and the
 * event loop move it on in turn:
 *
 *   GREETED --HEAD--> ASKED --loop--> LOOKING --> LOOKED --loop--> BEGINNING
 *                                        |                            |
 *                                      THERE                        TAKING
 *                                        |                            |
 *                                        |       CLOSE, or no link came back
 *                                        |                            |
 *                                        +--> CLOSED <--- loop --- CLOSING
 *   any of them --> FAILED, with a fault
 *
 *   GREETED    a peer has said its name, and not yet what it sends
 *   ASKED      waits for the event loop to say which disks there are
 *   LOOKING    a connection's thread reads what these disks have of it
 *   LOOKED     waits for the event loop to post the begin to the writers
 *   BEGINNING  the writers make, or open, its folders
 *   TAKING     blocks come, and go to disks
 *   THERE      all of it is here, complete: nothing is written
 *   CLOSING    the writers close the folders, with the end that the sender
 *              told, or without one, as of an interrupted recording
 */
enum copy_in_state {
	COPY_IN_GREETED,
	COPY_IN_ASKED,
	COPY_IN_LOOKING,
	COPY_IN_LOOKED,
	COPY_IN_BEGINNING,
	COPY_IN_TAKING,
	COPY_IN_THERE,
	COPY_IN_CLOSING,
	COPY_IN_CLOSED,
	COPY_IN_FAILED,
};

enum { COPY_IN_LINKS = 16, COPY_IN_DISKS = 256 };

/* Services of the daemon; they outlive the copy. */
struct copy_in_host {
	struct arena *arena;
	struct queue *queue;
	int64_t durable;	 /* ns between syncs, see output_args */
	unsigned disks;		 /* most writers there can be */
	void (*wake)(void *arg); /* wakes the event loop; any thread */
	void *arg;
};

/* Disks that are there and answer. */
struct copy_in_disks {
	struct disk disk[COPY_IN_DISKS];
	struct disks disks;
};

/* One connection; lives on the stack of its thread. */
struct copy_in_link {
	struct copy_link link;
	unsigned number; /* 0 to copy_in::connections - 1 */
	/* Round of the last ASK: all pieces sent before it have come. */
	unsigned flushed;
	/* WIRE_PAYLOAD_MOST bytes, for frames of connection 0. */
	uint8_t *buffer;
	bool said_full;
};

struct copy_in {
	const struct copy_in_host *host;
	unsigned id;
	char name[LAYOUT_FILE]; /* the name of the recording here */
	char from[LINK_PEER];
	bool as;	  /* the sender asked for that name (--as) */
	int64_t start_ns; /* UTC ns, when its first connection came */

	pthread_mutex_t lock; /* protects the fields down to here */
	pthread_cond_t moved; /* signalled on changes; no thread waits on it */
	enum copy_in_state state;
	struct fault fault; /* why, in state FAILED */
	uint64_t transfer, attempt;
	/* Connections of the transfer, as its sender says. */
	unsigned connections;
	struct copy_in_link *link[COPY_IN_LINKS];
	unsigned links;
	bool gone; /* a connection of this attempt has ended */
	/* Steady ns since when it has no connection; 0: it has one. */
	int64_t idle;
	bool full;     /* no disk takes blocks just now */
	bool stopping; /* ordered to stop: takes nothing more */
	/* The sender told the recording's end; from CLOSING on. */
	bool ended;
	/* In CLOSED: everything that the sender has is durable here. */
	bool whole;
	struct index_record end;
	/* First line of the copy's metadata; constant from LOOKED on. */
	json_t *head;
	json_t *told_head; /* the same line as the sender told it */
	uint64_t identity;
	struct copy_in_disks *here;

	/* Made in LOOKING and constant then; pool and output stay NULL in
	 * THERE. */
	struct copy_blocks *blocks;
	struct block_pool *pool;
	struct output *output;
	struct format_shape shape; /* shape of the data, for the output */
	uint32_t *threads;	   /* thread list of the shape */

	uint64_t sampled_bytes; /* used by the event loop only, for `rate` */
	int64_t sampled;
	double rate;
	struct copy_in *next; /* linked in inbox::copies */
};

/* Makes a copy in state GREETED.  0 or -ENOMEM. */
int copy_in_make(struct copy_in **copy, const struct copy_in_host *host,
		 const char *name, const char *from);
/* Frees a copy that has no connections and is CLOSED or FAILED. */
void copy_in_free(struct copy_in *c);

/* ---- any thread ----------------------------------------------------- */

/* Returns the state. */
enum copy_in_state copy_in_is(struct copy_in *c);

/* Changes the state, unless it is CLOSED or FAILED, and wakes the event loop.
 * Threads of connections find the new state by polling (copy_in_await). */
void copy_in_move(struct copy_in *c, enum copy_in_state state);
/* Does the same with FAILED. */
void copy_in_fail(struct copy_in *c, const struct fault *fault);

/* Tells the threads of all connections to stop. */
void copy_in_cut(struct copy_in *c);

/* ---- threads of connections ----------------------------------------- */

/* Numbers from a connection's HELLO. */
struct copy_in_hello {
	uint64_t transfer, attempt;
	unsigned connections, connection;
};

/* Lets a connection in.  Connections of an earlier attempt are told to stop,
 * and waited for.  0, or -EBUSY with a fault: another transfer has the name, or
 * the copy takes no connections just now. */
int copy_in_attach(struct copy_in *c, struct copy_in_link *l,
		   const struct copy_in_hello *hello, struct fault *fault);
void copy_in_detach(struct copy_in *c, struct copy_in_link *l);

/* Handles the frames of a connection that was let in, until it ends.  0; or
 * -errno, with a fault to be told to the sender if its code is not NULL. */
int copy_in_serve(struct copy_in *c, struct copy_in_link *l,
		  struct fault *fault);

/* Makes a fault of a frame that is wrong, by intent or damage; returns
 * -EBADMSG. */
int copy_in_lie(struct fault *fault, const char *why);

/* Reads what the disks have of the recording, and moves the state from LOOKING
 * to LOOKED or THERE.  Calls `told` now and then.  0 or -errno with a fault. */
int copy_in_look(struct copy_in *c, void (*told)(void *arg), void *arg,
		 struct fault *fault);

#endif
