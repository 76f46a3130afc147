/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_SUMS_H
#define SPATE_STORE_RECORD_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "contract/block.h"
#include "contract/bytes.h"

/*
 * Sums are what the index has no room for: CRC32C of each quantum of a block's
 * data.  They are a file of little-endian records beside the index, one for
 * each block of this disk.  It is only ever appended to, and a block's record
 * is durable before the index names the block; so there may be one of a block
 * that it never named, and of two of a number the later one counts.
 *
 *    0  u32 magic      SUMS_MAGIC
 *    4  u32 count      of the quanta
 *    8  u64 number     of the block in the recording
 *   16  u64 bytes      length of its data
 *   24  u32 quantum    bytes of each quantum; the last is what is left
 *   28  u32 crc        CRC32C of all of the data, as in the index
 *   32  u32[count]     CRC32C of each quantum
 *       u32 check      CRC32C of all before
 *
 * A record is believed when its check is right, its count follows from its
 * lengths, and its `crc` from those of the quanta.  What is none is stepped
 * over, so that damage costs the records that it is in.
 */
#define SUMS_MAGIC 0x534d5553u /* "SUMS" */
enum {
	SUMS_HEAD = 32,
	SUMS_CHECK = 4,
	SUMS_QUANTUM = 512,  /* the shortest that is believed */
	SUMS_MOST = 1 << 20, /* quanta of a block */
	SUMS_FILE = 1 << 30, /* bytes: of 256 TiB on one disk */
};

struct sums {
	uint64_t number, bytes;
	uint32_t quantum, crc, count;
	const uint8_t *raw; /* of the quanta, as in the file */
};

/* That its record takes. */
static inline size_t
sums_bytes(uint32_t count)
{
	return SUMS_HEAD + (size_t)count * sizeof(uint32_t) + SUMS_CHECK;
}

static inline uint32_t
sums_at(const struct sums *s, uint32_t i)
{
	return read_le32(s->raw + (size_t)i * sizeof(uint32_t));
}

/* The record of a sealed block with checksums: sums_bytes(block_quanta(b)). */
void sums_pack(uint8_t *raw, const struct block *b);

/* What the record at `raw` says; it must outlive s.  How long it is, or 0 for
 * none within `left` bytes. */
size_t sums_unpack(struct sums *s, const uint8_t *raw, size_t left);

/* All of a file, each number once, by number. */
struct sums_list {
	struct sums *sums;
	size_t n;
	uint64_t end;	  /* of the last good record in the file */
	uint64_t torn;	  /* bytes behind that */
	uint64_t damaged; /* bytes before it that are no record */
	uint8_t *raw;
};

/* 0; -EFBIG: it has more bytes than SUMS_FILE; or -errno; then there is nothing
 * to clear. */
int sums_read(int fd, struct sums_list *list);
void sums_clear(struct sums_list *list);

/* NULL: the file does not have it. */
const struct sums *sums_find(const struct sums_list *list, uint64_t number);

#endif
