/* SPDX-License-Identifier: MIT */
/*
 * A view is laid out block by block, in the order of the recording's file:
 *
 *   blocks   | 0 |   gap   | 2 ...hole... | absent | 4 |
 *   view     | 0 |  (fill)  | 2            | (fill) | 4 |     a piece each
 *
 * A piece says where the block's first packet is in the view.  Packets of one
 * thread are a fixed number of slots apart; holes that are left out are looked
 * up in the metadata when the block is read.  The place of a byte is found by
 * bisection over the pieces.
 *
 * Offsets never move.  The index of a disk that appears later may tell more
 * about blocks that were laid out already, but nothing is inserted before bytes
 * that a reader may have seen.  So, while the recording grows, the view ends
 * before a stretch whose length only the next block tells, and before a block
 * whose holes are not on record yet.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/view/view_priv.h"

size_t
view_place(const struct view *v, uint64_t number)
{
	const struct recording *rec = v->rec;
	size_t low = rec->from[v->choice.sub], high;

	high = rec->from[v->choice.sub + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (recording_at(rec, middle)->record.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if a block is only in the writer's memory so far, and its holes matter
 * to this view but are on record nowhere. */
static bool
is_secret(const struct view *v, const struct recording_block *b)
{
	return v->picks && b->remembered && b->record.kind == INDEX_BLOCK &&
	       view_present(v, b) < b->bytes / v->payload;
}

/* Returns the position where the last run begins, if none of its packets can be
 * read yet to learn which thread has which slot; else `end`. */
static size_t
without_secret_run(const struct view *v, size_t from, size_t end)
{
	const struct recording *rec = v->rec;
	uint32_t run;
	size_t i = end;

	if (from == end)
		return end;
	run = recording_at(rec, end - 1)->record.run;
	if (v->turn.known && v->turn.run == run)
		return end;
	for (; i > from && recording_at(rec, i - 1)->record.run == run; i--) {
		if (recording_at(rec, i - 1)->disk >= 0)
			return end;
	}
	return i;
}

/* Returns the end of the blocks, from a position on, whose place in the view
 * can no longer change. */
static size_t
settled(const struct view *v, size_t from)
{
	const struct recording *rec = v->rec;
	size_t end = rec->from[v->choice.sub + 1];

	if (rec->facts.state != RECORDING_LIVE)
		return end;
	for (size_t i = from; i < end; i++) {
		if (is_secret(v, recording_at(rec, i)))
			end = i;
	}
	if (view_threaded(v))
		end = without_secret_run(v, from, end);
	while (end > from &&
	       recording_at(rec, end - 1)->record.kind == RECORDING_ABSENT)
		end--;
	return end;
}

static int
add(struct view *v, const struct view_piece *piece, uint64_t bytes)
{
	struct view_piece *grown;

	if (!bytes)
		return 0;
	if (v->pieces == v->room) {
		grown =
		    realloc(v->piece, (2 * v->room + 16) * sizeof *v->piece);
		if (!grown)
			return -ENOMEM;
		v->piece = grown;
		v->room = 2 * v->room + 16;
	}
	v->piece[v->pieces] = *piece;
	v->piece[v->pieces++].offset = v->bytes;
	v->bytes += bytes;
	return 0;
}

/* Counts the packets of a block in slots [lo, hi). */
static int
count_present(struct view *v, const struct recording_block *b, uint64_t lo,
	      uint64_t hi, uint64_t *n)
{
	uint64_t slots = b->bytes / v->payload;
	int err;

	*n = hi - lo;
	if (view_present(v, b) == slots)
		return 0;
	*n = view_present(v, b);
	if (!lo && hi == slots)
		return 0;
	err = view_holes(v, b);
	if (!err)
		*n = view_holes_before(v, hi) - view_holes_before(v, lo);
	else if (*n > hi - lo) /* holes unknown: these slots read as
				  VIEW_LOST */
		*n = hi - lo;
	return err == -ENOMEM ? err : 0;
}

/* Moves *lo to the first slot of the thread and sets the distance to the next.
 * Returns how many slots of the thread there are up to `hi`. */
