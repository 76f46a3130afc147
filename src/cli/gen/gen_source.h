/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SOURCE_H
#define SPATE_CLI_GEN_GEN_SOURCE_H

#include <stdint.h>
#include <sys/uio.h>

/*
 * A source makes the datagrams of ideal streams on request: one stream for each
 * port, both numbered from 0.  All bytes are a function of the seed, the port
 * and the datagram's number.
 */
struct gen_source {
	const struct gen_source_ops *ops;
	/*
	 * bytes of all datagrams, except that those at the end of a heap may be
	 * shorter
	 */
	uint32_t most;
	double mean; /* bytes of a datagram, on average */
	/*
	 * a datagram is valid until one of the same port is requested whose
	 * number differs by `ready` or more
	 */
	uint32_t ready;
};

enum { GEN_PIECES = 2 }; /* pieces of memory that a datagram may consist of */

struct gen_source_ops {
	/* Makes a datagram; sets its pieces, and returns how many. */
	unsigned (*make)(struct gen_source *s, unsigned port, uint64_t packet,
			 struct iovec piece[GEN_PIECES]);

	/*
	 * Returns the number of the heap that a datagram belongs to; without
	 * heaps, the datagram's own number.
	 */
	uint64_t (*heap)(const struct gen_source *s, unsigned port,
			 uint64_t packet);

	/*
	 * Ends a port's stream as soon as possible, after at least `least`
	 * datagrams; returns how many it has.
	 */
	uint64_t (*end)(struct gen_source *s, unsigned port, uint64_t least);
};

/*
 * Returns a hash of one word, all bits of which are well mixed: the last step
 * of splitmix64.
 */
static inline uint64_t
mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
