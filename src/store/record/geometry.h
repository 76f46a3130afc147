/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_GEOMETRY_H
#define SPATE_STORE_RECORD_GEOMETRY_H

#include <stdint.h>

/*
 * The geometry of a stream says how many packets make a block.  A full block is
 * whole frames *and* whole 4096-byte pages: it can be written with O_DIRECT
 * from where it lies in memory, and its file has no partial page.
 *
 * The quantum is the smallest such number of packets, lcm(4096 / gcd(4096,
 * payload), parts).  A block is the largest multiple of the quantum that fits
 * in the configured size, at least one quantum.
 */
enum { GEOMETRY_PAGE = 4096 };

struct geometry {
	uint32_t payload;     /* bytes per slot */
	uint32_t parts;	      /* slots per frame */
	uint32_t quantum;     /* slots; see above */
	uint32_t slots;	      /* per block */
	uint64_t block_bytes; /* slots x payload */
};

/* Computes the geometry for blocks of about block_bytes.  0; -EINVAL: payload
 * or parts is 0; -EFBIG: one quantum is over 1 GiB, or a block over 4 GiB. */
int geometry_make(struct geometry *g, uint32_t payload, uint32_t parts,
		  uint64_t block_bytes);

/*
 * The geometry of a file in which nothing is aligned: as many whole frames as
 * fit, at least one.  0; -EINVAL: payload or parts is 0; -EFBIG: not even one
 * frame fits, or a block is over 4 GiB.
 */
int geometry_frames(struct geometry *g, uint32_t payload, uint32_t parts,
		    uint64_t block_bytes);

/*
 * The geometry of items of heaps that are stored back to back (HEAP_CUBE): as
 * many whole items as fit in a block, at least one and at most 2^24.  The
 * quantum is one, because the last page of such a file is written padded and
 * then cut.  0; -EINVAL: item_bytes is 0; -EFBIG: a block is over 4 GiB.
 */
int geometry_items(struct geometry *g, uint32_t item_bytes,
		   uint64_t block_bytes);

/* Greatest common divisor; gcd(0, n) is n. */
uint64_t geometry_gcd(uint64_t a, uint64_t b);

#endif
