/* SPDX-License-Identifier: MIT */
/*
 * Records what a cube tells beside its data: the control heaps of the stream,
 * and the descriptors of the first heap that has any and of which they all
 * came.
 *
 * Descriptors are bytes of a heap like others, and may come in several packets,
 * of heaps that are stored or not.  They are collected in a buffer of the
 * substream, and go into the side records of the next block that got a piece.
 * A heap that lost one of those packets is given up for the next one that has
 * descriptors.  Once written, descriptors are not collected again until a
 * control heap announces new ones.
 */
#include <string.h>

#include "flow/heaps/cubes.h"

enum { ITEM_DESCRIPTOR = 0x5 };

/* ---- collecting ------------------------------------------------------ */

static void
collect_begin(struct cube_side *s, const struct format_piece *piece,
	      uint32_t sender)
{
	s->busy = true;
	s->count = piece->heap;
	s->sender = sender;
	s->from = UINT64_MAX;
	s->to = 0;
	s->came = (struct ranges){ .at = s->range, .most = CUBES_RANGES };
	s->n = 0;
}

static void
collect_add(struct cube_side *s, const struct format_item *one)
{
	if (!one->bytes || one->bytes > CUBES_SIDE)
		return;
	s->at[s->n] = one->value;
	s->bytes[s->n++] = (uint32_t)one->bytes;
	if (one->value < s->from)
		s->from = one->value;
	if (one->value + one->bytes > s->to)
		s->to = one->value + one->bytes;
}

void
cubes_side_items(struct heaps *p, const struct format_piece *piece,
		 const uint64_t *item, uint32_t n)
{
	struct cube_side *s = &p->cubes.side;
	struct format_item one;
	/* descriptors; finding each walks through all items. */
	unsigned looks = 0;

	if (s->done || s->ready)
		return;
	for (uint32_t i = 0; i < n && looks < CUBES_DESCRIPTORS; i++) {
		p->a.format->item(piece, item + i, 1, 0, &one);
		if (one.id != ITEM_DESCRIPTOR || one.immediate)
			continue;
		if (!looks++)
			collect_begin(s, piece, heaps_packet(p)->sender);
		p->a.format->item(piece, item, n, i, &one);
		collect_add(s, &one);
	}
	if (looks && (!s->n || s->to - s->from > CUBES_SIDE))
		s->busy = false;
}

/* Collects bytes off .. off + bytes of the heap, which lie at `from`. */
static void
collect(struct cube_side *s, const uint8_t *from, uint64_t off, uint32_t bytes)
{
	uint64_t end = off + bytes < s->to ? off + bytes : s->to;
	uint64_t begin = off > s->from ? off : s->from;

	if (begin >= end || ranges_add(&s->came, (uint32_t)(begin - s->from),
				       (uint32_t)(end - s->from)) != RANGES_NEW)
		return;
	memcpy(s->data + (begin - s->from), from + (begin - off), end - begin);
}

void
cubes_side_piece(struct heaps *p, const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);
	struct cube_side *s = &p->cubes.side;
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;
	uint32_t head = piece->header, lead = 0;

	if (!s->busy || s->count != piece->heap || s->sender != k->sender)
		return;
	if (head < have) {
		lead = have - head;
		collect(s, k->prefix + head, piece->offset, lead);
		head = have;
	}
	collect(s, k->payload + (head - have), piece->offset + lead,
		piece->bytes - lead);
	if (s->came.bytes < s->to - s->from)
		return;
	s->busy = false;
	s->ready = true;
}

/* ---- telling --------------------------------------------------------- */

void
cubes_side_control(struct heaps *p, const struct format_piece *piece)
{
	struct cube_side *s = &p->cubes.side;

	if (piece->control == PIECE_REISSUE || piece->control == PIECE_UPDATE)
		s->done = false;
	if (s->controls < CUBES_CONTROLS)
		s->control[s->controls++] =
		    (struct side){ .heap = piece->heap,
				   .flavour = piece->flavour,
				   .control = piece->control };
}

static void
descriptors_tell(struct cube_side *s, struct block *b)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct side side = { .heap = s->count, .bytes = s->bytes[i] };

		notes_side(b, &side, s->data + (s->at[i] - s->from));
	}
	s->ready = false;
	s->done = true;
}

void
cubes_side_tell(struct heaps *p, struct block *b)
{
	struct cube_side *s = &p->cubes.side;

	for (unsigned i = 0; i < s->controls; i++)
		notes_side(b, &s->control[i], NULL);
	s->controls = 0;
	if (s->ready)
		descriptors_tell(s, b);
}
