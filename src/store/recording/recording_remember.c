/* SPDX-License-Identifier: MIT */
/*
 * A block is in an index some seconds after it is in memory.  A reader of a
 * live recording need not wait for that: it remembers the record that the index
 * will have.
 *
 * Remembered records are kept among the blocks.  Those that are not visible yet
 * are pending, by number, together with records of indexes for such numbers.
 * The next merge treats them like one more index, the last one to be believed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/recording_priv.h"

/* Position of a number in the pending list, or where it would be inserted. */
static size_t
place_of(const struct recording *rec, uint64_t number)
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
is_sane(const struct index_record *r)
{
	return r->number < LAYOUT_CHUNKS &&
	       (r->kind == INDEX_BLOCK || r->kind == INDEX_GAP);
}

static int
add(struct recording *rec, const struct index_record *r, size_t place)
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
	size_t place = place_of(rec, r->number);

	return is_sane(r) && !is_known(rec, r, place) ? add(rec, r, place) : 0;
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