static uint64_t
pick_thread(struct view *v, const struct view_stretch *s, uint64_t *lo,
	    uint64_t hi, struct view_piece *piece)
{
	uint64_t sequence = view_sequence(v, s->b, s->at) + *lo, rest;
	const struct view_turn *turn = &v->turn;

	view_turn(v, s->place);
	if (turn->what == TURN_NONE)
		return 0;
	if (turn->what == TURN_LOST)
		piece->kind = VIEW_LOST;
	piece->every = turn->cycle;
	rest = sequence % turn->cycle;
	*lo += (turn->rest + turn->cycle - rest) % turn->cycle;
	return *lo < hi ? (hi - *lo + turn->cycle - 1) / turn->cycle : 0;
}

/* Lays out a stretch of packets. */
static int
lay_slots(struct view *v, const struct view_stretch *s)
{
	uint64_t lo = 0, hi = s->bytes / v->payload, n, slot;
	struct view_piece piece = {
		.number = (uint32_t)s->b->record.number,
		.every = 1,
		.kind = s->data ? VIEW_DATA : VIEW_FILLED,
	};
	int err = 0;

	if (!s->data && v->choice.fill == VIEW_SKIP)
		return 0;
	if (v->ranged)
		err = view_range(v, s, &lo, &hi);
	if (err || lo >= hi)
		return err;
	n = hi - lo;
	if (view_threaded(v))
		n = pick_thread(v, s, &lo, hi, &piece);
	else if (s->data && v->choice.fill == VIEW_SKIP)
		err = count_present(v, s->b, lo, hi, &n);
	slot = s->at / v->payload + lo;
	piece.at = slot * v->payload;
	return err ? err : add(v, &piece, n * v->take);
}

/* Lays out a stretch of bytes; with a range, if any of it is in the range. */
static int
lay_bytes(struct view *v, const struct view_stretch *s)
{
	struct view_piece piece = {
		.at = s->at,
		.number = (uint32_t)s->b->record.number,
		.every = 1,
		.kind = s->data ? VIEW_DATA : VIEW_FILLED,
	};
	uint64_t lo = 0, hi = 1;
	int err = v->ranged ? view_range(v, s, &lo, &hi) : 0;

	return err || lo >= hi ? err : add(v, &piece, s->bytes);
}

static int
lay_stretch(struct view *v, const struct view_stretch *s)
{
	if (!s->bytes)
		return 0;
	return v->whole ? lay_bytes(v, s) : lay_slots(v, s);
}

/* Lays out what is missing between the block before and this one, then the
 * block. */
static int
lay_block(struct view *v, size_t place)
{
	const struct recording_block *b = recording_at(v->rec, place), *before;
	struct view_stretch s = { .place = place };
	int err = 0;

	if (v->begun && v->number < v->rec->blocks) {
		before = &v->rec->block[v->number];
		s.b = before;
		s.at = before->bytes;
		if (b->offset > before->offset + before->bytes)
			s.bytes = b->offset - before->offset - before->bytes;
		err = lay_stretch(v, &s);
	}
	s = (struct view_stretch){
		.place = place,
		.b = b,
		.bytes = b->bytes,
		.data = b->record.kind == INDEX_BLOCK,
	};
	if (!err)
		err = lay_stretch(v, &s);
	v->begun = true;
	v->number = b->record.number;
	if (s.data) {
		v->timed = true;
		v->last = v->number;
	}
	return err;
}

int
view_lay(struct view *v)
{
	struct view was = *v;
	size_t place, end;
	int err = 0;

	if (v->choice.sub >= v->rec->facts.subs)
		return 0;
	v->ahead = 0;
	place = v->begun ? view_place(v, v->number + 1)
			 : v->rec->from[v->choice.sub];
	for (end = settled(v, place); place < end && !err; place++)
		err = lay_block(v, place);
	if (!err)
		return 0;
	v->pieces = was.pieces;
	v->bytes = was.bytes;
	v->begun = was.begun;
	v->number = was.number;
	v->timed = was.timed;
	v->last = was.last;
	v->turn = was.turn;
	return err;
}
