/* SPDX-License-Identifier: MIT */
/*
 * Decides when a run of a cube begins; each run, also the first, needs
 * evidence, which a candidate collects (heap_candidate.c).  It is made of heaps
 * that have no place in the current run and agree with each other: from one
 * sender, at times that are slots of one block.  It is a run, too, when a heap
 * agrees that lies behind that block.  Any piece that has its place in the
 * current run contradicts it.
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
#include "flow/heaps/cubes.h"

#include <string.h>

static void
finish_all(struct heaps *p)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && !h->parked)
			heaps_finish(p, h);
	}
}

/* True if the heap is a single packet, and so may be a stray one. */
static bool
is_weak(const struct heap *h)
{
	return h->live && h->parked && h->pieces == 1;
}

static void
weak_drop(struct heaps *p, struct heap *h)
{
	heap_candidate_withdraw(p, h);
	heaps_drop(p, h->why);
	notes_slot(h->cube.b, h->cube.slot)->ranges = 0;
	h->cube.b->filled--;
	heaps_remove(p, h);
}

/* Moves the candidate's second heap into slot 0, where it becomes the first. */
static void
second_forward(struct heaps *p, struct heap *h)
{
	struct block *b = p->candidate.b;
	struct slot_note *to = notes_slot(b, 0), *from;

	heaps_cut(p);
	from = notes_slot(b, p->cubes.second_slot);
	memcpy(block_slot(b, 0), block_slot(b, p->cubes.second_slot),
	       b->slot_bytes);
	memcpy(to, from, notes_head(b)->note_bytes);
	from->ranges = 0;
	if (block_has(b, p->cubes.second_slot))
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
	struct cubes *c = &p->cubes;
	struct ticks *t = &c->parked_ticks;

	if (is_weak(c->second)) {
		weak_drop(p, c->second);
		t->value = t->first;
	} else {
		weak_drop(p, c->begun);
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

static void
win(struct heaps *p)
{
	struct cubes *c = &p->cubes;
	struct window *w = &c->window;

	if (is_doubtful(c))
		step_doubt(p);
	finish_all(p);
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

void
cubes_park_judge(struct heaps *p)
{
	if (heap_candidate_sure(p) && !is_doubtful(&p->cubes))
		win(p);
}

void
cubes_park_settle(struct heaps *p, int64_t since)
{
	const struct heap_candidate *c = &p->candidate;
	uint32_t few = since == INT64_MAX ? 0 : 1;

	if (!heap_candidate_due(p, since))
		return;
	if (c->whole || (!p->cubes.window.running && c->pieces > few))
		win(p);
	else
		heap_candidate_drop(p);
}

static bool
candidate_begin(struct heaps *p, uint32_t sender, uint64_t value, enum drop why)
{
	bool behind = why == DROP_LATE || why == DROP_DUPLICATE;
	struct cubes *c = &p->cubes;

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
	struct cubes *c = &p->cubes;
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
	struct cubes *c = &p->cubes;
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
	struct cubes *c = &p->cubes;
	struct heap *h = cubes_lay(p, k, piece, head, p->candidate.b, slot);

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

struct heap *
cubes_park(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece, const struct cube_head *head,
	   enum drop why, bool *again)
{
	struct cubes *c = &p->cubes;
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
		win(p);
		*again = true;
		return NULL;
	}
	if (cubes_slot_taken(p, p->candidate.b, (uint32_t)slot)) {
		heaps_drop(p, DROP_DUPLICATE);
		return NULL;
	}
	h = park(p, k, piece, head, (uint32_t)slot);
	h->why = why;
	return h;
}
