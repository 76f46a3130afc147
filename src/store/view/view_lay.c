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

#include "base/clock.h"
#include "store/view/view_priv.h"

/* ---- slots in the range of time ------------------------------------------ */

/*
 * Finds which slots are in the range of time.
 *
 * Exact, if the sequence is counted from packet times (SEQUENCE_TIME): the
 * format plugin computes the sequence of the first frame at or after a time.
 * Otherwise by interpolation: time is taken to pass evenly from the first to
 * the last packet of a block, and from there to the first of the next block.
 * That is right to the packet for a sender that sends evenly; if several
 * threads take turns within one time, it is right to as many packets as there
 * are threads.
 *
 * Both ends of a range are computed by the same function of time, so each
 * packet is in exactly one of two adjacent ranges.
 */

/* Computes the first sequence at or after a time.  False if no header of the
 * format can say this time. */
static bool
sequence_at(const struct view *v, int64_t ns, uint64_t *sequence)
{
	const struct format_shape *shape = &v->rec->shape;
	int64_t second = ns / NS_SECOND - (ns % NS_SECOND < 0);
	uint64_t rest = (uint64_t)((ns % NS_SECOND + NS_SECOND) % NS_SECOND);
	uint64_t frame = (rest * shape->fps + NS_SECOND - 1) / NS_SECOND;
	uint8_t raw[VIEW_HEADER] = { 0 };
	struct format_packet is, p = {
		.has = FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID,
		.second = second + (frame == shape->fps),
		.frame = frame == shape->fps ? 0 : (uint32_t)frame,
		.thread = shape->threads ? shape->threads[0] : 0,
	};

	if (shape->header > VIEW_HEADER || shape->payload < VIEW_HEADER)
		return false;
	v->format->model(shape, raw);
	v->format->stamp(shape, &p, NULL, raw);
	v->format->parse(shape, NULL, raw, &is);
	*sequence = is.sequence;
	return is.has & FORMAT_SEQUENCE && is.has & FORMAT_TIME &&
	       is.second == p.second && is.frame == p.frame;
}

/*
 * Computes the first sequence at or after any time.  A time that a header
 * cannot say (formats restart their count of years some day) lies before all
 * data or behind it.
 */
static uint64_t
sequence_near(const struct view *v, int64_t ns, int64_t data_ns)
{
	uint64_t sequence;

	if (sequence_at(v, ns, &sequence))
		return sequence;
	return ns < data_ns ? 0 : UINT64_MAX;
}

void
view_range_begin(struct view *v)
{
	const struct format_shape *shape = &v->rec->shape;
	int64_t data_ns = v->rec->facts.start_ns;
	uint64_t sequence;

	v->exact = v->format && v->format->parse && v->format->model &&
		   shape->sequence == SEQUENCE_TIME && shape->fps &&
		   !v->rec->foreign && sequence_at(v, data_ns, &sequence);
	if (!v->exact)
		return;
	v->from_sequence = sequence_near(v, v->choice.from_ns, data_ns);
	v->to_sequence = sequence_near(v, v->choice.to_ns, data_ns);
}

/* Returns the slot of a sequence, limited to the stretch. */
static uint64_t
slot_of(uint64_t sequence, uint64_t begin, uint64_t slots)
{
	if (sequence <= begin)
		return 0;
	return sequence - begin < slots ? sequence - begin : slots;
}

struct time_line {
	uint64_t sequence[2];
	int64_t ns[2];
};

/*
 * Returns the first slot, counted from sequence `begin`, at or after time `ns`
 * that begins a frame.  The line is evaluated at ns - 1, as times are rounded
 * to whole nanoseconds.
 */
static uint64_t
slot_at(const struct view *v, const struct time_line *l, uint64_t begin,
	uint64_t slots, int64_t ns)
{
	uint32_t parts = v->rec->shape.parts;
	__int128 span = (__int128)l->ns[1] - l->ns[0];
	__int128 steps = (__int128)l->sequence[1] - l->sequence[0];
	__int128 n = ((__int128)ns - 1 - l->ns[0]) * steps;
	uint64_t slot;

	if (span <= 0 || steps <= 0)
		return l->ns[0] >= ns ? 0 : slots;
	n = n / span + (n > 0 && n % span);
	n += (__int128)l->sequence[0] - begin;
	if (n <= 0 || n >= (__int128)slots)
		return n <= 0 ? 0 : slots;
	slot = (uint64_t)n;
	if ((begin + slot) % parts)
		slot += parts - (begin + slot) % parts;
	return slot < slots ? slot : slots;
}

