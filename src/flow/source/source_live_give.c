/* SPDX-License-Identifier: MIT */
/*
 * The facts in a parcel besides its data.
 *
 * A block's offset in its substream's file depends on everything before it,
 * recorded or not.  A number that the recorder lost is known only by the next
 * block of the run, since slots are missing between the two.  They are sent as
 * they would be read (recording.h): as a parcel without data, with the number
 * just before that block.  If the recorder did not lose them but the disk that
 * has them is away, they are packets that cannot be read.
 */
#include <errno.h>

#include "flow/memory/block_record.h"
#include "flow/source/source_live_priv.h"
#include "store/recording/recording.h"

/* ---- what was given --------------------------------------------------- */

static struct live_block *
past(struct source_live *s, uint64_t back)
{
	return &s->past[(s->pasts - 1 - back) % LIVE_PAST];
}

static uint64_t
pasts_known(const struct source_live *s)
{
	return s->pasts < LIVE_PAST ? s->pasts : LIVE_PAST;
}

static void
past_add(struct source_live *s, const struct parcel *p)
{
	const struct index_record *r = &p->record;

	if (s->pasts && past(s, 0)->number == r->number)
		return;
	s->past[s->pasts++ % LIVE_PAST] =
	    (struct live_block){ .number = r->number,
				 .first = r->first,
				 .offset = p->offset,
				 .run = r->run,
				 .sub = r->sub };
}

void
live_goto(struct source_live *s, uint64_t number)
{
	while (pasts_known(s) && past(s, 0)->number >= number) {
		struct live_block *b = past(s, 0);

		s->of[b->sub].offset = b->offset;
		s->of[b->sub].next = b->first;
		s->of[b->sub].run = b->run;
		s->pasts--;
	}
	if (s->holds)
		source_put(&s->held);
	s->holds = s->inside = s->fresh = false;
	s->number = number;
	s->waits = 0;
	tap_pass(s->tap, number);
}

bool
live_seek(struct source_live *s, uint32_t run, uint64_t first)
{
	for (uint64_t i = 0; i < pasts_known(s); i++) {
		const struct live_block *b = past(s, i);

		if (b->run > run || (b->run == run && b->first > first))
			continue;
		live_goto(s, b->number);
		return true;
	}
	return false;
}

/* ---- where it lies ---------------------------------------------------- */

/* Bytes of a slot in the file; 0 for rows, which have no slots. */
static uint32_t
slot_bytes(const struct source_live *s)
{
	const struct format_shape *shape = s->output->shape;

	return shape->store == HEAP_ROW ? 0 : shape->payload;
}

static uint64_t
slots_of(const struct source_live *s, const struct parcel *p)
{
	if (p->err && !p->bytes)
		return p->record.missing;
	return slot_bytes(s) ? (p->at + p->bytes) / slot_bytes(s) : 0;
}

/* Turns a parcel of missing packets into one of packets that were recorded and
 * cannot be read. */
static void
unreadable(struct parcel *p)
{
	p->err = -EIO;
	p->record.present += p->record.missing;
	p->record.missing = 0;
}

/* Looks for slots of the run that were not given before this record.  False:
 * there are none; true: *p is a parcel for them. */
static bool
hole(struct source_live *s, const struct index_record *r, uint64_t at,
     struct parcel *p)
{
	struct live_sub *sub = &s->of[r->sub];
	uint64_t slots = r->first - sub->next;

	if (!sub->known || sub->run != r->run || at || !slot_bytes(s) ||
	    r->first <= sub->next || slots > UINT32_MAX)
		return false;
	*p = (struct parcel){ .record = index_gap(r, (uint32_t)slots),
			      .bytes = slots * slot_bytes(s),
			      .offset = sub->offset,
			      .err = -ENODATA,
			      .source = &s->head };
	if (s->away)
		unreadable(p);
	s->away = false;
	past_add(s, p);
	sub->next = r->first;
	sub->offset += p->bytes;
	return true;
}

static void
given(struct source_live *s, const struct parcel *p)
{
	const struct index_record *r = &p->record;
	struct live_sub *sub = &s->of[r->sub];

	/* The substream of such a number is not known. */
	if (p->err && !p->bytes && r->kind != INDEX_GAP)
		return;
	past_add(s, p);
	sub->known = true;
	sub->run = r->run;
	sub->next = r->first + slots_of(s, p);
	sub->offset = p->offset + p->bytes;
}

/* ---- parcels ---------------------------------------------------------- */

bool
live_give_block(struct source_live *s, const struct block *b, uint64_t number,
		struct parcel *p)
{
	struct index_record r =
	    block_record(s->output->format, s->output->shape, b);
	bool gap = number < b->number;

	if (gap)
		r = index_gap(&r, (uint32_t)b->gap);
	if (hole(s, &r, 0, p)) {
		p->base = b->base;
		return false;
	}
	*p = (struct parcel){ .record = r,
			      .base = b->base,
			      .offset = s->of[r.sub].offset,
			      .source = &s->head };
	if (gap) {
		p->err = -ENODATA;
		p->bytes = b->gap * slot_bytes(s);
	} else {
		p->data = b->data;
		p->bytes = block_bytes(b);
		p->block = b;
		p->own = (void *)b;
		if (slot_bytes(s))
			p->present = b->present;
		s->from_memory += p->bytes;
	}
	given(s, p);
	s->number = number + 1;
	return !gap;
}

bool
live_give_disk(struct source_live *s, struct parcel *p)
{
	const struct index_record *r = &p->record;
	struct parcel before;

	/* No disk has the block: it was lost, or its disk is gone. */
	if (p->err == -ENODATA && r->kind == RECORDING_ABSENT &&
	    !output_is_lost(s->output, r->number)) {
		s->away = true;
		if (p->bytes)
			unreadable(p);
	}
	if (p->record.sub >= s->output->subs)
		return false;
	if (hole(s, &p->record, p->at, &before)) {
		before.base = p->base;
		s->held = *p;
		s->holds = true;
		*p = before;
		return true;
	}
	if (!p->err)
		s->from_disk += p->bytes;
	given(s, p);
	return false;
}
