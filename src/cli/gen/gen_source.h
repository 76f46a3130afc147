/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SOURCE_H
#define SPATE_CLI_GEN_GEN_SOURCE_H

#include <stdint.h>
#include <sys/uio.h>

/*
 * A gen_source makes the datagrams of ideal streams when they are asked for:
 * one stream for each port, numbered from 0, as its datagrams are.
 *
 * All bytes are a function of the seed, the port and the datagram's number.
 */
struct gen_source {
	const struct gen_source_ops *ops;
	uint32_t most;	/* bytes: no datagram is longer, and only ends of heaps
			  are shorter */
	double mean;	/* bytes of a datagram, on average */
	uint32_t ready; /* one is good until another one of a port that is
			   `ready` or more away from it is asked for */
};

enum { GEN_PIECES = 2 }; /* of memory that a datagram may lie in */

struct gen_source_ops {
	/* Says where it lies; returns in how many pieces. */
	unsigned (*make)(struct gen_source *s, unsigned port, uint64_t packet,
			 struct iovec piece[GEN_PIECES]);

	/* Which heap it is of; where there are none, it is one itself. */
	uint64_t (*heap)(const struct gen_source *s, unsigned port,
			 uint64_t packet);

	/* Lets a port's stream end as soon as it can, but not before `least`
	 * datagrams; returns how many it has. */
	uint64_t (*end)(struct gen_source *s, unsigned port, uint64_t least);
};

#endif
