/* SPDX-License-Identifier: MIT */
/*
 * Two disks may have a chunk of the same number: one that a writer gave up and
 * could not remove, and one that it wrote elsewhere.  jive5ab refuses such a
 * recording.  The better one stays, in this order:
 *
 *   named by an index, as long as that says, and with its checksum
 *   named by none, but with the checksum that an index has for the number
 *   the one of which more was written
 *
 * The other is renamed to <chunk>.aside, and dropped from its index.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/repair/recover_priv.h"

/* One of several with the same number: a chunk, a record, or both. */
struct twin {
	uint64_t number;
	unsigned disk;
	bool there;			   /* the chunk exists */
	uint64_t bytes;			   /* written bytes of it */
	const struct index_record *record; /* NULL: an orphan */
};

static int
by_number(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->disk < y->disk ? -1 : x->disk > y->disk;
}

/* Returns the offset of the first byte that was never written. */
static uint64_t
written(const struct rescue *r, unsigned disk, uint64_t number)
{
	char file[LAYOUT_FILE];
	int fd = rescue_open(r, disk, layout_chunk(file, r->rec->name, number),
			     O_RDONLY);
	off_t hole;

	if (fd < 0)
		return 0;
	hole = lseek(fd, 0, SEEK_HOLE);
	close(fd);
	return hole < 0 ? 0 : (uint64_t)hole;
}

static struct twin *
list_twins(const struct rescue *r, size_t *n)
{
	size_t most = r->orphans + 1;
	struct twin *list;

	for (unsigned i = 0; i < r->disks->n; i++)
		most += r->rec->part[i].records;
	list = malloc(most * sizeof *list);
	*n = 0;
	for (unsigned i = 0; list && i < r->disks->n; i++) {
		const struct recording_part *part = &r->rec->part[i];

		for (size_t k = 0; k < part->records; k++) {
			if (part->record[k].kind == INDEX_BLOCK)
				list[(*n)++] = (struct twin){
					.number = part->record[k].number,
					.disk = i,
					.record = &part->record[k],
				};
		}
	}
	for (size_t i = 0; list && i < r->orphans; i++)
		list[(*n)++] = (struct twin){ .number = r->orphan[i].number,
					      .disk = r->orphan[i].disk };
	if (list && *n)
		qsort(list, *n, sizeof *list, by_number);
	return list;
}

/* ---- which is better ----------------------------------------------------- */

static int64_t
length_of(const struct rescue *r, const struct twin *t)
{
	struct recording_block b = { .record.number = t->number,
				     .disk = (int)t->disk };

	return recording_chunk_bytes(r->rec, &b);
}

static bool
has_sum_of(const struct rescue *r, const struct twin *t,
	   const struct index_record *record)
{
	const struct rescue_sum sum = { .bytes = record->bytes,
					.crc = record->crc };

	return record->flags & INDEX_SUMMED &&
	       rescue_has_sum(r, t->disk, t->number, &sum);
}

/* True if the chunk has the length and checksum in its record. */
static bool
is_whole(const struct rescue *r, const struct twin *t)
{
	if (!t->record || !t->there ||
	    length_of(r, t) != (int64_t)t->record->bytes)
		return false;
	return !(t->record->flags & INDEX_SUMMED) ||
	       has_sum_of(r, t, t->record);
}

/* True if an orphan has its own noted checksum, or that of another's record. */
static bool
is_right(const struct rescue *r, const struct twin *t, const struct twin *all,
	 size_t n)
{
	struct rescue_sum sum;

	if (t->record)
		return false;
	if (rescue_noted_sum(r, t->disk, t->number, &sum) &&
	    rescue_has_sum(r, t->disk, t->number, &sum))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (all[i].record && has_sum_of(r, t, all[i].record))
			return true;
	}
	return false;
}

/* Returns the first that is certainly good; else the one with most data. */
static const struct twin *
choose(const struct rescue *r, struct twin *t, size_t n)
{
	const struct twin *best = t;

	for (size_t i = 0; i < n; i++) {
		if (is_whole(r, &t[i]))
			return &t[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (is_right(r, &t[i], t, n))
			return &t[i];
	}
	for (size_t i = 0; i < n; i++) {
		t[i].bytes = written(r, t[i].disk, t[i].number);
		if (t[i].bytes > best->bytes)
			best = &t[i];
	}
	return best;
}

/* ---- renaming the others ------------------------------------------------- */

int
rescue_aside(struct rescue *r, unsigned disk, uint64_t number, unsigned kept)
{
	char file[LAYOUT_FILE], aside[LAYOUT_FILE];
	int dir = r->rec->part[disk].dir;
	unsigned tries = 0;

	layout_chunk(file, r->rec->name, number);
	do {
		layout_aside(aside, r->rec->name, number, tries++);
	} while (!faccessat(dir, aside, F_OK, AT_SYMLINK_NOFOLLOW) &&
		 tries < LAYOUT_ASIDES);
	if (!r->dry && (renameat(dir, file, dir, aside) < 0 || fsync(dir) < 0))
		return -errno;
	r->report->aside++;
	rescue_say(r,
		   "chunk %" PRIu64 " on %s is set aside as %s: %s has a "
		   "better one",
		   number, r->disks->disk[disk].path, aside,
		   r->disks->disk[kept].path);
	return 0;
}

/* Removes a number from a disk's records.  False if it was not there. */
static bool
forget_record(struct recording_part *part, uint64_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < part->records; i++) {
		if (part->record[i].number != number)
			part->record[kept++] = part->record[i];
	}
	if (kept == part->records)
		return false;
	part->records = kept;
	return true;
}

static void
forget_orphan(struct rescue *r, const struct twin *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->orphans; i++) {
		if (r->orphan[i].number != t->number ||
		    r->orphan[i].disk != t->disk)
			r->orphan[kept++] = r->orphan[i];
	}
	r->orphans = kept;
}

/* Gives up one of them.  Its chunk is renamed before its index changes, so an
 * interrupted recovery leaves one chunk, or nothing changed. */
static int
let_go(struct rescue *r, const struct twin *t, const struct twin *best)
{
	struct recording_part *part = &r->rec->part[t->disk];
	int err = 0;

	if (t->there)
		err = rescue_aside(r, t->disk, t->number, best->disk);
	if (!t->record) {
		forget_orphan(r, t);
		return err;
	}
	if (!err && !best->record)
		err = rescue_remember(r, t->record);
	if (err || !forget_record(part, t->number))
		return err;
	return rescue_rewrite(r, t->disk);
}

/* Finds its record again: records move in the list when one is dropped. */
static void
find_record(const struct rescue *r, struct twin *t)
{
	const struct recording_part *part = &r->rec->part[t->disk];

	for (size_t k = 0; t->record && k < part->records; k++) {
		if (part->record[k].number == t->number)
			t->record = &part->record[k];
	}
	t->there = length_of(r, t) >= 0;
}

static int
settle(struct rescue *r, struct twin *t, size_t n)
{
	struct twin best;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		find_record(r, &t[i]);
	best = *choose(r, t, n);
	for (size_t i = 0; i < n && !err; i++) {
		if (t[i].disk != best.disk)
			err = let_go(r, &t[i], &best);
	}
	return err;
}

int
rescue_twins(struct rescue *r)
{
	size_t n, to;
	struct twin *list = list_twins(r, &n);
	int err = list ? 0 : -ENOMEM;

	for (size_t from = 0; from < n && !err; from = to) {
		for (to = from + 1; to < n; to++) {
			if (list[to].number != list[from].number)
				break;
		}
		if (to > from + 1)
			err = settle(r, list + from, to - from);
	}
	free(list);
	return err;
}
