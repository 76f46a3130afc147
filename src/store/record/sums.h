/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_SUMS_H
#define SPATE_STORE_RECORD_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/bytes.h"

/*
 * Sums are the checksums that the index has no room for: CRC32C of each quantum
 * of a block's data.  They are a file of little-endian records beside the
 * index, one record per block of this disk.  The file is only ever appended to.
 * A block's record is durable before the index names the block; so there may be
 * records of blocks that the index never named.  Of two records with one number
 * the later one counts.
 *
 *    0  u32 magic      SUMS_MAGIC
 *    4  u32 count      number of quanta
 *    8  u64 number     of the block in the recording
 *   16  u64 bytes      length of its data
 *   24  u32 quantum    bytes of each quantum; the last one is what is left
 *   28  u32 crc        CRC32C of all of the data, as in the index
 *   32  u32[count]     CRC32C of each quantum
 *       u32 check      CRC32C of everything before it
 *
 * A record is accepted if its check is right, its count follows from its
 * lengths, and its `crc` from those of the quanta.  Anything else is skipped,
 * so damage costs only the records that it is in.
 */
#define SUMS_MAGIC 0x534d5553u /* "SUMS" */
enum {
	SUMS_HEAD = 32,
	SUMS_CHECK = 4,
	SUMS_QUANTUM = 512,  /* shortest quantum that is accepted, in bytes */
	SUMS_MOST = 1 << 20, /* most quanta of a block */
	SUMS_FILE = 1 << 30, /* bytes: enough for 256 TiB on one disk */
};

/* One record; the fields are those of the file. */
struct sums {
	uint64_t number, bytes;
	uint32_t quantum, crc, count;
	const uint8_t *raw; /* checksums of the quanta, as in the file */
};

/* Bytes that a record with `count` quanta takes. */
static inline size_t
sums_bytes(uint32_t count)
{
	return SUMS_HEAD + (size_t)count * sizeof(uint32_t) + SUMS_CHECK;
}

/* Checksum of quantum i. */
static inline uint32_t
sums_at(const struct sums *s, uint32_t i)
{
	return read_le32(s->raw + (size_t)i * sizeof(uint32_t));
}

/* Packs the record of a sealed block with checksums into
 * sums_bytes(block_quanta(b)) bytes. */
void sums_pack(uint8_t *raw, const struct block *b);

/* Unpacks the record at `raw`; `raw` must outlive s.  Returns the record's
 * length, or 0 if there is no good record within `left` bytes. */
size_t sums_unpack(struct sums *s, const uint8_t *raw, size_t left);

/* All records of a file: each number once, sorted by number. */
struct sums_list {
	struct sums *sums;
	size_t n;
	uint64_t end;	  /* where the last good record ends in the file */
	uint64_t torn;	  /* bytes behind `end` */
	uint64_t damaged; /* bytes before `end` that are no record */
	int64_t bytes;	  /* size of the file when it was read */
	uint8_t *raw;
};

/* Reads a whole file.  0; -EFBIG if it is larger than SUMS_FILE; or another
 * -errno.  After an error there is nothing to clear. */
int sums_read(int fd, struct sums_list *list);
void sums_clear(struct sums_list *list);

/* Reads the .sums file of recording `name` in its folder `dir` on a disk anew, if
 * its size is not the one that the list was read at: it grows while recording.  The
 * list stays as it is if the file cannot be read. */
void sums_refresh(struct sums_list *list, int dir, const char *name);

/* The record of a block; NULL if the file has none. */
const struct sums *sums_find(const struct sums_list *list, uint64_t number);

#endif
