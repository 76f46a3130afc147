/* SPDX-License-Identifier: MIT */
/*
 * How a reader copies memory that its owner reuses without asking: a seqlock
 * that only spated writes.
 *
 *   spated                              reader
 *   entry is odd                        generation, acquire  (even: g)
 *   the entry's fields are written      fields and data are copied
 *   generation + 1, release             fence, acquire
 *   ...                                 generation, relaxed  (g again?)
 *   generation + 1: the block is freed
 *   the pool's lock: released, taken
 *   its data is overwritten
 *
 * The acquire load sees everything written before the release store that made
 * the entry even: its fields, and the block, which was sealed by then.  If the
 * copy has a byte of anything written later, that byte was written after the
 * store that made the generation odd, with a release between the two (the
 * pool's lock, and a fence where the memory is taken).  The fence here comes
 * after the copy, so the second load finds the odd value or a newer one.
 * Generations count up to 2^64 and never repeat.
 *
 * The copy itself may have torn words.  So nothing of it is used before the
 * second load says that it is whole, and the position and length of a copy are
 * checked against the arena before it is made.
 */
#include "store/record/shm_blocks.h"

#include <string.h>

_Static_assert(sizeof(struct shm_blocks) == 128, "as others have it");
_Static_assert(sizeof(struct shm_entry) == 128, "as others have it");

/* Neighbours in number are hashed far apart; else several recordings whose
 * numbers go up together would compete for the same entries. */
uint32_t
shm_blocks_first(const struct shm_blocks *p, uint64_t recording,
		 uint64_t number)
{
	uint64_t h = (recording << 40 ^ number) * 0x9e3779b97f4a7c15;

	return (uint32_t)(h >> 32) & (p->entries - 1);
}

bool
shm_blocks_good(const struct shm_blocks *p, uint64_t page_bytes,
		uint64_t arena_bytes)
{
	uint64_t room;

	if (page_bytes < sizeof *p ||
	    memcmp(p->magic, SHM_BLOCKS_MAGIC, sizeof p->magic) != 0)
		return false;
	room = (page_bytes - sizeof *p) / sizeof p->entry[0];
	return p->version == SHM_BLOCKS_VERSION && p->entries &&
	       !(p->entries & (p->entries - 1)) && p->entries <= room &&
	       p->arena_bytes <= arena_bytes;
}

/* Reads an entry whose generation was even.  False if it changed meanwhile, or
 * says what cannot be. */
static bool
entry_read(const struct shm_blocks *p, const struct shm_entry *e,
	   uint64_t generation, struct shm_block *b)
{
	uint8_t raw[INDEX_BYTES];

	*b = (struct shm_block){ .entry = e,
				 .generation = generation,
				 .base = e->base,
				 .at = e->at,
				 .gap = e->gap };
	memcpy(raw, e->record, sizeof raw);
	return shm_blocks_is(b) && index_unpack(&b->record, raw) == 0 &&
	       b->record.bytes <= p->arena_bytes &&
	       b->at <= p->arena_bytes - b->record.bytes;
}

static bool
find(const struct shm_blocks *p, uint64_t recording, uint64_t number,
     struct shm_block *b)
{
	uint32_t first = shm_blocks_first(p, recording, number);

	for (uint32_t i = 0; i < SHM_BLOCKS_PROBES; i++) {
		const struct shm_entry *e =
		    &p->entry[(first + i) & (p->entries - 1)];
		uint64_t g =
		    atomic_load_explicit(&e->generation, memory_order_acquire);

		if (!(g & 1) && e->recording == recording &&
		    e->number == number && entry_read(p, e, g, b))
			return true;
	}
	return false;
}

bool
shm_blocks_find(const struct shm_blocks *p, uint64_t recording, uint64_t number,
		struct shm_block *b)
{
	return find(p, recording, number, b) ||
	       (find(p, recording, number + 1, b) && b->gap);
}

bool
shm_blocks_is(const struct shm_block *b)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&b->entry->generation,
				    memory_order_relaxed) == b->generation;
}

bool
shm_blocks_copy(const struct shm_block *b, const void *arena, uint64_t from,
		uint64_t bytes, void *to)
{
	if (from > b->record.bytes || bytes > b->record.bytes - from)
		return false;
	memcpy(to, (const uint8_t *)arena + b->at + from, bytes);
	return shm_blocks_is(b);
}
