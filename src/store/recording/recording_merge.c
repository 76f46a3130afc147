/* SPDX-License-Identifier: MIT */
/*
 * Merges the indexes of all disks into one list of blocks, whose position in
 * the list is their number:
 *
 *   gather   all records, sorted by number
 *   settle   one record per number; the others are duplicates
 *   spread   to their positions, up to the visible end; the rest is pending
 *
 * recording_place.c then lays the blocks out in files, and counts runs and
 * losses.
 *
 * A block is in an index some seconds after it is in memory.  A reader of a
 * live recording need not wait for that: it remembers the record that the index
 * will have.  Remembered records are kept among the blocks, and those that are
 * not visible yet among the pending ones.  The merge treats them like one more
 * index, the last one to be believed, used where no index has the number.  Once
 * a remembered block is visible, somebody may have read it: if an index then
 * says something else, the index is ignored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/recording_priv.h"

/* ---- gather ------------------------------------------------------------ */

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

/* Copies the records of one disk, each with the position of its data. */
static size_t
gather_part(const struct recording *rec, unsigned disk,
	    struct recording_block *list)
{
	const struct recording_part *part = &rec->part[disk];
	uint64_t start = layout_plan_begin(&rec->plan, NULL);

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

/* How many numbers somebody may have read already. */
static uint64_t
shown(const struct recording *rec)
{
	return rec->shown > rec->blocks ? rec->shown : rec->blocks;
}

/* Collects remembered records.  Pending ones that were never visible are left
 * out once the recording is not live any more: they will not come. */
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
 * Upper limit for plausible numbers.  Numbers are given one after the other,
 * and a recording has at most 256 disks, so a number far above 256 times the
 * records is damaged; no memory is allocated for it.
 */
static uint64_t
believable(const struct recording *rec, size_t records)
{
	enum { DISKS = 256, FEW = 64 };

	return rec->foreign ? LAYOUT_CHUNKS : (records + FEW) * DISKS;
}

/* Removes implausible numbers from the end of a sorted list. */
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

/* ---- settle ------------------------------------------------------------ */

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

/* True if a record would move or change a block that somebody may have read. */
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

/* True if the whole chunk of `b` is to be read rather than that of `than`.  The one
 * that was written last is: rebuild wrote it because the disk of the other was away,
 * which may have come back with damage.  The groups of the others count on it. */
static bool
is_better(const struct recording *rec, const struct recording_block *b,
	  const struct recording_block *than)
{
	if (!is_whole(rec, b))
		return false;
	return !is_whole(rec, than) || recording_chunk_written(rec, b) >
					   recording_chunk_written(rec, than);
}

/* Keeps one record per number: of those whose chunk is whole the one that was
 * written last, else the first. */
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
		} else if (is_better(rec, &list[i], last)) {
			err = add_duplicate(rec, last);
			*last = list[i];
		} else {
			err = add_duplicate(rec, &list[i]);
		}
	}
	*n = kept;
	return err;
}

/* ---- spread ------------------------------------------------------------ */

/* True if a sorted list has a number that some index has. */
static bool
is_listed(const struct recording_block *list, size_t n, uint64_t number)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].record.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && list[low].record.number == number &&
	       !list[low].remembered;
}

/* True if a number follows from its group, of which enough is listed. */
static bool
follows(const struct recording *rec, const struct recording_block *list,
	size_t n, uint64_t number)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m;
	const struct parity_block *p;
	unsigned lost = 0;

	m = t->numbers ? parity_find(t, number) : NULL;
	if (!m)
		return false;
	p = &t->block[m->block];
	for (uint32_t i = 0; i < p->record.members; i++)
		lost += !is_listed(list, n, t->member[p->first + i].number);
	return lost <= parity_rows(&rec->parity, m);
}

/*
 * End of the longest prefix in which every number is known, or will never come.
 * The last number in it is always a known one: the length of a stretch of
 * missing numbers follows from the block behind it.  A number that only parity
 * knows is one if its group gives the data: its disk is away, or slower than all
 * others.
 */
static uint64_t
prefix(const struct recording *rec, const struct recording_block *list,
       size_t n)
{
	uint64_t settled = recording_settled(rec), next = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t number = list[i].record.number;

		while (next < number && follows(rec, list, n, next))
			next++;
		if (number != next && number > settled)
			return next;
		next = number + 1;
	}
	while (follows(rec, list, n, next))
		next++;
	return next;
}

