/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_SG_H
#define SPATE_STORE_SG_H

#include <stdint.h>

/*
 * Mark6's scatter/gather: one file per disk, which is a header of 20 bytes and
 * blocks, each with a header of its own.  Little-endian, nothing is aligned.
 *
 *   u32 0xfeed6666, i32 version, i32 block_size, i32 packet_format,
 *   i32 packet_size
 *   version 2: { i32 blocknum, i32 wb_size, u8 data[wb_size - 8] } ...
 *   version 1: { i32 blocknum, u8 data[block_size - 4] } ...
 *
 * Both sizes include the header of the block.
 */
enum {
	SG_HEADER = 20,
	SG_BLOCK = 8,		  /* of a block, version 2 */
	SG_BLOCK_1 = 4,		  /* version 1 */
	SG_BLOCK_MOST = 10000000, /* its whole length, so that all can read */
};

enum sg_packets { SG_VDIF = 0, SG_MARK5B = 1, SG_UNKNOWN = 2 };

struct sg_header {
	unsigned version;      /* 1 or 2 */
	uint32_t block_bytes;  /* of a regular block, with its header */
	uint32_t packets;      /* enum sg_packets, or what else stands there */
	uint32_t packet_bytes; /* 0: it does not say */
};

struct sg_block {
	uint32_t number;
	uint32_t bytes; /* of data */
};

void sg_pack(uint8_t raw[SG_HEADER], const struct sg_header *h);
/* 0; -EBADMSG: no such file; -EINVAL: one, with numbers that cannot be. */
int sg_parse(struct sg_header *h, const uint8_t raw[SG_HEADER]);

/* Bytes of a block's header: how many sg_block_parse looks at. */
unsigned sg_block_header(const struct sg_header *h);
/* Version 2. */
void sg_block_pack(uint8_t raw[SG_BLOCK], const struct sg_block *b);
/* 0; -EBADMSG: no block begins so (a torn end, zeros, rubbish). */
int sg_block_parse(const struct sg_header *h, struct sg_block *b,
		   const uint8_t *raw);

#endif
