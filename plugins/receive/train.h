/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_RECEIVE_TRAIN_H
#define SPATE_PLUGINS_RECEIVE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "allow.h"
#include "contract/receive.h"

/*
 * A train is many datagrams of one size that the kernel hands over as one
 * (UDP_GRO).  It is read into pair after pair (prefix, slot), so that every
 * payload lands in a slot of its own, and behind the pairs into an overflow
 * area as large as any train.
 *
 * One thread; memory for one train at a time.
 */
enum { TRAIN_BYTES = 65536 }; /* more than any train */

struct train {
	uint32_t prefix, payload, size; /* size: of an expected datagram */
	unsigned pairs;			/* that hold any train */
	struct iovec iov[2 * RECEIVE_BATCH + 1];
	uint8_t control[CMSG_SPACE(sizeof(int))];
	uint8_t *overflow, *linear; /* TRAIN_BYTES each */

	/* Packets in linear or overflow memory that did not fit the last
	 * batch: told in the next one, whichever source it is of, because
	 * then that memory is needed again. */
	uint8_t *rest;
	size_t rest_bytes, rest_size;
	uint32_t rest_flags;
};

int train_make(struct train *t, uint32_t prefix, uint32_t payload);
void train_clear(struct train *t);

/*
 * Reads one train from a socket and tells its packets.  With `drain` a train
 * whose segment size the kernel does not tell is one of expected datagrams.
 * `from` is set when it is not NULL.  0 or -errno.
 */
struct train_read {
	int fd;
	bool drain;
	const struct allow *allow;
	struct sockaddr_storage *from;
};
int train_receive(struct train *t, const struct train_read *read,
		  struct receive_batch *b);

/* Packets that are told before anything is read again; false: none. */
bool train_rest(struct train *t, struct receive_batch *b);

/* Adds one packet to a batch. */
void packet_tell(struct receive_batch *b, struct receive_pair at, size_t bytes,
		 uint32_t flags);

#endif
