/* SPDX-License-Identifier: MIT */
/*
 * Finds the blocks of a range.  All blocks are looked at: there are few of them
 * for the data they have, and their times need not ascend: substreams have
 * clocks of their own, absent blocks have no time, and a run may begin before
 * the one before it has ended.
 */
#include "base/clock.h"
#include "store/recording/recording_priv.h"

enum { APART_S = 10 }; /* substreams are at most so far apart */

static bool
is_before(const struct recording_block *b, const struct recording_range *r)
{
	const struct index_record *k = &b->record;

	return (k->last_ns && k->last_ns < r->from_ns) ||
	       b->offset + b->bytes <= r->from_byte;
}

static bool
is_behind(const struct recording_block *b, const struct recording_range *r)
{
	return (r->to_ns && b->record.first_ns >= r->to_ns) ||
	       (r->to_byte && b->offset >= r->to_byte);
}

/* True if the block is so far behind the range that nothing more of it will
 * come. */
static bool
is_over(const struct recording *rec, const struct recording_block *b,
	const struct recording_range *r)
{
	int64_t apart = rec->facts.subs > 1 ? APART_S * NS_SECOND : 0;

	return (r->to_ns && b->record.first_ns >= r->to_ns + apart) ||
	       (r->to_byte && rec->facts.subs == 1 && b->offset >= r->to_byte);
}

void
recording_range(const struct recording *rec, struct recording_range *r)
{
	bool begun = false;

	r->first = 0;
	r->end = rec->blocks;
	r->over = false;
	if (!r->from_ns && !r->to_ns && !r->from_byte && !r->to_byte)
		return;
	r->first = r->end;
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if ((b->record.kind != INDEX_BLOCK &&
		     b->record.kind != INDEX_GAP) ||
		    (r->sub >= 0 && b->record.sub != r->sub) || is_before(b, r))
			continue;
		r->over |= is_over(rec, b, r);
		if (is_behind(b, r))
			continue;
		if (!begun)
			r->first = i;
		begun = true;
		r->end = i + 1;
	}
	if (!begun)
		r->first = r->end;
}
