/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_FEED_H
#define SPATE_FLOW_RECEIVE_FEED_H

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
 * A feed is a subscriber to an intake: the places where its packets go, and the
 * time window that decides which packets are its own.  Several feeds of one intake
 * each get all packets that their time windows take, from the same sockets:
 *
 *
 *                      +-- leading feed: packets land in its slots
 *   source -> intake --+-- feed: copies them into its own
 *                      +-- feed: not open yet, counts them before_start
 *
 *   feed_make -> receiver_feed -> its time window opens ... closes -> done ->
 *   feed_free
 *
 * A feed ends by itself when its time window has closed and each source was emptied of
 * what came before that; the intake goes on for the other feeds.
 *
 * The event loop makes and frees a feed.  Between receiver_feed and the call of
 * `done` it belongs to the receiver thread, except where noted.
 */
struct intake;
struct intake_source;

/* State that a feed keeps for each source. */
struct feed_source {
	struct prediction aim;
	struct time_window_state eye;
	int64_t passed;	    /* steady ns when a batch came that was all behind
			       the time window; 0: never */
	unsigned drainings; /* batches taken at the end */
	/* At the end: nothing that it should take is left. */
	bool drained;
	/* Packets in a row whose data time is behind the time window. */
	unsigned after;
	int64_t after_at; /* steady ns when the first of these came */

	/* The source's totals when the feed joined and when it left.  Guarded
	 * by intake::lock. */
	uint64_t datagrams, datagrams_end;
	uint64_t overruns, overruns_end;
};

struct feed_args {
	const char *name; /* name of the recording, for the log; not copied */
	/* One per place of the intake; read only by feed_make.  They differ in
	 * sub, or, by thread or station, in out, arg, pool and shape.  The
	 * feed sets `scratch` itself. */
	const struct placement_args *place;
	struct placement *
	    *ready; /* NULL; or all places, made already: taken over
				 if feed_make succeeds */
	struct time_window time_window;
	bool early;  /* also place packets from before the time window opens */
	bool lesser; /* a relay, not a recording: packets land in another feed's
			slots, and no sender waits for its room */
	/* Tells that the time window has opened: called at most once, before the first
	 * packet is in any block.  NULL: not needed. */
	void (*opened)(void *arg);
	/* Tells that everything is handed on; the last call on the receiver
	 * thread. */
	void (*done)(void *arg);
	void *arg;
};

enum feed_state { FEED_MADE, FEED_JOINED, FEED_LEFT };

struct feed {
	struct feed_args a;
	struct intake *in;
	struct placement **place; /* intake_args::places of them */
	struct scratch *scratch;
	struct split *split; /* NULL: all packets of a source go to one place */
	struct feed_source *source;
	struct time_window time_window;
	bool opened;
	int64_t until;	   /* steady ns, deadline of the end; 0: not ending */
	int64_t settled;   /* steady ns when all that came before can be
			      received */
	struct feed *next; /* intake::feeds */
	struct feed *next_closing; /* receiver::closing */

	/* Guarded by intake::lock. */
	enum feed_state state;
	struct time_window wanted; /* the time window last ordered */

	/* Any thread may read these; see counts.h. */
	struct counts_shown *shown; /* per place */
	_Atomic uint64_t overruns;  /* of all sources, while it was joined */
};

/* Makes a feed; the intake may be running.  Returns 0 or -ENOMEM.  Event
 * loop. */
int feed_make(struct feed **feed, struct intake *in,
	      const struct feed_args *args);
void feed_free(struct feed *f); /* NULL is allowed */

/* Orders another time window, which counts from now on as far as it is not too late;
 * call receiver_look afterwards.  A time window that closes before it opens takes
 * nothing more, and ends the feed at once.  Event loop. */
void feed_order(struct feed *f, const struct time_window *time_window);

/* Counts of a source since the feed joined, up to a second old.  Any thread. */
struct feed_view {
	struct receive_counts counts;
	unsigned place; /* the place it feeds; 0 where the header decides */
};
void feed_look(struct feed *f, unsigned source, struct feed_view *view);

/* ---- the receiver thread ---------------------------------------------- */

/* Returns how long, in ns, until packets should land in this feed's slots: 0 if
 * its time window is open, INT64_MAX if it has closed. */
int64_t feed_ahead(const struct feed *f, int64_t now);

/* True if a packet that comes now could be near an edge of the time window. */
bool feed_near(const struct feed *f, int64_t now);

/* Aims the pairs of the next call, for the feed that leads.  Returns the number
 * of pairs with room, see placement_aim. */
unsigned feed_aim(struct feed *f, struct intake_source *s,
		  struct receive_pair *pair, unsigned n);

/* Time of a batch. */
struct feed_time {
	int64_t utc; /* UTC ns of the pass */
	int64_t now; /* steady ns of the pass */
	int64_t at;  /* steady ns; every packet of the batch came by then */
	bool near;   /* near an edge of some feed's time window */
	bool alone;  /* no other feed is open */
};

/*
 * Takes its own packets of a batch.  `leads`: pairs were aimed for this feed,
 * which then must be the last to get the batch, since it may move what landed;
 * other feeds only read.
 */
void feed_take(struct feed *f, struct intake_source *s,
	       const struct receive_batch *b, const struct feed_time *t,
	       bool leads);

/* Tells the absolute sequence of the source's next packet, which its plugin
 * knows. */
void feed_expect(struct feed *f, struct intake_source *s, uint64_t sequence);

/* Number of n pairs that would be in free blocks, for a feed that does not
 * lead. */
unsigned feed_room(struct feed *f, struct intake_source *s, unsigned n);

/* Close blocks that are too old; publish the counters. */
void feed_age(struct feed *f, int64_t now);
void feed_show(struct feed *f, unsigned place);

/* True if the time window has closed: then feed_close begins the end. */
bool feed_closes(const struct feed *f, int64_t now);
void feed_close(struct feed *f, int64_t now);

/* At the end: true if the source may still have packets of this feed, after a
 * visit at `now` with the result `came` (see intake_pass). */
bool feed_waits(struct feed *f, struct intake_source *s, int64_t now, int came);

/* Closes every block, as the last step. */
void feed_flush(struct feed *f, int64_t now);

#endif
