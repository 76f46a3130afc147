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
 * group share the packets among them.
 *
 * The ring is made of blocks of many packets; the kernel hands one over when
 * it is full or RING_RETIRE old, and gets it back when all packets in it have
 * been told, with the call after that.  So a ring holds as much as its memory,
 * but not for longer than RING_RETIRE times the number of its blocks: 32 MiB
 * is a second.
 */
enum {
	RING_BLOCK = 256 << 10,
	RING_LEAST = 4 * RING_BLOCK,
	RING_RETIRE = 8,	  /* ms */
	RING_LATE = 60 * 1000000, /* ns: the timer may need two rounds, of
				     whole ticks of the kernel */
};

struct ring_block;

struct ring {
	int fd;
	uint8_t *memory;
	uint64_t bytes;
	unsigned blocks;
	unsigned at;   /* the block that is read, or is next */
	unsigned told; /* blocks before that one, to be given back */
	uint8_t *packet;
	unsigned left; /* packets in the block, from that one on */

	/* The rest of a packet that is a train of datagrams. */
	uint8_t *segment;
	uint32_t segment_bytes, train_bytes;
	struct receive_packet mark; /* what is said of each of them */

	uint32_t prefix, longest;
	bool senders; /* the core wants to tell them apart */
	const struct allow *allow;
	struct host host;
	bool fragments, unsound, down; /* were seen, and spoken of */
	bool ask;		       /* who sends? */
	union endpoint sender; /* of the last packet that was asked for */
	uint64_t datagrams, calls, overruns;
};

struct ring_args {
	const struct address *address; /* with its interface */
	uint64_t bytes;		       /* of memory */
	bool first;		       /* of its group: */
	uint16_t *group;	       /* it makes it, the others join */
	const struct allow *allow;
};

/* Takes nothing any more, as a socket that only keeps a port.  0 or -errno. */
int ring_deafen(int fd);

/* 0, or -errno with a sentence in args->why; ring_close in either case. */
int ring_open(struct ring *r, const struct ring_args *ring,
	      const struct receive_args *args);
void ring_close(struct ring *r);

/* As receive_ops::receive; packets lie in the ring. */
void ring_receive(struct ring *r, struct receive_batch *b);

/* Lost by the kernel because the ring was full. */
uint64_t ring_overruns(struct ring *r);

#endif
