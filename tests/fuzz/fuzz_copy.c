/* SPDX-License-Identifier: MIT */
/*
 * Feeds what takes copies with the frames of a foreign sender.
 *
 * An input is frames, as on the wire; where one has a type of its own, 0xfe,
 * time has passed: blocks that were whole are durable, or lost, as the next
 * byte says.  Checksums are the low byte of a sum here, so that mutations reach
 * beyond them.  A block is lent to one number at a time, a piece lands within
 * it, and nothing is wanted that was not told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "wire/copy.h"
#include "flow/memory/block_record.h"
#include "flow/copy/copy_blocks.h"
#include "flow/memory/block_pool.h"

enum { BLOCKS = 4, MOST = 2 * COPY_PIECE + 100, QUANTA = 4 };

static struct {
	struct block b;
	struct block_sum sum[QUANTA];
	uint8_t data[MOST];
	bool out;
} lot[BLOCKS];

static struct copy_blocks *blocks;
static struct index_record whole[64];
static unsigned wholes;

static void
require(bool truth)
{
	if (!truth)
		abort();
}

/* ---- what the blocks have around them ----------------------------------- */

uint32_t
crc32c(uint32_t crc, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;

	while (bytes--)
		crc += *at++;
	return crc & 0xff;
}

uint32_t
crc32c_shift(uint64_t bytes)
{
	return (uint32_t)bytes;
}

uint32_t
crc32c_join(uint32_t shift, uint32_t first, uint32_t second)
{
	(void)shift;
	return (first + second) & 0xff;
}

/* A minute later each time: nothing has moved for long. */
int64_t
clock_steady(void)
{
	static int64_t now;

	return now += 60 * NS_SECOND;
}

void
block_pool_put(struct block *b)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (b != &lot[i].b)
			continue;
		require(lot[i].out);
		lot[i].out = false;
		free(b->brought);
		b->brought = NULL;
		return;
	}
	require(false);
}

void
block_close(struct block *b)
{
	b->state = BLOCK_CLOSED;
}

static struct block *
take(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (lot[i].out)
			continue;
		lot[i].out = true;
		lot[i].b =
		    (struct block){ .data = lot[i].data, .sum = lot[i].sum };
		memset(lot[i].sum, 0, sizeof lot[i].sum);
		return &lot[i].b;
	}
	return NULL;
}

/* ---- frames ---------------------------------------------------------- */

static void
index_take(const struct wire_frame *f, const uint8_t *payload)
{
	struct copy_told t;
	uint32_t at = 0, n;
	const char *why;

	for (uint32_t i = 0; i < f->packets; i++) {
		n = copy_told_unpack(&t, payload + at, f->payload_bytes - at);
		if (!n)
			return;
		require(n <= f->payload_bytes - at);
		if (copy_blocks_tell(blocks, &t, &why))
			return;
		at += n;
	}
}

static void
whole_take(struct block *b)
{
	require(b->state == BLOCK_CLOSED && b->brought);
	require(block_bytes(b) == b->brought->record.bytes);
	require(block_bytes(b) <= MOST);
	if (wholes < 64)
		whole[wholes++] = b->brought->record;
	block_pool_put(b);
}

static void
piece_take(const struct wire_frame *f, const uint8_t *payload)
{
	struct copy_piece p = { .number = f->first,
				.piece = (uint32_t)f->run,
				.bytes = f->payload_bytes };
	const char *why;
	struct block *b;
	uint32_t crc;
	int err = copy_blocks_piece(blocks, &p, &why);

	if (err == -EAGAIN) {
		b = take();
		if (!b && copy_blocks_yield(blocks, p.number))
			b = take();
		if (!b)
			return;
		require(!copy_blocks_lend(blocks, p.number, b));
		err = copy_blocks_piece(blocks, &p, &why);
	}
	if (err || !p.to)
		return;
	memcpy(p.to, payload, p.bytes); /* the sanitizer looks */
	crc = crc32c(0, payload, p.bytes);
	copy_blocks_landed(blocks, &p, crc & 1 ? &crc : NULL, &b);
	if (b)
		whole_take(b);
}

static void
wants_look(void)
{
	struct copy_want w[4];
	struct copy_blocks_facts f;
	size_t at = 0;
	uint64_t next = 0, seen = 0;
	unsigned n;

	while ((n = copy_blocks_wants(blocks, &at, w, 4))) {
		require(n <= 4);
		for (unsigned i = 0; i < n; i++) {
			require(w[i].number >= next && w[i].pieces);
			require((uint64_t)w[i].first + w[i].pieces <= QUANTA);
			seen += w[i].number > next || !seen;
			next = w[i].number;
		}
	}
	copy_blocks_facts(blocks, &f);
	require(seen <= f.told);
}

static void
frame_take(const struct wire_frame *f, const uint8_t *payload)
{
	struct copy_digest d;

	switch (f->type) {
	case WIRE_INDEX: index_take(f, payload); break;
	case WIRE_PIECE: piece_take(f, payload); break;
	case WIRE_ASK: wants_look(); break;
	case WIRE_LEFT: copy_blocks_leave(blocks, f->first); break;
	case WIRE_AGREE:
		copy_blocks_left(blocks);
		copy_blocks_digest(blocks, &d);
		require(d.bytes <= d.blocks * MOST);
		break;
	default: break;
	}
}

/* Returns how many bytes of the input it used up. */
static size_t
step(const uint8_t *data, size_t size)
{
	struct wire_frame f;

	if (size >= 2 && data[0] == 0xfe) {
		while (wholes)
			copy_blocks_settled(blocks, &whole[--wholes],
					    data[1] & 1 ? -EIO : 0);
		return 2;
	}
	if (size < WIRE_HEADER || wire_copy_unpack(&f, data, crc32c) ||
	    f.payload_bytes > size - WIRE_HEADER)
		return size;
	frame_take(&f, data + WIRE_HEADER);
	return WIRE_HEADER + f.payload_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct copy_blocks_args args = { .subs = 2, .block_most = MOST };
	size_t at = 0;

	require(copy_blocks_make(&blocks, &args) == 0);
	wholes = 0;
	while (at < size)
		at += step(data + at, size - at);
	wants_look();
	copy_blocks_drop(blocks);
	for (unsigned i = 0; i < BLOCKS; i++)
		require(!lot[i].out);
	return 0;
}
