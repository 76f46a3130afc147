/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_INDEX_H
#define SPATE_STORE_RECORD_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * An index is a file of 64-byte little-endian records, one for each block
 * of a recording that lies on this disk, in the order in which they were written
 * (of their numbers, but for a block that another disk gave back), and
 * an end record.  It is only ever appended to.  Every record carries its
 * own CRC32C, so a torn tail is seen, and what is before it is good.
 *
 *    0  u64 number     of the block in the recording, from 0
 *    8  u64 first      sequence of its first slot, relative to the run
 *   16  i64 first_ns   time of the first and
 *   24  i64 last_ns    the last packet: the data's own time where the
 *                      format has one, else arrival; UTC
 *   32  u64 bytes      length of the data (and of the chunk file)
 *   40  u32 run
 *   44  u32 present    slots with a packet
 *   48  u32 missing    slots without
 *   52  u16 sub        substream
 *   54  u8  kind       INDEX_BLOCK, INDEX_GAP or INDEX_END
 *   55  u8  flags      INDEX_ bits
 *   56  u32 crc        CRC32C of the data, with INDEX_SUMMED
 *   60  u32 check      CRC32C of bytes 0 to 59
 *
 * INDEX_GAP stands for a stretch without any packet: a number, `missing`
 * slots, no data, no file.  In INDEX_END, number counts all records of the
 * recording on all disks (gaps too), first the packets in it, missing
 * nothing, and first_ns and last_ns when it began and ended.
 */
enum { INDEX_BYTES = 64 };
enum { INDEX_MOST = 1 << 30 }; /* bytes: 16 million blocks on one disk */
enum { INDEX_BLOCK = 1, INDEX_GAP = 2, INDEX_END = 3 };
enum {
	INDEX_SUMMED = 1,    /* crc is there */
	INDEX_DATA_TIME = 2, /* times are the data's own */
	INDEX_RECOVERED = 4, /* made by recover, from the chunk alone */
};

struct index_record {
	uint64_t number, first;
	int64_t first_ns, last_ns;
	uint64_t bytes;
	uint32_t run, present, missing;
	uint16_t sub;
	uint8_t kind, flags;
	uint32_t crc;
};

/* The record of the gap of so many slots before a block. */
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

void index_pack(uint8_t raw[INDEX_BYTES], const struct index_record *r);

/* 0; -EBADMSG when the check is wrong or the kind unknown. */
int index_unpack(struct index_record *r, const uint8_t raw[INDEX_BYTES]);

/*
 * Reads a whole index: *records is malloc'ed, *n the good ones before the
 * first bad one, *torn the bytes behind them.  0; -EFBIG: it has more bytes
 * than INDEX_MOST; or -errno.
 */
int index_read(int fd, struct index_record **records, size_t *n,
	       uint64_t *torn);

#endif
