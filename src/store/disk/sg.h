/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_SG_H
#define SPATE_STORE_DISK_SG_H

#include <stdint.h>

/*
 * A Mark6 scatter/gather file is the part of a recording on one disk: a header,
 * then blocks of whole packets.  The numbers of the blocks put the blocks of
 * all disks in order.  All integers are little-endian, nothing is padded.
 *
 *    0  u32 sync          0xfeed6666
 *    4  i32 version       2, or 1
 *    8  i32 block bytes   of a full block, with its own header
 *   12  i32 format        SG_VDIF, SG_MARK5B, SG_UNKNOWN
 *   16  i32 packet bytes
 *   20  blocks           version 2: i32 number, i32 bytes of this block with
 *                         these 8, which may be fewer than a full block has;
 *                         version 1: i32 number alone, all blocks are full
 *
 * A reader must not trust any field.
 */
#define SG_SYNC 0xfeed6666u

enum { SG_HEADER = 20, SG_BLOCK = 8, SG_BLOCK_1 = 4 };
enum { SG_VDIF = 0, SG_MARK5B = 1, SG_UNKNOWN = 2 };

/* The header of a file. */
struct sg_header {
	uint32_t version;
	uint32_t block_bytes; /* length of a full block, with its header */
	uint32_t format;
	uint32_t packet_bytes; /* 0: not said */
};

/* The header of a block. */
struct sg_block {
	uint32_t number;
	uint32_t header; /* bytes before the data */
	uint32_t bytes;	 /* data bytes that are in the file */
	/* data bytes that the header promises and the file lacks */
	uint32_t cut;
};

/* Reads a file's header.  0; -EBADMSG if it is no such file, has an unknown
 * version, or lengths that cannot be. */
int sg_header_read(struct sg_header *h, const uint8_t raw[SG_HEADER]);
void sg_header_write(uint8_t raw[SG_HEADER], const struct sg_header *h);

/*
 * Reads the header of a block.  `raw` has its first SG_BLOCK bytes, or as many
 * as are left; `left` is the number of bytes in the file from the block's
 * header on.  0; -ENODATA at the end of the file, where not even one byte of
 * data follows; -EBADMSG if it is no block.
 */
int sg_block_read(const struct sg_header *h, const uint8_t *raw, uint64_t left,
		  struct sg_block *b);
/* Writes the header of a version 2 block with `bytes` of data. */
void sg_block_write(uint8_t raw[SG_BLOCK], uint32_t number, uint32_t bytes);

#endif
