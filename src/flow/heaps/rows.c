/* SPDX-License-Identifier: MIT */
/*
 * Heaps in a row.
 *
 * A heap gets its memory when its first piece comes: behind the previous heap
 * in the newer of two open blocks, or at the beginning of a new one, with room
 * before it for the header it will have when it is stored.  So a block in which
 * everything came is already what is stored, but for the headers, which the
 * writer puts into the rooms (store/record/notes_row.c).
 *
 *   open[0]  | heap | heap | heap ...  | notes |     full: no heap begins here
 *   open[1]  | heap | he ..                | n |     the newest
 *
 * A full block closes when its last heap is finished; when a third block is
 * needed, the older one closes as it is, and its heaps are finished.
 *
 * Losses are estimates: the pieces missing in a heap are its holes divided by
 * the size of a piece; heaps missing altogether are counts that were left out
 * (steps.h), each with as many pieces as the last complete heap.
 */
#include "flow/heaps/rows.h"

/* ---- bays ------------------------------------------------------------ */

struct bay *
rows_bay_new(struct heaps *p, struct block *b)
{
	struct bay *bay = p->rows.bay;

	while (bay->b)
		bay++;
	bay_begin(bay, b);
	return bay;
}

void
rows_unused(struct heaps *p, struct block *b)
{
	b->next = p->rows.unused;
	p->rows.unused = b;
}

struct bay *
rows_newest(const struct heaps *p)
{
	return p->rows.opens ? p->rows.open[p->rows.opens - 1] : NULL;
}

/* Counts heaps that were lost whole in the block that is closed next. */
static void
skipped_note(struct heaps *p, struct block *b)
{
	uint64_t n = steps_missing(&p->rows.steps) * p->guess.pieces;

	notes_head(b)->skipped = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint64_t
first_heap(const struct block *b)
{
	const struct note *note = notes_at(b, notes_head(b)->first);

	while (note && !note->pieces)
		note = notes_at(b, note->next);
	return note ? note->heap : 0;
}

static void
block_out(struct heaps *p, struct bay *bay)
{
	struct block *b = bay->b;
	struct rows *r = &p->rows;

	bay->b = NULL;
	if (!b->filled) {
		rows_unused(p, b);
		return;
	}
	skipped_note(p, b);
	p->base.counts.outside = p->rows.outside;
	b->run = p->run;
	b->base = 0;
	b->first = first_heap(b);
	b->used = (uint32_t)((bay->front + b->slot_bytes - 1) / b->slot_bytes);
	block_close(b);
	b->next = NULL;
	*r->closed_end = b;
	r->closed_end = &b->next;
}

/* Finishes all heaps of a bay, and closes it. */
static void
bay_close(struct heaps *p, struct bay *bay)
{
	struct rows *r = &p->rows;

	bay->closing = true;
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->bay == bay)
			heaps_finish(p, h);
	}
	if (r->open[0] == bay)
		r->open[0] = r->open[1];
	r->opens--;
	block_out(p, bay);
}

void
rows_close_all(struct heaps *p)
{
	while (p->rows.opens)
		bay_close(p, p->rows.open[0]);
}

void
rows_outside(struct heaps *p)
{
	p->rows.outside += steps_missing(&p->rows.steps) * p->guess.pieces;
	p->base.counts.outside = p->rows.outside;
}

void
rows_done(struct heaps *p, struct bay *bay)
{
	if (bay->full && !bay->live && !bay->closing)
		bay_close(p, bay);
}

struct block *
rows_ahead(struct heaps *p)
{
	struct rows *r = &p->rows;

	if (!r->ahead) {
		r->ahead = stock_take(p->a.stock, p->a.sub);
		r->ahead_aimed = 0;
	}
	return r->ahead;
}

struct bay *
rows_open(struct heaps *p)
{
	struct rows *r = &p->rows;
	struct bay *bay;

	if (!rows_ahead(p))
		return NULL;
	if (r->opens == HEAPS_OPEN)
		bay_close(p, r->open[0]);
	bay = rows_bay_new(p, r->ahead);
	bay->aimed = r->ahead_aimed;
	r->ahead = NULL;
	r->open[r->opens++] = bay;
	return bay;
}

/* ---- heaps ----------------------------------------------------------- */

static struct bay *
bay_for(struct heaps *p, const struct bay_want *want)
{
	struct bay *bay = rows_newest(p);

	if (bay) {
		rows_endless_cut(p, bay);
		if (!bay->full && bay_fits(bay, want))
			return bay;
		bay->full = true;
		rows_done(p, bay);
	}
	bay = rows_open(p);
	return bay;
}

/* Counts a piece without memory.  A control heap is one packet, unlike others;
 * and before the sender's step is certain, single packets are counted. */
static void
heap_unplaced(struct heaps *p, const struct format_piece *piece,
	      uint32_t sender)
{
	heaps_drop(p, DROP_NO_BUFFER);
	if (piece->control != PIECE_DATA ||
	    !steps_pass(&p->rows.steps, piece->heap, sender))
		p->rows.outside++;
}

