/* SPDX-License-Identifier: MIT */
/*
 * Invariant: once the block is sealed, heaps fit into it back to back, each
 * behind a header with all its items.  A header that outgrows its room moves
 * everything behind it to the right, so those bytes are owed by the free space:
 * row_block_free() subtracts them before a heap or a note may take any.
 */
#include "flow/heaps/row_block.h"

#include <string.h>

void
row_block_begin(struct row_block *row, struct block *b)
{
	notes_begin(b, HEAP_ROW);
	*row = (struct row_block){ .b = b, .floor = notes_end(b) - b->notes };
}

uint64_t
row_block_most(const struct block *b)
{
	return notes_end(b) - sizeof(struct notes_head) - NOTES_PAGE;
}

static uint64_t
note_bytes(const struct row_block_want *want)
{
	return sizeof(struct note) + want->ranges * sizeof(struct range);
}

uint64_t
row_block_bytes(const struct row_block_want *want)
{
	return want->room + want->length + note_bytes(want);
}

static void
floor_lower(struct row_block *row, uint64_t bytes)
{
	row->floor -= bytes;
	row->b->notes += (uint32_t)bytes;
}

struct note *
row_block_put(struct row_block *row, const struct row_block_want *want)
{
	struct notes_head *h = notes_head(row->b);
	struct note *note;

	floor_lower(row, note_bytes(want));
	note = (struct note *)(row->b->data + row->floor);
	*note = (struct note){ .prev = h->last,
			       .at = row->front + want->room,
			       .room = want->room,
			       .items_room = want->items,
			       .ranges_room = want->ranges };
	if (h->last)
		notes_at(row->b, h->last)->next = row->floor;
	else
		h->first = row->floor;
	h->last = row->floor;
	row->front = note->at + want->length;
	return note;
}

uint64_t
row_block_more_bytes(uint32_t n)
{
	return sizeof(struct note_items) + n * sizeof(uint64_t);
}

void
row_block_more(struct row_block *row, struct note *note, const uint64_t *item,
	       uint32_t n)
{
	struct note_items *m;

	floor_lower(row, row_block_more_bytes(n));
	m = (struct note_items *)(row->b->data + row->floor);
	m->next = note->more;
	m->n = n;
	memcpy(m->item, item, n * sizeof *item);
	note->more = row->floor;
}
