/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_MAP_PAGE_H
#define SPATE_STORE_RECORD_MAP_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/record/index.h"

/*
 * The map page is shared memory in which spated says which blocks of its arena
 * are of which recordings just now, for those who read a recording while it is
 * made (verb `map`).  They have page and arena read-only, wait for nobody, and
 * nobody waits for them: a block may go home while it is copied, and then the
 * copy is thrown away.
 *
 *   page  | head | entry | entry | ...        arena  |   block   | block | ...
 *                    `-- at -------------------------^
 *
 * The generation of an entry is odd while there is nothing, and while it
 * changes; it never has the same value again.  What was read between two looks
 * that found the same even one is true; see map_page.c.
 *
 * Integers are the machine's own: both sides are on it.
 */
#define MAP_PAGE_MAGIC "spatemap"
enum { MAP_PAGE_VERSION = 1, MAP_PAGE_PROBES = 16 };

struct map_entry {
	_Atomic uint64_t generation;
	uint64_t recording; /* its ID, as `map` told it */
	uint64_t number;    /* of the block */
	uint64_t at;	    /* of its data in the arena */
	uint64_t base;	    /* absolute sequence of the run's slot 0 */
	uint32_t gap;	    /* slots before it of the number before, 0: none */
	uint32_t spare;
	uint8_t record[INDEX_BYTES]; /* as its index will have it */
	uint8_t rest[16];
};

struct map_page {
	char magic[8];
	uint32_t version;
	uint32_t entries; /* a power of two */
	uint64_t arena_bytes;
	uint8_t rest[104];
	struct map_entry entry[];
};

/* A block that was found; good as long as map_page_is() says so. */
struct map_block {
	const struct map_entry *entry;
	uint64_t generation;
	struct index_record record;
	uint64_t base, at;
	uint32_t gap;
};

/*
 * A block is in one of MAP_PAGE_PROBES entries, from this one on and around:
 * so nobody has to look at all.  Which one says nothing about its neighbours.
 */
uint32_t map_page_first(const struct map_page *p, uint64_t recording,
			uint64_t number);

/* Of a page that was mapped, and an arena: are they what they seem to be? */
bool map_page_good(const struct map_page *p, uint64_t page_bytes,
		   uint64_t arena_bytes);

/* The block with this number, or that comes with the gap which has it: then
 * b->record.number is one more.  False: it is not in memory. */
bool map_page_find(const struct map_page *p, uint64_t recording,
		   uint64_t number, struct map_block *b);

/* Is it still what was found?  Asked after its bytes were read. */
bool map_page_is(const struct map_block *b);

/* Copies bytes of its data.  False: it is gone, `to` has rubbish, and a disk
 * has to be asked; also where it has not so many. */
bool map_page_copy(const struct map_block *b, const void *arena, uint64_t from,
		   uint64_t bytes, void *to);

#endif
