/* SPDX-License-Identifier: MIT */
/*
 * Finds the span of an offset in two steps: its piece by bisection, then its
 * packet within the piece by division.  If holes are left out or filled in
 * another way than on disk, a span ends where a hole begins or ends.
 */
#include <errno.h>
#include <string.h>

#include "store/view/view_priv.h"

/* Returns the last piece that begins at or before `offset`. */
static const struct view_piece *
find_piece(const struct view *v, uint64_t offset)
{
	size_t low = 0, high = v->pieces;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (v->piece[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &v->piece[low];
}

static uint64_t
piece_end(const struct view *v, const struct view_piece *p)
{
	return p + 1 < v->piece + v->pieces ? p[1].offset : v->bytes;
}

/* True if the block still lies where it was when the piece was laid out.
 * Offsets never move, but a disk that comes back may tell other lengths. */
static bool
is_there(const struct view *v, const struct view_piece *p,
	 const struct recording_block *b)
{
	if (v->ranged || view_threaded(v) || p->at)
		return false;
	if (v->whole)
		return p->offset == b->offset;
	return p->offset / v->take * v->payload == b->offset;
}

/* Returns the kind of a piece now: fill may have become data. */
static enum view_kind
kind_of(const struct view *v, const struct view_piece *p,
	const struct recording_block *b, uint64_t at)
{
	if (p->kind != VIEW_FILLED || b->record.kind != INDEX_BLOCK ||
	    at >= b->bytes)
		return p->kind;
	return is_there(v, p, b) ? VIEW_DATA : VIEW_LOST;
}

/* Working state of view_find(): the first packet, and how many packets of the
 * same kind follow, the first included. */
struct aim {
	uint64_t slot, packets;
	uint32_t passed; /* bytes of the first packet that lie before the
			    offset */
	enum view_kind kind;
};

static void
cut(struct aim *a, uint64_t packets)
{
	if (a->packets > packets)
		a->packets = packets;
}

/* VIEW_SKIP: finds packet `skip` of a piece among those present. */
static int
aim_skip(struct view *v, const struct view_piece *p,
	 const struct recording_block *b, uint64_t skip, struct aim *a)
{
	uint64_t slots = b->bytes / v->payload, end = slots;
	int err;

	if (view_present(v, b) == slots)
		return 0;
	err = view_holes(v, b);
	if (err && err != -ENODATA)
		return err;
	if (!err)
		a->slot = view_holes_slot(
		    v, view_holes_before(v, p->at / v->payload) + skip, slots,
		    &end);
	if (err || a->slot >= end) {
		a->kind = VIEW_LOST;
		return 0;
	}
	cut(a, end - a->slot);
	return 0;
}

/* Fill: cuts the span where a hole begins or ends.  If the holes are unknown,
 * the block's bytes are shown as stored. */
static int
aim_fill(struct view *v, const struct view_piece *p,
	 const struct recording_block *b, struct aim *a)
{
	uint64_t slots = b->bytes / v->payload, end;
	int err;

	if (view_present(v, b) == slots)
		return 0;
	err = view_holes(v, b);
	if (err)
		return err == -ENODATA ? 0 : err;
	if (view_holes_at(v, a->slot, slots, &end))
		a->kind = VIEW_FILLED;
	cut(a, (end - a->slot + p->every - 1) / p->every);
	return 0;
}

static int
aim(struct view *v, const struct view_piece *p, uint64_t in, struct aim *a)
{
	const struct recording_block *b = &v->rec->block[p->number];
	uint64_t n = in / v->take;

	*a = (struct aim){
		.slot = p->at / v->payload + n * p->every,
		.packets = (piece_end(v, p) - p->offset) / v->take - n,
		.passed = (uint32_t)(in % v->take),
	};
	a->kind = kind_of(v, p, b, a->slot * v->payload);
	if (a->kind != VIEW_DATA)
		return 0;
	if (p->kind == VIEW_FILLED)
		cut(a, b->bytes / v->payload - a->slot);
	if (!v->picks)
		return 0;
	return v->choice.fill == VIEW_SKIP ? aim_skip(v, p, b, n, a)
					   : aim_fill(v, p, b, a);
}

/* Whole packets in a row make one span without steps. */
static int
span_packets(struct view *v, const struct view_piece *p, uint64_t in,
	     struct view_span *s)
{
	struct aim a;
	int err = aim(v, p, in, &a);

	if (err)
		return err;
	s->kind = a.kind;
	s->lead = v->choice.strip + a.passed;
	s->at = a.slot * v->payload + s->lead;
	s->bytes = a.packets * v->take - a.passed;
	s->take = v->take;
	s->passed = a.passed;
	if (p->every > 1 || v->choice.strip)
		s->step = (uint64_t)p->every * v->payload;
	return 0;
}

static void
span_bytes(const struct view *v, const struct view_piece *p, uint64_t in,
	   struct view_span *s)
{
	const struct recording_block *b = &v->rec->block[p->number];

	s->at = p->at + in;
	s->kind = kind_of(v, p, b, s->at);
	s->bytes = piece_end(v, p) - p->offset - in;
	if (p->kind == VIEW_FILLED && s->kind == VIEW_DATA &&
	    s->bytes > b->bytes - s->at)
		s->bytes = b->bytes - s->at;
}

int
view_find(struct view *v, uint64_t offset, struct view_span *s)
{
	const struct view_piece *p;
	int err = 0;

	if (offset >= v->bytes)
		return -ENODATA;
	p = find_piece(v, offset);
	*s = (struct view_span){
		.kind = VIEW_LOST,
		.number = p->number,
		.bytes = piece_end(v, p) - offset,
	};
	if (p->number >= v->rec->blocks)
		return 0;
	if (v->whole)
		span_bytes(v, p, offset - p->offset, s);
	else
		err = span_packets(v, p, offset - p->offset, s);
	s->offset = v->rec->block[p->number].offset + s->at;
	return err;
}

/* ---- spans ------------------------------------------------------------ */

uint64_t
view_reach(const struct view_span *s, uint64_t bytes)
{
	uint64_t end = s->passed + bytes, packets;

	if (!s->step || !bytes)
		return bytes;
	packets = (end - 1) / s->take;
	return packets * s->step + (end - packets * s->take) - s->passed;
}

void
view_pass(struct view_span *s, uint64_t bytes)
{
	uint64_t end = s->passed + bytes, moved = bytes;
	uint32_t passed;

	s->bytes -= bytes;
	if (s->take) {
		passed = (uint32_t)(end % s->take);
		if (s->step)
			moved = end / s->take * s->step + passed - s->passed;
		s->lead = s->lead - s->passed + passed;
		s->passed = passed;
	}
	s->at += moved;
	s->offset += moved;
}

/* Copies the rest of the first packet, whole packets, and the beginning of the
 * last. */
static size_t
gather(const struct view_span *s, const uint8_t *from, uint64_t n, uint8_t *to,
       size_t most)
{
	uint64_t at = 0;
	size_t part = s->take - s->passed, done = 0;

	while (at < n && done < most) {
		if (part > most - done)
			part = most - done;
		if (part > n - at)
			part = n - at;
		memcpy(to + done, from + at, part);
		at += done ? s->step : s->step - s->passed;
		done += part;
		part = s->take;
	}
	return done;
}

size_t
view_gather(const struct view_span *s, const void *data, uint64_t n, void *to,
	    size_t most)
{
	if (most > s->bytes)
		most = s->bytes;
	if (s->step)
		return gather(s, data, n, to, most);
	if (most > n)
		most = n;
	memcpy(to, data, most);
	return most;
}
