/* SPDX-License-Identifier: MIT */
/*
 * The indexes of all disks become one list of blocks, in which the place of
 * a block is its number:
 *
 *   gather   all records, sorted by number
 *   settle   one record for each number; the others are duplicates
 *   spread   to their places; up to the visible end
 *   infer    what stood in the numbers that no disk has (absent)
 *   place    offsets in the file, by adding up
 *   count    runs, packets, losses
 *
 * An absent stretch between two blocks of a run is as long as the sequences
 * say; at the end of a run nobody knows, and full blocks are assumed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/recording_priv.h"

static int
by_number(const void *a, const void *b)
{
	const struct recording_block *x = a, *y = b;

	if (x->record.number != y->record.number)
		return x->record.number < y->record.number ? -1 : 1;
	return x->disk - y->disk;
}

static int
gather(const struct recording *rec, struct recording_block **list, size_t *n)
{
	size_t total = 0, at = 0;

	for (unsigned i = 0; i < rec->disks->n; i++)
		total += rec->part[i].records;
	*list = malloc((total + 1) * sizeof **list);
	if (!*list)
		return -ENOMEM;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		const struct recording_part *part = &rec->part[i];

		for (size_t k = 0; k < part->records; k++)
			(*list)[at++] = (struct recording_block){
				.record = part->record[k],
				.disk = (int)i,
			};
	}
	qsort(*list, total, sizeof **list, by_number);
	*n = total;
	return 0;
}

static bool
is_whole(const struct recording *rec, const struct recording_block *b)
{
	return recording_chunk_bytes(rec, (unsigned)b->disk,
				     b->record.number) ==
	       (int64_t)b->record.bytes;
}

static int
add_duplicate(struct recording *rec, const struct recording_block *b)
{
	struct recording_duplicate *grown;

	grown = realloc(rec->duplicate, (rec->duplicates + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	rec->duplicate = grown;
	rec->duplicate[rec->duplicates++] = (struct recording_duplicate){
		.number = b->record.number,
		.disk = (unsigned)b->disk,
	};
	return 0;
}

/* Of several records of a number, the first whose chunk is whole stays. */
static int
settle(struct recording *rec, struct recording_block *list, size_t *n)
{
	size_t kept = 0;
	int err = 0;

	rec->duplicates = 0;
	for (size_t i = 0; i < *n && !err; i++) {
		struct recording_block *last = kept ? &list[kept - 1] : NULL;

		if (!last || last->record.number != list[i].record.number) {
			list[kept++] = list[i];
		} else if (is_whole(rec, last) || !is_whole(rec, &list[i])) {
			err = add_duplicate(rec, &list[i]);
		} else {
			err = add_duplicate(rec, last);
			*last = list[i];
		}
	}
	*n = kept;
	return err;
}

/* What the end records say, of whichever disks have one. */
static bool
end_of(const struct recording *rec, struct index_record *end)
{
	bool ended = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		const struct recording_part *part = &rec->part[i];

		if (part->ended && (!ended || part->end.number > end->number))
			*end = part->end;
		ended |= part->ended;
	}
	return ended;
}

static enum recording_state
state_of(const struct recording *rec)
{
	struct index_record end;

	if (end_of(rec, &end))
		return RECORDING_COMPLETE;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].locked)
			return RECORDING_LIVE;
	}
	return RECORDING_INTERRUPTED;
}

/* How many numbers are visible. */
static uint64_t
visible(const struct recording *rec, const struct recording_block *list,
	size_t n)
{
	struct index_record end = { 0 };
	uint64_t count = n ? list[n - 1].record.number + 1 : 0;
	size_t whole = 0;

	if (rec->facts.state == RECORDING_LIVE) {
		while (whole < n && list[whole].record.number == whole)
			whole++;
		return whole;
	}
	end_of(rec, &end);
	return end.number > count ? end.number : count;
}

static int
spread(struct recording *rec, const struct recording_block *list, size_t n)
{
	uint64_t count = visible(rec, list, n);
	struct recording_block *block;

	if (count > LAYOUT_CHUNKS)
		return -EBADMSG;
	block = calloc(count + 1, sizeof *block);
	if (!block)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		block[i].record.number = i;
		block[i].disk = -1;
	}
	for (size_t i = 0; i < n && list[i].record.number < count; i++) {
		struct recording_block *b = &block[list[i].record.number];

		*b = list[i];
		if (b->record.kind != INDEX_GAP)
			continue;
		b->record.bytes =
		    (uint64_t)b->record.missing * rec->shape.payload;
		b->disk = -1;
	}
	free(rec->block);
	rec->block = block;
	rec->blocks = count;
	return 0;
}

/* The sequence behind a block. */
static uint64_t
end_sequence(const struct recording *rec, const struct recording_block *b)
{
	return b->record.first + b->record.bytes / rec->shape.payload;
}

/* How many slots the numbers from..to-1, which nobody has, held. */
static uint64_t
absent_slots(const struct recording *rec, size_t from, size_t to, uint32_t run,
	     uint64_t first)
{
	const struct index_record *next = &rec->block[to].record;

	if (to < rec->blocks && next->run == run && next->first >= first)
		return next->first - first;
	return (uint64_t)(to - from) * rec->slots;
}