static void
narrow(const struct view *v, const struct time_line *l, uint64_t begin,
       uint64_t *lo, uint64_t *hi)
{
	uint64_t slots = *hi;

	*lo = slot_at(v, l, begin, slots, v->choice.from_ns);
	if (v->choice.to_ns)
		*hi = slot_at(v, l, begin, slots, v->choice.to_ns);
}

/* The line from a block's first slot to its last. */
static struct time_line
line_of(const struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload, first = b->record.first;

	return (struct time_line){
		.sequence = { first, first + (slots ? slots - 1 : 0) },
		.ns = { b->record.first_ns, b->record.last_ns },
	};
}

/* The line from a block's first packet to its last, without the holes at its
 * two ends.  Returns 0 or -ENOMEM. */
static int
line_in(struct view *v, const struct recording_block *b, struct time_line *l)
{
	uint64_t slots = b->bytes / v->payload, end;
	int err;

	*l = line_of(v, b);
	if (v->rec->shape.store != HEAP_NONE || view_present(v, b) == slots ||
	    !view_present(v, b))
		return 0;
	err = view_holes(v, b);
	if (err)
		return err == -ENOMEM ? err : 0;
	l->sequence[0] += view_holes_slot(v, 0, slots, &end);
	l->sequence[1] =
	    b->record.first +
	    view_holes_slot(v, view_present(v, b) - 1, slots, &end);
	return 0;
}

/*
 * A line through one end of line `l`.  Its slope is the packet rate of the
 * format, if known, else that of `l`.  If `l` is a single packet and the number
 * of threads is unknown, one thread is assumed.
 */
static struct time_line
line_through(const struct view *v, const struct time_line *l, unsigned end)
{
	const struct format_shape *s = &v->rec->shape;
	uint64_t each = (uint64_t)s->fps * s->threads_n * s->parts;

	if (!each && l->sequence[0] == l->sequence[1])
		each = (uint64_t)s->fps * s->parts;
	if (!each)
		return *l;
	return (struct time_line){
		.sequence = { l->sequence[end], l->sequence[end] + each },
		.ns = { l->ns[end], l->ns[end] + NS_SECOND },
	};
}

/* Returns by how many ns the slots of a block may extend beyond its first and
 * last packet: at most as long as its missing slots take. */
static int64_t
margin(const struct view *v, const struct recording_block *b)
{
	uint64_t present = view_present(v, b);
	uint64_t missing = b->bytes / v->payload - present;
	__int128 span = (__int128)b->record.last_ns - b->record.first_ns;

	if (!missing || v->rec->shape.store != HEAP_NONE || span < 0)
		return 0;
	if (present < 2)
		return INT64_MAX / 4; /* rate unknown: let the holes decide */
	span = span * missing / (present - 1) + 1;
	return span < INT64_MAX / 4 ? (int64_t)span : INT64_MAX / 4;
}

static int
range_data(struct view *v, const struct view_stretch *s, uint64_t *lo,
	   uint64_t *hi)
{
	int64_t from = v->choice.from_ns, to = v->choice.to_ns;
	int64_t beside = margin(v, s->b);
	__int128 first = (__int128)s->b->record.first_ns - beside;
	__int128 last = (__int128)s->b->record.last_ns + beside;
	struct time_line l;
	int err;

	if (!s->b->record.first_ns)
		return 0; /* time unknown: keep the whole block */
	if ((to && first >= to) || last < from) {
		*hi = *lo;
		return 0;
	}
	if (v->rec->shape.store == HEAP_ROW ||
	    (first >= from && (!to || last < to)))
		return 0;
	err = line_in(v, s->b, &l);
	if (err)
		return err;
	if (l.sequence[0] == l.sequence[1])
		l = line_through(v, &l, 0);
	narrow(v, &l, s->b->record.first, lo, hi);
	return 0;
}

