/* SPDX-License-Identifier: MIT */
/*
 * A hash table, by substream and count, follows the newest heaps.  Bytes that a
 * heap lacks are lost when EDGE others of its substream began after it, or when
 * its entry is needed for another heap.  The first heap of each substream does
 * not count, since it may have begun before the sample.
 */
#include "flow/receive/sample_heaps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	FOLLOWED = 4096,
	ITEMS = 64,
	LENGTHS = 8,
	PIECE_ITEMS = 256,
	EDGE = 2, /* heaps of one substream that may be incomplete yet */
};

struct heap {
	uint64_t count, length, bytes;
	uint64_t nth; /* index in its substream, from 1; 0: unused entry */
	uint32_t sub;
};

struct item {
	struct format_item i;
	uint64_t heaps; /* number of headers that had it */
};

struct length {
	uint64_t bytes, heaps;
};

/* Numbers of heaps that ended, and bytes lost. */
struct ends {
	uint64_t complete, incomplete, lost;
};

struct sample_heaps {
	const struct format_ops *format;
	struct heap heap[FOLLOWED];
	uint64_t *began;   /* per substream: heaps that began */
	struct ends ended; /* heaps that left the table */
	uint64_t pieces, malformed, control, bytes;
	struct length length[LENGTHS];
	unsigned lengths;
	struct item item[ITEMS];
	unsigned items;
	uint16_t flavour;
};

int
sample_heaps_make(struct sample_heaps **heaps, const struct format_ops *format,
		  unsigned subs)
{
	struct sample_heaps *h = calloc(1, sizeof *h);

	if (!h)
		return -ENOMEM;
	h->format = format;
	h->began = calloc(subs, sizeof *h->began);
	if (!h->began) {
		free(h);
		return -ENOMEM;
	}
	*heaps = h;
	return 0;
}

void
sample_heaps_free(struct sample_heaps *h)
{
	if (!h)
		return;
	free(h->began);
	free(h);
}

static void
item_add(struct sample_heaps *h, const struct format_item *i)
{
	unsigned n = 0;

	while (n < h->items && h->item[n].i.id != i->id)
		n++;
	if (n == ITEMS)
		return;
	if (n == h->items)
		h->items++;
	h->item[n].i = *i;
	h->item[n].heaps++;
}

/* Looks at a first piece: only that is sure to have all items. */
static void
items_look(struct sample_heaps *h, const uint8_t *head,
	   const struct format_piece *piece)
{
	uint64_t item[PIECE_ITEMS];
	uint32_t n = h->format->items(head, piece, item, PIECE_ITEMS);

	for (uint32_t i = 0; i < n; i++) {
		struct format_item out;

		h->format->item(piece, item, n, i, &out);
		item_add(h, &out);
	}
}

static void
length_add(struct sample_heaps *h, uint64_t bytes)
{
	unsigned n = 0;

	while (n < h->lengths && h->length[n].bytes != bytes)
		n++;
	if (n == LENGTHS)
		return;
	if (n == h->lengths)
		h->length[h->lengths++].bytes = bytes;
	h->length[n].heaps++;
}

static void
heap_over(struct ends *e, const struct heap *heap)
{
	if (heap->nth < 2)
		return; /* an unused entry, or the first heap */
	if (!heap->length || heap->bytes >= heap->length) {
		e->complete++;
		return;
	}
	e->incomplete++;
	e->lost += heap->length - heap->bytes;
}

static struct heap *
heap_find(struct sample_heaps *h, unsigned sub, const struct format_piece *p)
{
	uint64_t key = (p->heap ^ (uint64_t)sub << 40) * 0x9e3779b97f4a7c15;
	struct heap *heap = &h->heap[key >> 52];

	if (heap->nth && heap->count == p->heap && heap->sub == sub)
		return heap;
	heap_over(&h->ended, heap);
	*heap = (struct heap){ .count = p->heap,
			       .length = p->length,
			       .sub = sub,
			       .nth = ++h->began[sub] };
	length_add(h, p->length);
	return heap;
}

void
sample_heaps_piece(struct sample_heaps *h, unsigned sub, const uint8_t *head,
		   uint32_t head_bytes, uint32_t bytes)
{
	struct format_piece p;
	struct heap *heap;

	if (h->format->piece(head, head_bytes, bytes, &p) != 0) {
		h->malformed++;
		return;
	}
	h->flavour = p.flavour;
	h->bytes += p.bytes;
	h->pieces++;
	if (p.control != PIECE_DATA) {
		h->control++;
		return;
	}
	heap = heap_find(h, sub, &p);
	heap->bytes += p.bytes;
	if (!p.offset)
		items_look(h, head, &p);
}

/* ---- telling --------------------------------------------------------- */

uint64_t
sample_heaps_pieces(const struct sample_heaps *h)
{
	return h->pieces;
}

uint64_t
sample_heaps_malformed(const struct sample_heaps *h)
{
	return h->malformed;
}

uint64_t
sample_heaps_item(const struct sample_heaps *h, uint32_t id)
{
	for (unsigned i = 0; i < h->items; i++) {
		if (h->item[i].i.id == id && !h->item[i].i.immediate)
			return h->item[i].i.bytes;
	}
	return 0;
}

static struct ends
ends_now(const struct sample_heaps *h)
{
	struct ends e = h->ended;

	for (unsigned i = 0; i < FOLLOWED; i++) {
		const struct heap *heap = &h->heap[i];
		bool whole = heap->length && heap->bytes >= heap->length;

		if (heap->nth &&
		    (whole || heap->nth + EDGE <= h->began[heap->sub]))
			heap_over(&e, heap);
	}
	return e;
}

static json_t *
items_json(const struct sample_heaps *h)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < h->items; i++) {
		const struct format_item *k = &h->item[i].i;

		json_array_append_new(list,
				      json_pack("{s:I, s:b, s:I, s:I}", "id",
						(json_int_t)k->id, "immediate",
						(int)k->immediate, "bytes",
						(json_int_t)k->bytes, "value",
						(json_int_t)k->value));
	}
	return list;
}

json_t *
sample_heaps_json(const struct sample_heaps *h, uint64_t *lost)
{
	json_t *lengths = json_array();
	struct ends e = ends_now(h);

	for (unsigned i = 0; i < h->lengths; i++)
		json_array_append_new(
		    lengths, json_pack("{s:I, s:I}", "bytes",
				       (json_int_t)h->length[i].bytes, "heaps",
				       (json_int_t)h->length[i].heaps));
	*lost = e.lost;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, s:o}",
			 "complete", (json_int_t)e.complete, "incomplete",
			 (json_int_t)e.incomplete, "bytes",
			 (json_int_t)h->bytes, "pieces", (json_int_t)h->pieces,
			 "malformed", (json_int_t)h->malformed, "control",
			 (json_int_t)h->control, "flavour", (int)h->flavour,
			 "lengths", lengths, "items", items_json(h));
}
