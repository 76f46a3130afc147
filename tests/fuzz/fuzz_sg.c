/* SPDX-License-Identifier: MIT */
/*
 * Feeds scatter/gather headers and blocks with foreign bytes: no block may
 * reach beyond the file, and a walk ends.  What was read, written again, is
 * read as the same.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/disk/sg.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
check_header(const struct sg_header *h)
{
	uint8_t raw[SG_HEADER];
	struct sg_header again;

	require(h->version == 1 || h->version == 2);
	sg_header_write(raw, h);
	require(!sg_header_read(&again, raw) &&
		!memcmp(h, &again, sizeof again));
}

static void
walk(const struct sg_header *h, const uint8_t *data, size_t bytes)
{
	size_t at = SG_HEADER;
	struct sg_block b;

	while (at <= bytes) {
		uint8_t raw[SG_BLOCK] = { 0 };
		size_t left = bytes - at;

		memcpy(raw, data + at, left < SG_BLOCK ? left : SG_BLOCK);
		if (sg_block_read(h, raw, left, &b))
			break;
		require(b.bytes && b.number <= INT32_MAX);
		require((uint64_t)b.header + b.bytes <= left);
		require((uint64_t)b.header + b.bytes + b.cut <= h->block_bytes);
		at += b.header + b.bytes;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct sg_header h;

	if (bytes < SG_HEADER || sg_header_read(&h, data))
		return 0;
	check_header(&h);
	walk(&h, data, bytes);
	return 0;
}
