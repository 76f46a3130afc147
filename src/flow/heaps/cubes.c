/* SPDX-License-Identifier: MIT */
/*
 * One item of each heap, in the order of time.
 *
 * A heap's time determines its slot, and the bytes of its item go into that
 * slot (window.h):
 *
 *   heap    | other items |        the item        | other items |
 *           0            skip                skip + keep       length
 *   slot                  |        payload         |
 *
 * Bytes of other items are accounted for, so that a complete heap is
 * recognized, but not stored.  A slot's bit is set when its item is complete;
 * for other slots the slot's note, at the end of the block, says which bytes
 * came (store/record/notes.h), and the writer fills the rest with zeros.
 */
#include "flow/heaps/cubes.h"

#include <stdlib.h>
#include <string.h>

/* Returns block i of the window, prepared for notes.  NULL: no block is
 * free. */
static struct block *
cubes_block(struct heaps *p, unsigned i)
{
	struct block *b = window_block(&cubes_of(p)->window, i);

	if (b && !b->notes)
		notes_begin(b, HEAP_CUBE);
	return b;
}

static bool
slot_taken(const struct heaps *p, const struct block *b, uint32_t slot)
{
	if (block_has(b, slot) || notes_slot(b, slot)->ranges)
		return true;
	for (const struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->cube.b == b && h->cube.slot == slot)
			return true;
	}
	return false;
}

/* Finishes the heaps of the run in slots before `rel`. */
static void
finish_before(struct heaps *p, uint64_t rel)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && !h->parked && h->cube.rel < rel)
			heaps_finish(p, h);
	}
}

/* Moves the window so that the slot `off` behind its origin is in it. */
static void
window_reach(struct heaps *p, uint64_t off)
{
	struct window *w = &cubes_of(p)->window;
	uint64_t by = (off / w->slots - 1) * w->slots;

	finish_before(p, w->origin + by);
	window_forward(w, off);
}

/* Clears a heap's slot, as if nothing had come for it. */
static void
slot_clear(struct heap *h)
{
	notes_slot(h->cube.b, h->cube.slot)->ranges = 0;
	h->cube.b->filled -= h->pieces;
}

/* Makes a live heap with this slot. */
static struct heap *
heap_lay(struct heaps *p, const struct receive_packet *k,
	 const struct format_piece *piece, const struct cube_head *head,
	 struct block *b, uint32_t slot)
{
	struct heap *h = heaps_add(p, piece, k->sender);
	struct slot_note *note = notes_slot(b, slot);

	*note = (struct slot_note){ 0 };
	h->cube.b = b;
	h->cube.slot = slot;
	h->at = block_slot(b, slot);
	h->skip = head->skip;
	h->keep = b->slot_bytes;
	h->held = !head->timed;
	cubes_of(p)->early.news |= head->timed;
	h->ranges.at = note->range;
	h->ranges.most =
	    (notes_head(b)->note_bytes - sizeof *note) / sizeof(struct range);
	h->ranges.length = h->length;
	return h;
}

/* ---- times that become known ------------------------------------------- */

/*
 * If the time of a heap is one of its items, pieces that come before it are
 * laid by a guess, and are counted when the time is known: if the guess was
 * right, or a copy can correct it.  Else, or if the time never comes, they are
 * `untimed` and their slot is free again.
 */

/* Takes the newest heap as the one that times are measured from. */
static void
cubes_ticks(struct heaps *p, const struct format_piece *piece, uint64_t value,
	    uint64_t rel)
{
	struct cubes *c = cubes_of(p);

	if (rel < c->ticks.slot)
		return;
	if (rel == c->ticks.slot + 1)
		c->count_step = (int64_t)(piece->heap - c->count);
	c->count = piece->heap;
	c->ticks.value = value;
	c->ticks.slot = rel;
	c->window.base = ticks_base(&c->ticks);
}

