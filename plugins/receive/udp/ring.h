/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_RING_H
#define SPATE_RECEIVE_UDP_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"
#include "net/allow.h"
#include "contract/receive.h"

/*
 * A ring is memory that the kernel writes the packets of one interface into
 * (AF_PACKET, TPACKET_V3), before they reach any socket.  Several rings in a
 * group share the packets among them.  A ring is opened and closed by the event
 * loop and read by one receiver thread.
 *
 * A ring consists of blocks of many packets (kernel blocks, not spate's).  The
 * kernel hands a block over when it is full or RING_RETIRE old, and gets it
 * back in the call of ring_receive() after the one that reported its last
 * packet.  A ring therefore holds as much as its memory, but for no longer than
 * RING_RETIRE times the number of its blocks: 1 s for 32 MiB.
 */
enum {
	RING_BLOCK = 256 << 10,
	RING_LEAST = 4 * RING_BLOCK,
	RING_RETIRE = 8, /* ms */
	/* ns: the kernel's timer may need two rounds, rounded up to ticks */
	RING_LATE = 60 * 1000000,
};

struct ring {
	int fd;
	uint8_t *memory;
	uint64_t bytes;
	unsigned blocks;
	unsigned at; /* index of the block that is read now or next */
	/* blocks before `at` whose packets were all reported, to be returned */
	unsigned told;
	uint8_t *packet; /* packet that is read next */
	unsigned left;	 /* packets left in the block, from `packet` on */

	/* The rest of a packet that is a train of datagrams. */
	uint8_t *segment;
	uint32_t segment_bytes, train_bytes;
	struct receive_packet mark; /* facts about each datagram of the train */

	uint32_t prefix, longest;
	bool senders; /* the core wants receive_packet::sender */
	const struct allow *allow;
	struct host host;
	/* already logged: fragments, wrong checksums, interface down */
	bool fragments, unsound, down;
	bool ask;	       /* note the sender of the next packet */
	union endpoint sender; /* sender that was noted last */
	uint64_t datagrams, calls, overruns;
};

struct ring_args {
	const struct address *address; /* with its interface */
	uint64_t bytes;		       /* memory of the ring */
	/* true: makes the group; false: joins it */
	bool first;
	/* number of the group: set by the first ring, read by the others */
	uint16_t *group;
	const struct allow *allow;
};

/*
 * Makes a socket take no packets any more; it then only keeps its port.
 * Returns 0 or -errno.
 */
int ring_deafen(int fd);

/*
 * Opens a ring.  Returns 0, or -errno with a sentence in args->why.  The caller
 * calls ring_close() in either case.
 */
int ring_open(struct ring *r, const struct ring_args *ring,
	      const struct receive_args *args);
void ring_close(struct ring *r);

/* Reports packets as receive_ops::receive does; they lie in the ring. */
void ring_receive(struct ring *r, struct receive_batch *b);

/* Returns how many packets the kernel lost because the ring was full. */
uint64_t ring_overruns(struct ring *r);

#endif
