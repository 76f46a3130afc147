/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_FEED_H
#define SPATE_FLOW_RECEIVE_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/aim.h"
#include "flow/place/counts.h"
#include "flow/place/gate.h"
#include "flow/place/place.h"
#include "flow/place/spare.h"
#include "flow/receive/split.h"

/*
 * A feed is one user of an intake: the places where its packets go, and the
 * gate that says which are its own.  Several feeds of one intake each get all
 * packets that their gates take, from the same sockets:
 *
 *                      +-- leading feed: packets land in its slots
 *   source -> intake --+-- feed: copies them into its own
 *                      +-- feed: not open yet, counts them before_start
 *
 *   feed_make -> receiver_feed -> its gate opens ... closes -> done ->
 *   feed_free
 *
 * It ends by itself when its gate has closed and each source was emptied of
 * what came before that, while the intake goes on for the others.
 *
 * The event loop makes and frees it; between receiver_feed and the call of
 * `done` it belongs to the receiver thread, except for what says otherwise.
 */
struct intake;
struct intake_source;

/* What it has of each source. */
struct feed_source {
	struct aim aim;
	struct gate_eye eye;
	int64_t passed;	    /* steady: when a batch came that was all behind the
			       gate; 0: never */
	unsigned drainings; /* batches, at the end */
	bool drained;	    /* at the end: nothing of it is left */
	unsigned after;	  /* packets in a row whose data are behind the gate */
	int64_t after_at; /* steady, when the first of these came */

	/* What it had told when the feed came, and when it left;
	 * intake::lock. */
	uint64_t datagrams, datagrams_end;
	uint64_t overruns, overruns_end;
};

struct feed_args {
	const char *name; /* of the recording, for the log; stays */
	/* Of each place of the intake; needed while it is made.  They differ
	 * in sub or, by thread or station, in out, arg, stock and shape.
	 * `spare` is left to the feed. */
	const struct place_args *place;
	struct place **ready; /* NULL, or all of them, made already: taken
				 over, once nothing can fail any more */
	struct gate gate;
	bool early;  /* packets from before the gate opens are placed, too */
	bool lesser; /* others come first: packets land with them, and nobody
			waits for its room */
	/* The gate has opened: a packet was let through.  Once, at most, and
	 * before that packet is in any block; NULL: nobody asks. */
	void (*opened)(void *arg);
	/* Everything is out; the last call on the receiver thread. */
	void (*done)(void *arg);
	void *arg;
};

enum feed_state { FEED_MADE, FEED_JOINED, FEED_LEFT };

struct feed {
	struct feed_args a;
	struct intake *in;
	struct place **place; /* as many as the intake says */
	struct spare *spare;
	struct split *split; /* NULL: a source's packets go to its place */
	struct feed_source *source;
	struct gate gate;
	bool opened;
	int64_t until;	   /* the end of the end; 0: it has not begun */
	int64_t settled;   /* by then all that had come can be received */
	struct feed *next; /* intake::feeds */
	struct feed *next_closing; /* receiver::closing */

	/* intake::lock */
	enum feed_state state;
	struct gate wanted; /* as it was ordered */

	/* Any thread may read; see counts.h. */
	struct counts_shown *shown; /* of each place */
	_Atomic uint64_t overruns;  /* of all sources, while it was there */
};

/* 0 or -ENOMEM.  Any time, also while the intake runs. */
int feed_make(struct feed **feed, struct intake *in,
	      const struct feed_args *args);
void feed_free(struct feed *f); /* NULL: nothing */

/* Another gate from now on, as far as it is not too late; the receiver has to
 * be told, see receiver_look.  One that closes before it opens takes nothing
 * any more, and ends at once.  The event loop. */
void feed_order(struct feed *f, const struct gate *gate);

/* What a source brought since the feed came, up to a second ago.  Any
 * thread. */
struct feed_view {
	struct receive_counts counts;
	unsigned place; /* 0 where the header decides */
};
void feed_look(struct feed *f, unsigned source, struct feed_view *view);

/* ---- the receiver thread ---------------------------------------------- */

/* Is it the one that packets should land with, now?  Else, how long until it
 * is; INT64_MAX: it has closed. */
int64_t feed_ahead(const struct feed *f, int64_t now);

/* Could a packet that comes now be near an edge of its gate? */
bool feed_near(const struct feed *f, int64_t now);

/* Where the next packets should land, of the feed that leads. */
unsigned feed_aim(struct feed *f, struct intake_source *s,
		  struct receive_pair *pair, unsigned n);

/* When a batch was received. */
struct feed_time {
	int64_t utc; /* of the pass */
	int64_t now; /* the same, steady */
	int64_t at;  /* steady: not before any packet of it */
	bool near;   /* to an edge of some feed's gate */
	bool alone;  /* no other feed is open */
};

/*
 * Takes of a batch what is its own.  `leads`: it was aimed with this feed,
 * which then has to be the last one that gets it, since it may move what
 * landed; the others only read.
 */
void feed_take(struct feed *f, struct intake_source *s,
	       const struct receive_batch *b, const struct feed_time *t,
	       bool leads);

/* The source's plugin knows the (absolute) sequence of its next packet. */
void feed_expect(struct feed *f, struct intake_source *s, uint64_t sequence);

/* How many of n pairs would be in free blocks, of one that does not lead. */
unsigned feed_room(struct feed *f, struct intake_source *s, unsigned n);

/* Closes what is too old; shows the counters. */
void feed_age(struct feed *f, int64_t now);
void feed_show(struct feed *f, unsigned place);

/* Has its gate closed?  Then its end begins. */
bool feed_closes(const struct feed *f, int64_t now);
void feed_close(struct feed *f, int64_t now);

/* At the end: may the source have something of it yet, after a visit at `now`
 * in which so much came (see intake_pass)? */
bool feed_waits(struct feed *f, struct intake_source *s, int64_t now, int came);

/* The end of the end: closes every block. */
void feed_flush(struct feed *f, int64_t now);

#endif