/* How many numbers are visible; never fewer than before. */
static uint64_t
visible(const struct recording *rec, const struct recording_block *list,
	size_t n)
{
	struct index_record end = { 0 };
	uint64_t count = n ? list[n - 1].record.number + 1 : 0;
	uint64_t most = believable(rec, n + rec->parity.numbers);
	uint64_t known = recording_parity_end(rec);

	if (rec->facts.state == RECORDING_LIVE)
		count = prefix(rec, list, n);
	else if (known > count && known <= most)
		count = known;
	if (rec->facts.state != RECORDING_LIVE && recording_end(rec, &end) &&
	    end.number > count && end.number <= most)
		count = end.number;
	return count > shown(rec) ? count : shown(rec);
}

/* Keeps the length of a row's chunk that was looked up before. */
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

/* Keeps the records behind the visible end as pending.  0 or -ENOMEM. */
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
	for (uint64_t i = 0; i < count; i++) {
		if (block[i].disk < 0 &&
		    block[i].record.kind == RECORDING_ABSENT)
			recording_compute(rec, &block[i]);
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
	rec->healing = false; /* the block may be another one now */
	rec->quantum_bytes = 0;
	err = recording_place(rec);
	if (!err)
		recording_date(rec);
	rec->stale = err != 0;
	return err;
}

/* ---- remember ---------------------------------------------------------- */

/* Position of a number in the pending list, or where it would be inserted. */
static size_t
pending_at(const struct recording *rec, uint64_t number)
{
	size_t low = 0, high = rec->pendings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rec->pending[middle].record.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_known(const struct recording *rec, const struct index_record *r,
	 size_t place)
{
	return r->number < rec->blocks ||
	       (place < rec->pendings &&
		rec->pending[place].record.number == r->number);
}

static bool
is_rememberable(const struct index_record *r)
{
	return r->number < LAYOUT_CHUNKS &&
	       (r->kind == INDEX_BLOCK || r->kind == INDEX_GAP);
}

static int
add_pending(struct recording *rec, const struct index_record *r, size_t place)
{
	struct recording_block *grown;

	grown = realloc(rec->pending, (rec->pendings + 2) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	rec->pending = grown;
	memmove(grown + place + 1, grown + place,
		(rec->pendings - place) * sizeof *grown);
	grown[place] = (struct recording_block){ .record = *r,
						 .disk = -1,
						 .remembered = true };
	rec->pendings++;
	rec->stale = true;
	return 1;
}

/* Remembers one record.  1 if it is new, 0 if not, or -ENOMEM. */
static int
remember(struct recording *rec, const struct index_record *r)
{
	size_t place = pending_at(rec, r->number);

	return is_rememberable(r) && !is_known(rec, r, place)
		   ? add_pending(rec, r, place)
		   : 0;
}

int
recording_remember(struct recording *rec, const struct index_record *r,
		   size_t n)
{
	int new = 0, err = 0;

	if (rec->facts.state != RECORDING_LIVE)
		return 0;
	for (size_t i = 0; i < n && err >= 0; i++) {
		err = remember(rec, &r[i]);
		new += err;
	}
	return err < 0 ? err : new;
}

static int
remember_of(struct recording *rec, const struct recording_block *b,
	    const struct recording_block *end)
{
	int new = 0, err;

	for (; b < end; b++) {
		err = remember(rec, &b->record);
		if (err < 0)
			return err;
		new += err;
	}
	return new;
}

/* Takes from `other` also the visible blocks that it has from indexes, since
 * their disk may hang by now, and whether or not the recording is still
 * live. */
int
recording_remember_all(struct recording *rec, const struct recording *other)
{
	int new = 0, err = 0;

	if (other->blocks > rec->blocks)
		new = remember_of(rec, other->block + rec->blocks,
				  other->block + other->blocks);
	for (size_t i = 0; i < other->pendings && err >= 0 && new >= 0; i++) {
		const struct recording_block *b = &other->pending[i];

		err =
		    b->remembered ? recording_remember(rec, &b->record, 1) : 0;
		new += err;
	}
	if (other->blocks > rec->shown)
		rec->shown = other->blocks;
	return err < 0 ? err : new;
}

bool
recording_is_awaited(const struct recording *rec, uint64_t number)
{
	return number < rec->blocks && rec->block[number].remembered &&
	       rec->facts.state == RECORDING_LIVE &&
	       number >= recording_settled(rec);
}
