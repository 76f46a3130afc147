/* SPDX-License-Identifier: MIT */
#include "flow/memory/block_record.h"

/* The format that parses the packets, and the shape of their stream. */
struct maker {
	const struct format_ops *format;
	const struct format_shape *shape;
};

/* Finds the time that the packet in a slot carries.  False if the slot has no
 * packet, or its packet no time. */
static bool
slot_time(const struct maker *m, const struct block *b, uint32_t slot,
	  int64_t *ns)
{
	struct format_packet p;

	if (!block_has(b, slot))
		return false;
	m->format->parse(m->shape, NULL, block_slot(b, slot), &p);
	if (!(p.has & FORMAT_TIME))
		return false;
	*ns = format_time_ns(m->shape, &p);
	return true;
}

/* Finds the times of the first and the last packet of a block, if its format
 * carries times.  A few slots decide: after four frames without a time the
 * search ends. */
static bool
data_times(const struct maker *m, const struct block *b, int64_t *first,
	   int64_t *last)
{
	uint32_t looks = 4 * m->shape->parts;
	uint32_t at = 0, end = b->used;

	while (at < end && looks && !slot_time(m, b, at, first))
		looks -= block_has(b, at++);
	if (at == end || !looks)
		return false;
	while (!slot_time(m, b, --end, last))
		;
	return true;
}

struct index_record
block_record(const struct format_ops *format, const struct format_shape *shape,
	     const struct block *b)
{
	struct format_shape known = *shape;
	const struct maker m = { format, &known };
	struct index_record r = { .number = b->number,
				  .first = b->first,
				  .first_ns = b->first_ns,
				  .last_ns = b->last_ns,
				  .bytes = block_bytes(b),
				  .run = b->run,
				  .present = b->filled,
				  .missing = block_missing(b),
				  .sub = b->sub,
				  .kind = INDEX_BLOCK,
				  .flags = b->quantum ? INDEX_SUMMED : 0,
				  .crc = b->crc };

	if (!known.fps)
		known.fps = b->fps;
	if (b->brought)
		return b->brought->record;
	if (!b->notes && data_times(&m, b, &r.first_ns, &r.last_ns))
		r.flags |= INDEX_DATA_TIME;
	return r;
}
