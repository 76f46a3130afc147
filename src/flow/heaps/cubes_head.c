/* SPDX-License-Identifier: MIT */
/*
 * Reads from the items of a heap which bytes are stored, and the heap's time.
 * They are in its first packet or packets; until these come, both are guessed
 * from earlier heaps.
 *
 * The position of the item is guessed only for a heap that is as long as one in
 * which the item lay there: the first heap of a stream may have descriptors,
 * and the others none.  The time is guessed if counts went on by the same step
 * as times did; when the real time comes, the guess is corrected or the heap
 * given up.
 *
 * The step of time is configured, or it is the difference between the first two
 * heaps of a run.  If a heap was lost between them the step is too large, and
 * heaps come that lie between its slots: they begin another run, with a step of
 * their own.  Immediate items may be rounded, so a time belongs to the nearest
 * slot, if that is less than a quarter of a step away; and as it is measured
 * from the newest heap, rounding errors do not add up.
 */
#include "flow/heaps/cubes.h"

#include "base/log.h"

/* ---- items ----------------------------------------------------------- */

static void
known_note(struct cubes *c, uint64_t length, uint64_t skip)
{
	for (int i = 0; i < CUBES_KNOWN; i++) {
		if (c->known[i].any && c->known[i].length == length) {
			c->known[i].skip = skip;
			return;
		}
	}
	c->known[c->knowns++ % CUBES_KNOWN] =
	    (struct cube_known){ length, skip, true };
}

void
cubes_head(struct heaps *p, const struct format_piece *piece,
	   struct cube_head *head)
{
	const struct format_shape *shape = p->a.shape;
	const struct format_ops *f = p->a.format;
	uint64_t *item = p->scratch->item;
	struct format_item one;
	uint32_t n = 0, at = 0;

	*head = (struct cube_head){ .timed = !shape->time_item,
				    .value = piece->heap };
	if (piece->items)
		n = f->items(p->head, piece, item, NOTES_ITEMS);
	for (uint32_t i = 0; i < n; i++) {
		f->item(piece, item + i, 1, 0, &one);
		if (one.id == shape->item && !one.immediate) {
			head->item = true;
			at = i;
		} else if (one.id == shape->time_item && one.immediate &&
			   shape->time_item) {
			head->timed = true;
			head->value = format_heap_time(shape, one.value);
		}
	}
	if (head->item) { /* once only: item() walks through all items */
		f->item(piece, item, n, at, &one);
		head->skip = one.value;
		head->bytes = one.bytes;
	}
	cubes_side_items(p, piece, item, n);
}

bool
cubes_guess_item(const struct heaps *p, const struct format_piece *piece,
		 struct cube_head *head)
{
	for (int i = 0; i < CUBES_KNOWN; i++) {
		const struct cube_known *k = &p->cubes.known[i];

		if (!k->any || k->length != piece->length)
			continue;
		head->skip = k->skip;
		head->bytes = p->a.shape->payload;
		return true;
	}
	return false;
}

bool
cubes_guess_time(const struct heaps *p, const struct format_piece *piece,
		 struct cube_head *head)
{
	const struct cubes *c = &p->cubes;
	uint64_t by = piece->heap - c->count;

	if (!c->window.running || !c->count_step || !c->ticks.step ||
	    by % c->count_step)
		return false;
	head->value = c->ticks.value + by / c->count_step * c->ticks.step;
	return true;
}

static bool
item_wrong(struct heaps *p, const struct format_piece *piece, uint64_t bytes)
{
	const struct format_shape *shape = p->a.shape;

	if (!p->scratch->told_item) {
		p->scratch->told_item = true;
		log_line(
		    LEVEL_ERROR, p->a.name,
		    "item 0x%X of heap %llu has %llu bytes, and a slot of "
		    "the cube %u: its packets are dropped, as those of all "
		    "such heaps; payload = %lluL would do",
		    shape->item, (unsigned long long)piece->heap,
		    (unsigned long long)bytes, shape->payload,
		    (unsigned long long)bytes);
	}
	heaps_drop(p, bytes > shape->payload ? DROP_TOO_LARGE : DROP_MALFORMED);
	return false;
}

void
cubes_item_learn(struct heaps *p, const struct format_piece *piece)
{
	struct cube_head head;

	if (p->cubes.knowns)
		return;
	cubes_head(p, piece, &head);
	if (head.item && head.bytes == p->a.shape->payload)
		known_note(&p->cubes, piece->length, head.skip);
}

bool
cubes_item_check(struct heaps *p, const struct format_piece *piece,
		 const struct cube_head *head)
{
	uint64_t payload = p->a.shape->payload;

	/* The format cannot tell the length of the last item in a heap of
	 * unknown length. */
	if (head->bytes != payload && (head->bytes || piece->length))
		return item_wrong(p, piece, head->bytes);
	if (head->skip > UINT32_MAX - payload || piece->length > UINT32_MAX) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	if (head->item)
		known_note(&p->cubes, piece->length, head->skip);
	return true;
}

/* ---- time ------------------------------------------------------------ */

uint64_t
ticks_base(const struct ticks *t)
{
	return t->step ? t->first / t->step : t->first;
}

static bool
slot_exact(const struct ticks *t, int64_t by, int64_t *slots)
{
	int64_t step = (int64_t)t->step;

	*slots = by / step;
	return by % step == 0;
}

static bool
slot_near(const struct ticks *t, int64_t by, int64_t *slots)
{
	int64_t step = (int64_t)t->step, rest;

	*slots = by / step;
	rest = by % step;
	if (rest < 0) {
		rest += step;
		*slots -= 1;
	}
	if (rest >= step - (step + 3) / 4 + 1 && rest) {
		*slots += 1;
		return true;
	}
	return rest < (step + 3) / 4;
}

bool
ticks_slot(struct ticks *t, const struct format_shape *shape, uint64_t value,
	   int64_t *rel)
{
	int64_t by = (int64_t)(value - t->value), slots = 0;
	bool good;

	if (!t->step && by > 0)
		t->step = (uint64_t)by;
	if (!t->step || t->step > INT64_MAX) {
		*rel = (int64_t)t->slot;
		return !by;
	}
	good = shape->time_item ? slot_near(t, by, &slots)
				: slot_exact(t, by, &slots);
	*rel = (int64_t)t->slot + slots;
	return good;
}