/* Forgets a heap and counts all of its pieces as dropped. */
static void
cubes_undo(struct heaps *p, struct heap *h, enum drop why)
{
	heaps_cut(p); /* before another heap gets the slot */
	slot_clear(h);
	if (h->parked) {
		heap_candidate_withdraw(p, h);
	} else if (!h->held) {
		p->base.counts.placed -= h->pieces;
		p->base.counts.bytes -= h->bytes;
	}
	p->base.counts.drop[why] += h->pieces;
	heaps_remove(p, h);
}

/* Counts the pieces of a heap whose time became known. */
static void
heap_timed(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   uint64_t value)
{
	h->held = false;
	cubes_of(p)->early.news = true;
	p->base.counts.placed += h->pieces;
	p->base.counts.bytes += h->bytes;
	cubes_ticks(p, piece, value, h->cube.rel);
}

/* Moves a heap that was laid in a wrong slot into the right one.  False: that
 * is taken or outside of the window. */
static bool
heap_move(struct heaps *p, struct heap *h, uint64_t rel)
{
	struct window *w = &cubes_of(p)->window;
	uint64_t off = rel - w->origin;
	struct block *b;
	struct slot_note *note;
	uint32_t slot = (uint32_t)(off % w->slots);

	if (rel < w->origin || off >= (uint64_t)WINDOW_OPEN * w->slots)
		return false;
	b = cubes_block(p, (unsigned)(off / w->slots));
	if (!b || slot_taken(p, b, slot))
		return false;
	heaps_cut(p);
	note = notes_slot(b, slot);
	*note = (struct slot_note){ 0 };
	memcpy(note->range, h->ranges.at, h->ranges.n * sizeof(struct range));
	memcpy(block_slot(b, slot), h->at, b->slot_bytes);
	slot_clear(h);
	if (heaps_fill(p, b, h->pieces))
		w->born[off / w->slots] = p->now;
	if (b->used <= slot)
		b->used = slot + 1;
	h->cube.b = b;
	h->cube.slot = slot;
	h->cube.rel = rel;
	h->at = block_slot(b, slot);
	h->ranges.at = note->range;
	if (rel >= w->highest)
		w->highest = rel + 1;
	return true;
}

static bool
time_check(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   const struct cube_head *head)
{
	int64_t rel;

	if (!h->held || h->parked || !head->timed)
		return true;
	if (!ticks_slot(&cubes_of(p)->ticks, p->a.shape, head->value, &rel) ||
	    rel < 0 ||
	    ((uint64_t)rel != h->cube.rel && !heap_move(p, h, (uint64_t)rel)))
		return false;
	heap_timed(p, h, piece, head->value);
	return true;
}

/* Takes in the items of a piece.  False: they contradict its heap, or tell that
 * it has another slot; then heaps::again is set, or the piece was dropped. */
static bool
cubes_items(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	struct cube_head head;

	if (!h->pieces)
		return true; /* cubes_begin looked at the first packet */
	cubes_head(p, piece, &head);
	if (head.item && !cubes_item_check(p, piece, &head))
		return false;
	if (head.item && head.skip != h->skip) {
		cubes_undo(p, h, DROP_MALFORMED);
		heaps_drop(p, DROP_MALFORMED);
		return false;
	}
	if (time_check(p, h, piece, &head))
		return true;
	cubes_undo(p, h, DROP_UNTIMED);
	p->again = true; /* its time is known now */
	return false;
}

/* ---- runs ------------------------------------------------------------- */

/*
 * Each run, also the first, needs evidence, which a candidate collects
 * (heap_candidate.c).  It is made of heaps that have no place in the current
 * run and agree with each other: from one sender, at times that are slots of
 * one block.  It is a run, too, when a heap agrees that lies behind that block.
 * Any piece that has its place in the current run contradicts it.
 *
 * The step is not known before the second heap, so any two heaps agree.  While
 * one of the two is a single packet, which may be a stray one, the candidate
 * waits for a third heap.  If that lies between the slots, the packet is
 * dropped, and also if the candidate becomes a run without a third heap.
 *
 * A heap that does not agree with the candidate replaces it once as many such
 * pieces came as the candidate has: so garbage before a stream begins costs as
 * many pieces as there is garbage, and no run.
 *
 * If no run goes on, several pieces are enough for one when the candidate is
 * max_age old, and a single one at the end.
 */

