/* SPDX-License-Identifier: MIT */
/*
 * A second is the slots, of the blocks around a given one, whose times lie in
 * it.  An index has the times of a block's two ends; between these packets come
 * evenly enough to find a place to look at, and to say which share of a block
 * counts.
 *
 * The losses in a part of a block are counted from its holes, a line of
 * metadata that has to be read.  Beyond LINES_MOST such blocks, losses are
 * taken as spread evenly.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "store/list/glance_priv.h"

enum { LINES_MOST = 256 }; /* lines of holes that are read for a second */

static uint64_t
slots_of(const struct recording *rec, const struct recording_block *b)
{
	return rec->shape.store == HEAP_NONE
		   ? b->record.bytes / rec->shape.payload
		   : (uint64_t)b->record.present + b->record.missing;
}

/* The slot with this time. */
static uint64_t
slot_at(const struct recording_block *b, uint64_t slots, int64_t ns)
{
	const struct index_record *r = &b->record;
	double part;

	if (ns <= r->first_ns || !slots)
		return 0;
	if (ns > r->last_ns)
		return slots;
	part = (double)(ns - r->first_ns) / (double)(r->last_ns - r->first_ns);
	return (uint64_t)(part * (double)(slots - 1) + 0.5);
}

/* Counts the holes in a range of slots. */
struct holes {
	uint64_t from, to, missing;
};

static void
count_hole(void *arg, uint64_t at, uint64_t count)
{
	struct holes *h = arg;
	uint64_t end = at + count;

	if (at < h->from)
		at = h->from;
	if (end > h->to)
		end = h->to;
	if (end > at)
		h->missing += end - at;
}

/* Packets missing in the slots of a part. */
static uint64_t
missing_in(struct recording *rec, const struct recording_block *b,
	   const struct glance_part *p, unsigned *lines)
{
	uint64_t slots = slots_of(rec, b), n = p->to - p->from;
	struct holes h = { .from = p->from, .to = p->to };

	if (!b->record.missing || n == slots)
		return b->record.missing;
	if (rec->shape.store == HEAP_NONE && *lines) {
		--*lines;
		if (!recording_holes(rec, b->record.number, count_hole, &h))
			return h.missing;
	}
	return slots ? b->record.missing * n / slots : 0;
}

static void
take_block(struct look *l, struct glance_second *s,
	   const struct recording_block *b, unsigned *lines)
{
	uint64_t slots = slots_of(l->rec, b), missing;
	struct glance_part p = { b, slot_at(b, slots, s->from_ns),
				 slot_at(b, slots, s->to_ns) };

	if (p.to < slots && s->to_ns >= b->record.last_ns)
		p.to = slots;
	if (p.to <= p.from)
		return;
	missing = missing_in(l->rec, b, &p, lines);
	s->missing += missing;
	s->packets += p.to - p.from > missing ? p.to - p.from - missing : 0;
	if (l->parts < GLANCE_PARTS)
		l->part[l->parts++] = p;
}

/* Adds a block to the second.  False if it does not belong to it. */
static bool
take(struct look *l, struct glance_second *s, size_t i, unsigned *lines)
{
	const struct recording_block *b = &l->rec->block[i];
	const struct index_record *r = &b->record;

	if (r->kind == RECORDING_ABSENT || r->kind == RECORDING_UNUSED)
		return true; /* unknown */
	if (r->first_ns > s->to_ns || r->last_ns < s->from_ns)
		return false;
	if (r->kind == INDEX_GAP)
		s->missing += r->missing;
	else
		take_block(l, s, b, lines);
	return true;
}

static void
date(struct glance_second *s, unsigned i, const struct index_record *r)
{
	int64_t middle = r->first_ns + (r->last_ns - r->first_ns) / 2;

	switch (i) {
	case 0: s->from_ns = r->first_ns; break;
	case 1: s->from_ns = middle - NS_SECOND / 2; break;
	default: s->from_ns = r->last_ns - NS_SECOND;
	}
	s->to_ns = s->from_ns + NS_SECOND;
}

static int
by_number(const void *a, const void *b)
{
	const struct glance_part *x = a, *y = b;

	return x->b < y->b ? -1 : x->b > y->b;
}

/* Blocks of substreams take turns, so blocks of another time may stand between
 * those of this second; the search ends after `patience` of them. */
void
glance_find(struct look *l, unsigned i, size_t around)
{
	struct glance_second *s = &l->out->second[i];
	unsigned patience = 2 * l->rec->facts.subs + 64;
	unsigned lines = LINES_MOST, missed = 0;

	l->parts = 0;
	date(s, i, &l->rec->block[around].record);
	for (size_t k = around; k < l->rec->blocks && missed < patience; k++)
		missed = take(l, s, k, &lines) ? 0 : missed + 1;
	missed = 0;
	for (size_t k = around; k-- && missed < patience;)
		missed = take(l, s, k, &lines) ? 0 : missed + 1;
	qsort(l->part, l->parts, sizeof *l->part, by_number);
}
