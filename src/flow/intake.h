/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_INTAKE_H
#define SPATE_FLOW_INTAKE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/counts.h"
#include "flow/learn.h"
#include "flow/place.h"
#include "flow/spare.h"
#include "flow/split.h"

/*
 * An intake is an instance of a receive plugin, and the places where its
 * packets go: by the source that brings them (a place for each substream),
 * or by what their headers say (a stream that is split).
 *
 * The event loop makes and frees it; between receiver_add and the call of
 * `done` it belongs to one receiver thread, except for what says otherwise.
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
	struct aim aim;
	unsigned want; /* pairs for the next call */
	unsigned turn; /* batches that it may have in a row */
	uint32_t hold; /* bytes that should wait for a visit at most */
	bool ended;
	bool waits;		      /* it can make its sender wait */
	bool drained;		      /* at the end: nothing is left in it */
	unsigned drainings;	      /* batches, at the end */
	struct receive_counts counts; /* intake::lock */
};

struct intake_args {
	const char *name; /* of the recording, for the log */
	const struct receive_ops *ops;
	struct receive_state *state;
	/* This intake's own: what is learned is written here, and so into the
	 * places that use it too. */
	struct format_shape *shape;
	/* Of each place; needed while it is made.  They differ in sub or, by
	 * thread or station, in out, arg, stock and shape.  `spare` is left
	 * to the intake. */
	const struct place_args *place;
	unsigned places;
	struct place **ready; /* NULL, or all of them, made already: taken
				 over, once nothing can fail any more */
	/* INTAKE_SOURCE: source s feeds place sub(s) / shares. */
	unsigned shares;
	int64_t late; /* as in receive_plan */
	enum intake_by by;
	/* By thread or station: of each place; what is no place's is dropped,
	 * as all that cannot be told, in the counts of place 0. */
	const uint32_t *key;
	/* The same: the shapes of the places, which learn with `shape`. */
	struct format_shape *const *own;
	/* Everything is out; the last call on the receiver thread. */
	void (*done)(void *arg);
	void *arg;
};

struct intake {
	struct intake_args a;
	const struct format_ops *format;
	struct place **place;
	struct spare *spare;
	struct split *split; /* NULL: a source's packets go to its place */
	struct learn *learn; /* NULL: nothing (more) to learn */
	struct intake_source *source;
	unsigned sources;    /* constant: any thread may read */
	unsigned left;	     /* sources that have not ended */
	unsigned look;	     /* the source to look at next */
	int64_t until;	     /* the end of the end; see intake_drain */
	int64_t settled;     /* by then all that had come can be received */
	struct intake *next; /* receiver::intakes, or ::leaving */

	/* Any thread may read; see counts.h. */
	struct counts_shown *shown; /* of each place */
	_Atomic uint64_t overruns;  /* of all sources, at the last look */
	atomic_bool learning;

	pthread_mutex_t lock; /* over what other threads see of sources */
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

/*
 * The end, which others should not have to wait for: takes at most `batches`
 * more of each source.  True when all has been taken that had arrived.
 */
bool intake_drain(struct intake *in, unsigned batches, int64_t now_ns,
		  int64_t now);

/* After that: closes every block. */
void intake_flush(struct intake *in, int64_t now);

/* What a source brought, up to a second ago.  Any thread. */
struct intake_view {
	struct receive_counts counts;
	unsigned place; /* 0 where the header decides */
};
void intake_look(struct intake *in, unsigned source, struct intake_view *view);

#endif
