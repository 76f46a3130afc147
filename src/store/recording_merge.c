/* SPDX-License-Identifier: MIT */
/*
 * The indexes of all disks become one list of blocks, in which the place of
 * a block is its number:
 *
 *   gather   all records, sorted by number
 *   settle   one record for each number; the others are duplicates
 *   spread   to their places; up to the visible end
 *
 * What they are in files is then for recording_place.c, and what that makes
 * of runs and losses for recording_count.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/foreign.h"
#include "store/recording_priv.h"

static int
by_number(const void *a, const void *b)
{
	const struct recording_block *x = a, *y = b;

	if (x->record.number != y->record.number)
		return x->record.number < y->record.number ? -1 : 1;
	return x->disk - y->disk;
}

/* The records of one disk, each with where it is there. */
static size_t
gather_part(const struct recording *rec, unsigned disk,
	    struct recording_block *list)
{
	const struct recording_part *part = &rec->part[disk];
	uint64_t start = layout_map_begin(&rec->map, NULL);

	for (size_t i = 0; i < part->records; i++) {
		list[i] = (struct recording_block){ .record = part->record[i],
						    .disk = (int)disk };
		if (part->record[i].kind == INDEX_BLOCK)
			start = recording_block_at(rec, &list[i], start);
	}
	return part->records;
}

/*
 * Numbers come one after the other, and a disk is one of 256 at most; so
 * what is far beyond that for each record nobody wrote, and room is made for
 * no block of it.
 */
static uint64_t
believable(const struct recording *rec, size_t records)
{
	enum { DISKS = 256, FEW = 64 };

	return rec->foreign ? LAYOUT_CHUNKS : (records + FEW) * DISKS;
}

/* Leaves out, of a sorted list, what cannot be. */
static size_t
leave_out(const struct recording *rec, const struct recording_block *list,
	  size_t n)
{
	uint64_t most = believable(rec, n);

	for (unsigned i = 0; i < rec->disks->n; i++)
		rec->part[i].beyond = 0;
	for (; n && list[n - 1].record.number >= most; n--)
		rec->part[list[n - 1].disk].beyond++;
	return n;
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
	for (unsigned i = 0; i < rec->disks->n; i++)
		at += gather_part(rec, i, *list + at);
	qsort(*list, total, sizeof **list, by_number);
	*n = leave_out(rec, *list, total);
	return 0;
}

static bool
is_whole(const struct recording *rec, const struct recording_block *b)
{
	return recording_chunk_bytes(rec, b) == (int64_t)b->record.bytes;
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

/* The end of the longest prefix in which every number is known, or will never
 * be. */
static uint64_t
prefix(const struct recording *rec, const struct recording_block *list,
       size_t n)
{
	uint64_t settled = recording_settled(rec), next = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t number = list[i].record.number;

		if (number != next && number > settled)
			return next > settled ? next : settled;
		next = number + 1;
	}
	return next;
}

/* How many numbers are visible. */
static uint64_t
visible(const struct recording *rec, const struct recording_block *list,
	size_t n)
{
	struct index_record end = { 0 };
	uint64_t count = n ? list[n - 1].record.number + 1 : 0;

	if (rec->facts.state == RECORDING_LIVE)
		return prefix(rec, list, n);
	end_of(rec, &end);
	return end.number > count && end.number <= believable(rec, n)
		   ? end.number
		   : count;
}

/* Of a row it was looked at how much of a block is there; once is enough. */
static void
keep_bytes(const struct recording *rec, struct recording_block *b)
{
	const struct recording_block *old;

	if (b->record.number >= rec->blocks)
		return;
	old = &rec->block[b->record.number];
	if (old->disk == b->disk && old->record.kind == INDEX_BLOCK &&
	    old->record.bytes == b->record.bytes)
		b->bytes = old->bytes;
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
		if (recording_unused(rec, i))
			block[i].record.kind = RECORDING_UNUSED;
		block[i].disk = -1;
	}
	for (size_t i = 0; i < n && list[i].record.number < count; i++) {
		struct recording_block *b = &block[list[i].record.number];

		*b = list[i];
		b->bytes = RECORDING_UNSEEN;
		keep_bytes(rec, b);
		if (b->record.kind == INDEX_GAP)
			b->disk = -1;
	}
	free(rec->block);
	rec->block = block;
	rec->blocks = count;
	return 0;
}

static const char *
head_text(const struct recording *rec, const char *key)
{
	const char *text = json_string_value(json_object_get(rec->head, key));

	return text ? text : "";
}

/* What the head says. */
static void
describe(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	json_t *channels = json_object_get(rec->head, "channels_per_file");

	f->name = rec->name;
	f->stream = head_text(rec, "stream");
	f->format = head_text(rec, "format");
	f->extension = head_text(rec, "extension");
	f->made_by = head_text(rec, "made_by");
	if (!*f->made_by)
		f->made_by = "spate";
	f->notes = rec->foreign ? foreign_notes(rec->foreign) : NULL;
	f->layout = head_text(rec, "layout");
	f->payload = rec->shape.payload;
	f->store = rec->shape.store;
	f->channels_per_file = 1;
	if (json_integer_value(channels) > 1 &&
	    json_integer_value(channels) <= RECORDING_SUBS)
		f->channels_per_file = (unsigned)json_integer_value(channels);
	f->head = rec->head;
	f->tail = rec->tail;
	f->resumed = rec->resumed;
	f->described = rec->described;
	f->state = state_of(rec);
	f->torn = 0;
	for (unsigned i = 0; i < rec->disks->n; i++)
		f->torn += rec->part[i].torn;
}

/* When it began and ended. */
static void
date(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	struct index_record end;

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
	describe(rec);
	err = settle(rec, list, &n);
	if (!err)
		err = spread(rec, list, n);
	free(list);
	if (err)
		return err;
	rec->filled = NULL;
	err = recording_place(rec);
	if (!err)
		err = recording_count(rec);
	if (!err)
		date(rec);
	return err;
}
