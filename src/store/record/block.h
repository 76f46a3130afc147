/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_BLOCK_H
#define SPATE_STORE_RECORD_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copied_record;
struct shm_entry;
struct block_pool;

/*
 * A block is the piece of memory in which packets travel from the network to a
 * disk: `slots` slots of `slot_bytes` each, one packet's payload in a slot, and
 * one bit per slot that says whether its packet came.  A slot without its bit
 * holds undefined bytes until the disk's writer thread fills it.
 *
 *          block_pool_take           block_close         block_seal
 *   FREE ------------> OPEN ----------------> CLOSED ----------> SEALED
 *    ^                  |                                           |
 *    |   never used     |           last block_drop                 |
 *    +------------------+-------------------------------------------+
 *
 *   FREE    in its pool, the arena of blocks; nobody may look at it.
 *   OPEN    the receiver owns it: the kernel and the receiver write slots.
 *   CLOSED  the thread it was handed to owns it: a disk's writer, which
 *           fills the slots without a packet.
 *   SEALED  never written again.  Any thread that holds it may read it; it
 *           returns to the arena, and is FREE, when its last holder drops it.
 *
 * A block has one owner at any moment until it is sealed; handing it on
 * (queue_put) ends the right to touch it.
 */
enum block_state { BLOCK_FREE, BLOCK_OPEN, BLOCK_CLOSED, BLOCK_SEALED };

/*
 * Checksums are taken of one quantum (block::quantum bytes) of the data at a
 * time; the last quantum of a block may be shorter.  `crc` is the CRC32C of the
 * quantum's first `bytes` bytes, which nobody writes any more; in a sealed
 * block `bytes` covers the whole quantum.
 */
enum { BLOCK_QUANTUM = 1 << 20 }; /* bytes; only tests use another size */

struct block_sum {
	uint32_t crc, bytes;
};

/* A set of disks, by the numbers of their writers. */
enum { BLOCK_DISKS = 256 };

struct block_bars {
	uint64_t bit[BLOCK_DISKS / 64];
};

static inline bool
block_bars_has(const struct block_bars *s, unsigned disk)
{
	return s->bit[disk / 64] >> (disk % 64) & 1;
}

static inline void
block_bars_add(struct block_bars *s, unsigned disk)
{
	s->bit[disk / 64] |= UINT64_C(1) << (disk % 64);
}

/* A description that the parity blocks of a group share
 * (flow/output/parity_groups.h).  Such a block has no packets: its data are the
 * parity, and behind that its tail (store/parity/parity.h).  Malloc'ed, freed
 * with the last of the blocks. */
struct block_parity {
	atomic_uint holders;	/* parity blocks */
	uint64_t group, bytes;	/* number of its file; of the parity */
	unsigned members;	/* blocks of data in the group */
	struct block_bars bars; /* disks that have a member */
	struct block_bars rows; /* disks that were given a parity block; under
				 * the queue's lock */
	size_t lines_bytes;
	char lines[]; /* of the metadata of the group's members */
};

struct block {
	uint8_t *data;	   /* slots x slot_bytes, aligned to 4096 */
	uint64_t *present; /* one bit per slot */
	uint32_t slots;
	uint32_t slot_bytes;
	uint32_t extra; /* bytes reserved for notes, in pages behind the
			 * slots */

	/* Set by the receiver; constant once the block is closed. */
	uint32_t used;	  /* slots up to the end of the block's data */
	uint32_t filled;  /* packets in the block */
	uint32_t notes;	  /* bytes of notes at the very end of the block's
			   * memory, which say how heaps lie in it; 0: no
			   * notes, slot n holds packet first + n */
	uint32_t missing; /* packets that should be here and are not; set
			   * when a block with notes is sealed */
	uint64_t bytes;	  /* bytes of data; set when a block with notes is
			   * sealed */
	uint32_t run;
	uint16_t sub;	  /* substream; 0 if the stream has only one */
	uint64_t first;	  /* sequence of slot 0, relative to the run */
	uint64_t base;	  /* absolute sequence of slot 0 of the run */
	uint32_t fps;	  /* frames per second of one thread, as learned from
			   * the packets; 0: unknown */
	uint64_t gap;	  /* slots in blocks without any packet just before
			   * this one; the index keeps them as one record
			   * without data */
	uint64_t number;  /* number of the chunk; the record of the gap
			   * before it has number - 1 */
	int64_t first_ns; /* arrival of the first packet, UTC ns */
	int64_t last_ns;  /* arrival of the last packet, UTC ns */
	void *session;	  /* the recording session that owns this block */
	struct copied_record
	    *brought; /* set if the block is part of a copy: its
				  * index record and metadata lines
				  * (flow/memory/block_record.h), from which
				  * `bytes` and `missing` come; freed with
				  * the block */

	struct block_parity *parity; /* NULL: a block of data */
	/* number of the parity group that it is in, + 1; 0: none yet,
	 * UINT64_MAX: no group took it; under the lock of the parity groups */
	uint64_t grouped;

	uint32_t quantum;      /* bytes; 0: no checksums are taken */
	uint32_t crc;	       /* sealed, if quantum is set: CRC32C of all
				* the data */
	uint64_t summed;       /* bytes that have their checksum; the
				* receiver continues here
				* (flow/memory/checksums.h) */
	struct block_sum *sum; /* one per quantum */

	enum block_state state;	 /* written by the block's owner alone */
	atomic_uint holders;	 /* decremented with acq_rel: the thread that
				  * takes it to zero sees that all other
				  * holders have finished reading */
	struct shm_entry *shown; /* the block's entry in the page that other
				  * processes read (flow/memory/shm_page.h); NULL:
				  * not shown to them */
	struct block_pool *pool;
	uint16_t taker;	    /* private to the pool: the substream that the
			     * block is counted for */
	struct block *next; /* links pool::free or queue::head */
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

/*
 * Returns the bytes of data in the block, counted from its beginning.  A block
 * with notes must be sealed.
 */
static inline uint64_t
block_bytes(const struct block *b)
{
	return b->notes || b->brought || b->parity
		   ? b->bytes
		   : (uint64_t)b->used * b->slot_bytes;
}

/*
 * Returns the number of quanta that the data fills, the last one perhaps in
 * part; 0 if no checksums are taken.
 */
static inline uint32_t
block_quanta(const struct block *b)
{
	if (!b->quantum)
		return 0;
	return (uint32_t)((block_bytes(b) + b->quantum - 1) / b->quantum);
}

/* Returns how many packets should be in the block and are not. */
static inline uint32_t
block_missing(const struct block *b)
{
	return b->notes || b->brought ? b->missing : b->used - b->filled;
}

/* Adds a holder to a sealed block.  Only a thread that holds it may call. */
void block_hold(struct block *b);

/*
 * Drops one holder; the last drop returns the block to its arena.  Any thread
 * may call.
 */
void block_drop(struct block *b);

#endif
