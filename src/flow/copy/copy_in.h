/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_IN_H
#define SPATE_FLOW_COPY_COPY_IN_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "flow/copy/copy_link.h"
#include "flow/copy/ledger.h"
#include "flow/output/output.h"
#include "flow/memory/pool.h"
#include "store/disk/disk.h"
#include "store/disk/layout.h"

/*
 * A copy that comes in is a recording that another spate sends, from its first
 * connection until it is durable here.  Threads of its connections and the
 * event loop move it on in turn:
 *
 *   GREETED --HEAD--> ASKED --loop--> LOOKING --> LOOKED --loop--> BEGINNING
 *                                        |                            |
 *                                      THERE                        TAKING
 *                                        |                            |
 *                                        |       CLOSE, or nobody came back
 *                                        |                            |
 *                                        +--> CLOSED <--- loop --- CLOSING
 *   any of them --> FAILED, with a fault
 *
 *   GREETED    a peer has said its name, and not yet what it is
 *   ASKED      the event loop says which disks there are
 *   LOOKING    a connection's thread reads what is here of it
 *   LOOKED     the event loop lets the writers make, or open, its folders
 *   TAKING     blocks come, and go to disks
 *   THERE      all of it is here, complete: nothing is written
 *   CLOSING    the event loop has the writers close the folders: with the end
 *              that the sender told, or without one: as interrupted
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

/* What it needs of the daemon; outlives it. */
struct copy_in_host {
	struct pool *pool;
	struct queue *queue;
	int64_t durable;
	unsigned disks;		 /* most writers there can be */
	void (*wake)(void *arg); /* the event loop; any thread */
	void *arg;
};

/* The disks that answer. */
struct copy_in_disks {
	struct disk disk[COPY_IN_DISKS];
	struct disks disks;
};

/* One connection, on the stack of its thread. */
struct copy_in_link {
	struct copy_link link;
	unsigned number;  /* among those of the transfer */
	unsigned flushed; /* the AGREE for which all of it came */
	uint8_t *buffer;  /* WIRE_PAYLOAD_MOST; of number 0 */
	bool said_full;
};

struct copy_in {
	const struct copy_in_host *host;
	unsigned id;
	char name[LAYOUT_FILE]; /* that it gets here */
	char from[LINK_PEER];
	bool as;	  /* the sender asked for that name */
	int64_t start_ns; /* UTC */

	pthread_mutex_t lock; /* over what is below */
	pthread_cond_t moved; /* its state, its links */
	enum copy_in_state state;
	struct fault fault; /* FAILED */
	uint64_t transfer, attempt;
	unsigned connections; /* that the transfer has */
	struct copy_in_link *link[COPY_IN_LINKS];
	unsigned links;
	bool gone;     /* one of this attempt's is */
	int64_t idle;  /* steady, since when there are none; 0: there are */
	bool full;     /* no disk takes anything just now */
	bool stopping; /* by order: nothing more is taken */
	bool ended;    /* CLOSING: the sender told its end */
	bool whole;    /* CLOSED: with that end, which is durable */
	struct index_record end;
	json_t *head;	   /* of the copy; from LOOKED on it is constant */
	json_t *told_head; /* as the sender told it */
	uint64_t identity;
	struct copy_in_disks *here;
	uint64_t looked, look_of; /* bytes, LOOKING */

	/* From LOOKED on. */
	struct ledger *ledger;
	struct stock *stock;
	struct output *output;
	struct format_shape shape; /* the output's */
	uint32_t *threads;	   /* of the shape */

	uint64_t sampled_bytes; /* the event loop's */
	int64_t sampled;
	double rate;
	struct copy_in *next; /* inbox::copies */
};

/* 0 or -ENOMEM. */
int copy_in_make(struct copy_in **copy, const struct copy_in_host *host,
		 const char *name, const char *from);
/* It has no links, and ended. */
void copy_in_free(struct copy_in *c);

/* ---- any thread ----------------------------------------------------- */

/* Its state. */
enum copy_in_state copy_in_is(struct copy_in *c);

/* A state that it gets into; the other threads, and the loop, are told. */
void copy_in_move(struct copy_in *c, enum copy_in_state state);
/* The same for FAILED. */
void copy_in_fail(struct copy_in *c, const struct fault *fault);

/* All links are told to stop. */
void copy_in_cut(struct copy_in *c);

/* ---- threads of connections ----------------------------------------- */

/* What a HELLO said. */
struct copy_in_hello {
	uint64_t transfer, attempt;
	unsigned connections, connection;
};

/*
 * Lets a connection in, which takes the place of those of an attempt before
 * it.  0; or -EBUSY with a fault: another transfer has the name, or it cannot
 * be just now.
 */
int copy_in_attach(struct copy_in *c, struct copy_in_link *l,
		   const struct copy_in_hello *hello, struct fault *fault);
void copy_in_detach(struct copy_in *c, struct copy_in_link *l);

/*
 * One that was let in: does what its sender says until it
 * ends.  0; or -errno with a fault that the sender is to be told, where that
 * has a code.
 */
int copy_in_serve(struct copy_in *c, struct copy_in_link *l,
		  struct fault *fault);

/* copy_in_agree.c, for copy_in_serve.c: the frames by which both ends come to
 * their end, with the payload in l->buffer. */
int copy_in_want(struct copy_in *c, struct copy_in_link *l);
int copy_in_agree(struct copy_in *c, struct copy_in_link *l,
		  const struct wire_frame *f, struct fault *fault);
int copy_in_close(struct copy_in *c, struct copy_in_link *l,
		  const struct wire_frame *f, struct fault *fault);

/* Waits until it is behind LOOKED, or until it is CLOSED.  0; -ECANCELED; or
 * with a fault, FAILED. */
int copy_in_await(struct copy_in *c, struct copy_in_link *l,
		  enum copy_in_state least, struct fault *fault);

/* Tells the sender what has changed: "waiting", while there is no room. */
int copy_in_state(struct copy_in *c, struct copy_in_link *l);

/* A lie, or damage on the way. */
int copy_in_lie(struct fault *fault, const char *why);

/* copy_in_look.c: LOOKING to LOOKED or THERE.  `told` is called now and then.
 * 0 or -errno with a fault. */
int copy_in_look(struct copy_in *c, void (*told)(void *arg), void *arg,
		 struct fault *fault);

/* copy_in_make.c: an empty ledger, by what was told; and where blocks go, with
 * the head of what is here, or NULL.  0 or -errno with a fault. */
int copy_in_ledger(struct copy_in *c, struct ledger_args *args,
		   struct fault *fault);
int copy_in_output(struct copy_in *c, const struct ledger_args *args,
		   const json_t *head, struct fault *fault);

#endif
