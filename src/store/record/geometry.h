/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_GEOMETRY_H
#define SPATE_STORE_RECORD_GEOMETRY_H

#include <stdint.h>

/*
 * The geometry of a stream says how many packets make a block, so that a
 * full block is whole frames *and* whole 4096-byte pages: it can be written
 * with O_DIRECT from where it lies, and its file has no tail.
 *
 * The quantum is the smallest such number of packets,
 * lcm(4096 / gcd(4096, payload), parts); a block is the largest multiple of
 * it that fits in the size that was asked for, at least one.
 */
enum { GEOMETRY_PAGE = 4096 };

struct geometry {
	uint32_t payload;     /* bytes per slot */
	uint32_t parts;	      /* slots per frame */
	uint32_t quantum;     /* slots */
	uint32_t slots;	      /* per block */
	uint64_t block_bytes; /* slots x payload */
};

/* 0, -EINVAL (payload or parts 0), -EFBIG (one quantum is over 1 GiB, or a
 * block over 4 GiB). */
int geometry_make(struct geometry *g, uint32_t payload, uint32_t parts,
		  uint64_t block_bytes);

/*
 * Of a file in which nothing is aligned: as many whole frames as fit, at least
 * one.  0, -EINVAL, -EFBIG (not even one).
 */
int geometry_frames(struct geometry *g, uint32_t payload, uint32_t parts,
		    uint64_t block_bytes);

/*
 * Of items that are stored one behind the other (HEAP_CUBE): as many whole
 * ones as fit in the block, at least one and at most 2^24; the quantum is one,
 * because a file of them is written padded and cut.  0, -EINVAL, -EFBIG (over
 * 4 GiB).
 */
int geometry_items(struct geometry *g, uint32_t item_bytes,
		   uint64_t block_bytes);

/* The greatest number that divides both; of 0 and a number, that. */
uint64_t geometry_gcd(uint64_t a, uint64_t b);

#endif
