/* SPDX-License-Identifier: MIT */
/*
 * The indexes of all disks become one list of blocks, in which the place of
 * a block is its number:
 *
 *   gather   all records, sorted by number
 *   settle   one record for each number; the others are duplicates
 *   spread   to their places, up to the visible end; the rest is pending
 *
 * What was remembered is one more list, which counts where no index has the
 * number.  Once visible it has a place that somebody may have read: then an
 * index that says something else of it is not believed.
 *
 * What they are in files is then for recording_place.c, and what that makes
 * of runs and losses for recording_count.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/recording_priv.h"

static int
by_number(const void *a, const void *b)
{
	const struct recording_block *x = a, *y = b;

	if (x->record.number != y->record.number)
		return x->record.number < y->record.number ? -1 : 1;
	if (x->remembered != y->remembered)
		return x->remembered ? 1 : -1;
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

static size_t
gather_some(const struct recording_block *from, size_t n,
	    struct recording_block *list)
{
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		if (from[i].remembered)
			list[got++] = from[i];
	}
	return got;
}

/* So many numbers somebody may have read. */
static uint64_t
shown(const struct recording *rec)
{
	return rec->shown > rec->blocks ? rec->shown : rec->blocks;
}

/* Nobody saw the rest of what is pending: where it will not come any more, it
 * never was. */
static size_t
gather_remembered(const struct recording *rec, struct recording_block *list)
{
	size_t n = gather_some(rec->block, rec->blocks, list), from = n;

	n += gather_some(rec->pending, rec->pendings, list + n);
	if (rec->facts.state == RECORDING_LIVE)
		return n;
	while (n > from && list[n - 1].record.number >= shown(rec))
		n--;
	return n;
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
	for (; n && list[n - 1].record.number >= most; n--) {
		if (!list[n - 1].remembered)
			rec->part[list[n - 1].disk].beyond++;
	}
	return n;
}

static int
gather(const struct recording *rec, struct recording_block **list, size_t *n)
{
	size_t total = rec->blocks + rec->pendings, at = 0;

	for (unsigned i = 0; i < rec->disks->n; i++)
		total += rec->part[i].records;
	*list = malloc((total + 1) * sizeof **list);
	if (!*list)
		return -ENOMEM;
	for (unsigned i = 0; i < rec->disks->n; i++)
		at += gather_part(rec, i, *list + at);
	at += gather_remembered(rec, *list + at);
	qsort(*list, at, sizeof **list, by_number);
	*n = leave_out(rec, *list, at);
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

/* Would it take another place than it was seen to have? */
static bool
is_moved(const struct recording *rec, const struct recording_block *b,
	 const struct recording_block *seen)
{
	const struct index_record *r = &b->record, *s = &seen->record;

	return r->number < shown(rec) &&
	       (r->kind != s->kind || r->bytes != s->bytes ||
		r->sub != s->sub || r->run != s->run || r->first != s->first ||
		(r->kind == INDEX_GAP && r->missing != s->missing));
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
		} else if (list[i].remembered) {
			if (is_moved(rec, last, &list[i]))
				*last = list[i];
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

/*
 * The end of the longest prefix in which every number is known, or will never
 * be; and in which the last is known: how much a stretch of others is, is
 * told by the block behind it.
 */
static uint64_t
prefix(const struct recording *rec, const struct recording_block *list,
       size_t n)
{
	uint64_t settled = recording_settled(rec), next = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t number = list[i].record.number;

		if (number != next && number > settled)
			break;
		next = number + 1;
	}
	return next;
}

/* How many numbers are visible; never fewer than before. */
static uint64_t
visible(const struct recording *rec, const struct recording_block *list,
	size_t n)
{
	struct index_record end = { 0 };
	uint64_t count = n ? list[n - 1].record.number + 1 : 0;

	if (rec->facts.state == RECORDING_LIVE)
		count = prefix(rec, list, n);
	else if (recording_end(rec, &end) && end.number > count &&
		 end.number <= believable(rec, n))
		count = end.number;
	return count > shown(rec) ? count : shown(rec);
}

/* Of a row it was looked at how much of a block is there; once is enough. */
static void
keep_bytes(const struct recording *rec, struct recording_block *b)
{
	const struct recording_block *old;

	if (b->record.number >= rec->blocks)
		return;
	old = &rec->block[b->record.number];
	if ((old->disk == b->disk || old->remembered) &&
	    old->record.kind == INDEX_BLOCK &&
	    old->record.bytes == b->record.bytes)
		b->bytes = old->bytes;
}

/* The rest of the list. */
static int
keep_pending(struct recording *rec, const struct recording_block *list,
	     size_t n, uint64_t count)
{
	struct recording_block *pending;
	size_t from = n;

	while (from && list[from - 1].record.number >= count)
		from--;
	pending = malloc((n - from + 1) * sizeof *pending);
	if (!pending)
		return -ENOMEM;
	if (n > from)
		memcpy(pending, list + from, (n - from) * sizeof *pending);
	free(rec->pending);
	rec->pending = pending;
	rec->pendings = n - from;
	return 0;
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
	if (keep_pending(rec, list, n, count)) {
		free(block);
		return -ENOMEM;
	}
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

int
recording_merge(struct recording *rec)
{
	struct recording_block *list;
	size_t n;
	int err;

	recording_describe(rec);
	err = gather(rec, &list, &n);
	if (err)
		return err;
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
		recording_date(rec);
	rec->stale = err != 0;
	return err;
}
