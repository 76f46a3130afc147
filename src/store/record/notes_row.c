/* SPDX-License-Identifier: MIT */
/*
 * A row as it was received, and as it is stored:
 *
 *   | room, heap | room, heap with holes  | room, heap |      free   | notes |
 *   | head, heap | head, range, head, range | head, heap |
 *
 * Usually each header is as long as its room, nothing moves, and only the
 * headers are written.  A hole is wider than the header that the range behind
 * it needs, so everything behind a hole moves left.  Data moves right only
 * where a heap's items came in more packets than its room was made for; the
 * receiver keeps enough space free for that.
 *
 * Ranges keep their order, so data that moves left and data that moves right
 * cannot meet, and no range is copied twice: those that move left go first,
 * from left to right, then those that move right, from right to left.  A header
 * is written as soon as its range is in place.  The items in a room survive
 * everything that is written before the turn of their own range, by the same
 * argument: they lie just before it.
 */
#include <assert.h>
#include <string.h>

#include "store/record/notes_priv.h"

/* The position of sealing: a range of a heap, and where its packet goes. */
struct seal {
	struct block *b;
	const struct format_ops *format;
	struct note *note;
	uint32_t range;
	/* forwards: offset of the packet's header; backwards: of its end */
	uint64_t to;
};

void
notes_row_begin(struct block *b)
{
	*notes_head(b) = (struct notes_head){ 0 };
	b->notes = sizeof(struct notes_head);
}

static struct range
range_of(const struct note *note, uint32_t i)
{
	return i < note->ranges ? note->range[i] : (struct range){ 0, 0 };
}

/* A heap of which only items came is one packet, too. */
static uint32_t
packets_of(const struct note *note)
{
	return note->ranges ? note->ranges : 1;
}

void
notes_piece(const struct note *note, uint32_t i, struct format_piece *p)
{
	struct range r = range_of(note, i);

	*p = (struct format_piece){ .heap = note->heap,
				    .length = note->length,
				    .offset = r.from,
				    .bytes = r.to - r.from,
				    .items = i ? 0 : note->items,
				    .flavour = note->flavour,
				    .control = note->control };
}

static uint32_t
header_bytes(const struct seal *s)
{
	struct format_piece p;

	notes_piece(s->note, s->range, &p);
	return s->format->wrap_bytes(&p, p.items);
}

static uint32_t
range_bytes(const struct seal *s)
{
	struct range r = range_of(s->note, s->range);

	return r.to - r.from;
}

void
notes_items(const struct block *b, const struct note *note, uint64_t *item)
{
	uint32_t in_room = note->items_room, left = note->items;
	uint64_t more = note->more;

	while (more) {
		const struct note_items *m = (void *)(b->data + more);

		left -= (uint32_t)m->n;
		memcpy(item + left, m->item, m->n * sizeof *item);
		more = m->next;
	}
	assert(left <= in_room);
	memcpy(item, b->data + note->at - (uint64_t)in_room * sizeof *item,
	       left * sizeof *item);
}

/* Writes the packet of a range, with its data at `data`.  The data is moved
 * before the header is written: the header may go where the data is now. */
static void
packet_put(struct seal *s, uint64_t data)
{
	struct note *note = s->note;
	uint64_t item[NOTES_ITEMS];
	struct range r = range_of(note, s->range);
	struct format_piece p;
	uint64_t from = note->at + r.from;

	notes_piece(note, s->range, &p);
	if (p.items)
		notes_items(s->b, note, item);
	if (data != from)
		memmove(s->b->data + data, s->b->data + from, r.to - r.from);
	s->format->wrap(&p, item, p.items,
			s->b->data + data - s->format->wrap_bytes(&p, p.items));
	if (s->range == 0)
		note->sealed = data - r.from;
}

/* `note` itself or the next heap (backwards: the one before) of which something
 * came; or NULL. */
static struct note *
note_real(const struct seal *s, struct note *note, bool back)
{
	while (note && !note->pieces)
		note = notes_at(s->b, back ? note->prev : note->next);
	return note;
}

static void
seal_next(struct seal *s)
{
	s->to += header_bytes(s) + range_bytes(s);
	if (++s->range < packets_of(s->note))
		return;
	s->note = note_real(s, notes_at(s->b, s->note->next), false);
	s->range = 0;
}

static void
seal_previous(struct seal *s)
{
	s->to -= header_bytes(s) + range_bytes(s);
	if (s->range--)
		return;
	s->note = note_real(s, notes_at(s->b, s->note->prev), true);
	s->range = s->note ? packets_of(s->note) - 1 : 0;
}

static uint64_t
data_from(const struct seal *s)
{
	return s->note->at + range_of(s->note, s->range).from;
}

/* Writes the ranges that stay where they are or move left.  True if there are
 * some that move right. */
static bool
leftwards(struct seal *s)
{
	bool others = false;

	s->note = note_real(s, notes_at(s->b, notes_head(s->b)->first), false);
	for (; s->note; seal_next(s)) {
		uint64_t data = s->to + header_bytes(s);

		if (data <= data_from(s))
			packet_put(s, data);
		else
			others = true;
	}
	return others;
}

static void
rightwards(struct seal *s)
{
	s->note = note_real(s, notes_at(s->b, notes_head(s->b)->last), true);
	s->range = s->note ? packets_of(s->note) - 1 : 0;
	for (; s->note; seal_previous(s)) {
		uint64_t data = s->to - range_bytes(s);

		if (data > data_from(s))
			packet_put(s, data);
	}
}

static uint32_t
missing(const struct block *b)
{
	const struct notes_head *h = notes_head(b);
	uint64_t n = h->skipped;
	const struct note *note = notes_at(b, h->first);

	for (; note; note = notes_at(b, note->next))
		n += note->missing;
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void
notes_row_seal(struct block *b, const struct format_ops *format)
{
	struct seal s = { .b = b, .format = format };

	b->missing = missing(b);
	if (leftwards(&s)) {
		b->bytes = s.to;
		rightwards(&s);
	} else {
		b->bytes = s.to;
	}
	assert(b->bytes + b->notes <= notes_end(b));
}
