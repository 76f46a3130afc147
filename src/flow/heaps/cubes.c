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
 * for other slots the slot's card, in the notes of the block, says which bytes
 * came (store/record/notes.h), and the writer fills the rest with zeros.
 */
#include "flow/heaps/cubes.h"

struct block *
cubes_block(struct heaps *p, unsigned i)
{
	struct block *b = window_block(&p->cubes.window, i);

	if (b && !b->notes)
		notes_begin(b, HEAP_CUBE);
	return b;
}

bool
cubes_slot_taken(const struct heaps *p, const struct block *b, uint32_t slot)
{
	if (block_has(b, slot) || notes_card(b, slot)->ranges)
		return true;
	for (const struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->b == b && h->slot == slot)
			return true;
	}
	return false;
}

static void
heaps_finish_before(struct heaps *p, uint64_t rel)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && !h->parked && h->rel < rel)
			heaps_finish(p, h);
	}
}

void
cubes_reach_out(struct heaps *p, uint64_t off)
{
	struct window *w = &p->cubes.window;
	uint64_t by = (off / w->slots - 1) * w->slots;

	heaps_finish_before(p, w->origin + by);
	window_forward(w, off);
}

struct heap *
cubes_lay(struct heaps *p, const struct receive_packet *k,
	  const struct format_piece *piece, const struct cube_head *head,
	  struct block *b, uint32_t slot)
{
	struct heap *h = heaps_add(p, piece, k->sender);
	struct card *card = notes_card(b, slot);

	*card = (struct card){ 0 };
	h->b = b;
	h->slot = slot;
	h->at = block_slot(b, slot);
	h->skip = head->skip;
	h->keep = b->slot_bytes;
	h->held = !head->timed;
	p->cubes.early.news |= head->timed;
	h->ranges.at = card->range;
	h->ranges.most =
	    (notes_head(b)->card_bytes - sizeof *card) / sizeof(struct range);
	h->ranges.length = h->length;
	return h;
}

static bool
cubes_reach(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	(void)h;
	if (piece->offset + piece->bytes <= UINT32_MAX)
		return true;
	heaps_drop(p, DROP_TOO_LARGE);
	return false;
}

static bool
cubes_widen(struct heaps *p, struct heap *h)
{
	(void)p;
	(void)h;
	return false; /* the size of a card is fixed */
}

static void
cubes_taken(struct heaps *p, struct heap *h, const struct format_piece *piece,
	    uint32_t kept)
{
	struct cubes *c = &p->cubes;
	struct block *b = h->b;

	if (b->filled++ == 0) {
		b->first_ns = b->last_ns = p->now_ns;
		if (h->parked)
			c->parked_born = p->now;
		else
			c->window.born[b == c->window.open[1]] = p->now;
	}
	if (b->last_ns < p->now_ns)
		b->last_ns = p->now_ns;
	if (b->used <= h->slot)
		b->used = h->slot + 1;
	cubes_side_piece(p, piece);
	if (h->parked)
		heaps_parked_taken(&c->candidate, h, kept);
	else
		cubes_oppose(p);
	if (h->length && h->ranges.bytes == h->length)
		heaps_finish(p, h);
	if (h->parked)
		cubes_park_judge(p);
	if (!h->parked && !h->held)
		cubes_side_tell(p, b);
}

/* Converts the ranges of a heap into ranges of its slot. */
static void
card_finish(struct heap *h, struct card *card)
{
	uint64_t end = h->skip + h->keep;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->ranges.n; i++) {
		struct range r = h->ranges.at[i];

		if (r.to <= h->skip || r.from >= end)
			continue;
		r.from = r.from > h->skip ? r.from - (uint32_t)h->skip : 0;
		r.to = (uint32_t)((r.to < end ? r.to : end) - h->skip);
		card->range[n++] = r;
	}
	card->ranges = n;
}

