/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_HEAPS_H
#define SPATE_CLI_GEN_GEN_HEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gen/gen_source.h"

/*
 * Heaps are the datagrams of SPEAD streams, as spead2 cuts them: every packet
 * of a heap but the last is as long as the others, the first has the items in
 * its header, and all have 40 bytes of header else.
 *
 *   start | heap 0 | heap 1 ... | stop
 *
 * Each heap between the control heaps has a timestamp (0x1600, immediate) and
 * noise (0x600A), and, if so wished, descriptors of both before that.  The
 * streams of all ports differ in their noise alone.
 */
enum gen_describe { DESCRIBE_NONE, DESCRIBE_FIRST, DESCRIBE_ALL };

enum { GEN_TIME_ITEM = 0x1600, GEN_DATA_ITEM = 0x600a };

enum { GEN_HEAD = 2048 }; /* bytes: no header and descriptors are longer */

/* One of the three kinds of heaps that there are. */
struct gen_heap {
	uint8_t front[GEN_HEAD]; /* what lies before the noise */
	uint32_t front_bytes;
	uint64_t length;
	uint64_t item[5];
	unsigned items;
	unsigned time;	/* which of them is the timestamp; items: none */
	uint32_t first; /* bytes of it in the first packet */
	uint64_t packets;
};

struct gen_heaps {
	struct gen_source source;
	unsigned bits;	 /* of the flavour: 40 or 48 */
	uint32_t packet; /* bytes of a datagram */
	uint64_t bytes;	 /* of noise in a heap */
	enum gen_describe describe;
	bool start, stop; /* control heaps */
	uint64_t seed;
	uint64_t count, count_step; /* of heaps, the first control one's */
	uint64_t time, time_step;   /* timestamp of heap 0 */
	unsigned ports;

	/* Its own. */
	struct gen_heap control, described, plain;
	uint64_t *total; /* packets of each port */
	uint8_t *noise;
	uint8_t *head; /* ready places for header, front and mark */
};

/* `h` with the fields down to `ports` set.  0, -ENOMEM, or -EMSGSIZE where a
 * packet is too short for a header and something of the heap. */
int gen_heaps_init(struct gen_heaps *h);
void gen_heaps_finish(struct gen_heaps *h);

/* How many packets a stream of so many heaps has, control heaps not counted
 * as such; UINT64_MAX where there is no end. */
uint64_t gen_heaps_packets(const struct gen_heaps *h, uint64_t heaps);

/* Says how many packets a port's stream has. */
void gen_heaps_plan(struct gen_heaps *h, unsigned port, uint64_t packets);

/* What a packet is a piece of. */
struct gen_piece {
	const struct gen_heap *kind;
	uint64_t heap;	 /* of all, from 0, control heaps included */
	uint64_t packet; /* of the heap */
	uint64_t offset;
	uint32_t bytes;
	uint32_t header;
	bool data; /* not of a control heap */
};

void gen_heaps_find(const struct gen_heaps *h, unsigned port, uint64_t packet,
		    struct gen_piece *piece);

/* The header of a whole heap, as one packet; returns its length. */
uint32_t gen_heaps_header(const struct gen_heaps *h,
			  const struct gen_piece *piece, uint8_t *to);

#endif
