/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_PARITY_PARITY_H
#define SPATE_STORE_PARITY_PARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/disk/layout.h"
#include "store/parity/code.h"
#include "store/record/index.h"

/*
 * Parity of a recording: a group is some blocks on different disks, its
 * members, and one or two parity blocks on further disks.  The number of a
 * group is that of its first member.  Its generation is 0, and that of a group
 * which `spate rebuild` makes is the time, ns UTC, so that it is another one than
 * the group of that number on a disk that is away and comes back.
 *
 *   NAME.parity.%08u        a parity block: its data, and behind them its tail
 *   NAME.parity.%08u.%016x  one of a generation
 *   NAME.parity             the tails of all parity blocks of this disk
 *
 * A tail is little-endian records of 64 bytes: one of the parity block, then
 * the index record (store/record/index.h) of each member, in the order of their
 * columns, and those of the gaps before members.  So whoever has a parity block knows all that the index of a disk
 * that is away would say.  The record of the parity block is
 *
 *    0  u64 group
 *    8  u64 bytes    of parity data: as many as the longest member has
 *   16  u32 members
 *   20  u16 row      which parity block of the group, from 0
 *   22  u16 rows     how many it has
 *   24  u64 generation
 *   32  u32 gaps     how many records of gaps follow those of the members
 *   36     zeros
 *   54  u8  kind     PARITY_KIND
 *   55  u8  zero
 *   56  u32 crc      CRC32C of the parity data
 *   60  u32 check    CRC32C of bytes 0 to 59
 *
 * Both files are written in this order: a parity block's data, its tail, and
 * when these are durable the tail in NAME.parity.  A torn end of NAME.parity is
 * passed over.
 */
enum { PARITY_KIND = 16 };

/* No block is longer (record/geometry.h); a tail that says so is damaged. */
#define PARITY_MOST (UINT64_C(1) << 32)

struct parity_record {
	uint64_t group, generation, bytes;
	uint32_t members, gaps, crc;
	uint16_t row, rows;
};

/* Bytes of a tail with so many records of members and gaps, and of one with the
 * most. */
static inline size_t
parity_tail_of(uint32_t records)
{
	return ((size_t)records + 1) * INDEX_BYTES;
}
#define PARITY_TAIL_MOST parity_tail_of(2 * PARITY_MEMBERS)

static inline size_t
parity_tail_bytes(const struct parity_record *p)
{
	return parity_tail_of(p->members + p->gaps);
}

/* Packs a tail into parity_tail_bytes() bytes.  `member` are the records of the
 * members, and behind them those of the gaps. */
void parity_pack(uint8_t *raw, const struct parity_record *p,
		 const struct index_record *member);

/* Unpacks the record of a parity block.  0 or -EBADMSG. */
int parity_unpack(struct parity_record *p, const uint8_t raw[INDEX_BYTES]);

/* One parity block that is on a disk. */
struct parity_block {
	struct parity_record record;
	unsigned disk;
	/* index in parity_table::member of the first of its members, behind
	 * which are its gaps */
	size_t first;
};

/* A member of a group, by its number. */
struct parity_member {
	uint64_t number;
	size_t block; /* in table->block: a parity block of its group */
	uint32_t column;
};

/* All parity blocks of a recording that its disks have. */
struct parity_table {
	/* sorted by group, generation and row */
	struct parity_block *block;
	size_t blocks, blocks_room;
	struct index_record *member;
	size_t members, members_room;
	/* each number once for each group that has it, the group that was made
	 * last first */
	struct parity_member *by_number;
	size_t numbers;
	struct index_record *gap; /* by number, each once */
	size_t gaps;
};

/*
 * Adds the parity blocks that `fd`, the file NAME.parity of a disk, names from
 * byte *at on, and sets *at behind the last one; the table is zeros or has those
 * of other disks.  Call parity_sort() behind the last disk.  0, -ENOMEM, or
 * another -errno.
 */
int parity_read(struct parity_table *t, int fd, unsigned disk, uint64_t *at);
int parity_sort(struct parity_table *t);
void parity_clear(struct parity_table *t);

/* The first parity block of the group that a parity block is of: they lie side by
 * side. */
const struct parity_block *parity_first(const struct parity_table *t,
					const struct parity_block *p);
static inline bool
parity_same_group(const struct parity_block *a, const struct parity_block *b)
{
	return a->record.group == b->record.group &&
	       a->record.generation == b->record.generation;
}

/* The parity block of a group that a disk has; NULL: none. */
const struct parity_block *parity_on(const struct parity_table *t,
				     uint64_t group, uint64_t generation,
				     unsigned disk);

/* The member with this number, of the group that was made last; NULL: no group has
 * it. */
const struct parity_member *parity_find(const struct parity_table *t,
					uint64_t number);

/* The same member of the group that was made before; NULL: there is none. */
static inline const struct parity_member *
parity_older(const struct parity_table *t, const struct parity_member *m)
{
	const struct parity_member *next = m + 1;

	return next < t->by_number + t->numbers && next->number == m->number
		   ? next
		   : NULL;
}

/* The number of parity blocks that a member's group has. */
unsigned parity_rows(const struct parity_table *t,
		     const struct parity_member *m);

/* The record of a gap with this number; NULL: none is known. */
const struct index_record *parity_find_gap(const struct parity_table *t,
					   uint64_t number);

/* The index record of a member. */
static inline const struct index_record *
parity_member_record(const struct parity_table *t,
		     const struct parity_member *m)
{
	return &t->member[t->block[m->block].first + m->column];
}

#endif
