/* SPDX-License-Identifier: MIT */
/*
 * Finds what is kept of heaps beside the data: control heaps and descriptors.
 * A descriptor is an item that holds a whole packet, whose items describe
 * another item.  It has arrived if its bytes are in the heap's first range.
 *
 * Those of rows are read from the sealed data, where they lie as in any file of
 * packets.  A cube stores neither, so the receiver copies them into side
 * records.
 */
#include <string.h>

#include "store/record/notes_priv.h"

enum { ITEM_DESCRIPTOR = 0x5, ITEM_DESCRIBED = 0x14 };

uint64_t
notes_end(const struct block *b)
{
	uint64_t page = NOTES_PAGE - 1;
	uint64_t slots = (uint64_t)b->slots * b->slot_bytes;

	return ((slots + page) & ~page) + ((b->extra + page) & ~page);
}

void
notes_begin(struct block *b, enum heap_store store)
{
	if (store == HEAP_CUBE)
		notes_cube_begin(b);
	else
		notes_row_begin(b);
}

void
notes_seal(struct block *b, const struct format_ops *format)
{
	if (notes_is_row(b))
		notes_row_seal(b, format);
	else
		notes_cube_seal(b);
}

uint64_t
notes_span(const struct block *b)
{
	const struct notes_head *h = notes_head(b);

	if (!notes_is_row(b))
		return b->used ? b->used - 1 : 0;
	return h->last ? notes_at(b, h->last)->heap - b->first : 0;
}

/* ---- telling: calling back for what was found ------------------------ */

/* The callback, and the event that is being filled in for one heap. */
struct teller {
	const struct format_ops *format;
	void (*event)(void *arg, const struct notes_event *e);
	void *arg;
	struct notes_event e;
};

/* The id of the item that a descriptor describes, and in *bytes the length of
 * its packet.  False if `data` is no packet, or describes nothing. */
static bool
described(const struct format_ops *f, const uint8_t *data, uint32_t *bytes,
	  uint32_t *id)
{
	uint64_t item[64];
	struct format_piece p;
	struct format_item one;
	uint32_t n;

	if (f->piece(data, *bytes, 0, &p) || p.bytes > *bytes - p.header)
		return false;
	*bytes = p.header + p.bytes;
	n = f->items(data, &p, item, 64);
	for (uint32_t i = 0; i < n; i++) {
		f->item(&p, item + i, 1, 0, &one);
		if (one.id == ITEM_DESCRIBED && one.immediate) {
			*id = (uint32_t)one.value;
			return true;
		}
	}
	return false;
}

/* Calls back for a descriptor at the beginning of the `bytes` at `data`, unless
 * it is none or longer than `most`.  Returns its length, or 0. */
static uint32_t
descriptor_tell(struct teller *t, const uint8_t *data, uint32_t bytes,
		uint32_t most)
{
	if (!described(t->format, data, &bytes, &t->e.id) || bytes > most)
		return 0;
	t->e.control = PIECE_DATA;
	t->e.descriptor = data;
	t->e.bytes = bytes;
	t->event(t->arg, &t->e);
	return bytes;
}

static void
control_tell(struct teller *t, uint16_t control)
{
	t->e.control = control;
	t->event(t->arg, &t->e);
}

/*
 * Calls back for the descriptors among a heap's items; the heap's first
 * p->bytes bytes are at `data`.  Each descriptor says itself where it ends, so
 * no other item has to be looked at.  Items that overlap, which no sender
 * means, cannot multiply the work: all descriptors together are limited to the
 * length of the heap.
 */
static void
items_tell(struct teller *t, const struct format_piece *p, const uint64_t *item,
	   uint32_t n, const uint8_t *data)
{
	struct format_item one;
	uint32_t left = p->bytes;

	for (uint32_t i = 0; i < n && left; i++) {
		t->format->item(p, item + i, 1, 0, &one);
		if (one.id != ITEM_DESCRIPTOR || one.immediate ||
		    one.value >= p->bytes)
			continue;
		left -= descriptor_tell(t, data + one.value,
					p->bytes - (uint32_t)one.value, left);
	}
}

static void
note_tell(struct teller *t, const struct block *b, const struct note *note)
{
	uint64_t item[NOTES_ITEMS];
	struct format_piece p;
	const uint8_t *head;
	uint32_t n;

	notes_piece(note, 0, &p);
	t->e = (struct notes_event){ .heap = note->heap };
	if (note->control != PIECE_DATA)
		control_tell(t, note->control);
	if (!note->items || p.offset)
		return;
	head = b->data + note->sealed - t->format->wrap_bytes(&p, note->items);
	if (t->format->piece(head, UINT32_MAX, 0, &p))
		return;
	n = t->format->items(head, &p, item, NOTES_ITEMS);
	items_tell(t, &p, item, n, b->data + note->sealed);
}

static void
side_tell(struct teller *t, const struct block *b)
{
	const struct notes_head *h = notes_head(b);
	struct side side;

	for (uint64_t at = h->side; at < h->sides;) {
		const uint8_t *data = b->data + at + sizeof side;

		memcpy(&side, b->data + at, sizeof side);
		t->e = (struct notes_event){ .heap = side.heap };
		if (side.bytes)
			descriptor_tell(t, data, side.bytes, side.bytes);
		else
			control_tell(t, side.control);
		at += sizeof side + side.bytes;
	}
}

void
notes_tell(const struct block *b, const struct format_ops *format,
	   void (*event)(void *arg, const struct notes_event *e), void *arg)
{
	struct teller t = { .format = format, .event = event, .arg = arg };
	const struct note *note = NULL;

	if (!notes_is_row(b))
		side_tell(&t, b);
	else
		note = notes_at(b, notes_head(b)->first);
	for (; note; note = notes_at(b, note->next)) {
		if (note->pieces && (note->items || note->control))
			note_tell(&t, b, note);
	}
}
