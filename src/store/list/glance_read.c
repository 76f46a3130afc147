/* SPDX-License-Identifier: MIT */
/*
 * Packets are read at the beginning, in the middle and at the end of a second;
 * with several substreams at one place of each, of at most GLANCE_SUBS of them.
 * Slots for which the metadata says that nothing came hold fill, and are
 * skipped.
 *
 * Rows can be read from the beginning of a block only, since each packet says
 * where the next one is.  Items of cubes say nothing about themselves, so cubes
 * are not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "store/list/glance_priv.h"
#include "store/record/row.h"

enum { PLACES = 3, ROW_PACKETS = 64 };

/* Adjacent packets in a block. */
struct place {
	const struct recording_block *b;
	uint64_t first; /* first slot, in the block */
	uint32_t slots;
};

/* The last time of each thread, as second and frame. */
struct clocks {
	struct {
		int64_t second;
		uint32_t frame;
	} thread[GLANCE_THREADS];
};

static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	struct look *l = arg;
	uint64_t end = at + count;

	if (at < l->hole_from)
		at = l->hole_from;
	if (end > l->hole_from + GLANCE_SLOTS)
		end = l->hole_from + GLANCE_SLOTS;
	for (; at < end; at++)
		l->holes[(at - l->hole_from) / 64] |=
		    UINT64_C(1) << ((at - l->hole_from) % 64);
}

/* Marks the slots of a place that are fill.  -ENODATA if the metadata does not
 * say which are. */
static int
holes_find(struct look *l, const struct place *p)
{
	memset(l->holes, 0, GLANCE_SLOTS / 8);
	l->hole_from = p->first;
	return recording_holes(l->rec, p->b->record.number, take_hole, l);
}

static void
take_station(struct glance_second *s, uint32_t station)
{
	for (unsigned i = 0; i < s->stations; i++)
		if (s->station[i] == station)
			return;
	if (s->stations < GLANCE_STATIONS)
		s->station[s->stations++] = station;
}

static bool
is_misplaced(const struct look *l, const struct place *p, uint64_t slot,
	     const struct format_packet *packet)
{
	const struct index_record *r = &p->b->record;
	const struct format_shape *s = &l->rec->shape;
	uint64_t base = recording_base(l->rec, r->sub, r->run);
	uint64_t is = packet->sequence, should = base + r->first + slot;

	if (packet->has & FORMAT_PART &&
	    packet->part != (r->first + slot) % s->parts)
		return true;
	if (!(packet->has & FORMAT_SEQUENCE) || !base)
		return false;
	if (s->sequence_bits == 32)
		return (uint32_t)is != (uint32_t)should;
	return is != should;
}

static bool
is_backwards(struct clocks *c, const struct format_packet *p)
{
	unsigned thread = p->thread % GLANCE_THREADS;
	bool back = p->second < c->thread[thread].second ||
		    (p->second == c->thread[thread].second &&
		     p->frame <= c->thread[thread].frame);

	back = back && c->thread[thread].second;
	c->thread[thread].second = p->second;
	c->thread[thread].frame = p->frame;
	return back;
}

static void
take_mark(struct glance_mark *m, const struct place *at, uint64_t slot,
	  const struct format_packet *p)
{
	const struct index_record *r = &at->b->record;

	if (m->there)
		return;
	*m = (struct glance_mark){ true,      r->run,  r->sub, r->first + slot,
				   p->second, p->frame };
}

static void
take_packet(struct look *l, unsigned i, const struct place *at, uint64_t slot,
	    struct clocks *clocks)
{
	struct glance_second *s = &l->out->second[i];
	const struct format_shape *shape = &l->rec->shape;
	uint32_t frame = shape->payload * shape->parts;
	struct format_packet p;

	l->format->parse(shape, NULL,
			 l->data + (slot - at->first) * shape->payload, &p);
	s->looked++;
	if (!(p.has & FORMAT_READABLE) || (p.bytes && p.bytes != frame)) {
		s->unreadable++;
		return;
	}
	s->invalid += !(p.has & FORMAT_VALID);
	s->misplaced += is_misplaced(l, at, slot, &p);
	if (!(p.has & FORMAT_TIME))
		return;
	s->threaded = true;
	s->thread[p.thread % GLANCE_THREADS / 64] |= UINT64_C(1)
						     << p.thread % 64;
	take_station(s, p.station);
	s->backwards += is_backwards(clocks, &p);
	take_mark(&l->mark[i], at, slot, &p);
}

