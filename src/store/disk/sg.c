/* SPDX-License-Identifier: MIT */
/*
 * Every length is checked before anything is added to it: the file may be
 * damaged, or be some other file that happens to begin with these four bytes.
 * A block has at most 1 GiB; the largest ones known have 10 MB.
 */
#include <errno.h>

#include "contract/bytes.h"
#include "store/disk/sg.h"

enum { BLOCK_MOST = 1 << 30 };

static uint32_t
block_header(const struct sg_header *h)
{
	return h->version == 1 ? SG_BLOCK_1 : SG_BLOCK;
}

int
sg_header_read(struct sg_header *h, const uint8_t raw[SG_HEADER])
{
	*h = (struct sg_header){
		.version = read_le32(raw + 4),
		.block_bytes = read_le32(raw + 8),
		.format = read_le32(raw + 12),
		.packet_bytes = read_le32(raw + 16),
	};
	if (read_le32(raw) != SG_SYNC)
		return -EBADMSG;
	if (h->version != 1 && h->version != 2)
		return -EBADMSG;
	if (h->block_bytes > BLOCK_MOST || h->block_bytes <= block_header(h))
		return -EBADMSG;
	if (h->packet_bytes > h->block_bytes - block_header(h))
		return -EBADMSG;
	return 0;
}

void
sg_header_write(uint8_t raw[SG_HEADER], const struct sg_header *h)
{
	write_le32(raw, SG_SYNC);
	write_le32(raw + 4, h->version);
	write_le32(raw + 8, h->block_bytes);
	write_le32(raw + 12, h->format);
	write_le32(raw + 16, h->packet_bytes);
}

int
sg_block_read(const struct sg_header *h, const uint8_t *raw, uint64_t left,
	      struct sg_block *b)
{
	uint32_t header = block_header(h), bytes = h->block_bytes;

	if (left <= header)
		return -ENODATA;
	*b = (struct sg_block){ .number = read_le32(raw), .header = header };
	if (h->version == 2)
		bytes = read_le32(raw + 4);
	if (b->number > INT32_MAX || bytes <= header || bytes > h->block_bytes)
		return -EBADMSG;
	b->bytes = bytes - header;
	if (b->bytes > left - header) {
		b->cut = b->bytes - (uint32_t)(left - header);
		b->bytes -= b->cut;
	}
	return 0;
}

void
sg_block_write(uint8_t raw[SG_BLOCK], uint32_t number, uint32_t bytes)
{
	write_le32(raw, number);
	write_le32(raw + 4, bytes + SG_BLOCK);
}
