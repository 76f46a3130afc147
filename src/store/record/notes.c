/* SPDX-License-Identifier: MIT */
/*
 * How a row is received, and how it is stored:
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
 *
 * A cube is stored as it lies in memory: one item of each heap, in the order of
 * time.  Bytes that did not come are made zero when the block is sealed, and
 * reported as holes, so nothing of an earlier use of the memory is ever stored.
 * The notes of its slots stand behind the slots, one of a fixed size for each,
 * because slots get their heaps in any order.  The memory from the last slot to
 * the next page is free, and is written with it.
 *
 * Control heaps and descriptors are found last.  A descriptor is an item that
 * holds a whole packet, whose items describe another item.  It has arrived if
 * its bytes are in the heap's first range.  Descriptors of rows are read from
 * the sealed data, where they lie as in any file of packets.  A cube stores
 * neither, so the receiver copies them behind its slots.
 */
#include <assert.h>
#include <string.h>

#include "store/record/notes.h"

enum { ITEM_DESCRIPTOR = 0x5, ITEM_DESCRIBED = 0x14 };

enum {
	NOTE_PIECE = 1024, /* bytes of a slot for each range of its note */
	NOTE_LEAST = 4,	   /* least ranges of a note */
	AUX_BYTES = 16 << 10,
};

uint64_t
notes_end(const struct block *b)
{
	uint64_t page = NOTES_PAGE - 1;
	uint64_t slots = (uint64_t)b->slots * b->slot_bytes;

	return ((slots + page) & ~page) + ((b->extra + page) & ~page);
}

static bool
is_row(const struct block *b)
{
	return notes_head(b)->slot_notes == 0;
}

/* ---- rows -------------------------------------------------------------- */

/* The position of sealing: a range of a heap, and where its packet goes. */
struct seal {
	struct block *b;
	const struct format_ops *format;
	struct note *note;
	uint32_t range;
	/* forwards: offset of the packet's header; backwards: of its end */
	uint64_t to;
};

static void
row_begin(struct block *b)
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

/* Sets the header fields of the packet that stores range i of a heap; a heap
 * without ranges has one packet with its items alone. */
static void
piece_of(const struct note *note, uint32_t i, struct format_piece *p)
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

	piece_of(s->note, s->range, &p);
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

	piece_of(note, s->range, &p);
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

static void
row_seal(struct block *b, const struct format_ops *format)
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

/* ---- cubes ------------------------------------------------------------- */

static uint32_t
note_bytes(uint32_t slot_bytes)
{
	uint32_t ranges = slot_bytes / NOTE_PIECE + NOTE_LEAST;

	if (ranges > NOTES_RANGES)
		ranges = NOTES_RANGES;
	return (uint32_t)(sizeof(struct slot_note) +
			  ranges * sizeof(struct range));
}

