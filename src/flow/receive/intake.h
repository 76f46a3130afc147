/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_INTAKE_H
#define SPATE_FLOW_RECEIVE_INTAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/data_clock.h"
#include "flow/place/time_window.h"
#include "flow/receive/subscriber.h"
#include "flow/place/learn.h"

/*
 * An intake is an instance of a receive plugin with its sources, and the
 * subscribers that its packets go to (subscriber.h).  Packets go to a
 * subscriber's placements by the source that brings them (one placement per
 * substream), or by what their headers say (a stream that is split).
 *
 * The event loop makes and frees an intake; while it has subscribers it belongs
 * to one receiver thread, except where noted.
 */
struct intake;

/* The rule that decides to which placement a packet goes. */
enum intake_by {
	INTAKE_SOURCE,	/* substream of its source */
	INTAKE_THREAD,	/* the thread in its header */
	INTAKE_STATION, /* the station in its header */
};

struct intake_source {
	struct intake *intake;
	unsigned number;    /* number of the source in the plugin */
	unsigned placement; /* INTAKE_SOURCE: the placement it feeds */
	uint32_t sub;	    /* substream that it brings */
	int fd;
	unsigned want;	/* pairs for the next receive call */
	unsigned turn;	/* batches it may have in a row */
	uint32_t hold;	/* bytes that may wait between two visits */
	unsigned clock; /* packets still to be looked at for the clock */
	bool ended;
	bool waits;		      /* it can make its sender wait */
	struct receive_counts counts; /* guarded by intake::lock */
};

struct intake_args {
	const char *name; /* for the log; not copied */
	const struct receive_ops *ops;
	struct receive_state *state;
	const struct format_ops *format;
	/* The intake's own copy: learned values are written into it, and so
	 * reach the placements that use it. */
	struct format_shape *shape;
	uint32_t slots;	     /* slots of a block */
	unsigned placements; /* placements of each subscriber */
	/* Places are shared with other intakes, see shared.h. */
	bool rings;
	/* INTAKE_SOURCE: source s feeds placement sub(s) / shares. */
	unsigned shares;
	int64_t late; /* receive_plan::late, ns */
	enum intake_by by;
	/* INTAKE_THREAD and INTAKE_STATION: the thread or station of each
	 * placement.  Packets of others, or unreadable ones, are dropped in the
	 * counts of placement 0. */
	const uint32_t *key;
	/* Likewise: the shapes of the placements, which get learned values
	 * along with `shape`. */
	struct format_shape *const *own;
};

struct intake {
	struct intake_args a;
	struct learn *learn; /* NULL: nothing had to be learned */
	bool learns;	     /* learning goes on */
	struct intake_source *source;
	unsigned sources; /* constant; any thread may read */
	unsigned left;	  /* sources that have not ended */
	unsigned look;	  /* source whose counts are read next */
	unsigned tick;	  /* tick in the current second, 0 to LOOKS - 1 */
	unsigned granted; /* source whose packets are looked at next */
	bool used;	  /* it has had a subscriber */
	/* Subscribers in the order in which they joined; NULL: no source is
	 * polled. */
	struct subscriber *subscribers;
	struct data_clock_window window; /* of this second */
	int64_t
	    window_offset; /* of our own clock, when it began; 0: not known */
	const struct arrival *arrival; /* the receiver's */
	struct intake *next;	       /* receiver::intakes */

	/* Any thread may read these. */
	_Atomic uint64_t overruns; /* sum of all sources, when last read */
	atomic_bool learning;	   /* packets have no sequence until something
				      is learned */
	_Atomic uint32_t fps;	   /* learned frames per second; LEARN_WAIT: not
				      yet; 0: none will be.  Relaxed: no other
				      data depend on it */

	pthread_mutex_t lock; /* guards counts of sources, state and ordered
				 time windows of subscribers, and `shown` */
	struct data_clock_window shown; /* of the last second with packets */
};

/* Makes an intake; the plugin instance must outlive it.  Returns 0 or
 * -errno. */
int intake_make(struct intake **intake, const struct intake_args *args);
void intake_free(struct intake *in);

enum { INTAKE_FULL = 1024 };

/* Bytes that a pass found in its sources, and the share that the fullest of
 * these had of what may wait in it, in 1/INTAKE_FULL. */
struct intake_load {
	uint64_t bytes, full;
};

/*
 * Takes at most `batches` batches from a source, and adds them to the load.
 * Returns 0 if the source is empty, 1 if not, or -errno if it has ended.
 * now_ns is UTC, now is steady.
 */
int intake_pass(struct intake_source *s, unsigned batches, int64_t now_ns,
		int64_t now, struct intake_load *load);

/* Ages blocks, publishes counters, and looks at the data's clock; call it every
 * tenth of a second. */
void intake_tick(struct intake *in, int64_t now);

/* Merges the newest window of the data's clock into w, which numbers add up.
 * Any thread. */
void intake_clock(struct intake *in, struct data_clock_window *w);

/* A subscriber joins; an ended subscriber leaves. */
void intake_join(struct intake *in, struct subscriber *f);
void intake_leave(struct intake *in, struct subscriber *f);

/*
 * Ends a subscriber without making other subscribers wait: takes at most
 * `batches` more of each source, for all subscribers.  True when everything was
 * taken that came before its time window closed, or time is up.
 */
bool intake_drain(struct intake *in, struct subscriber *f, unsigned batches,
		  int64_t now_ns, int64_t now);

/* Closes every block of the subscriber, after intake_drain. */
void intake_flush(struct intake *in, struct subscriber *f, int64_t now);

#endif
