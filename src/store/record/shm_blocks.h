/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_SHM_BLOCKS_H
#define SPATE_STORE_RECORD_SHM_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/record/index.h"

/*
 * The page is shared memory in which spated publishes which blocks of its
 * memory (the arena) hold which parts of which recordings right now, for
 * programs that read a recording while it is made (verb `map` of the control
 * socket).  Readers map page and arena read-only.  Neither side ever waits for
 * the other: a block may be reused while a reader copies it; the copy is then
 * discarded.
 *
 *   page  | head | entry | entry | ...        arena  |   block   | block | ...
 *                    `-- at -------------------------^
 *
 * The generation of an entry is odd while the entry is empty or changes; no
 * value ever comes twice.  A copy made between two loads of the same even
 * generation is valid; shm_blocks.c says why.
 *
 * Integers are in the machine's own byte order: both sides run on it.
 */
#define SHM_BLOCKS_MAGIC "spatemap"
enum { SHM_BLOCKS_VERSION = 1, SHM_BLOCKS_PROBES = 16 };

/* One published block, or none; 128 bytes, also for programs of other
 * versions. */
struct shm_entry {
	_Atomic uint64_t generation;
	uint64_t recording; /* ID of the recording, from the reply to `map` */
	uint64_t number;    /* number of the block in its recording */
	uint64_t at;	    /* offset of its data in the arena */
	uint64_t base;	    /* absolute sequence of slot 0 of the run */
	/* slots of the gap record before it (number - 1); 0: no gap */
	uint32_t gap;
	uint32_t spare;
	/* the block's index record, as it will be on disk */
	uint8_t record[INDEX_BYTES];
	uint8_t rest[16];
};

struct shm_blocks {
	char magic[8];
	uint32_t version;
	uint32_t entries; /* number of entries, a power of two */
	uint64_t arena_bytes;
	uint8_t rest[104];
	struct shm_entry entry[];
};

/* A block that was found in the page; valid as long as shm_blocks_is() returns
 * true. */
struct shm_block {
	const struct shm_entry *entry;
	uint64_t generation;
	struct index_record record;
	uint64_t base, at;
	uint32_t gap;
};

/*
 * The first of the SHM_BLOCKS_PROBES consecutive entries (modulo `entries`) in
 * which a block may be, so that no reader has to search all.
 */
uint32_t shm_blocks_first(const struct shm_blocks *p, uint64_t recording,
			  uint64_t number);

/* True if a mapped page is a page of this version that fits into
 * page_bytes, and its arena into arena_bytes. */
bool shm_blocks_good(const struct shm_blocks *p, uint64_t page_bytes,
		     uint64_t arena_bytes);

/* Finds a block by its number, or by the number of the gap before it: then
 * b->record.number is one more.  False if it is not in memory.  Any thread. */
bool shm_blocks_find(const struct shm_blocks *p, uint64_t recording,
		     uint64_t number, struct shm_block *b);

/* True if the block is still the one that was found.  Call it after reading its
 * bytes. */
bool shm_blocks_is(const struct shm_block *b);

/* Copies bytes `from` .. `from` + `bytes` of the block's data.  False if the
 * block has fewer, or was reused meanwhile: `to` then has rubbish, and the data
 * must be read from disk. */
bool shm_blocks_copy(const struct shm_block *b, const void *arena,
		     uint64_t from, uint64_t bytes, void *to);

#endif
