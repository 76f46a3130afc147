/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_BLOCK_H
#define SPATE_CONTRACT_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct brought;
struct map_entry;
struct stock;

/*
 * A block is the piece of memory that flows from the network to a disk:
 * `slots` places of `slot_bytes` each, one packet's payload in a slot, and a
 * bit for each slot that says whether its packet came.  A slot without its
 * bit holds rubbish until the writer fills it.
 *
 *          stock_take           block_close         block_seal
 *   FREE ------------> OPEN ----------------> CLOSED ----------> SEALED
 *    ^                  |                                           |
 *    |   never used     |           last block_drop                 |
 *    +------------------+-------------------------------------------+
 *
 *   FREE    in its stock; nobody may look at it.
 *   OPEN    the receiver owns it: the kernel and the receiver write slots.
 *   CLOSED  the thread that was handed it owns it: a disk's writer, which
 *           fills the slots without a packet.
 *   SEALED  never written again.  Any thread that holds it may read it; it
 *           goes home, and is FREE, when the last holder drops it.
 *
 * A block has one owner at any moment until it is sealed; handing it on
 * (queue_put) ends the right to touch it.
 */
enum block_state { BLOCK_FREE, BLOCK_OPEN, BLOCK_CLOSED, BLOCK_SEALED };

/*
 * Checksums are taken of a quantum of the data at a time, the last one being
 * what is left.  `crc` is CRC32C of the first `bytes` of it, which are not
 * written any more; in a sealed block that is all of them.
 */
enum { BLOCK_QUANTUM = 1 << 20 }; /* as everybody has it, but tests */

struct block_sum {
	uint32_t crc, bytes;
};

struct block {
	uint8_t *data;	   /* slots x slot_bytes, 4096-aligned */
	uint64_t *present; /* a bit per slot */
	uint32_t slots;
	uint32_t slot_bytes;
	uint32_t extra; /* bytes for notes, in pages behind the slots' */

	/* What the receiver knows; constant once closed. */
	uint32_t used;	  /* slots up to the end of the block's data */
	uint32_t filled;  /* packets in it */
	uint32_t notes;	  /* bytes at the very end of its memory that say how
			    heaps lie in it; 0: its slots speak for themselves */
	uint32_t missing; /* with notes, sealed: packets that should be here */
	uint64_t bytes;	  /* with notes, sealed: of data */
	uint32_t run;
	uint16_t sub;	  /* substream; 0 where there is one */
	uint64_t first;	  /* sequence of slot 0, relative to the run */
	uint64_t base;	  /* absolute sequence of the run's slot 0 */
	uint32_t fps;	  /* of a thread, if that was learned; else 0 */
	uint64_t gap;	  /* slots before this block, of blocks without
				   a packet: one index record without data */
	uint64_t number;  /* of the chunk; the gap's record is number-1 */
	int64_t first_ns; /* arrival of the first and */
	int64_t last_ns;  /* the last packet, UTC */
	void *session;	  /* whose block this is */
	struct brought *brought; /* of a copy: its record and lines are there
				    already (flow/memory/brought.h), and so are
				    `bytes` and `missing`; goes when it does */

	uint32_t quantum; /* bytes; 0: no checksums are taken */
	uint32_t crc;	  /* sealed, with quanta: CRC32C of the data */
	uint64_t summed;  /* where the receiver goes on, flow/memory/quanta.h */
	struct block_sum *sum; /* of each quantum */

	enum block_state state;	 /* written by the owner alone */
	atomic_uint holders;	 /* counts down with acq_rel: whoever takes it
				   to zero sees all reads of others done */
	struct map_entry *shown; /* by which others see it; NULL: they do not
				    (flow/memory/map.h) */
	struct stock *home;
	uint16_t taker;	    /* the stock's own: the substream it counts for */
	struct block *next; /* stock::free, or queue::head */
};

static inline bool
block_has(const struct block *b, uint32_t slot)
{
	return b->present[slot / 64] >> (slot % 64) & 1;
}

static inline uint8_t *
block_slot(const struct block *b, uint32_t slot)
{
	return b->data + (uint64_t)slot * b->slot_bytes;
}

/* Of data, from its beginning; of one with notes, once it is sealed. */
static inline uint64_t
block_bytes(const struct block *b)
{
	return b->notes || b->brought ? b->bytes
				      : (uint64_t)b->used * b->slot_bytes;
}

/* Of its data, the last one short; 0 where no checksums are taken. */
static inline uint32_t
block_quanta(const struct block *b)
{
	if (!b->quantum)
		return 0;
	return (uint32_t)((block_bytes(b) + b->quantum - 1) / b->quantum);
}

/* Packets that should be in it and are not. */
static inline uint32_t
block_missing(const struct block *b)
{
	return b->notes || b->brought ? b->missing : b->used - b->filled;
}

/* Holds a sealed block once more.  Only a thread that holds it may call. */
void block_hold(struct block *b);

/* Lets go; the last one sends the block home.  Any thread. */
void block_drop(struct block *b);

#endif