/* True if the heap is a single packet, and so may be a stray one. */
static bool
is_weak(const struct heap *h)
{
	return h->live && h->parked && h->pieces == 1;
}

/* Moves the candidate's second heap into slot 0, where it becomes the first. */
static void
second_forward(struct heaps *p, struct heap *h)
{
	const struct cubes *c = cubes_of(p);
	struct block *b = p->candidate.b;
	struct slot_note *to = notes_slot(b, 0), *from;

	heaps_cut(p);
	from = notes_slot(b, c->second_slot);
	memcpy(block_slot(b, 0), block_slot(b, c->second_slot), b->slot_bytes);
	memcpy(to, from, notes_head(b)->note_bytes);
	from->ranges = 0;
	if (block_has(b, c->second_slot))
		b->present[0] |= 1;
	b->present[0] &= ~2ull;
	if (!h->live || !h->parked)
		return;
	h->cube.slot = 0;
	h->cube.rel = 0;
	h->at = block_slot(b, 0);
	h->ranges.at = to->range;
}

/* True if one of the candidate's first two heaps may be a stray packet, and
 * with it the step. */
static bool
is_doubtful(const struct cubes *c)
{
	return c->seconds == 1 && !c->given &&
	       (is_weak(c->second) || is_weak(c->begun));
}

/* Drops the packet that makes the candidate doubtful, and the step that it
 * set. */
static void
step_doubt(struct heaps *p)
{
	struct cubes *c = cubes_of(p);
	struct ticks *t = &c->parked_ticks;

	if (is_weak(c->second)) {
		cubes_undo(p, c->second, c->second->why);
		t->value = t->first;
	} else {
		cubes_undo(p, c->begun, c->begun->why);
		second_forward(p, c->second);
		t->first = t->value;
		c->begun = c->second;
	}
	c->seconds = 0;
	p->candidate.b->used = 1;
	t->step = 0;
	t->slot = 0;
}

/* Gives a new run the step of the run before, if its times fit that. */
static void
step_keep(struct ticks *t, const struct ticks *old)
{
	if (!t->step && old->step && (t->first - old->value) % old->step == 0)
		t->step = old->step;
}

/* Makes the candidate the current run. */
static void
candidate_take(struct heaps *p)
{
	struct cubes *c = cubes_of(p);
	struct window *w = &c->window;

	if (is_doubtful(c))
		step_doubt(p);
	finish_before(p, UINT64_MAX);
	window_end(w);
	step_keep(&c->parked_ticks, &c->ticks);
	c->ticks = c->parked_ticks;
	c->learner = NULL;
	c->count = c->parked_count;
	window_begin(w, (uint32_t)p->base.counts.runs++, ticks_base(&c->ticks));
	w->open[0] = p->candidate.b;
	w->born[0] = p->candidate.since;
	w->highest = p->candidate.b->used;
	heap_candidate_take(p);
}

static bool
candidate_begin(struct heaps *p, uint32_t sender, uint64_t value, enum drop why)
{
	bool behind = why == DROP_LATE || why == DROP_DUPLICATE;
	struct cubes *c = cubes_of(p);

	if (!heap_candidate_begin(p, sender, behind ? c->window.highest : 0))
		return false;
	notes_begin(p->candidate.b, HEAP_CUBE);
	c->parked_ticks = (struct ticks){ .step = p->a.shape->time_step,
					  .first = value,
					  .value = value };
	c->given = c->parked_ticks.step;
	c->strangers = c->seconds = 0;
	c->begun = NULL;
	return true;
}

/* Takes the step of the current run for the candidate, if it fits between its
 * heaps. */
static void
step_inherit(struct cubes *c, uint64_t value)
{
	uint64_t by = value - c->parked_ticks.value;

	if (!c->parked_ticks.step && by && c->ticks.step &&
	    by % c->ticks.step == 0)
		c->given = c->parked_ticks.step = c->ticks.step;
}

