/* SPDX-License-Identifier: MIT */
/*
 * gcd(4096, payload) is the largest power of two in the payload, at most a
 * page, so the quantum is a power of two times what `parts` asks for:
 *
 *   payload 8032 = 251 * 2^5          128 slots
 *   payload 8224 = 257 * 2^5          128
 *   payload 5008 = 313 * 2^4, parts 2 256
 *
 * Padding every packet to whole pages was rejected: it costs 2 % of the disk
 * for payload 8032, and no other program could read the chunks.
 */
#include <errno.h>

#include "store/record/geometry.h"

/* ITEMS_MAX keeps the notes of a block (notes.h) below 4 GiB, too. */
enum { QUANTUM_MAX = 1 << 30, ITEMS_MAX = 1 << 24 };

uint64_t
geometry_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int
geometry_make(struct geometry *g, uint32_t payload, uint32_t parts,
	      uint64_t block_bytes)
{
	uint64_t pages, quantum, quantum_bytes, count;

	if (!payload || !parts)
		return -EINVAL;
	pages = GEOMETRY_PAGE / geometry_gcd(GEOMETRY_PAGE, payload);
	quantum = pages / geometry_gcd(pages, parts) * parts;
	if (__builtin_mul_overflow(quantum, payload, &quantum_bytes) ||
	    quantum_bytes > QUANTUM_MAX)
		return -EFBIG;
	count = block_bytes / quantum_bytes;
	if (!count)
		count = 1;
	if (count * quantum_bytes > UINT32_MAX + UINT64_C(1))
		return -EFBIG;
	*g = (struct geometry){
		.payload = payload,
		.parts = parts,
		.quantum = (uint32_t)quantum,
		.slots = (uint32_t)(count * quantum),
		.block_bytes = count * quantum_bytes,
	};
	return 0;
}

int
geometry_frames(struct geometry *g, uint32_t payload, uint32_t parts,
		uint64_t block_bytes)
{
	uint64_t frame = (uint64_t)payload * parts, count;

	if (!frame)
		return -EINVAL;
	count = block_bytes / frame * parts;
	if (!count || count * payload > UINT32_MAX)
		return -EFBIG;
	*g = (struct geometry){
		.payload = payload,
		.parts = parts,
		.quantum = parts,
		.slots = (uint32_t)count,
		.block_bytes = count * payload,
	};
	return 0;
}

int
geometry_items(struct geometry *g, uint32_t item_bytes, uint64_t block_bytes)
{
	uint64_t count;

	if (!item_bytes)
		return -EINVAL;
	count = block_bytes / item_bytes;
	if (!count)
		count = 1;
	if (count * item_bytes > UINT32_MAX + UINT64_C(1))
		return -EFBIG;
	if (count > ITEMS_MAX)
		count = ITEMS_MAX;
	*g = (struct geometry){
		.payload = item_bytes,
		.parts = 1,
		.quantum = 1,
		.slots = (uint32_t)count,
		.block_bytes = count * item_bytes,
	};
	return 0;
}
