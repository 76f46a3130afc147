/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_SG_H
#define SPATE_STORE_DISK_SG_H

#include <stdint.h>

/*
 * A Mark6 scatter/gather file is the part of a recording that lies on one
 * disk: a header, and blocks of whole packets, whose numbers put the blocks
 * of all disks in order.  All numbers are little-endian, nothing is padded.
 *
 *    0  u32 sync          0xfeed6666
 *    4  i32 version       2, or 1
 *    8  i32 block bytes   of a full block, its own header included
 *   12  i32 format        SG_VDIF, SG_MARK5B, SG_UNKNOWN
 *   16  i32 packet bytes
 *   20  blocks           version 2: i32 number, i32 bytes of this block with
 *                         these 8, which may be fewer; version 1: i32 number
 *                         alone, all blocks are full
 *
 * Who reads one trusts no field of it.
 */
#define SG_SYNC 0xfeed6666u

enum { SG_HEADER = 20, SG_BLOCK = 8, SG_BLOCK_1 = 4 };
enum { SG_VDIF = 0, SG_MARK5B = 1, SG_UNKNOWN = 2 };

struct sg_header {
	uint32_t version;
	uint32_t block_bytes; /* of a full one, with its header */
	uint32_t format;
	uint32_t packet_bytes; /* 0: it does not say */
};

struct sg_block {
	uint32_t number;
	uint32_t header; /* bytes before its data */
	uint32_t bytes;	 /* of data, that there are */
	uint32_t cut;	 /* of data, that should be behind them */
};

/* 0, or -EBADMSG: it is none, or of a version or with lengths that cannot
 * be. */
int sg_header_read(struct sg_header *h, const uint8_t raw[SG_HEADER]);
void sg_header_write(uint8_t raw[SG_HEADER], const struct sg_header *h);

/*
 * Reads a block's header, of which `left` bytes, this header included, are in
 * the file (and SG_BLOCK at `raw`, or as many as are left).  0; -ENODATA at
 * the end of the file, where not even one byte of data follows; -EBADMSG where
 * there is no block.
 */
int sg_block_read(const struct sg_header *h, const uint8_t *raw, uint64_t left,
		  struct sg_block *b);
/* Of version 2, with so many bytes of data. */
void sg_block_write(uint8_t raw[SG_BLOCK], uint32_t number, uint32_t bytes);

#endif
