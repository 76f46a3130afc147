/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_PLAIN_H
#define SPATE_RECEIVE_TCP_PLAIN_H

#include <stdint.h>
#include <sys/uio.h>

#include "door.h"

/*
 * Receives plain bytes from one sender at a time.  The bytes are cut into
 * packets of prefix + payload bytes in the order of arrival, and read straight
 * into their pairs.  No more is read than the core has room for, so that a full
 * pool makes the sender wait.
 */
struct plain {
	struct door *door;
	struct peer *peer;
	uint32_t prefix, size; /* size: bytes of a packet, prefix included */
	/* first bytes of a packet that has come in part */
	uint8_t *rest;
	uint32_t rest_bytes;
	/*
	 * descriptor of a sender that came while the peer was connected; -1:
	 * none
	 */
	int next;
	union endpoint next_from;
	struct iovec iov[2 * RECEIVE_BATCH];
};

/*
 * Prepares for one sender at a time.  Returns 0 or -ENOMEM; the caller calls
 * plain_free() in either case.  `door` and `peer` must outlive it.
 */
int plain_make(struct plain *p, struct door *door, struct peer *peer,
	       const struct receive_args *args);
void plain_free(struct plain *p);

/* Receives packets, as receive_ops::receive. */
int plain_receive(struct plain *p, struct receive_batch *b);

/*
 * Closes the connection; bytes left of a packet go to the core in the next
 * call.
 */
void plain_drop(struct plain *p, const char *why);

/*
 * Called every tick: accepts a connection even while the present sender keeps
 * the source busy.
 */
void plain_tick(struct plain *p);

#endif
