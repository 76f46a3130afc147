/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_INTAKE_H
#define SPATE_FLOW_RECEIVE_INTAKE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/arrival.h"
#include "flow/receive/feed.h"
#include "flow/place/learn.h"

/*
 * An intake is an instance of a receive plugin, and the feeds that its packets
 * go to (feed.h): each to its places, by the source that brings them (a place
 * for each substream), or by what their headers say (a stream that is split).
 *
 * The event loop makes and frees it; while it has feeds it belongs to one
 * receiver thread, except for what says otherwise.
 */
struct intake;

/* What decides which place a packet belongs to. */
enum intake_by {
	INTAKE_SOURCE,	/* its source's substream */
	INTAKE_THREAD,	/* the thread in its header */
	INTAKE_STATION, /* the station in its header */
};

struct intake_source {
	struct intake *intake;
	unsigned number; /* as the plugin counts */
	unsigned place;	 /* INTAKE_SOURCE: the one that it feeds */
	int fd;
	unsigned want; /* pairs for the next call */
	unsigned turn; /* batches that it may have in a row */
	uint32_t hold; /* bytes that should wait for a visit at most */
	bool ended;
	bool waits;		      /* it can make its sender wait */
	struct receive_counts counts; /* intake::lock */
};

struct intake_args {
	const char *name; /* for the log; stays */
	const struct receive_ops *ops;
	struct receive_state *state;
	const struct format_ops *format;
	/* This intake's own: what is learned is written here, and so into the
	 * places that use it too. */
	struct format_shape *shape;
	uint32_t slots;	 /* of a block */
	unsigned places; /* of each feed */
	bool rings;	 /* they are shared with other intakes */
	/* INTAKE_SOURCE: source s feeds place sub(s) / shares. */
	unsigned shares;
	int64_t late; /* as in receive_plan */
	enum intake_by by;
	/* By thread or station: of each place; what is no place's is dropped,
	 * as all that cannot be told, in the counts of place 0. */
	const uint32_t *key;
	/* The same: the shapes of the places, which learn with `shape`. */
	struct format_shape *const *own;
};

struct intake {
	struct intake_args a;
	struct learn *learn; /* NULL: there was nothing to learn */
	bool learns;	     /* there still is */
	struct intake_source *source;
	unsigned sources; /* constant: any thread may read */
	unsigned left;	  /* sources that have not ended */
	unsigned look;	  /* the source to look at next */
	unsigned tick;	  /* of the second in which all are */
	bool used;	  /* it had feeds before */
	/* In the order in which they came; none: it sleeps. */
	struct feed *feeds;
	const struct arrival *arrival; /* the receiver's */
	struct intake *next;	       /* receiver::intakes */

	/* Any thread may read. */
	_Atomic uint64_t overruns; /* of all sources, at the last look */
	atomic_bool learning;	   /* what packets need for a sequence */
	_Atomic uint32_t fps;	   /* that were learned, or LEARN_WAIT; 0: none
				      will be.  Relaxed: a number alone */

	pthread_mutex_t lock; /* over what other threads see of sources, and
				 what is ordered of feeds */
};

int intake_make(struct intake **intake, const struct intake_args *args);
void intake_free(struct intake *in);

enum { INTAKE_FULL = 1024, INTAKE_MORE = INT_MAX };

/*
 * Takes at most `batches` batches from a source.  Returns how much came before
 * it was empty, INTAKE_FULL being as much as may wait without danger,
 * INTAKE_MORE when it was not empty yet, or -errno when the source has ended.
 */
int intake_pass(struct intake_source *s, unsigned batches, int64_t now_ns,
		int64_t now);

/* Ages blocks; shows the counters.  A tenth of a second apart. */
void intake_tick(struct intake *in, int64_t now);

/* Another feed; one that ends leaves. */
void intake_join(struct intake *in, struct feed *f);
void intake_leave(struct intake *in, struct feed *f);

/*
 * The end of a feed, which others should not have to wait for: takes at most
 * `batches` more of each source, for all feeds.  True when all has been taken
 * that had arrived before its gate closed.
 */
bool intake_drain(struct intake *in, struct feed *f, unsigned batches,
		  int64_t now_ns, int64_t now);

/* After that: closes every block. */
void intake_flush(struct intake *in, struct feed *f, int64_t now);

#endif