static struct heap *
heap_begin(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece, enum recent_answer known)
{
	struct bay_want want = rows_want(p, piece);
	struct bay *bay;
	struct heap *h;

	bay = known == RECENT_NOT ? bay_for(p, &want)
				  : rows_echo(p, k, &want, known);
	if (!bay) {
		if (known == RECENT_NOT)
			heap_unplaced(p, piece, k->sender);
		return NULL;
	}
	h = heaps_add(p, piece, k->sender);
	h->parked = h->held = known != RECENT_NOT;
	h->why = known == RECENT_COMPLETE ? DROP_DUPLICATE : DROP_LATE;
	rows_lay(p, h, bay, &want, piece);
	if (!h->parked) {
		p->newest = h;
		steps_see(&p->rows.steps, piece->heap, k->sender);
	}
	return h;
}

static struct heap *
rows_begin(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece)
{
	struct bay_want want = rows_want(p, piece);
	uint64_t most = rows_most(p);
	enum recent_answer known;

	if (want.length > most || bay_bytes(&want) > most) {
		rows_large(p, piece, &want);
		heaps_drop(p, DROP_TOO_LARGE);
		return NULL;
	}
	if (piece->control == PIECE_START)
		rows_start(p, piece, k->sender);
	known = recent_find(&p->recent, piece->heap, k->sender);
	if (!p->base.counts.runs)
		p->base.counts.runs = 1;
	return heap_begin(p, k, piece, known);
}

static bool
rows_widen(struct heaps *p, struct heap *h)
{
	struct ranges *r = &h->ranges;

	(void)p;
	if (r->n == r->most || bay_free(h->bay) < r->header)
		return false;
	h->bay->owed += r->header;
	r->beside += r->header;
	return true;
}

static void
rows_taken(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   uint32_t kept)
{
	struct bay *bay = h->bay;
	struct block *b = bay->b;

	if (!h->control && piece->control)
		h->control = h->note->control = piece->control;
	if (b->filled++ == 0) {
		b->first_ns = b->last_ns = p->now_ns;
		bay->born = p->now;
	}
	if (b->last_ns < p->now_ns)
		b->last_ns = p->now_ns;
	bay->last = p->now;
	if (h->parked)
		heaps_parked_taken(&p->rows.candidate, h, kept);
	else if (rows_opposed(p, h->sender))
		rows_echo_dissolve(p);
	if (h->length && h->ranges.bytes == h->length)
		heaps_finish(p, h);
	if (h->parked)
		rows_echo_judge(p);
}

static void
note_finish(struct heaps *p, const struct heap *h)
{
	struct note *note = h->note;
	uint64_t missing =
	    ranges_missing(&h->ranges, p->guess.datagram > p->guess.later
					   ? p->guess.datagram - p->guess.later
					   : 0);

	note->items = h->items;
	note->ranges = h->ranges.n;
	note->pieces = h->pieces;
	note->missing = missing < UINT32_MAX ? (uint32_t)missing : UINT32_MAX;
}

static void
rows_finish(struct heaps *p, struct heap *h, bool complete)
{
	struct bay *bay = h->bay;

	if (bay->endless == h)
		rows_endless_cut(p, bay);
	note_finish(p, h);
	bay->live--;
	if (!h->pieces) {
		rows_done(p, bay);
		return;
	}
	if (h->parked) {
		heaps_parked_finish(&p->rows.candidate, h, complete);
		return;
	}
	p->base.counts.heaps++;
	p->base.counts.heaps_incomplete += !complete;
	recent_add(&p->recent, h->count, h->sender, complete);
	rows_done(p, bay);
}

static void
rows_age(struct heaps *p)
{
	struct rows *r = &p->rows;
	int64_t since = p->now - p->a.max_age;

	rows_echo_settle(p, since);
	for (unsigned i = r->opens; i--;) {
		struct bay *bay = r->open[i];

		if (bay->b->filled && bay->born <= since) {
			bay->full = true;
			rows_done(p, bay);
		}
	}
	if (!r->opens)
		p->base.counts.outside =
		    r->outside + steps_untold(&r->steps) * p->guess.pieces;
	if (r->ahead && !r->opens) {
		rows_unused(p, r->ahead);
		r->ahead = NULL;
	}
}

static void
rows_flush(struct heaps *p)
{
	rows_echo_settle(p, INT64_MAX);
	rows_close_all(p);
	rows_outside(p);
	if (p->rows.ahead)
		rows_unused(p, p->rows.ahead);
	p->rows.ahead = NULL;
}

static void
rows_release(struct heaps *p)
{
	struct rows *r = &p->rows;
	struct block *b;

	while ((b = r->unused)) {
		r->unused = b->next;
		stock_put(b);
	}
	while ((b = r->closed)) {
		r->closed = b->next;
		b->next = NULL;
		p->a.out(p->a.arg, b);
	}
	r->closed_end = &r->closed;
}

static void
rows_make(struct heaps *p)
{
	p->rows.closed_end = &p->rows.closed;
	p->rows.steps.far = p->a.max_gap / NOTES_PAGE;
}

const struct heaps_kind rows_kind = {
	.make = rows_make,
	.begin = rows_begin,
	.reach = rows_reach,
	.items = rows_items,
	.widen = rows_widen,
	.taken = rows_taken,
	.finish = rows_finish,
	.aim = rows_aim,
	.age = rows_age,
	.flush = rows_flush,
	.release = rows_release,
};
