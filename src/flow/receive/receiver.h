/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_RECEIVER_H
#define SPATE_FLOW_RECEIVE_RECEIVER_H

#include <stdint.h>

#include "flow/receive/intake.h"

/*
 * A receiver is a thread that takes packets from many sources: an epoll set
 * over them, and a bounded number of batches for each that is ready, in turn.
 * All sources of one intake are on one receiver.
 */
struct receiver;

/* How its thread runs; all zero: like any other. */
struct receiver_args {
	int priority;	     /* SCHED_FIFO, 1 to 99; 0: none */
	const uint32_t *cpu; /* that it may run on; NULL: on all */
	unsigned cpus;
};

/* What of `args` (NULL: nothing) the system refuses is one line of the log;
 * the receiver runs without.  0 or -errno. */
int receiver_start(struct receiver **receiver,
		   const struct receiver_args *args);
void receiver_stop(struct receiver *r); /* after every feed is done */

/*
 * Orders for the thread; never wait.  A feed gets packets from here on; the
 * sources of its intake join with its first feed, and leave with its last.
 * All feeds of one intake go to one receiver.  When a feed's gate has closed
 * what had arrived is taken in yet, while the others go on; then it is
 * flushed, and its `done` is called.  0 or -ENOMEM.
 */
int receiver_feed(struct receiver *r, struct feed *f);

/* Gates were ordered, see feed_order. */
void receiver_look(struct receiver *r);

/* When its last pass began (clock_steady): at least every tenth of a second,
 * with nothing to do too, as long as the thread gets anywhere.  Any thread. */
int64_t receiver_beat(const struct receiver *r);

#endif