/* True if a time is a slot near the candidate's block: *slot. */
static bool
parked_slot(struct heaps *p, uint64_t value, uint64_t *slot)
{
	struct cubes *c = cubes_of(p);
	struct ticks ticks;
	int64_t rel;

	step_inherit(c, value);
	ticks = c->parked_ticks;
	if (!ticks_slot(&ticks, p->a.shape, value, &rel) || rel < 0 ||
	    rel >= 2 * (int64_t)c->window.slots)
		return false;
	c->parked_ticks.step = ticks.step;
	*slot = (uint64_t)rel;
	return true;
}

/* True if a heap agrees with the candidate, at once or without a packet that
 * made it doubtful; *slot is its slot there. */
static bool
agrees(struct heaps *p, uint32_t sender, uint64_t value, uint64_t *slot)
{
	struct cubes *c = cubes_of(p);
	bool later = (int64_t)(value - c->parked_ticks.first) > 0;

	if (sender != p->candidate.sender)
		return false;
	if (parked_slot(p, value, slot)) {
		/* A third heap, which need not fit in the block. */
		if (c->seconds == 1 && *slot >= c->window.slots)
			c->seconds++;
		return true;
	}
	if (!later || !is_doubtful(c))
		return false;
	step_doubt(p);
	return parked_slot(p, value, slot);
}

static struct heap *
park(struct heaps *p, const struct receive_packet *k,
     const struct format_piece *piece, const struct cube_head *head,
     uint32_t slot)
{
	struct cubes *c = cubes_of(p);
	struct heap *h = heap_lay(p, k, piece, head, p->candidate.b, slot);

	h->parked = h->held = true;
	h->cube.rel = slot;
	if (!c->begun) {
		c->begun = h;
	} else if (!c->seconds++) {
		c->second = h;
		c->second_slot = slot;
	}
	if (slot >= c->parked_ticks.slot) {
		c->parked_ticks.slot = slot;
		c->parked_ticks.value = head->value;
		c->parked_count = piece->heap;
	}
	return h;
}

/* Parks a heap that has no place in the current run, with a candidate for the
 * next.  NULL with *again: that candidate is the run now, so look at the heap
 * again.  NULL without: the piece was counted as dropped, for the reason
 * `why`. */
static struct heap *
heap_park(struct heaps *p, const struct receive_packet *k,
	  const struct format_piece *piece, const struct cube_head *head,
	  enum drop why, bool *again)
{
	struct cubes *c = cubes_of(p);
	uint64_t slot = 0;
	struct heap *h;

	if (p->candidate.b && !agrees(p, k->sender, head->value, &slot)) {
		if (++c->strangers < p->candidate.pieces) {
			heaps_drop(p, why);
			return NULL;
		}
		heap_candidate_drop(p);
	}
	if (!p->candidate.b &&
	    !candidate_begin(p, k->sender, head->value, why)) {
		heaps_drop(p, c->window.running ? why : DROP_NO_BUFFER);
		c->starved += !c->window.running;
		return NULL;
	}
	if (slot >= c->window.slots) {
		candidate_take(p);
		*again = true;
		return NULL;
	}
	if (slot_taken(p, p->candidate.b, (uint32_t)slot)) {
		heaps_drop(p, DROP_DUPLICATE);
		return NULL;
	}
	h = park(p, k, piece, head, (uint32_t)slot);
	h->why = why;
	return h;
}

/* ---- the slot of a heap ------------------------------------------------ */

/*
 * A heap whose slot is behind the window moves the window on, by up to max_gap.
 * A heap whose slot is farther away, before the window, between two slots or
 * taken is parked with a candidate for another run.
 *
 * The second heap of a run sets the step.  If that was a single packet, and the
 * next heap lies between its slots, it was a stray one: it is taken back.
 */

/* True if the window reaches this slot. */
static bool
near(const struct heaps *p, int64_t rel)
{
	const struct window *w = &cubes_of(p)->window;
	uint64_t far = p->a.max_gap / p->a.shape->payload +
		       WINDOW_OPEN * (uint64_t)w->slots;

	if (rel < 0 || (uint64_t)rel < w->origin)
		return false;
	return (uint64_t)rel - w->origin < far;
}

/* Why a heap without a slot of the run is dropped.  A time that is a guess, and
 * lies before the first of the run, is of a heap whose first packets, with its
 * time, came before the recording began. */