static void
card_missing(const struct heaps *p, const struct heap *h, struct card *card)
{
	const struct guess *g = &p->guess;
	uint64_t n = ranges_missing(
	    &h->ranges, g->datagram > g->later ? g->datagram - g->later : 0);

	card->missing = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void
cubes_finish(struct heaps *p, struct heap *h, bool complete)
{
	struct card *card = notes_card(h->b, h->slot);
	bool whole;

	if (!h->pieces)
		return;
	if (h->held && !h->parked) {
		cubes_slot_clear(h);
		p->base.counts.drop[DROP_UNTIMED] += h->pieces;
		return;
	}
	card_missing(p, h, card);
	card_finish(h, card);
	whole = card->ranges == 1 && !card->range[0].from &&
		card->range[0].to == h->keep;
	if (whole)
		h->b->present[h->slot / 64] |= 1ull << h->slot % 64;
	if (h->parked) {
		heaps_parked_finish(&p->cubes.candidate, h, complete);
		p->cubes.candidate.heaps++;
		p->cubes.candidate.incomplete += !complete;
		return;
	}
	p->base.counts.heaps++;
	p->base.counts.heaps_incomplete += !complete;
}

static bool
block_live(const struct heaps *p, const struct block *b)
{
	for (const struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->b == b)
			return true;
	}
	return false;
}

/* Writes controls and descriptors into the newest block, before it may
 * close. */
static void
side_tell(struct heaps *p)
{
	struct window *w = &p->cubes.window;

	for (int i = WINDOW_OPEN; i--;) {
		if (w->open[i] && w->open[i]->filled) {
			cubes_side_tell(p, w->open[i]);
			return;
		}
	}
}

static void
cubes_age(struct heaps *p)
{
	struct window *w = &p->cubes.window;
	int64_t born;

	if (p->now - p->cubes.early.since >= p->a.max_age)
		cubes_early_try(p, true);
	cubes_park_settle(p, p->now - p->a.max_age, false);
	side_tell(p);
	while (window_oldest(w, &born) && p->now - born >= p->a.max_age) {
		const struct block *b =
		    w->open[0] && w->open[0]->filled ? w->open[0] : w->open[1];

		if (block_live(p, b) || !window_close_oldest(w, p->now))
			break;
	}
}

static void
cubes_flush(struct heaps *p)
{
	cubes_early_try(p, true);
	cubes_park_settle(p, INT64_MAX, true);
	side_tell(p);
	heaps_finish_before(p, UINT64_MAX);
	window_end(&p->cubes.window);
}

/* Counts slots without any piece as lost heaps. */
static void
skipped_note(const struct heaps *p, struct block *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->used; i++) {
		const struct card *card = notes_card(b, i);

		if (!block_has(b, i) && !card->ranges && !card->missing)
			n += p->guess.pieces;
	}
	notes_head(b)->skipped = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void
cubes_release(struct heaps *p)
{
	struct window *w = &p->cubes.window;

	cubes_early_try(p, false);
	for (struct block *b = w->closed; b; b = b->next)
		skipped_note(p, b);
	window_release(w, p->a.out, p->a.arg);
	p->base.counts.outside =
	    window_outside(w) * p->guess.pieces + p->cubes.starved;
}

static void
cubes_make(struct heaps *p)
{
	struct window set = { .stock = p->a.stock,
			      .sub = p->a.sub,
			      .slots = p->a.geometry->slots,
			      .parts = 1 };

	window_init(&p->cubes.window, &set);
	p->cubes.ticks.step = p->a.shape->time_step;
}

const struct heaps_kind cubes_kind = {
	.make = cubes_make,
	.begin = cubes_begin,
	.reach = cubes_reach,
	.items = cubes_items,
	.widen = cubes_widen,
	.taken = cubes_taken,
	.finish = cubes_finish,
	.aim = cubes_aim,
	.age = cubes_age,
	.flush = cubes_flush,
	.release = cubes_release,
};
