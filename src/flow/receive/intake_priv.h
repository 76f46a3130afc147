/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_INTAKE_PRIV_H
#define SPATE_FLOW_RECEIVE_INTAKE_PRIV_H

#include "flow/receive/intake.h"

/*
 * Functions that the parts of an intake share: intake.c takes packets in,
 * intake_learn.c learns what packets do not tell, and intake_feed.c lets feeds
 * join and leave.
 */

/* Reads the counts of the next n sources.  Each costs a system call, so
 * hundreds of sources take turns: each is read once a second.  Receiver
 * thread. */
void intake_look(struct intake *in, unsigned n);

/* Prepares learning, if this stream needs any.  Returns 0 or -ENOMEM. */
int intake_learn_make(struct intake *in);
void intake_learn_free(struct intake *in);

/* Learns from the packets of a batch. */
void intake_learn(struct intake *in, const struct receive_batch *b);

#endif