static void
infer_stretch(struct recording *rec, size_t from, size_t to)
{
	uint32_t run = from ? rec->block[from - 1].record.run : 0;
	uint64_t first = from ? end_sequence(rec, &rec->block[from - 1]) : 0;
	uint64_t left = absent_slots(rec, from, to, run, first);

	for (size_t i = from; i < to; i++) {
		struct index_record *r = &rec->block[i].record;
		uint64_t slots = left < rec->slots ? left : rec->slots;

		if (i + 1 == to)
			slots = left;
		r->run = run;
		r->first = first;
		r->missing = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
		r->bytes = slots * rec->shape.payload;
		first += slots;
		left -= slots;
	}
}

static void
infer(struct recording *rec)
{
	size_t from, to;

	for (from = 0; from < rec->blocks; from = to + 1) {
		for (to = from; to < rec->blocks; to++) {
			if (rec->block[to].record.kind != RECORDING_ABSENT)
				break;
		}
		if (to > from)
			infer_stretch(rec, from, to);
	}
}

/* Offsets, and what follows from the blocks alone. */
static void
place(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	uint64_t offset = 0;

	f->chunks = f->gaps = f->absent = 0;
	for (size_t i = 0; i < rec->blocks; i++) {
		struct recording_block *b = &rec->block[i];

		b->offset = offset;
		offset += b->record.bytes;
		f->chunks += b->record.kind == INDEX_BLOCK;
		f->gaps += b->record.kind == INDEX_GAP;
		f->absent += b->record.kind == RECORDING_ABSENT;
	}
	f->bytes = offset;
	f->torn = 0;
	for (unsigned i = 0; i < rec->disks->n; i++)
		f->torn += rec->part[i].torn;
}

/* Holes at the very ends of a run are not between two packets: not lost. */
struct edge {
	uint32_t slots;
	uint32_t leading, trailing;
};

static void
see_hole(void *arg, uint32_t slot, uint32_t count)
{
	struct edge *e = arg;

	if (!slot)
		e->leading = count;
	if (slot + count == e->slots)
		e->trailing = count;
}

static struct edge
edge_of(struct recording *rec, const struct index_record *r)
{
	struct edge e = { .slots = r->present + r->missing };

	recording_holes(rec, r->number, see_hole, &e);
	if ((uint64_t)e.leading + e.trailing > r->missing)
		e.leading = e.trailing = 0; /* the metadata lies */
	return e;
}

/* One run: the blocks from..to-1. */
static void
count_run(struct recording *rec, struct recording_run *run, size_t from,
	  size_t to)
{
	const struct index_record *first = NULL, *last = NULL;
	uint64_t outside = 0, leading, trailing;

	*run = (struct recording_run){ .run = rec->block[from].record.run };
	run->base = recording_base(rec, run->run);
	for (size_t i = from; i < to; i++) {
		const struct index_record *r = &rec->block[i].record;

		if (r->kind == RECORDING_ABSENT)
			continue;
		if (r->kind == INDEX_BLOCK && !first)
			first = r;
		if (r->kind == INDEX_BLOCK)
			last = r;
		if (!first)
			outside += r->missing;
		run->packets += r->present;
		run->missing += r->missing;
	}
	run->missing -= outside;
	if (!first)
		return;
	leading = edge_of(rec, first).leading;
	trailing = edge_of(rec, last).trailing;
	run->first = first->first + leading;
	run->last = last->first + last->present + last->missing - 1 - trailing;
	run->missing -= leading + trailing;
	run->first_ns = first->first_ns;
	run->last_ns = last->last_ns;
}

static int
count(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	struct recording_run *run;
	size_t from, to;

	f->packets = f->missing = f->runs = 0;
	for (from = 0; from < rec->blocks; from = to, f->runs++) {
		for (to = from + 1; to < rec->blocks; to++) {
			if (rec->block[to].record.run !=
			    rec->block[from].record.run)
				break;
		}
		run = realloc(rec->run, (f->runs + 1) * sizeof *run);
		if (!run)
			return -ENOMEM;
		rec->run = run;
		count_run(rec, &run[f->runs], from, to);
		f->packets += run[f->runs].packets;
		f->missing += run[f->runs].missing;
	}
	f->run = rec->run;
	return 0;
}

static const char *
head_text(const struct recording *rec, const char *key)
{
	const char *text = json_string_value(json_object_get(rec->head, key));

	return text ? text : "";
}

static void
describe(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	struct index_record end;

	f->name = rec->name;
	f->stream = head_text(rec, "stream");
	f->format = head_text(rec, "format");
	f->extension = head_text(rec, "extension");
	f->payload = rec->shape.payload;
	f->head = rec->head;
	f->tail = rec->tail;
	if (units_time(head_text(rec, "start"), 0, &f->start_ns))
		f->start_ns = 0;
	f->end_ns = f->start_ns;
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.last_ns > f->end_ns)
			f->end_ns = rec->block[i].record.last_ns;
	}
	if (!end_of(rec, &end))
		return;
	if (end.first_ns)
		f->start_ns = end.first_ns;
	if (end.last_ns)
		f->end_ns = end.last_ns;
}

int
recording_merge(struct recording *rec)
{
	struct recording_block *list;
	size_t n;
	int err = gather(rec, &list, &n);

	if (err)
		return err;
	rec->facts.state = state_of(rec);
	err = settle(rec, list, &n);
	if (!err)
		err = spread(rec, list, n);
	free(list);
	if (err)
		return err;
	rec->filled = NULL;
	infer(rec);
	place(rec);
	err = count(rec);
	if (!err)
		describe(rec);
	return err;
}
