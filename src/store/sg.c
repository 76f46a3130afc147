/* SPDX-License-Identifier: MIT */
/*
 * All numbers are signed there, so what is negative is nonsense; a length is
 * held against that of a regular block, since nobody writes a longer one and
 * readers make room by it.
 */
#include <errno.h>

#include "contract/bytes.h"
#include "store/sg.h"

#define SYNC 0xfeed6666u

enum { BLOCK_BYTES_MOST = 1 << 30 };

void
sg_pack(uint8_t raw[SG_HEADER], const struct sg_header *h)
{
	write_le32(raw, SYNC);
	write_le32(raw + 4, h->version);
	write_le32(raw + 8, h->block_bytes);
	write_le32(raw + 12, h->packets);
	write_le32(raw + 16, h->packet_bytes);
}

int
sg_parse(struct sg_header *h, const uint8_t raw[SG_HEADER])
{
	if (read_le32(raw) != SYNC)
		return -EBADMSG;
	*h = (struct sg_header){
		.version = read_le32(raw + 4),
		.block_bytes = read_le32(raw + 8),
		.packets = read_le32(raw + 12),
		.packet_bytes = read_le32(raw + 16),
	};
	if (h->version != 1 && h->version != 2)
		return -EINVAL;
	if (h->block_bytes <= sg_block_header(h) ||
	    h->block_bytes > BLOCK_BYTES_MOST ||
	    h->packet_bytes > h->block_bytes - sg_block_header(h))
		return -EINVAL;
	return 0;
}

unsigned
sg_block_header(const struct sg_header *h)
{
	return h->version == 1 ? SG_BLOCK_1 : SG_BLOCK;
}

void
sg_block_pack(uint8_t raw[SG_BLOCK], const struct sg_block *b)
{
	write_le32(raw, b->number);
	write_le32(raw + 4, b->bytes + SG_BLOCK);
}

int
sg_block_parse(const struct sg_header *h, struct sg_block *b,
	       const uint8_t *raw)
{
	uint32_t bytes = h->block_bytes;

	if (h->version != 1)
		bytes = read_le32(raw + 4);
	if (bytes <= sg_block_header(h) || bytes > h->block_bytes ||
	    read_le32(raw) > INT32_MAX)
		return -EBADMSG;
	*b = (struct sg_block){ .number = read_le32(raw),
				.bytes = bytes - sg_block_header(h) };
	return 0;
}