uint32_t
notes_cube_bytes(uint32_t slots, uint32_t slot_bytes)
{
	uint64_t bytes = AUX_BYTES + (uint64_t)slots * note_bytes(slot_bytes) +
			 sizeof(struct notes_head);

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void
cube_begin(struct block *b)
{
	uint64_t slots = (uint64_t)b->slots * b->slot_bytes;
	uint64_t aux = (slots + NOTES_PAGE - 1) / NOTES_PAGE * NOTES_PAGE;
	struct notes_head *h = notes_head(b);

	*h = (struct notes_head){ .aux = aux,
				  .aux_end = aux,
				  .slot_notes = aux + AUX_BYTES,
				  .note_bytes = note_bytes(b->slot_bytes) };
	b->notes = (uint32_t)(notes_end(b) - aux);
	for (uint32_t i = 0; i < b->slots; i++)
		*notes_slot(b, i) = (struct slot_note){ 0 };
}

bool
notes_aux(struct block *b, const struct aux_item *aux, const void *data)
{
	struct notes_head *h = notes_head(b);
	uint8_t *at = b->data + h->aux_end;

	if (h->aux_end + sizeof *aux + aux->bytes > h->slot_notes)
		return false;
	memcpy(at, aux, sizeof *aux);
	if (aux->bytes)
		memcpy(at + sizeof *aux, data, aux->bytes);
	h->aux_end += sizeof *aux + aux->bytes;
	return true;
}

/* Calls `hole` for each stretch of a slot without data. */
static void
slot_holes(const struct block *b, uint32_t slot,
	   void (*hole)(void *arg, uint64_t at, uint64_t bytes), void *arg)
{
	const struct slot_note *note = notes_slot(b, slot);
	uint64_t begin = (uint64_t)slot * b->slot_bytes;
	uint32_t at = 0;

	if (block_has(b, slot))
		return;
	for (uint32_t i = 0; i < note->ranges; i++) {
		if (note->range[i].from > at)
			hole(arg, begin + at, note->range[i].from - at);
		at = note->range[i].to;
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

static void
cube_seal(struct block *b)
{
	uint64_t n = notes_head(b)->skipped;

	for (uint32_t i = 0; i < b->used; i++) {
		slot_holes(b, i, clear, b);
		n += notes_slot(b, i)->missing;
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

	if (is_row(b))
		return;
	for (uint32_t i = 0; i < b->used; i++)
		slot_holes(b, i, join, &j);
	if (j.bytes)
		hole(arg, j.at, j.bytes);
}

/* ---- both -------------------------------------------------------------- */

void
notes_begin(struct block *b, enum heap_store store)
{
	if (store == HEAP_CUBE)
		cube_begin(b);
	else
		row_begin(b);
}

void
notes_seal(struct block *b, const struct format_ops *format)
{
	if (is_row(b))
		row_seal(b, format);
	else
		cube_seal(b);
}

uint64_t
notes_span(const struct block *b)
{
	const struct notes_head *h = notes_head(b);

	if (!is_row(b))
		return b->used ? b->used - 1 : 0;
	return h->last ? notes_at(b, h->last)->heap - b->first : 0;
}

/* ---- control heaps and descriptors ------------------------------------- */

/* The callback, and the event that is being filled in for one heap. */
struct event_walk {
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
descriptor_event(struct event_walk *t, const uint8_t *data, uint32_t bytes,
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
control_event(struct event_walk *t, uint16_t control)
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
items_event(struct event_walk *t, const struct format_piece *p,
	    const uint64_t *item, uint32_t n, const uint8_t *data)
{
	struct format_item one;
	uint32_t left = p->bytes;

	for (uint32_t i = 0; i < n && left; i++) {
		t->format->item(p, item + i, 1, 0, &one);
		if (one.id != ITEM_DESCRIPTOR || one.immediate ||
		    one.value >= p->bytes)
			continue;
		left -= descriptor_event(t, data + one.value,
					 p->bytes - (uint32_t)one.value, left);
	}
}

static void
note_event(struct event_walk *t, const struct block *b, const struct note *note)
{
	uint64_t item[NOTES_ITEMS];
	struct format_piece p;
	const uint8_t *head;
	uint32_t n;

	piece_of(note, 0, &p);
	t->e = (struct notes_event){ .heap = note->heap };
	if (note->control != PIECE_DATA)
		control_event(t, note->control);
	if (!note->items || p.offset)
		return;
	head = b->data + note->sealed - t->format->wrap_bytes(&p, note->items);
	if (t->format->piece(head, UINT32_MAX, 0, &p))
		return;
	n = t->format->items(head, &p, item, NOTES_ITEMS);
	items_event(t, &p, item, n, b->data + note->sealed);
}

static void
aux_event(struct event_walk *t, const struct block *b)
{
	const struct notes_head *h = notes_head(b);
	struct aux_item aux;

	for (uint64_t at = h->aux; at < h->aux_end;) {
		const uint8_t *data = b->data + at + sizeof aux;

		memcpy(&aux, b->data + at, sizeof aux);
		t->e = (struct notes_event){ .heap = aux.heap };
		if (aux.bytes)
			descriptor_event(t, data, aux.bytes, aux.bytes);
		else
			control_event(t, aux.control);
		at += sizeof aux + aux.bytes;
	}
}

void
notes_events(const struct block *b, const struct format_ops *format,
	     void (*event)(void *arg, const struct notes_event *e), void *arg)
{
	struct event_walk t = { .format = format, .event = event, .arg = arg };
	const struct note *note = NULL;

	if (!is_row(b))
		aux_event(&t, b);
	else
		note = notes_at(b, notes_head(b)->first);
	for (; note; note = notes_at(b, note->next)) {
		if (note->pieces && (note->items || note->control))
			note_event(&t, b, note);
	}
}
