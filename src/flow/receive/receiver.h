/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_RECEIVER_H
#define SPATE_FLOW_RECEIVE_RECEIVER_H

#include <stdint.h>
#include <sys/types.h>

#include "flow/receive/intake.h"

/*
 * A receiver is a thread that takes packets from many sources: an epoll set,
 * and a bounded number of batches for each ready source, in turn.  All sources
 * of one intake are on one receiver.
 */
struct receiver;

/* Scheduling of its thread; all zero: the default. */
struct receiver_args {
	int priority;	     /* SCHED_FIFO, 1 to 99; 0: none */
	const uint32_t *cpu; /* numbers of the CPUs it may run on; NULL: all */
	unsigned cpus;
};

/* Starts the thread.  Anything in `args` that the system refuses is one line of
 * the log, and the receiver runs without it; NULL is allowed.  Returns 0 or
 * -errno. */
int receiver_start(struct receiver **receiver,
		   const struct receiver_args *args);
void receiver_stop(struct receiver *r); /* every subscriber must be done */

/*
 * Gives a subscriber to the thread, and does not wait.  The sources of its
 * intake are polled from the first subscriber to the last; all subscribers of
 * one intake go to one receiver.  After the subscriber's time window has
 * closed, packets that had come are still taken in, while other subscribers go
 * on; then the subscriber is flushed, and `done` is called.  Returns 0 or
 * -ENOMEM.
 */
int receiver_subscribe(struct receiver *r, struct subscriber *f);

/* Tells the thread that time windows were ordered, see subscriber_order. */
void receiver_look(struct receiver *r);

/* The number of its thread in the kernel (tid); 0: it has not begun.  Any
 * thread. */
pid_t receiver_thread(const struct receiver *r);

/* Returns when its last pass began, steady ns: at most a tenth of a second ago,
 * also when idle, unless the thread hangs.  Any thread. */
int64_t receiver_beat(const struct receiver *r);

#endif
