/* SPDX-License-Identifier: MIT */
/*
 * Finds the part of a parcel that lies in the chosen range.  A block that lies
 * wholly in it or outside is decided by its record.  In the two blocks at the
 * ends each packet's time is read from the packet, or, where it has none,
 * interpolated between the times of the block's first and last packet.
 */
#include "flow/send/cut_priv.h"

/* Finds the slots of the block's first and last packet.  In a cube the record
 * counts packets of heaps, many per slot, so the bits are used. */
static void
ends(const struct cut *c, uint32_t *first, uint32_t *last)
{
	const uint64_t *bits = c->p.present;
	uint32_t slots = c->p.record.present + c->p.record.missing;

	*first = 0;
	if (bits)
		slots = (uint32_t)(c->p.record.bytes / c->slot_bytes);
	*last = slots ? slots - 1 : 0;
	if (!bits)
		return;
	while (*first < *last && !(bits[*first / 64] >> *first % 64 & 1))
		++*first;
	while (*last > *first && !(bits[*last / 64] >> *last % 64 & 1))
		--*last;
}

/* Ns from packet to packet; 0: the shape does not say. */
static int64_t
apart(const struct format_shape *s)
{
	uint64_t each = (uint64_t)s->fps * s->threads_n * s->parts;

	return each ? (int64_t)(1000000000 / each) : 0;
}

void
cut_clock(struct cut *c)
{
	const struct index_record *r = &c->p.record;
	uint32_t first, last;

	c->time = c->every = 0;
	if (!r->first_ns || c->rows) {
		c->time = r->first_ns;
		return;
	}
	ends(c, &first, &last);
	c->every = apart(c->shape);
	if (last > first && r->last_ns > r->first_ns)
		c->every = (r->last_ns - r->first_ns) / (last - first);
	/* The times of a gap are those of the packet behind it. */
	if (r->kind == INDEX_GAP)
		first = r->missing;
	c->time = r->first_ns + ((int64_t)c->skip - (int64_t)first) * c->every;
}

static int64_t
slot_time(const struct cut *c, uint32_t slot)
{
	struct format_packet p = { 0 };

	if (c->data && c->shape->fps && c->format->parse &&
	    c->p.record.flags & INDEX_DATA_TIME &&
	    (c->first + slot) % c->shape->parts == 0)
		c->format->parse(c->shape, NULL,
				 c->data + (uint64_t)slot * c->slot_bytes, &p);
	if (p.has & FORMAT_TIME && (c->plain || cut_has(c, slot)))
		return format_time_ns(c->shape, &p);
	return cut_time(c, slot);
}

/* Returns the first slot from lo on that is not before a time. */
static uint64_t
slot_at(const struct cut *c, int64_t ns)
{
	uint64_t slot = c->lo;

	while (slot < c->hi && slot_time(c, (uint32_t)slot) < ns)
		slot++;
	return slot;
}

static bool
by_time(struct cut *c)
{
	const struct index_record *r = &c->p.record;
	int64_t from = c->choice->from_ns, to = c->choice->to_ns;
	int64_t begin = r->first_ns, end = r->last_ns;

	if (!begin)
		return true; /* its time is not known: it is sent */
	if (r->kind == INDEX_GAP)
		begin = c->time;
	if (to && begin >= to) {
		c->hi = c->lo;
		return false;
	}
	if (end < from) {
		c->hi = c->lo;
	} else if (!c->rows) {
		if (begin < from)
			c->lo = slot_at(c, from);
		if (to && end >= to)
			c->hi = slot_at(c, to);
	}
	return true;
}

static bool
by_bytes(struct cut *c)
{
	uint64_t from = c->choice->from_byte, to = c->choice->to_byte;
	uint64_t at = c->p.offset, bytes = c->p.bytes, slot = c->slot_bytes;

	if (to && at >= to) {
		c->hi = c->lo;
		return false;
	}
	c->from = from > at ? from - at : 0;
	c->to = to && to - at < bytes ? to - at : bytes;
	if (c->from >= c->to) {
		c->hi = c->lo;
	} else if (c->rows && c->plain) {
		c->lo = c->from;
		c->hi = c->to;
	} else if (!c->rows) {
		c->lo = c->plain ? c->from / slot : (c->from + slot - 1) / slot;
		c->hi = (c->to + slot - 1) / slot;
	}
	return true;
}

bool
cut_range(struct cut *c)
{
	const struct send_choice *ch = c->choice;
	bool in = true;

	c->lo = 0;
	c->hi = c->slots;
	c->from = 0;
	c->to = c->p.bytes;
	if (c->rows)
		c->hi = c->plain ? c->p.bytes : UINT64_MAX;
	if (ch->from_byte || ch->to_byte)
		in = by_bytes(c);
	if (in && c->lo < c->hi && (ch->from_ns || ch->to_ns))
		in = by_time(c);
	return in;
}