static enum drop
why_outside(const struct heaps *p, const struct cube_head *head, bool known,
	    int64_t rel)
{
	const struct window *w = &cubes_of(p)->window;

	if (w->running && !head->timed && (!known || rel < 0))
		return DROP_UNTIMED;
	if (!w->running || !known || rel < 0 || (uint64_t)rel >= w->origin)
		return DROP_OUT_OF_WINDOW;
	return DROP_LATE;
}

/* Lays a heap in slot `rel` of the run, and moves the window if needed. */
static struct heap *
slot_give(struct heaps *p, const struct receive_packet *k,
	  const struct format_piece *piece, const struct cube_head *head,
	  uint64_t rel)
{
	struct window *w = &cubes_of(p)->window;
	uint64_t off = rel - w->origin;
	struct block *b;
	struct heap *h;

	if (off >= (uint64_t)WINDOW_OPEN * w->slots) {
		window_reach(p, off);
		off = rel - w->origin;
	}
	if (rel >= w->highest)
		w->highest = rel + 1;
	b = cubes_block(p, (unsigned)(off / w->slots));
	if (!b) {
		heaps_drop(p, DROP_NO_BUFFER);
		return NULL;
	}
	h = heap_lay(p, k, piece, head, b, (uint32_t)(off % w->slots));
	h->cube.rel = rel;
	if (head->timed)
		cubes_ticks(p, piece, head->value, rel);
	p->newest = h;
	return h;
}

/* Takes back the heap that set the step of the run, because another heap lies
 * between its slots.  False: it has more than one packet, and so is no stray
 * one. */
static bool
step_unlearn(struct heaps *p)
{
	struct cubes *c = cubes_of(p);
	struct heap *h = c->learner;

	c->learner = NULL;
	if (!h || !h->live || h->parked || h->pieces != 1)
		return false;
	cubes_undo(p, h, DROP_OUT_OF_WINDOW);
	c->ticks.step = 0;
	c->ticks.slot = 0;
	c->ticks.value = c->ticks.first;
	return true;
}

/* Lays a heap as slot_give does, if it may be the one that sets the step. */
static struct heap *
step_give(struct heaps *p, const struct receive_packet *k,
	  const struct format_piece *piece, const struct cube_head *head,
	  const struct ticks *ticks, uint64_t rel)
{
	struct cubes *c = cubes_of(p);
	bool learned = !c->ticks.step && ticks->step;
	struct heap *h;

	c->ticks.step = ticks->step;
	h = slot_give(p, k, piece, head, rel);
	if (h && (learned || c->ticks.slot == rel))
		c->learner = learned ? h : NULL;
	return h;
}

/* Finds the slot of a heap in the current run, or parks it. */
static struct heap *
heap_place(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece, const struct cube_head *head)
{
	const struct window *w = &cubes_of(p)->window;
	bool known = false, again = true;
	struct heap *h = NULL;

	while (!h && again) {
		const struct block *b = NULL;
		struct ticks ticks;
		int64_t rel = 0;
		enum drop why;

		ticks = cubes_of(p)->ticks;
		if (w->running)
			known =
			    ticks_slot(&ticks, p->a.shape, head->value, &rel);
		why = why_outside(p, head, known, rel);
		if (!known && step_unlearn(p))
			continue;
		if (known && near(p, rel)) {
			uint64_t off = (uint64_t)rel - w->origin;

			if (off < (uint64_t)WINDOW_OPEN * w->slots)
				b = w->open[off / w->slots];
			if (!b ||
			    !slot_taken(p, b, (uint32_t)(off % w->slots))) {
				return step_give(p, k, piece, head, &ticks,
						 (uint64_t)rel);
			}
			why = DROP_DUPLICATE;
		}
		again = false;
		if (!head->timed)
			heaps_drop(p, why);
		else
			h = heap_park(p, k, piece, head, why, &again);
	}
	return h;
}

