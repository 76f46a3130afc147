/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_RECORDING_INPUT_H
#define SPATE_DAEMON_SESSIONS_RECORDING_INPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/sessions/signal_thread.h"
#include "daemon/sessions/stream_input.h"
#include "flow/receive/backlog.h"
#include "flow/receive/subscriber.h"
#include "flow/memory/block_pool.h"

/*
 * A recording input is one recording's share of a stream input
 * (stream_input.h): memory of its own, and a subscriber
 * (flow/receive/subscriber.h) from each share of the stream input.  It feeds
 * one session or, for a split stream, one session per part.  Overlapping
 * recordings of a stream have one stream input, and a recording input each.
 *
 *   stream input --+-- recording input: pool, time window, --> session(s)
 *                  |                    subscribers
 *                  +-- recording input                    --> session(s)
 *
 * It ends by itself when its time window has closed and all of its blocks are
 * out.
 *
 * The event loop's thread, but for the inside of a subscriber.
 */

/* The consumer of one part's blocks. */
struct recording_input_out {
	/* Takes a block over.  Called by receiver threads, and by
	 * recording_input_release (event loop) for blocks that waited. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

/* The subscriber from one share of the stream input. */
struct recording_input_share {
	struct subscriber *subscriber;
	struct recording_input *input;
};

/* A part of a split stream, or the whole stream, and where its blocks go. */
struct recording_input_part {
	struct recording_input_out out;
	/* blocks that wait; NULL: blocks go straight out */
	struct backlog *backlog;
};

struct recording_input {
	struct stream_input *in;
	char name[160]; /* of the recording */
	struct block_pool *pool;
	struct block_pool *parity; /* of parity blocks; NULL: none */
	struct time_window time_window;
	int64_t keep; /* ns of data to keep from before the time window opens */
	struct recording_input_share
	    *share; /* one per share of the stream input */
	struct recording_input_part *part; /* one per key of the stream */
	struct signal_watch *watch; /* NULL: its samples are not looked at */
	unsigned users;		    /* sessions that it feeds */
	bool passing;		    /* it is only relayed, not recorded */
	bool begun;
	const char *stopped;	      /* why it was stopped; NULL: it runs */
	struct recording_input *next; /* stream_input::recordings */

	/* set by a receiver thread when the time window has opened */
	atomic_bool opened;
	/* shares that are not flushed; the last share's decrement (release)
	 * pairs with recording_input_flushed */
	atomic_uint left;
	/* called when `opened` or `left` changes; any thread */
	void (*changed)(void *arg);
	void *arg;
};

/* Arguments of recording_input_feed. */
struct recording_input_args {
	struct time_window time_window;
	bool waits; /* blocks wait for recording_input_release */
	struct signal_thread *signal; /* NULL: nobody looks at samples */
	bool lesser; /* gives way to recordings, see subscriber_args */
	/* ns of data from before the time window opens that wait, too */
	int64_t backlog;
	void (*changed)(void *arg);
	void *arg;
};

/* Borrows memory, and holds the stream input.  With `later` it also succeeds
 * while another recording still has that memory: packets are then dropped and
 * counted until recording_input_fill gets it.  Returns 0, or -errno with a
 * fault and nothing left behind. */
int recording_input_open(struct recording_input **input,
			 struct stream_input *in, struct arena *arena,
			 const char *name, bool later, struct fault *fault);
/* gets memory that was late; else does nothing */
void recording_input_fill(struct recording_input *s);
/* As recording_input_open for a stream that is only relayed: takes no
 * checksums, and recording_input_recording and recording_input_armed ignore
 * it. */
int recording_input_open_passing(struct recording_input **input,
				 struct stream_input *in, struct arena *arena,
				 const char *name, struct fault *fault);

/* Makes the subscribers, which give blocks to `out`, one entry per part.
 * Returns 0 or -ENOMEM. */
int recording_input_feed(struct recording_input *s,
			 const struct recording_input_args *args,
			 const struct recording_input_out *out);

/* Joins the subscribers to their receivers: packets are taken in from now on.
 * Allocates a few bytes; if that fails the daemon aborts.  A second call does
 * nothing. */
void recording_input_begin(struct recording_input *s,
			   struct receivers *receivers);

/* Sets another time window; not after it has ended. */
void recording_input_gate(struct recording_input *s,
			  const struct time_window *time_window);

/* Lets a part's blocks go out, those that waited first. */
void recording_input_release(struct recording_input *s, unsigned part);
/* Frees waiting blocks of a part that are older than `keep`. */
void recording_input_age(struct recording_input *s, unsigned part, int64_t now);

/* recording_input_stop closes the time window now: takes what has arrived, and
 * closes every block; a second call does nothing.  recording_input_cancel takes
 * nothing more and drops blocks that wait.  `why` is static text. */
void recording_input_stop(struct recording_input *s, const char *why);
void recording_input_cancel(struct recording_input *s, const char *why);
bool recording_input_flushed(
    struct recording_input *s); /* acquire: all blocks are out */

/* Drops one session's use; the last one frees the recording input.  All of its
 * blocks must be back. */
void recording_input_put(struct recording_input *s);

/* Return the name of the stream's first recording that runs, or that is armed;
 * NULL: there is none. */
const char *recording_input_recording(const struct stream *stream);
const char *recording_input_armed(const struct stream *stream);

/* Return the counts of a part, of one substream, and the overruns of all
 * sockets. */
void recording_input_counts(struct recording_input *s, unsigned part,
			    struct counts *c);
void recording_input_sub_counts(struct recording_input *s, unsigned sub,
				struct counts *c);
uint64_t recording_input_overruns(struct recording_input *s);

/* Merges the newest windows of the data's clock into w, which is empty. */
void recording_input_clock(struct recording_input *s,
			   struct data_clock_window *w);

/* Returns the counts of a source (0 ...  stream_input_sources - 1) since the
 * recording input joined, and in *sub its substream. */
void recording_input_look(struct recording_input *s, unsigned source,
			  struct receive_counts *counts, unsigned *sub);

#endif
