/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_TRAIN_H
#define SPATE_RECEIVE_UDP_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/receive.h"
#include "net/endpoint.h"
#include "receive/packet.h"
#include "stamp.h"

/*
 * A train is many datagrams of one size, the last perhaps shorter, that the
 * kernel hands over as one message (UDP_GRO). train_read() reads it into pair
 * after pair, so that every payload lands in a slot of its own; bytes behind
 * the last pair go into an overflow area as large as any train.
 *
 * struct train belongs to one thread and has memory for one train at a time.
 */
enum { TRAIN_BYTES = 65536 }; /* more than any train */

struct train {
	/*
	 * prefix bytes of packets that are reported out of `linear` or
	 * `overflow`
	 */
	uint32_t prefix;
	uint32_t longest; /* longest datagram that comes whole */
	bool varies;	  /* pairs may differ in length */
	int64_t tai;	  /* see stamp_tai() */
	unsigned pairs;	  /* pairs to ask for: as many as hold any train */
	struct iovec iov[2 * RECEIVE_BATCH + 1];
	uint8_t control[CMSG_SPACE(sizeof(int)) + STAMP_SPACE];
	uint8_t *overflow, *linear; /* TRAIN_BYTES each */

	/* The pairs that the train is read into. */
	unsigned given;
	uint32_t first; /* bytes of pair 0 */
	unsigned alike; /* leading pairs that are as long as pair 0 */

	/*
	 * The train that was read: bytes of all and of one datagram, and its
	 * stamps.  The card's is that of its first datagram.
	 */
	size_t total, segment;
	struct stamps stamps;

	/*
	 * Packets in linear or overflow memory that did not fit into the last
	 * batch.  The next call reports them first, whichever source it is for,
	 * because that memory is needed for the next train.
	 */
	uint8_t *rest;
	size_t rest_bytes, rest_size;
	struct packet_mark mark;
};

/*
 * Allocates the memory.  Returns 0 or -ENOMEM; the caller calls train_clear()
 * in both cases.
 */
int train_make(struct train *t, const struct receive_args *args);
void train_clear(struct train *t);

/*
 * train_read() reads one train from a socket into the pairs of `b`, and sets
 * *from unless it is NULL.  Returns 0 or -errno. train_tell() then adds its
 * packets to `b`, all with the same mark and stamp.
 */
int train_read(struct train *t, int fd, union endpoint *from,
	       const struct receive_batch *b);
void train_tell(struct train *t, struct receive_batch *b,
		struct packet_mark mark);

/*
 * Adds the packets kept from the last train to `b`; false: there were none.
 * Called before anything else is read.
 */
bool train_rest(struct train *t, struct receive_batch *b);

#endif
