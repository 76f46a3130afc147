/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_PLAIN_H
#define SPATE_RECEIVE_TCP_PLAIN_H

#include <stdint.h>
#include <sys/uio.h>

#include "door.h"
#include "peer.h"

/*
 * Plain bytes, one peer at a time: cut into packets of prefix + payload bytes
 * in the order of arrival, and read straight into their pairs.  Never more
 * than there is room for, so that a full pool makes the sender wait.
 */
struct plain {
	struct door *door;
	struct peer *peer;
	uint32_t prefix, size; /* size: of a packet, prefix included */
	uint8_t *rest;	       /* of a packet that has come in part */
	uint32_t rest_bytes;
	int next; /* who came while the peer was there; -1: nobody */
	union endpoint next_from;
	struct iovec iov[2 * RECEIVE_BATCH];
};

int plain_make(struct plain *p, struct door *door, struct peer *peer,
	       const struct receive_args *args);
void plain_free(struct plain *p);

int plain_receive(struct plain *p, struct receive_batch *b);

/* Ends the peer's connection, and tells what is left of a packet later. */
void plain_drop(struct plain *p, const char *why);

/* Somebody may be at the door, however busy the peer is. */
void plain_tick(struct plain *p);

#endif
