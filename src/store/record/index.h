/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_INDEX_H
#define SPATE_STORE_RECORD_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "store/disk/file.h"

/*
 * An index is a file of 64-byte little-endian records: one for each block of a
 * recording that lies on this disk, in the order in which they were written
 * (ascending numbers, except for a block that another disk gave back), and an
 * end record.  It is only ever appended to.  Every record carries its own
 * CRC32C, so a torn tail is noticed, and the records before it are good.
 *
 *    0  u64 number     of the block in the recording, from 0
 *    8  u64 first      sequence of its first slot, relative to the run
 *   16  i64 first_ns   time of the first and
 *   24  i64 last_ns    the last packet in ns, UTC: the data's own time if the
 *                      format has one, else the time of arrival
 *   32  u64 bytes      length of the data (and of the chunk file)
 *   40  u32 run        number of the run
 *   44  u32 present    slots with a packet
 *   48  u32 missing    slots without one
 *   52  u16 sub        substream
 *   54  u8  kind       INDEX_BLOCK, INDEX_GAP or INDEX_END
 *   55  u8  flags      INDEX_ bits
 *   56  u32 crc        CRC32C of the data, if flags has INDEX_SUMMED
 *   60  u32 check      CRC32C of bytes 0 to 59
 *
 * INDEX_GAP stands for a stretch without any packet: it has a number and
 * `missing` slots, but no data and no file.  In INDEX_END, `number` is how many
 * records the recording has on all disks (gaps too), `first` the packets in it,
 * `missing` 0, and first_ns and last_ns are when it began and ended.
 */
enum { INDEX_BYTES = 64 };
enum { INDEX_MOST = 1 << 30 }; /* bytes: 16 million blocks on one disk */
enum { INDEX_BLOCK = 1, INDEX_GAP = 2, INDEX_END = 3 };
enum {
	INDEX_SUMMED = 1,    /* `crc` is valid */
	INDEX_DATA_TIME = 2, /* times are the data's own */
	INDEX_RECOVERED = 4, /* made by `recover`, from the chunk alone */
};

/* A record in memory; the fields are those of the file. */
struct index_record {
	uint64_t number, first;
	int64_t first_ns, last_ns;
	uint64_t bytes;
	uint32_t run, present, missing;
	uint16_t sub;
	uint8_t kind, flags;
	uint32_t crc;
};

/* The gap record of `slots` missing slots before a block. */
static inline struct index_record
index_gap(const struct index_record *block, uint32_t slots)
{
	return (struct index_record){ .number = block->number - 1,
				      .first = block->first - slots,
				      .first_ns = block->first_ns,
				      .last_ns = block->first_ns,
				      .run = block->run,
				      .missing = slots,
				      .sub = block->sub,
				      .kind = INDEX_GAP,
				      .flags = block->flags & INDEX_DATA_TIME };
}

/* Packs a record and its check into `raw`. */
void index_pack(uint8_t raw[INDEX_BYTES], const struct index_record *r);

/* Unpacks a record.  0; -EBADMSG if the check is wrong or the kind unknown. */
int index_unpack(struct index_record *r, const uint8_t raw[INDEX_BYTES]);

/*
 * Reads a whole index.  *records is malloc'ed and the caller's; *n counts the
 * good records before the first bad one, and *torn the bytes behind them.  0;
 * -EFBIG if the file is larger than INDEX_MOST; or another -errno.
 */
int index_read(int fd, struct index_record **records, size_t *n,
	       uint64_t *torn);

/* Locks an index for its writer.  Tries for half a second, because programs
 * that list recordings lock it for a moment to see whether it is being written.
 * Returns 0, -EBUSY or -errno. */
int index_lock(int fd);

/* Appends records to an index, durably.  Returns 0, or -errno with none of them
 * in it, as far as the file can still be cut: the caller may give their blocks
 * another place. */
int index_append(struct append_file *index, const struct index_record *records,
		 size_t n);

/*
 * Writes the index of recording `name` in folder `dir` anew, beside the old one,
 * which it replaces once it is durable and locked.  Returns 0, and *index open;
 * or -errno.
 */
int index_replace(struct append_file *index, int dir, const char *name,
		  const struct index_record *records, size_t n);

#endif