static struct heap *
cubes_begin(struct heaps *p, const struct receive_packet *k,
	    const struct format_piece *piece)
{
	struct cube_head head;

	if (piece->control != PIECE_DATA) {
		cubes_side_control(p, piece);
		heaps_drop(p, DROP_UNSTORED);
		return NULL;
	}
	if (cubes_begin_wait(p, piece))
		return NULL;
	cubes_head(p, piece, &head);
	if (!head.item && !cubes_guess_item(p, piece, &head)) {
		if (!piece->items && cubes_wait(p, piece))
			return NULL;
		cubes_side_piece(p, piece);
		heaps_drop(p, piece->items ? DROP_UNSTORED : DROP_UNTIMED);
		return NULL;
	}
	if (!cubes_item_check(p, piece, &head))
		return NULL;
	if (!head.timed && !cubes_guess_time(p, piece, &head)) {
		if (cubes_wait(p, piece))
			return NULL;
		heaps_drop(p, DROP_UNTIMED);
		return NULL;
	}
	return heap_place(p, k, piece, &head);
}

/* ---- where pieces should land ------------------------------------------ */

/*
 * Predicts where the next pieces of a cube will land: in the rest of the newest
 * heap's slot, and in the slots behind it.
 */

/* Address of the slot `off` behind the window's origin.  NULL: it is taken, or
 * there is no memory. */
static uint8_t *
slot_at(struct heaps *p, uint64_t off)
{
	uint32_t slots = cubes_of(p)->window.slots;
	struct block *b;

	if (off >= (uint64_t)WINDOW_BLOCKS * slots)
		return NULL;
	b = cubes_block(p, (unsigned)(off / slots));
	if (!b || slot_taken(p, b, (uint32_t)(off % slots)))
		return NULL;
	return block_slot(b, (uint32_t)(off % slots));
}

static unsigned
aim_next(struct heaps *p, struct receive_pair *pair, unsigned i, unsigned n)
{
	const struct window *w = &cubes_of(p)->window;
	const struct cube_known *known = cubes_known(p, p->guess.length);
	struct spot spot = { .keep = p->a.shape->payload };
	uint64_t off = w->highest - w->origin;
	unsigned begin = i;

	if (!w->running || !known)
		return 0;
	spot.skip = known->skip;
	for (; i < n; off++) {
		spot.at = slot_at(p, off);
		if (!spot.at)
			break;
		i += heaps_aim_at(p, &spot, 0, p->guess.length, pair, i, n);
	}
	return i - begin;
}

static unsigned
cubes_aim(struct heaps *p, struct receive_pair *pair, unsigned n)
{
	const struct heap *h = p->newest;
	unsigned i = 0;

	if (!p->guess.length)
		return 0;
	if (h && h->ranges.n) {
		struct spot spot = { h->at, h->skip, h->keep };

		i = heaps_aim_at(p, &spot, ranges_end(&h->ranges), h->length,
				 pair, 0, n);
	}
	return i + aim_next(p, pair, i, n);
}

/* ---- the kind of store ------------------------------------------------- */

static void
cubes_take(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	struct cubes *c = cubes_of(p);
	struct block *b;
	uint32_t kept;

	if (piece->offset + piece->bytes > UINT32_MAX) {
		heaps_drop(p, DROP_TOO_LARGE);
		return;
	}
	if (heaps_refuse(p, heaps_look(h, piece)) ||
	    (piece->items && !cubes_items(p, h, piece)))
		return;
	kept = heaps_take(p, h, piece);
	b = h->cube.b;
	if (heaps_fill(p, b, 1) && !h->parked)
		c->window.born[b == c->window.open[1]] = p->now;
	if (b->used <= h->cube.slot)
		b->used = h->cube.slot + 1;
	cubes_side_piece(p, piece);
	if (h->parked)
		heap_candidate_piece(p, h, kept);
	else if (p->candidate.b)
		heap_candidate_drop(p);
	if (h->length && h->ranges.bytes == h->length)
		heaps_finish(p, h);
	if (h->parked && heap_candidate_sure(p) && !is_doubtful(c))
		candidate_take(p);
	if (!h->parked && !h->held)
		cubes_side_tell(p, b);
}

