/* SPDX-License-Identifier: MIT */
/*
 * A cube is stored as it lies in memory: one item of each heap, in the order of
 * time.  Bytes that did not come are made zero when the block is sealed, and
 * reported as holes, so nothing of an earlier use of the memory is ever stored.
 *
 * Cards stand behind the slots, one of a fixed size for each, because slots get
 * their heaps in any order.  The memory from the last slot to the next page is
 * free, and is written with it.
 */
#include <string.h>

#include "store/record/notes_priv.h"

enum {
	CARD_PIECE = 1024, /* bytes of a slot for each range of its card */
	CARD_LEAST = 4,	   /* least ranges of a card */
	SIDE_BYTES = 16 << 10,
};

static uint32_t
card_bytes(uint32_t slot_bytes)
{
	uint32_t ranges = slot_bytes / CARD_PIECE + CARD_LEAST;

	if (ranges > NOTES_RANGES)
		ranges = NOTES_RANGES;
	return (uint32_t)(sizeof(struct card) + ranges * sizeof(struct range));
}

uint32_t
notes_cube_bytes(uint32_t slots, uint32_t slot_bytes)
{
	uint64_t bytes = SIDE_BYTES + (uint64_t)slots * card_bytes(slot_bytes) +
			 sizeof(struct notes_head);

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

void
notes_cube_begin(struct block *b)
{
	uint64_t slots = (uint64_t)b->slots * b->slot_bytes;
	uint64_t side = (slots + NOTES_PAGE - 1) / NOTES_PAGE * NOTES_PAGE;
	struct notes_head *h = notes_head(b);

	*h = (struct notes_head){ .side = side,
				  .sides = side,
				  .cards = side + SIDE_BYTES,
				  .card_bytes = card_bytes(b->slot_bytes) };
	b->notes = (uint32_t)(notes_end(b) - side);
	for (uint32_t i = 0; i < b->slots; i++)
		*notes_card(b, i) = (struct card){ 0 };
}

bool
notes_side(struct block *b, const struct side *side, const void *data)
{
	struct notes_head *h = notes_head(b);
	uint8_t *at = b->data + h->sides;

	if (h->sides + sizeof *side + side->bytes > h->cards)
		return false;
	memcpy(at, side, sizeof *side);
	if (side->bytes)
		memcpy(at + sizeof *side, data, side->bytes);
	h->sides += sizeof *side + side->bytes;
	return true;
}

/* Calls `hole` for each stretch of a slot without data. */
static void
slot_holes(const struct block *b, uint32_t slot,
	   void (*hole)(void *arg, uint64_t at, uint64_t bytes), void *arg)
{
	const struct card *card = notes_card(b, slot);
	uint64_t begin = (uint64_t)slot * b->slot_bytes;
	uint32_t at = 0;

	if (block_has(b, slot))
		return;
	for (uint32_t i = 0; i < card->ranges; i++) {
		if (card->range[i].from > at)
			hole(arg, begin + at, card->range[i].from - at);
		at = card->range[i].to;
	}
	if (at < b->slot_bytes)
		hole(arg, begin + at, b->slot_bytes - at);
}

static void
clear(void *arg, uint64_t at, uint64_t bytes)
{
	struct block *b = arg;

	memset(b->data + at, 0, bytes);
}

void
notes_cube_seal(struct block *b)
{
	uint64_t n = notes_head(b)->skipped;

	for (uint32_t i = 0; i < b->used; i++) {
		slot_holes(b, i, clear, b);
		n += notes_card(b, i)->missing;
	}
	b->missing = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	b->bytes = (uint64_t)b->used * b->slot_bytes;
}

/* Joins holes that touch. */
struct joint {
	void (*hole)(void *arg, uint64_t at, uint64_t bytes);
	void *arg;
	uint64_t at, bytes;
};

static void
join(void *arg, uint64_t at, uint64_t bytes)
{
	struct joint *j = arg;

	if (j->bytes && j->at + j->bytes == at) {
		j->bytes += bytes;
		return;
	}
	if (j->bytes)
		j->hole(j->arg, j->at, j->bytes);
	j->at = at;
	j->bytes = bytes;
}

void
notes_holes(const struct block *b,
	    void (*hole)(void *arg, uint64_t at, uint64_t bytes), void *arg)
{
	struct joint j = { .hole = hole, .arg = arg };

	if (notes_is_row(b))
		return;
	for (uint32_t i = 0; i < b->used; i++)
		slot_holes(b, i, join, &j);
	if (j.bytes)
		hole(arg, j.at, j.bytes);
}
