/* SPDX-License-Identifier: MIT */
/*
 * A heap whose slot is behind the window moves the window on, by up to max_gap.
 * A heap whose slot is farther away, before the window, between two slots or
 * taken is parked with a candidate for another run (cubes_run.c).
 *
 * The second heap of a run sets the step.  If that was a single packet, and the
 * next heap lies between its slots, it was a stray one: it is taken back.
 */
#include "flow/heaps/cubes.h"

/* True if the window reaches this slot. */
static bool
near(const struct heaps *p, int64_t rel)
{
	const struct window *w = &p->cubes.window;
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
	const struct window *w = &p->cubes.window;

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
	struct window *w = &p->cubes.window;
	uint64_t off = rel - w->origin;
	struct block *b;
	struct heap *h;

	if (off >= (uint64_t)WINDOW_OPEN * w->slots) {
		cubes_reach_out(p, off);
		off = rel - w->origin;
	}
	if (rel >= w->highest)
		w->highest = rel + 1;
	b = cubes_block(p, (unsigned)(off / w->slots));
	if (!b) {
		heaps_drop(p, DROP_NO_BUFFER);
		return NULL;
	}
	h = cubes_lay(p, k, piece, head, b, (uint32_t)(off % w->slots));
	h->rel = rel;
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
	struct cubes *c = &p->cubes;
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
	struct cubes *c = &p->cubes;
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
	const struct window *w = &p->cubes.window;
	bool known = false, again = true;
	struct heap *h = NULL;

	while (!h && again) {
		const struct block *b = NULL;
		struct ticks ticks;
		int64_t rel = 0;
		enum drop why;

		ticks = p->cubes.ticks;
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
			if (!b || !cubes_slot_taken(
				      p, b, (uint32_t)(off % w->slots))) {
				return step_give(p, k, piece, head, &ticks,
						 (uint64_t)rel);
			}
			why = DROP_DUPLICATE;
		}
		again = false;
		if (!head->timed)
			heaps_drop(p, why);
		else
			h = cubes_park(p, k, piece, head, why, &again);
	}
	return h;
}

struct heap *
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