/* Converts the ranges of a heap into ranges of its slot. */
static void
note_finish(struct heap *h, struct slot_note *note)
{
	uint64_t end = h->skip + h->keep;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->ranges.n; i++) {
		struct range r = h->ranges.at[i];

		if (r.to <= h->skip || r.from >= end)
			continue;
		r.from = r.from > h->skip ? r.from - (uint32_t)h->skip : 0;
		r.to = (uint32_t)((r.to < end ? r.to : end) - h->skip);
		note->range[n++] = r;
	}
	note->ranges = n;
}

static void
cubes_finish(struct heaps *p, struct heap *h, bool complete)
{
	struct slot_note *note = notes_slot(h->cube.b, h->cube.slot);
	bool whole;

	if (!h->pieces)
		return;
	if (h->held && !h->parked) {
		slot_clear(h);
		p->base.counts.drop[DROP_UNTIMED] += h->pieces;
		return;
	}
	note->missing = heaps_missing(p, h);
	note_finish(h, note);
	whole = note->ranges == 1 && !note->range[0].from &&
		note->range[0].to == h->keep;
	if (whole)
		h->cube.b->present[h->cube.slot / 64] |= 1ull
							 << h->cube.slot % 64;
	if (h->parked) {
		heap_candidate_finish(p, h, complete);
		return;
	}
	p->base.counts.heaps++;
	p->base.counts.heaps_incomplete += !complete;
}

static bool
block_live(const struct heaps *p, const struct block *b)
{
	for (const struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->cube.b == b)
			return true;
	}
	return false;
}

/* Writes controls and descriptors into the newest block, before it may
 * close. */
static void
aux_tell(struct heaps *p)
{
	struct window *w = &cubes_of(p)->window;

	for (int i = WINDOW_OPEN; i--;) {
		if (w->open[i] && w->open[i]->filled) {
			cubes_side_tell(p, w->open[i]);
			return;
		}
	}
}

static void
cubes_age(struct heaps *p, int64_t since)
{
	const struct heap_candidate *c = &p->candidate;
	struct window *w = &cubes_of(p)->window;
	uint32_t few = since == INT64_MAX ? 0 : 1;
	int64_t born;

	if (cubes_of(p)->early.since <= since)
		cubes_early_try(p, true);
	if (heap_candidate_due(p, since)) {
		if (c->whole || (!w->running && c->pieces > few))
			candidate_take(p);
		else
			heap_candidate_drop(p);
	}
	aux_tell(p);
	if (since == INT64_MAX) {
		finish_before(p, UINT64_MAX);
		window_end(w);
	}
	while (window_oldest(w, &born) && born <= since) {
		const struct block *b =
		    w->open[0] && w->open[0]->filled ? w->open[0] : w->open[1];

		if (block_live(p, b) || !window_close_oldest(w, p->now))
			break;
	}
}

/* Counts slots without any piece as lost heaps. */
static void
skipped_note(const struct heaps *p, struct block *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->used; i++) {
		const struct slot_note *note = notes_slot(b, i);

		if (!block_has(b, i) && !note->ranges && !note->missing)
			n += p->guess.pieces;
	}
	notes_head(b)->skipped = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void
cubes_release(struct heaps *p)
{
	struct window *w = &cubes_of(p)->window;

	cubes_early_try(p, false);
	for (struct block *b = w->closed; b; b = b->next)
		skipped_note(p, b);
	window_release(w, p->a.out, p->a.arg);
	p->base.counts.outside =
	    window_outside(w) * p->guess.pieces + cubes_of(p)->starved;
}

static const struct heaps_kind cubes_kind = {
	.aim = cubes_aim,
	.begin = cubes_begin,
	.take = cubes_take,
	.finish = cubes_finish,
	.age = cubes_age,
	.release = cubes_release,
};

struct heaps *
cubes_make(const struct placement_args *args)
{
	struct window set = { .pool = args->pool,
			      .sub = args->sub,
			      .slots = args->geometry->slots,
			      .parts = 1 };
	struct cubes *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->heaps.kind = &cubes_kind;
	window_init(&c->window, &set);
	c->ticks.step = args->shape->time_step;
	return &c->heaps;
}
