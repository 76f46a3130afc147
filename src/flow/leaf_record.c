/* SPDX-License-Identifier: MIT */
/* What the index says of a block, and the metadata before it. */
#include "flow/leaf_priv.h"

/* The data's own time of a slot; false where it has no packet, or that no
 * time. */
static bool
slot_time(const struct output *o, const struct block *b, uint32_t slot,
	  int64_t *ns)
{
	struct format_packet p;

	if (!block_has(b, slot))
		return false;
	o->format->parse(o->shape, NULL, block_slot(b, slot), &p);
	if (!(p.has & FORMAT_TIME))
		return false;
	*ns = format_time_ns(o->shape, &p);
	return true;
}

/* The data's own times, where its format has them: a few packets tell. */
static bool
data_times(const struct output *o, const struct block *b, int64_t *first,
	   int64_t *last)
{
	uint32_t looks = 4 * o->shape->parts;
	uint32_t at = 0, end = b->used;

	while (at < end && looks && !slot_time(o, b, at, first))
		looks -= block_has(b, at++);
	if (at == end || !looks)
		return false;
	while (!slot_time(o, b, --end, last))
		;
	return true;
}

struct index_record
leaf_record(const struct output *o, const struct block *b)
{
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

	if (!b->notes && data_times(o, b, &r.first_ns, &r.last_ns))
		r.flags |= INDEX_DATA_TIME;
	return r;
}