/* Returns the last block with data, if it is of the same run; else NULL. */
static const struct recording_block *
data_before(const struct view *v, uint32_t run)
{
	const struct recording_block *b;

	if (!v->timed || v->last >= v->rec->blocks)
		return NULL;
	b = &v->rec->block[v->last];
	return b->record.run == run && b->record.first_ns ? b : NULL;
}

static const struct recording_block *
data_behind(struct view *v, const struct view_stretch *s, uint32_t run)
{
	const struct recording *rec = v->rec;
	size_t end = rec->from[v->choice.sub + 1], i = s->place;
	const struct recording_block *b;

	/* Start where the last search ended: many stretches in a row have the
	 * same next block. */
	if (v->ahead > i)
		i = v->ahead;
	while (i < end && recording_at(rec, i)->record.kind != INDEX_BLOCK)
		i++;
	v->ahead = i;
	b = i < end ? recording_at(rec, i) : NULL;
	return b && b->record.run == run && b->record.first_ns ? b : NULL;
}

/* The line between blocks `a` and `z`, or through the one of them that exists,
 * from its end that is next to the stretch. */
static int
line_beside(struct view *v, const struct recording_block *a,
	    const struct recording_block *z, struct time_line *l)
{
	struct time_line before, behind;
	int err = 0;

	if (a)
		err = line_in(v, a, &before);
	if (z && !err)
		err = line_in(v, z, &behind);
	if (err)
		return err;
	if (a && z)
		*l = (struct time_line){
			.sequence = { before.sequence[1], behind.sequence[0] },
			.ns = { before.ns[1], behind.ns[0] },
		};
	else if (a)
		*l = line_through(v, &before, 1);
	else
		*l = line_through(v, &behind, 0);
	return 0;
}

/* Range of a stretch without data: times are interpolated between the last
 * packet before it and the first behind it. */
static int
range_none(struct view *v, const struct view_stretch *s, uint64_t *lo,
	   uint64_t *hi)
{
	int64_t from = v->choice.from_ns, to = v->choice.to_ns;
	const struct index_record *r = &s->b->record;
	const struct recording_block *a = data_before(v, r->run);
	const struct recording_block *z = data_behind(v, s, r->run);
	struct time_line l = {
		/* A gap with no data beside it: its record tells the time of
		 * the packet behind it. */
		.sequence = { r->first + r->missing, r->first + r->missing },
		.ns = { r->first_ns, r->first_ns },
	};
	int err = 0;

	if ((!a && !z && (r->kind != INDEX_GAP || !r->first_ns)) ||
	    (a && to && a->record.last_ns >= to) ||
	    (z && z->record.first_ns <= from)) {
		*hi = *lo;
		return 0;
	}
	if (a && z && a->record.last_ns >= from &&
	    (!to || z->record.first_ns < to))
		return 0;
	if (a || z)
		err = line_beside(v, a, z, &l);
	else
		l = line_through(v, &l, 0);
	if (!err)
		narrow(v, &l, view_sequence(v, s->b, s->at), lo, hi);
	return err;
}

/* Narrows slots [*lo, *hi) of a stretch to those in the range.  Returns 0 or
 * -ENOMEM. */
static int
range(struct view *v, const struct view_stretch *s, uint64_t *lo, uint64_t *hi)
{
	const struct view_choice *c = &v->choice;
	const struct index_record *r = &s->b->record;
	uint64_t begin = view_sequence(v, s->b, s->at), slots = *hi;
	uint64_t base = recording_base(v->rec, r->sub, r->run);

	if (c->to_ns && c->to_ns <= c->from_ns) {
		*hi = *lo;
	} else if (v->exact && base) {
		*lo = slot_of(v->from_sequence, base + begin, slots);
		if (c->to_ns)
			*hi = slot_of(v->to_sequence, base + begin, slots);
	} else if (s->data) {
		return range_data(v, s, lo, hi);
	} else {
		return range_none(v, s, lo, hi);
	}
	return 0;
}

/* ---- pieces -------------------------------------------------------------- */

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
		err = range(v, s, &lo, &hi);
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
	int err = v->ranged ? range(v, s, &lo, &hi) : 0;

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