static void
read_place(struct look *l, unsigned i, struct place *p)
{
	const struct format_shape *s = &l->rec->shape;
	struct clocks clocks = { 0 };
	uint64_t first = p->b->record.first;
	ssize_t got;

	got = recording_chunk_read(l->rec, p->b, l->data,
				   (size_t)p->slots * s->payload,
				   p->first * s->payload);
	if (got != (ssize_t)((size_t)p->slots * s->payload))
		glance_wrong(l,
			     "chunk %" PRIu64 " on %s cannot be read where "
			     "its %s second is: %s",
			     p->b->record.number,
			     l->rec->disks->disk[p->b->disk].path,
			     glance_name(i),
			     got < 0 ? strerror((int)-got) : "it ends before");
	if (got < 0 || holes_find(l, p))
		return;
	p->slots = (uint32_t)((size_t)got / s->payload);
	for (uint32_t k = 0; k < p->slots; k++) {
		if ((first + p->first + k) % s->parts == 0 &&
		    !(l->holes[k / 64] >> k % 64 & 1))
			take_packet(l, i, p, p->first + k, &clocks);
	}
}

/* Finds slots from position `at` on in a substream's parts of the second: whole
 * frames, as many as fit into the buffer and are in one block. */
static bool
place_find(struct look *l, unsigned sub, uint64_t at, struct place *p)
{
	const struct format_shape *s = &l->rec->shape;
	uint64_t slots = l->room / s->payload, left;

	for (size_t i = 0; i < l->parts; i++) {
		const struct glance_part *part = &l->part[i];
		uint64_t n = part->to - part->from;

		if (part->b->record.sub != sub || part->b->disk < 0)
			continue;
		if (at >= n) {
			at -= n;
			continue;
		}
		p->b = part->b;
		p->first = part->from + at;
		p->first -= (part->b->record.first + p->first) % s->parts;
		left = part->b->record.bytes / s->payload - p->first;
		slots = slots < left ? slots : left;
		p->slots =
		    (uint32_t)(slots < GLANCE_SLOTS ? slots : GLANCE_SLOTS);
		return p->first < INT64_MAX && p->slots;
	}
	return false;
}

static uint64_t
slots_of_sub(const struct look *l, unsigned sub)
{
	uint64_t slots = 0;

	for (size_t i = 0; i < l->parts; i++)
		if (l->part[i].b->record.sub == sub && l->part[i].b->disk >= 0)
			slots += l->part[i].to - l->part[i].from;
	return slots;
}

/* Reads at several places; the last one ends where the second does. */
static bool
read_slots(struct look *l, unsigned i, unsigned sub, unsigned places)
{
	uint64_t slots = slots_of_sub(l, sub);
	uint64_t fit = l->room / l->rec->shape.payload;
	uint64_t span = slots > fit ? slots - fit : 0;
	struct place p;
	bool any = false;

	for (unsigned k = 0; k < places; k++) {
		uint64_t at = places > 1 ? span / (places - 1) * k : span / 2;

		if (k && !span)
			break; /* all was read at the first place */
		if (!place_find(l, sub, at, &p))
			continue;
		read_place(l, i, &p);
		any = true;
	}
	return any;
}

static bool
read_row(struct look *l, unsigned i, unsigned sub)
{
	struct glance_second *s = &l->out->second[i];
	const struct recording_block *b = NULL;
	struct row row;
	int err;

	for (size_t k = 0; k < l->parts && !b; k++)
		if (l->part[k].b->record.sub == sub && l->part[k].b->disk >= 0)
			b = l->part[k].b;
	if (!b)
		return false;
	err = recording_row(l->rec, b, l->format, ROW_PACKETS, &row);
	if (err) {
		glance_wrong(l, "chunk %" PRIu64 " on %s cannot be read: %s",
			     b->record.number,
			     l->rec->disks->disk[b->disk].path, strerror(-err));
		return true;
	}
	s->looked += row.packets;
	s->incomplete += row.incomplete;
	if (row.packets < ROW_PACKETS && row.bytes < b->bytes) {
		s->looked++;
		s->unreadable++;
	}
	s->misplaced += row.packets && row.first != b->record.first;
	s->backwards += row.contradicted;
	return true;
}

void
glance_read(struct look *l, unsigned i)
{
	unsigned subs = l->rec->facts.subs, looked = 0;
	unsigned step = (subs + GLANCE_SUBS - 1) / GLANCE_SUBS;
	unsigned places = subs > 1 ? 1 : PLACES;

	if (!l->format)
		return;
	for (unsigned sub = 0; sub < subs; sub += step) {
		switch (l->rec->shape.store) {
		case HEAP_NONE: looked += read_slots(l, i, sub, places); break;
		case HEAP_ROW: looked += read_row(l, i, sub); break;
		default: break;
		}
	}
	if (looked > l->out->looked)
		l->out->looked = looked;
}
