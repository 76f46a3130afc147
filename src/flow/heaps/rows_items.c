/* SPDX-License-Identifier: MIT */
/*
 * Items of a heap are kept until it is stored, when all of them go into its
 * header.  Items of the first packet fit into the room for that header, and
 * wait there; items of later packets are noted down beside the heap's note.  A
 * sender may repeat all items in every packet: repeated ones are recognized.
 */
#include "flow/heaps/rows.h"

#include <string.h>

static uint8_t *
room_of(const struct heap *h)
{
	return h->at - (uint64_t)h->note->items_room * sizeof(uint64_t);
}

/* True if those n items are the heap's first items already: a sender may repeat
 * them. */
static bool
items_known(struct heaps *p, const struct heap *h, const uint64_t *item,
	    uint32_t n)
{
	uint64_t bytes = n * sizeof *item;

	if (n > h->items || n > h->note->items_room)
		return false;
	if (h->items_late == p->batch)
		heaps_cut(p);
	return memcmp(room_of(h), item, bytes) == 0;
}

/* Puts items into the room: now, or, if a packet may lie there that is neither
 * in place nor copied aside, at the end of the batch. */
static void
items_room(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n,
	   bool in_place)
{
	uint8_t *to = room_of(h) + h->items * sizeof *item;
	uint32_t bytes = (uint32_t)(n * sizeof *item);
	struct relocate *s = &p->a.scratch->relocate;

	if (p->cut || (in_place && !s->n)) {
		memcpy(to, item, bytes);
		return;
	}
	relocate_add(s, relocate_aside(s, (const uint8_t *)item, bytes), to,
		     bytes);
	h->items_late = p->batch;
}

/* Bytes by which a header with n items outgrows its room. */
static uint64_t
outgrown(const struct heap *h, uint32_t n)
{
	uint32_t room = h->note->items_room;

	return n > room ? (uint64_t)(n - room) * sizeof(uint64_t) : 0;
}

static bool
items_more(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n)
{
	struct bay *bay = h->bay;
	uint64_t owed = outgrown(h, h->items + n) - outgrown(h, h->items);

	if (h->items + n > NOTES_ITEMS ||
	    owed + bay_more_bytes(n) > bay_free(bay))
		return false;
	rows_guard(p, bay, bay_more_bytes(n));
	bay_more(bay, h->note, item, n);
	bay->owed += owed;
	return true;
}

/* Number of these items that fit into the room. */
static uint32_t
items_fit(const struct heap *h, uint32_t n)
{
	uint32_t fit = 0;

	if (h->items < h->note->items_room && !h->note->more)
		fit = h->note->items_room - h->items;
	return fit < n ? fit : n;
}

bool
rows_items(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   bool in_place)
{
	uint64_t *item = p->scratch->item;
	uint32_t n, fit;

	n = p->a.format->items(p->head, piece, item, NOTES_ITEMS);
	if (items_known(p, h, item, n))
		return true;
	fit = items_fit(h, n);
	if (n > fit && !items_more(p, h, item + fit, n - fit)) {
		if (!rows_move(p, h, piece, n)) {
			heaps_drop(p, DROP_TOO_LARGE);
			return false;
		}
		fit = n;
		in_place = false;
	}
	if (fit)
		items_room(p, h, item, fit, in_place);
	h->items += n;
	return true;
}
