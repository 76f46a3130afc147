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
 * group is that of its first member.
 *
 *   NAME.parity.%08u  a parity block: its data, and behind them its tail
 *   NAME.parity       the tails of all parity blocks of this disk
 *
 * A tail is little-endian records of 64 bytes: one of the parity block, then
 * the index record (store/record/index.h) of each member, in the order of their
 * columns.  So whoever has a parity block knows all that the index of a disk
 * that is away would say.  The record of the parity block is
 *
 *    0  u64 group
 *    8  u64 bytes    of parity data: as many as the longest member has
 *   16  u32 members
 *   20  u16 row      which parity block of the group, from 0
 *   22  u16 rows     how many it has
 *   24     zeros
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
#define PARITY_BYTES (UINT64_C(1) << 32) /* at most: a block has no more */

struct parity_record {
	uint64_t group, bytes;
	uint32_t members, crc;
	uint16_t row, rows;
};

/* Bytes of a tail. */
static inline size_t
parity_tail_bytes(uint32_t members)
{
	return ((size_t)members + 1) * INDEX_BYTES;
}

/* Packs a tail into parity_tail_bytes() bytes. */
void parity_pack(uint8_t *raw, const struct parity_record *p,
		 const struct index_record *member);

/* Unpacks the record of a parity block.  0 or -EBADMSG. */
int parity_unpack(struct parity_record *p, const uint8_t raw[INDEX_BYTES]);

/*
 * Reads the tail of a parity block from the end of its file.  *tail is the
 * caller's, parity_tail_bytes(p->members) bytes.  0; -EBADMSG: there is none;
 * another -errno.
 */
int parity_tail_read(int fd, struct parity_record *p, uint8_t **tail);

/* One parity block that is on a disk. */
struct parity_block {
	struct parity_record record;
	unsigned disk;
	/* Its members are table->member[first] and those behind it. */
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
	struct parity_block *block; /* sorted by group, then row */
	size_t blocks, blocks_room;
	struct index_record *member;
	size_t members, members_room;
	struct parity_member *by_number; /* each number once */
	size_t numbers;
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

/* The member with this number; NULL: no group has it. */
const struct parity_member *parity_find(const struct parity_table *t,
					uint64_t number);

/* The index record of a member. */
static inline const struct index_record *
parity_member_record(const struct parity_table *t,
		     const struct parity_member *m)
{
	return &t->member[t->block[m->block].first + m->column];
}

#endif
