/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SUBSCRIBER_H
#define SPATE_FLOW_RECEIVE_SUBSCRIBER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/prediction.h"
#include "flow/place/counts.h"
#include "flow/place/time_window.h"
#include "flow/place/placement.h"
#include "flow/receive/split.h"

/*
 * A subscriber is a subscriber to an intake: the placements where its packets
 * go, and the time window that decides which packets are its own.  Several
 * subscribers of one intake each get all packets that their time windows take,
 * from the same sockets:
 *
 *
 *                      +-- leading subscriber: packets land in its slots
 *   source -> intake --+-- subscriber: copies them into its own
 *                      +-- subscriber: not open yet, counts them before_start
 *
 *   subscriber_make -> receiver_subscribe -> its time window opens ... closes -> done ->
 *   subscriber_free
 *
 * A subscriber ends by itself when its time window has closed and each source
 * was emptied of what came before that; the intake goes on for the other
 * subscribers.
 *
 * The event loop makes and frees a subscriber.  Between receiver_subscribe and
 * the call of `done` it belongs to the receiver thread, except where noted.
 */
struct intake;
struct intake_source;

/* State that a subscriber keeps for each source. */
struct subscriber_source {
	struct prediction prediction;
	struct time_window_state eye;
	int64_t passed;	    /* steady ns when a batch came that was all behind
			       the time window; 0: never */
	unsigned drainings; /* batches taken at the end */
	/* At the end: nothing that it should take is left. */
	bool drained;
	/* Packets in a row whose data time is behind the time window. */
	unsigned after;
	int64_t after_at; /* steady ns when the first of these came */

	/* The source's totals when the subscriber joined and when it left.
	 * Guarded by intake::lock. */
	uint64_t datagrams, datagrams_end;
	uint64_t overruns, overruns_end;
};

struct subscriber_args {
	const char *name; /* name of the recording, for the log; not copied */
	/* One per placement of the intake; read only by subscriber_make.  They
	 * differ in sub, or, by thread or station, in out, arg, pool and shape.
	 * The subscriber sets `scratch` itself. */
	const struct placement_args *placement;
	struct placement *
	    *ready; /* NULL; or all placements, made already: taken over
				 if subscriber_make succeeds */
	struct time_window time_window;
	bool early; /* also place packets from before the time window opens */
	bool
	    lesser; /* a relay, not a recording: packets land in another subscriber's
			slots, and no sender waits for its room */
	/* Tells that the time window has opened: called at most once, before
	 * the first packet is in any block.  NULL: not needed. */
	void (*opened)(void *arg);
	/* Tells that everything is handed on; the last call on the receiver
	 * thread. */
	void (*done)(void *arg);
	void *arg;
};

enum subscriber_state { SUBSCRIBER_MADE, SUBSCRIBER_JOINED, SUBSCRIBER_LEFT };

struct subscriber {
	struct subscriber_args a;
	struct intake *in;
	struct placement **placement; /* intake_args::placements of them */
	struct scratch *scratch;
	struct split
	    *split; /* NULL: all packets of a source go to one placement */
	struct subscriber_source *source;
	struct time_window time_window;
	bool opened;
	int64_t until;	 /* steady ns, deadline of the end; 0: not ending */
	int64_t settled; /* steady ns when all that came before can be
			      received */
	struct subscriber *next;	 /* intake::subscribers */
	struct subscriber *next_closing; /* receiver::closing */

	/* Guarded by intake::lock. */
	enum subscriber_state state;
	struct time_window wanted; /* the time window last ordered */

	/* Any thread may read these; see counts.h. */
	struct counts_shown *shown; /* per placement */
	_Atomic uint64_t overruns;  /* of all sources, while it was joined */
};

/* Makes a subscriber; the intake may be running.  Returns 0 or -ENOMEM.  Event
 * loop. */
int subscriber_make(struct subscriber **subscriber, struct intake *in,
		    const struct subscriber_args *args);
void subscriber_free(struct subscriber *f); /* NULL is allowed */

/* Orders another time window, which counts from now on as far as it is not too
 * late; call receiver_look afterwards.  A time window that closes before it
 * opens takes nothing more, and ends the subscriber at once.  Event loop. */
void subscriber_order(struct subscriber *f,
		      const struct time_window *time_window);

/* Counts of a source since the subscriber joined, up to a second old.  Any
 * thread. */
struct subscriber_view {
	struct receive_counts counts;
	unsigned
	    placement; /* the placement it feeds; 0 where the header decides */
};
void subscriber_look(struct subscriber *f, unsigned source,
		     struct subscriber_view *view);

/* ---- the receiver thread ---------------------------------------------- */

/* Returns how long, in ns, until packets should land in this subscriber's
 * slots: 0 if its time window is open, INT64_MAX if it has closed. */
int64_t subscriber_ahead(const struct subscriber *f, int64_t now);

/* True if a packet that comes now could be near an edge of the time window. */
bool subscriber_near(const struct subscriber *f, int64_t now);

/* Aims the pairs of the next call, for the subscriber that leads.  Returns the
 * number of pairs with room, see placement_aim. */
unsigned subscriber_aim(struct subscriber *f, struct intake_source *s,
			struct receive_pair *pair, unsigned n);

/* Time of a batch. */
struct subscriber_time {
	int64_t utc; /* UTC ns of the pass */
	int64_t now; /* steady ns of the pass */
	int64_t at;  /* steady ns; every packet of the batch came by then */
	bool near;   /* near an edge of some subscriber's time window */
	bool alone;  /* no other subscriber is open */
};

/*
 * Takes its own packets of a batch.  `leads`: pairs were aimed for this
 * subscriber, which then must be the last to get the batch, since it may move
 * what landed; other subscribers only read.
 */
void subscriber_take(struct subscriber *f, struct intake_source *s,
		     const struct receive_batch *b,
		     const struct subscriber_time *t, bool leads);

/* Tells the absolute sequence of the source's next packet, which its plugin
 * knows. */
void subscriber_expect(struct subscriber *f, struct intake_source *s,
		       uint64_t sequence);

/* Number of n pairs that would be in free blocks, for a subscriber that does
 * not lead. */
unsigned subscriber_room(struct subscriber *f, struct intake_source *s,
			 unsigned n);

/* Close blocks that are too old; publish the counters. */
void subscriber_age(struct subscriber *f, int64_t now);
void subscriber_show(struct subscriber *f, unsigned placement);

/* True if the time window has closed: then subscriber_close begins the end. */
bool subscriber_closes(const struct subscriber *f, int64_t now);
void subscriber_close(struct subscriber *f, int64_t now);

/* At the end: true if the source may still have packets of this subscriber,
 * after a visit at `now`, in which packets came or not, and after which it has
 * more or is empty. */
bool subscriber_waits(struct subscriber *f, struct intake_source *s,
		      int64_t now, bool came, bool more);

/* Closes every block, as the last step. */
void subscriber_flush(struct subscriber *f, int64_t now);

#endif
