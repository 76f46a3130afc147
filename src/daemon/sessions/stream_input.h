/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_STREAM_INPUT_H
#define SPATE_DAEMON_SESSIONS_STREAM_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/sessions/receivers.h"
#include "daemon/conf/stream.h"
#include "flow/receive/intake.h"

/*
 * A stream input is the open input of a stream: its sockets, and the receiver
 * threads that read them.  Each recording of the stream has a recording input
 * (recording_input.h), which takes packets from it.
 *
 *   sockets --> share 0 (an intake on a receiver) --> subscribers --> recording
 *          \--> share 1 (on another)  ----------------^              inputs
 *
 * It has one share per receiver thread that reads it: at most one per
 * substream.  Share k reads the substreams k, k + shares, ...  With packet
 * rings instead, every share reads some packets of all substreams.
 *
 * The event loop's thread, but for the inside of an intake.
 */
struct recording_input;

/* The part of the input that one receiver thread reads: its instance of the
 * receive plugin, and the intake around it. */
struct stream_input_share {
	struct receive_state *state;
	/* own copy, because the thread may learn its values */
	struct format_shape shape;
	struct intake *intake;
	/* the receiver that reads it; NULL: not begun */
	struct receivers_member *member;
};

struct stream_input {
	struct stream *stream; /* counted reference */
	char name[160];	       /* recording that opened it, for the log */
	struct host log;
	struct stream_input_share *share;
	unsigned shares;
	/* shapes of the parts of a split stream; else NULL */
	struct format_shape *own;
	struct format_shape **list; /* pointers to `own`, for the intake */
	unsigned users;		    /* references */
	struct recording_input
	    *recordings; /* in the order in which they were opened */
	bool begun;
};

/*
 * Opens the stream's sockets, for at most `receivers` threads.  Returns 0 and
 * one reference, or -errno with a fault and nothing left behind.
 */
int stream_input_open(struct stream_input **input, struct stream *stream,
		      const char *name, unsigned receivers,
		      struct fault *fault);

/* Gives each share to a receiver; a second call does nothing. */
void stream_input_begin(struct stream_input *in, struct receivers *receivers);

/* Count references.  The last stream_input_put closes the sockets. */
void stream_input_hold(struct stream_input *in);
void stream_input_put(struct stream_input *in);

/* Returns the shape of a part's packets; a learned value is there when
 * stream_input_learning is false. */
struct format_shape *stream_input_shape(struct stream_input *in, unsigned part);
/* True while a receiver still learns the stream's frame rate or threads. */
bool stream_input_learning(struct stream_input *in);

/* Returns the number of sources of all shares. */
unsigned stream_input_sources(const struct stream_input *in);

/* Returns how many placements (one per sequence of packets) an intake feeds:
 * one per part of a split stream; with packet rings one per substream of the
 * stream; else one per substream of the share. */
unsigned stream_input_placements(const struct stream_input *in, unsigned share);

#endif
