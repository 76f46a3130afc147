/* SPDX-License-Identifier: MIT */
/*
 * Keeps the holes of one block, the one that was read last, because sequential
 * readers ask for the same block again and again.  The metadata must agree with
 * the block's record, from which the length of the view was computed; if it
 * does not, the holes count as unknown.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/view/view_priv.h"

static struct view_hole *
add(struct view *v)
{
	struct view_hole *grown;

	if (v->holes == v->holes_room) {
		grown =
		    realloc(v->hole, (2 * v->holes_room + 16) * sizeof *grown);
		if (!grown)
			return NULL;
		v->hole = grown;
		v->holes_room = 2 * v->holes_room + 16;
	}
	return &v->hole[v->holes++];
}

static void
take(void *arg, uint64_t slot, uint64_t count)
{
	struct view *v = arg;
	const struct view_hole *last = v->holes ? &v->hole[v->holes - 1] : NULL;
	uint64_t from = last ? last->slot + last->count : 0;
	uint64_t before = (last ? last->before : 0) + (slot - from);
	struct view_hole *hole;

	if (!count || v->holes_err)
		return;
	if (slot < from || slot + count > UINT32_MAX) {
		v->holes_err = -ENODATA; /* the metadata contradicts itself */
		return;
	}
	hole = add(v);
	if (!hole) {
		v->holes_err = -ENOMEM;
		return;
	}
	*hole = (struct view_hole){ .slot = (uint32_t)slot,
				    .count = (uint32_t)count,
				    .before = (uint32_t)before };
}

int
view_holes(struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload;
	uint64_t missing = slots - view_present(v, b);
	const struct view_hole *last;
	int err = 0;

	if (v->holed && v->holes_number == b->record.number)
		return 0;
	v->holed = false;
	v->holes = 0;
	v->holes_err = 0;
	if (missing)
		err = recording_holes(v->rec, b->record.number, take, v);
	if (!err)
		err = v->holes_err;
	if (err)
		return err == -ENOMEM || err == -EAGAIN ? err : -ENODATA;
	last = v->holes ? &v->hole[v->holes - 1] : NULL;
	if ((last && last->slot + (uint64_t)last->count > slots) ||
	    view_holes_before(v, slots) != slots - missing)
		return -ENODATA;
	v->holed = true;
	v->holes_number = b->record.number;
	return 0;
}

/* Returns the last hole whose slot (or `before` count, if `before` is set) is
 * at most `key`; NULL if there is none. */
static const struct view_hole *
find(const struct view *v, uint64_t key, bool before)
{
	size_t low = 0, high = v->holes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct view_hole *h = &v->hole[middle];

		if ((before ? h->before : h->slot) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &v->hole[low - 1] : NULL;
}

/* Returns the first slot of the hole behind h, or `slots` if there is none. */
static uint64_t
next_hole(const struct view *v, const struct view_hole *h, uint64_t slots)
{
	const struct view_hole *next = h ? h + 1 : v->hole;

	return next < v->hole + v->holes ? next->slot : slots;
}

uint64_t
view_holes_before(const struct view *v, uint64_t slot)
{
	const struct view_hole *h = find(v, slot, false);

	if (!h)
		return slot;
	if (slot < (uint64_t)h->slot + h->count)
		return h->before;
	return h->before + (slot - h->slot - h->count);
}

uint64_t
view_holes_slot(const struct view *v, uint64_t n, uint64_t slots, uint64_t *end)
{
	/* Holes that touch have the same `before`: find() gives the last of
	 * them. */
	const struct view_hole *h = find(v, n, true);

	*end = next_hole(v, h, slots);
	return h ? (uint64_t)h->slot + h->count + (n - h->before) : n;
}

bool
view_holes_at(const struct view *v, uint64_t slot, uint64_t slots,
	      uint64_t *end)
{
	const struct view_hole *h = find(v, slot, false);

	if (h && slot < (uint64_t)h->slot + h->count) {
		*end = (uint64_t)h->slot + h->count;
		return true;
	}
	*end = next_hole(v, h, slots);
	return false;
}
