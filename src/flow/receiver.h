/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVER_H
#define SPATE_FLOW_RECEIVER_H

#include "flow/intake.h"

/*
 * A receiver is a thread that takes packets from many sources: an epoll set
 * over them, and a bounded number of batches for each that is ready, in turn.
 * All sources of one intake are on one receiver.
 */
struct receiver;

int receiver_start(struct receiver **receiver);
void receiver_stop(struct receiver *r); /* after every intake is done */

/* Orders for the thread; never wait.  0 or -ENOMEM.  After receiver_remove
 * the intake is flushed, and its `done` is called. */
int receiver_add(struct receiver *r, struct intake *in);
int receiver_remove(struct receiver *r, struct intake *in);

#endif
