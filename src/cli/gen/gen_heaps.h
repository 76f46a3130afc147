/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_HEAPS_H
#define SPATE_CLI_GEN_GEN_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gen/gen_source.h"
#include "contract/bytes.h"

/*
 * Makes datagrams of SPEAD streams, cut as spead2 does: all packets of a heap
 * but the last are equally long, the first has the items in its header, and a
 * header has 40 bytes otherwise.
 *
 *   start | heap 0 | heap 1 ... | stop
 *
 * Each heap between the control heaps has a timestamp (0x1600, immediate) and
 * noise (0x600A), and, if asked for, descriptors of both before that.  The
 * streams of all ports differ in their noise only.
 */
enum gen_describe { DESCRIBE_NONE, DESCRIBE_FIRST, DESCRIBE_ALL };

enum { GEN_TIME_ITEM = 0x1600, GEN_DATA_ITEM = 0x600a };

enum { GEN_HEAD = 2048 }; /* bytes: header and descriptors are never longer */

/* One of the three kinds of heaps: control, with descriptors, without. */
struct gen_heap {
	uint8_t front[GEN_HEAD]; /* the bytes before the noise */
	uint32_t front_bytes;
	uint64_t length;
	uint64_t item[5];
	unsigned items;
	/* index of the timestamp in `item`; equal to items: none */
	unsigned time;
	uint32_t first; /* bytes of the heap in the first packet */
	uint64_t packets;
};

struct gen_heaps {
	struct gen_source source;
	unsigned bits;	 /* bits of an address, the flavour: 40 or 48 */
	uint32_t packet; /* bytes of a datagram */
	uint64_t bytes;	 /* noise in each heap */
	enum gen_describe describe;
	bool start, stop; /* whether control heaps are sent */
	uint64_t seed;
	/* count of the first heap, and its step; control heaps count */
	uint64_t count, count_step;
	uint64_t time, time_step; /* timestamp of heap 0, and its step */
	unsigned ports;

	/* Used by the functions below alone. */
	struct gen_heap control, described, plain;
	uint64_t *total; /* packets of each port */
	uint8_t *noise;
	/* memory of ready datagrams for header, front and mark */
	uint8_t *head;
};

/*
 * Makes the heaps; the fields down to `ports` must be set.  Returns 0, -ENOMEM,
 * or -EMSGSIZE if a packet is too short for a header and some data.
 */
int gen_heaps_init(struct gen_heaps *h);
void gen_heaps_finish(struct gen_heaps *h);

/*
 * Returns the packets of a stream of so many data heaps, control heaps
 * included; UINT64_MAX: no end.
 */
uint64_t gen_heaps_packets(const struct gen_heaps *h, uint64_t heaps);

/* Sets how many packets a port's stream has. */
void gen_heaps_plan(struct gen_heaps *h, unsigned port, uint64_t packets);

/* The place of a packet in its heap. */
struct gen_piece {
	const struct gen_heap *kind;
	/* number of the heap, from 0, control heaps included */
	uint64_t heap;
	uint64_t packet; /* number of the packet in the heap */
	uint64_t offset;
	uint32_t bytes;
	uint32_t header;
	bool data; /* not of a control heap */
};

/* Finds the place of a port's packet. */
void gen_heaps_find(const struct gen_heaps *h, unsigned port, uint64_t packet,
		    struct gen_piece *piece);

/* Writes the header of a whole heap as one packet; returns its length. */
uint32_t gen_heaps_header(const struct gen_heaps *h,
			  const struct gen_piece *piece, uint8_t *to);

#endif
