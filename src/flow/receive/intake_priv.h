/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_INTAKE_PRIV_H
#define SPATE_FLOW_RECEIVE_INTAKE_PRIV_H

#include "flow/receive/intake.h"

/*
 * What the parts of an intake share: intake.c takes packets in, intake_learn.c
 * learns what they do not say of themselves, and intake_feed.c lets feeds come
 * and go.
 */

/* Looks at the counts of so many of its sources, from where it was.  A system
 * call each, so hundreds of sources take turns: each is looked at once a
 * second.  The receiver thread. */
void intake_look(struct intake *in, unsigned n);

/* 0 or -ENOMEM. */
int intake_learn_make(struct intake *in);
void intake_learn_free(struct intake *in);

/* Learns from the packets of a batch. */
void intake_learn(struct intake *in, const struct receive_batch *b);

#endif
