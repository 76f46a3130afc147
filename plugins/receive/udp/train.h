/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_TRAIN_H
#define SPATE_RECEIVE_UDP_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "contract/receive.h"
#include "net/endpoint.h"
#include "receive/packet.h"
#include "stamp.h"

/*
 * A train is many datagrams of one size, the last perhaps shorter, that the
 * kernel hands over as one (UDP_GRO).  It is read into pair after pair
 * (prefix, slot), so that every payload lands in a slot of its own, and
 * behind the pairs into an overflow area as large as any train.
 *
 * One thread; memory for one train at a time.
 */
enum { TRAIN_BYTES = 65536 }; /* more than any train */

struct train {
	uint32_t prefix;  /* of packets that are told in a row */
	uint32_t longest; /* that is to come whole */
	bool varies;	  /* are pairs of several lengths? */
	unsigned pairs;	  /* that hold any train: how many are wanted */
	struct iovec iov[2 * RECEIVE_BATCH + 1];
	uint8_t control[CMSG_SPACE(sizeof(int)) + STAMP_SPACE];
	uint8_t *overflow, *linear; /* TRAIN_BYTES each */

	/* Of the pairs that a train is read into. */
	unsigned given;
	uint32_t first; /* bytes of pair 0 */
	unsigned alike; /* leading pairs that have as many */

	/* Of the train that was read. */
	size_t total, segment;
	int64_t arrived;

	/* Packets in linear or overflow memory that did not fit the last
	 * batch: told in the next one, whichever source it is of, because
	 * then that memory is needed again. */
	uint8_t *rest;
	size_t rest_bytes, rest_size;
	struct packet_mark mark;
};

int train_make(struct train *t, const struct receive_args *args);
void train_clear(struct train *t);

/*
 * Reads one train from a socket; `from` is set when it is not NULL.  0 or
 * -errno.  Then its packets are told, all with the same mark and stamp.
 */
int train_read(struct train *t, int fd, union endpoint *from,
	       const struct receive_batch *b);
void train_tell(struct train *t, struct receive_batch *b,
		struct packet_mark mark);

/* Packets that are told before anything is read again; false: none. */
bool train_rest(struct train *t, struct receive_batch *b);

#endif
