/* SPDX-License-Identifier: MIT */
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
#include <errno.h>

#include "base/clock.h"
#include "store/view/view_priv.h"

#define SECOND_NS NS_SECOND

/* ---- by sequence ------------------------------------------------------ */

/* Computes the first sequence at or after a time.  False if no header of the
 * format can say this time. */
static bool
sequence_at(const struct view *v, int64_t ns, uint64_t *sequence)
{
	enum { HEADER = 64 };
	const struct format_shape *shape = &v->rec->shape;
	int64_t second = ns / SECOND_NS - (ns % SECOND_NS < 0);
	uint64_t rest = (uint64_t)((ns % SECOND_NS + SECOND_NS) % SECOND_NS);
	uint64_t frame = (rest * shape->fps + SECOND_NS - 1) / SECOND_NS;
	uint8_t raw[HEADER] = { 0 };
	struct format_packet is, p = {
		.has = FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID,
		.second = second + (frame == shape->fps),
		.frame = frame == shape->fps ? 0 : (uint32_t)frame,
		.thread = shape->threads ? shape->threads[0] : 0,
	};

	if (shape->header > HEADER || shape->payload < HEADER)
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

/* ---- by interpolation ------------------------------------------------- */

struct line {
	uint64_t sequence[2];
	int64_t ns[2];
};

/*
 * Returns the first slot, counted from sequence `begin`, at or after time `ns`
 * that begins a frame.  The line is evaluated at ns - 1, as times are rounded
 * to whole nanoseconds.
 */
static uint64_t
slot_at(const struct view *v, const struct line *l, uint64_t begin,
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
narrow(const struct view *v, const struct line *l, uint64_t begin, uint64_t *lo,
       uint64_t *hi)
{
	uint64_t slots = *hi;

	*lo = slot_at(v, l, begin, slots, v->choice.from_ns);
	if (v->choice.to_ns)
		*hi = slot_at(v, l, begin, slots, v->choice.to_ns);
}

/* The line from a block's first slot to its last. */
static struct line
line_of(const struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload, first = b->record.first;

	return (struct line){
		.sequence = { first, first + (slots ? slots - 1 : 0) },
		.ns = { b->record.first_ns, b->record.last_ns },
	};
}

/* The line from a block's first packet to its last, without the holes at its
 * two ends.  Returns 0 or -ENOMEM. */
static int
line_in(struct view *v, const struct recording_block *b, struct line *l)
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
static struct line
line_through(const struct view *v, const struct line *l, unsigned end)
{
	const struct format_shape *s = &v->rec->shape;
	uint64_t each = (uint64_t)s->fps * s->threads_n * s->parts;

	if (!each && l->sequence[0] == l->sequence[1])
		each = (uint64_t)s->fps * s->parts;
	if (!each)
		return *l;
	return (struct line){
		.sequence = { l->sequence[end], l->sequence[end] + each },
		.ns = { l->ns[end], l->ns[end] + SECOND_NS },
	};
}

/* ---- a block's data --------------------------------------------------- */

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
	struct line l;
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

/* ---- stretches without data ------------------------------------------- */

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
	    const struct recording_block *z, struct line *l)
{
	struct line before, behind;
	int err = 0;

	if (a)
		err = line_in(v, a, &before);
	if (z && !err)
		err = line_in(v, z, &behind);
	if (err)
		return err;
	if (a && z)
		*l = (struct line){
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
	struct line l = {
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

int
view_range(struct view *v, const struct view_stretch *s, uint64_t *lo,
	   uint64_t *hi)
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
