/* SPDX-License-Identifier: MIT */
/*
 * Heaps in a row.
 *
 * A heap gets its memory when its first piece comes: behind the heap before
 * it in the newest of two open blocks, or at the beginning of another.  Its
 * length is in every packet, the length that its header will have when it is
 * stored in its first; if another one came first, the heap before it tells.
 * So a block in which all came is already what is stored, but for the headers
 * that the writer puts into the rooms (store/notes_row.c).
 *
 *   open[0]  | heap | heap | heap ...  | notes |     full: no heap begins here
 *   open[1]  | heap | he ..                | n |     the newest
 *
 * A block that takes no more heaps closes with the last of them; when a third
 * is needed the older one closes as it is, and its heaps are finished.
 *
 * A heap without a length has the rest of its block.  When the next one
 * begins it is cut to what came and SLACK packets more, for those that are
 * late.  When it comes to the end of the block, and others lie before it, it
 * is laid in the next one, once, by a copy.
 *
 * What is estimated: pieces that are missing in a heap are its holes by the
 * size of a piece; heaps that are missing altogether are counts that were
 * left out (steps.h), at the pieces of the last heap that was whole.
 */
#include "flow/row.h"

#include <string.h>

#include "base/log.h"
#include "base/units.h"

enum {
	PIECE = 1024,	    /* bytes of a heap that allow for a range, where the
			 size of pieces is not known */
	SLACK = 4,	    /* packets */
	ENDLESS = 64 << 10, /* bytes that a heap without length needs */
};

/* ---- bays ------------------------------------------------------------ */

struct bay *
row_bay_new(struct heaps *p, struct block *b)
{
	struct bay *bay = p->row.bay;

	while (bay->b)
		bay++;
	bay_begin(bay, b);
	return bay;
}

void
row_unused(struct heaps *p, struct block *b)
{
	b->next = p->row.unused;
	p->row.unused = b;
}

static struct bay *
newest_bay(const struct heaps *p)
{
	return p->row.opens ? p->row.open[p->row.opens - 1] : NULL;
}

/* Heaps that were lost whole are counted with the block in which that shows. */
static void
skipped_note(struct heaps *p, struct block *b)
{
	uint64_t n = steps_missing(&p->row.steps) * p->guess.pieces;

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
	struct row *r = &p->row;

	bay->b = NULL;
	if (!b->filled) {
		row_unused(p, b);
		return;
	}
	skipped_note(p, b);
	b->run = p->run;
	b->base = 0;
	b->first = first_heap(b);
	b->used = (uint32_t)((bay->front + b->slot_bytes - 1) / b->slot_bytes);
	block_close(b);
	b->next = NULL;
	*r->closed_end = b;
	r->closed_end = &b->next;
}

/* Finishes its heaps, and closes it. */
static void
bay_close(struct heaps *p, struct bay *bay)
{
	struct row *r = &p->row;

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
row_close_all(struct heaps *p)
{
	while (p->row.opens)
		bay_close(p, p->row.open[0]);
}

static void
close_if_done(struct heaps *p, struct bay *bay)
{
	if (bay->full && !bay->live && !bay->closing)
		bay_close(p, bay);
}

/* Memory for the next block to open. */
static struct block *
ahead_take(struct heaps *p)
{
	struct row *r = &p->row;

	if (!r->ahead) {
		r->ahead = stock_take(p->a.stock, p->a.sub);
		r->ahead_aimed = 0;
	}
	return r->ahead;
}

static struct bay *
bay_open(struct heaps *p)
{
	struct row *r = &p->row;
	struct bay *bay;

	if (!ahead_take(p))
		return NULL;
	if (r->opens == HEAPS_OPEN)
		bay_close(p, r->open[0]);
	bay = row_bay_new(p, r->ahead);
	bay->aimed = r->ahead_aimed;
	r->ahead = NULL;
	r->open[r->opens++] = bay;
	return bay;
}

/* ---- heaps without length -------------------------------------------- */

void
row_endless_cut(struct heaps *p, struct bay *bay)
{
	struct heap *h = bay->endless;
	uint64_t slack = (uint64_t)SLACK * p->guess.datagram;

	if (!h)
		return;
	if (slack > bay_free(bay))
		slack = bay_free(bay);
	h->keep = ranges_end(&h->ranges) + slack;
	bay->front += slack;
	bay->endless = NULL;
}

static bool
endless_fits(const struct heap *h, uint64_t end)
{
	return end <= h->keep || end - h->keep <= bay_free(h->bay);
}

static void
endless_grow(struct heap *h, uint64_t end)
{
	if (end <= h->keep)
		return;
	h->bay->front += end - h->keep;
	h->keep = end;
}

/* ---- where a heap goes ----------------------------------------------- */

static uint32_t
ranges_for(const struct heaps *p, uint64_t length)
{
	uint32_t size = PIECE;
	uint64_t n;

	if (p->guess.datagram > p->guess.later && p->guess.later)
		size = p->guess.datagram - p->guess.later;
	n = length / size / 2 + 3;
	return n < NOTES_RANGES ? (uint32_t)n : NOTES_RANGES;
}

/* Before any item of it is known, a heap is like the one before. */
static struct bay_want
want_of(const struct heaps *p, const struct format_piece *piece)
{
	const struct guess *g = &p->guess;
	struct bay_want w = { .items = piece->items };
	uint64_t length = piece->length;

	if (piece->control == PIECE_DATA &&
	    (piece->offset || piece->items == g->first_items) &&
	    g->items > w.items)
		w.items = g->items;
	if (w.items > NOTES_ITEMS)
		w.items = NOTES_ITEMS;
	w.room = p->a.format->wrap_bytes(piece, w.items);
	w.length = length;
	if (!length) {
		w.length = piece->offset + piece->bytes;
		length = ENDLESS;
	}
	w.ranges = ranges_for(p, length);
	return w;
}

/* Bytes of a heap, all in all, that a block has room for. */
static uint64_t
block_most(const struct heaps *p)
{
	return p->a.geometry->block_bytes - NOTES_PAGE -
	       sizeof(struct notes_head);
}

/* For people: the smallest `block` that would do, in whole MiB. */
static void
large_tell(struct heaps *p, const struct format_piece *piece,
	   const struct bay_want *want)
{
	uint64_t mib = UINT64_C(1) << 20, need = bay_bytes(want);
	char heap[UNITS_TEXT], is[UNITS_TEXT], would[UNITS_TEXT];

	if (p->spare->told_large)
		return;
	p->spare->told_large = true;
	need = (need + NOTES_PAGE + sizeof(struct notes_head) + mib - 1) / mib;
	units_show_bytes(heap, want->length);
	units_show_bytes(is, p->a.geometry->block_bytes);
	units_show_bytes(would, need * mib);
	log_line(LOG_ERROR, p->a.name,
		 "heap %llu has %s and does not fit in a block of %s: its "
		 "packets are dropped, as those of all such heaps; block = %s "
		 "would do",
		 (unsigned long long)piece->heap, heap, is, would);
}

/* Before memory is written that packets may have landed in. */
static void
floor_guard(struct heaps *p, const struct bay *bay, uint64_t bytes)
{
	if (bay->floor - bytes < bay->aimed)
		heaps_cut(p);
}

static bool
fits(const struct bay *bay, const struct bay_want *want)
{
	return !bay->full && bay_bytes(want) <= bay_free(bay);
}

static struct bay *
bay_for(struct heaps *p, const struct bay_want *want)
{
	struct bay *bay = newest_bay(p);

	if (bay) {
		row_endless_cut(p, bay);
		if (fits(bay, want))
			return bay;
		bay->full = true;
		close_if_done(p, bay);
	}
	bay = bay_open(p);
	return bay;
}

/* Makes a heap's memory its own. */
static void
heap_lay(struct heaps *p, struct heap *h, struct bay *bay,
	 const struct bay_want *want, const struct format_piece *piece)
{
	struct note *note;

	floor_guard(p, bay, bay_bytes(want) - want->room - want->length);
	note = bay_put(bay, want);
	note->heap = h->count;
	note->length = h->length;
	note->flavour = h->flavour;
	note->control = h->control;
	h->note = note;
	h->bay = bay;
	h->at = bay->b->data + note->at;
	h->keep = want->length;
	h->ranges.at = note->range;
	h->ranges.most = want->ranges;
	h->ranges.header = p->a.format->wrap_bytes(piece, 0);
	h->ranges.length = h->length;
	bay->live++;
	if (!h->length)
		bay->endless = h;
	if (!h->parked && h->control == PIECE_DATA && !piece->offset)
		p->guess.room = want->room;
}

static struct heap *
heap_begin(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece, enum recent_answer known)
{
	struct bay_want want = want_of(p, piece);
	struct bay *bay;
	struct heap *h;

	bay = known == RECENT_NOT ? bay_for(p, &want)
				  : row_echo(p, k, &want, known);
	if (!bay) {
		if (known == RECENT_NOT)
			heaps_drop(p, DROP_NO_BUFFER);
		return NULL;
	}
	h = heaps_add(p, piece, k->sender);
	h->parked = known != RECENT_NOT;
	h->known = known;
	heap_lay(p, h, bay, &want, piece);
	if (!h->parked) {
		p->newest = h;
		steps_see(&p->row.steps, piece->heap, k->sender);
	}
	return h;
}

static struct heap *
row_begin(struct heaps *p, const struct receive_packet *k,
	  const struct format_piece *piece)
{
	struct bay_want want = want_of(p, piece);
	uint64_t most = block_most(p);
	enum recent_answer known;

	if (want.length > most || bay_bytes(&want) > most) {
		large_tell(p, piece, &want);
		heaps_drop(p, DROP_TOO_LARGE);
		return NULL;
	}
	if (piece->control == PIECE_START)
		row_start(p, piece, k->sender);
	known = recent_find(&p->recent, piece->heap, k->sender);
	if (!p->base.counts.runs)
		p->base.counts.runs = 1;
	return heap_begin(p, k, piece, known);
}

/* ---- a heap's pieces ------------------------------------------------- */

/* Is not the only one in its block, and the last. */
static bool
can_move_on(const struct heap *h)
{
	return h->bay->endless == h && h->note->prev && !h->parked;
}

static void
ranges_copy(uint8_t *to, const uint8_t *from, const struct ranges *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		memcpy(to + r->at[i].from, from + r->at[i].from,
		       r->at[i].to - r->at[i].from);
}

/* Takes a heap out of its bay, as if it had never been there. */
static void
heap_leave(struct heap *h)
{
	struct bay *bay = h->bay;

	bay->front = h->note->at - h->note->room;
	bay->endless = NULL;
	bay->live--;
	bay->full = true;
	bay->b->filled -= h->pieces;
	h->note->pieces = 0;
}

/* An endless heap that came to the end of its block goes into the next. */
static bool
heap_move_on(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	struct heap old = *h;
	struct bay *bay = old.bay;
	struct bay_want want = want_of(p, piece);

	want.items = h->items;
	want.room = p->a.format->wrap_bytes(piece, want.items);
	if (want.length < h->keep)
		want.length = h->keep;
	if (!can_move_on(h) || h->note->more ||
	    bay_bytes(&want) > block_most(p) ||
	    (p->row.opens == HEAPS_OPEN && bay == p->row.open[0]))
		return false;
	heaps_cut(p);
	if (!ahead_take(p))
		return false;
	heap_leave(h);
	heap_lay(p, h, bay_open(p), &want, piece);
	memcpy(h->at - h->items * sizeof(uint64_t),
	       old.at - old.note->items_room * sizeof(uint64_t),
	       h->items * sizeof(uint64_t));
	ranges_copy(h->at, old.at, &old.ranges);
	memcpy(h->ranges.at, old.ranges.at,
	       old.ranges.n * sizeof(struct range));
	h->ranges.n = old.ranges.n;
	h->ranges.bytes = old.ranges.bytes;
	h->bay->b->filled = h->pieces;
	h->bay->b->first_ns = bay->b->last_ns;
	h->bay->born = h->last;
	close_if_done(p, bay);
	return true;
}

static bool
row_reach(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	uint64_t end = piece->offset + piece->bytes;

	if (h->length || end <= h->keep)
		return true;
	if (h->bay->endless != h) {
		heaps_drop(p, DROP_LATE);
		return false;
	}
	if (!endless_fits(h, end) && !heap_move_on(p, h, piece)) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	endless_grow(h, end);
	return true;
}

/* ---- items ----------------------------------------------------------- */

static uint8_t *
room_of(const struct heap *h)
{
	return h->at - (uint64_t)h->note->items_room * sizeof(uint64_t);
}

/* Are those n items among the heap's, as where a sender repeats them? */
static bool
items_known(struct heaps *p, const struct heap *h, const uint64_t *item,
	    uint32_t n)
{
	uint64_t bytes = n * sizeof *item;

	if (n > h->items || n > h->note->items_room)
		return false;
	if (h->items_late == p->batch)
		heaps_cut(p);
	return memcmp(room_of(h), item, bytes) == 0;
}

/* Into the room, now or, where a packet may lie there, with the batch. */
static void
items_room(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n,
	   bool in_place)
{
	uint8_t *to = room_of(h) + h->items * sizeof *item;
	uint32_t bytes = (uint32_t)(n * sizeof *item);
	struct shifts *s = &p->spare->shifts;

	if (in_place && !s->n) {
		memcpy(to, item, bytes);
		return;
	}
	shifts_add(s, shifts_aside(s, (const uint8_t *)item, bytes), to, bytes);
	h->items_late = p->batch;
}

/* Bytes by which a header outgrows its room with n items. */
static uint64_t
outgrown(const struct heap *h, uint32_t n)
{
	uint32_t room = h->note->items_room;

	return n > room ? (uint64_t)(n - room) * sizeof(uint64_t) : 0;
}

static bool
items_more(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n)
{
	struct bay *bay = h->bay;
	uint64_t owed = outgrown(h, h->items + n) - outgrown(h, h->items);

	if (h->items + n > NOTES_ITEMS ||
	    owed + bay_more_bytes(n) > bay_free(bay))
		return false;
	floor_guard(p, bay, bay_more_bytes(n));
	bay_more(bay, h->note, item, n);
	bay->owed += owed;
	return true;
}

static bool
row_items(struct heaps *p, struct heap *h, const struct format_piece *piece,
	  bool in_place)
{
	uint64_t *item = p->spare->item;
	uint32_t n, fit;

	n = p->a.format->items(p->head, piece, item, NOTES_ITEMS);
	if (items_known(p, h, item, n))
		return true;
	fit = 0;
	if (h->items < h->note->items_room && !h->note->more)
		fit = h->note->items_room - h->items;
	if (fit > n)
		fit = n;
	if (n > fit && !items_more(p, h, item + fit, n - fit)) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	if (fit)
		items_room(p, h, item, fit, in_place);
	h->items += n;
	return true;
}

/* ---- the rest -------------------------------------------------------- */

static void
row_taken(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	struct bay *bay = h->bay;
	struct block *b = bay->b;

	if (!h->control && piece->control)
		h->control = h->note->control = piece->control;
	if (b->filled++ == 0) {
		b->first_ns = p->now_ns;
		bay->born = p->now;
	}
	b->last_ns = p->now_ns;
	bay->last = p->now;
	if (h->parked)
		row_echo_taken(p, h, piece->bytes);
	else if (row_opposed(p, h->sender))
		row_echo_dissolve(p);
	if (h->length && h->ranges.bytes == h->length)
		heaps_finish(p, h);
	if (h->parked)
		row_echo_judge(p);
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
row_finish(struct heaps *p, struct heap *h, bool complete)
{
	struct bay *bay = h->bay;

	if (bay->endless == h)
		row_endless_cut(p, bay);
	note_finish(p, h);
	bay->live--;
	if (!h->pieces) {
		close_if_done(p, bay);
		return;
	}
	if (h->parked) {
		row_echo_finish(p, h, complete);
		return;
	}
	p->base.counts.heaps++;
	p->base.counts.heaps_incomplete += !complete;
	recent_add(&p->recent, h->count, h->sender, complete);
	close_if_done(p, bay);
}

static void
row_age(struct heaps *p)
{
	struct row *r = &p->row;
	int64_t since = p->now - p->a.max_age;

	row_echo_settle(p, since);
	for (unsigned i = r->opens; i--;) {
		struct bay *bay = r->open[i];

		if (bay->b->filled && bay->born <= since) {
			bay->full = true;
			close_if_done(p, bay);
		}
	}
	if (r->ahead && !r->opens) {
		row_unused(p, r->ahead);
		r->ahead = NULL;
	}
}

static void
row_flush(struct heaps *p)
{
	row_echo_settle(p, INT64_MAX);
	row_close_all(p);
	if (p->row.ahead)
		row_unused(p, p->row.ahead);
	p->row.ahead = NULL;
}

static void
row_release(struct heaps *p)
{
	struct row *r = &p->row;
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

/* ---- aiming ---------------------------------------------------------- */

/* Where the next heap would be laid, and those behind it. */
struct outlook {
	struct block *b;
	uint64_t front, floor; /* of what is free */
	bool last;	       /* there is no block behind this one */
};

static bool
outlook_block(struct heaps *p, struct outlook *o)
{
	if (o->last || !ahead_take(p))
		return false;
	*o = (struct outlook){ .b = p->row.ahead,
			       .floor = bay_most(p->row.ahead),
			       .last = true };
	return true;
}

static bool
outlook_begin(struct heaps *p, struct outlook *o)
{
	const struct bay *bay = newest_bay(p);

	*o = (struct outlook){ 0 };
	if (!bay || bay->full)
		return outlook_block(p, o);
	o->b = bay->b;
	o->front = bay->front;
	o->floor = bay->front + bay_free(bay);
	return true;
}

/* All that is handed out is remembered, by how far it goes. */
static void
aimed_note(struct heaps *p, const struct outlook *o)
{
	struct bay *bay = newest_bay(p);

	if (bay && bay->b == o->b)
		bay->aimed = o->front;
	else
		p->row.ahead_aimed = o->front;
}

/* The next heaps, each as the one before. */
static unsigned
aim_next(struct heaps *p, const struct bay_want *want,
	 struct receive_pair *pair, unsigned i, unsigned n)
{
	uint64_t notes = bay_bytes(want) - want->room - want->length;
	unsigned begin = i;
	struct outlook o;

	if (!want->length || !outlook_begin(p, &o))
		return 0;
	while (i < n) {
		struct spot spot = { .keep = want->length };

		if (bay_bytes(want) > o.floor - o.front &&
		    (!outlook_block(p, &o) ||
		     bay_bytes(want) > o.floor - o.front))
			break;
		spot.at = o.b->data + o.front + want->room;
		i += heaps_aim_at(p, &spot, 0, want->length, pair, i, n);
		o.front += want->room + want->length;
		o.floor -= notes;
		aimed_note(p, &o);
	}
	return i - begin;
}

/* What is left of the newest heap. */
static unsigned
aim_newest(struct heaps *p, const struct heap *h, struct receive_pair *pair,
	   unsigned n)
{
	uint64_t from = ranges_end(&h->ranges), length = h->length;
	struct spot spot = { .at = h->at };

	if (!length)
		length =
		    h->bay->endless == h ? h->keep + bay_free(h->bay) : h->keep;
	spot.keep = length;
	if (!h->length && h->bay->aimed < h->note->at + length)
		h->bay->aimed = h->note->at + length;
	return heaps_aim_at(p, &spot, from, length, pair, 0, n);
}

static unsigned
row_aim(struct heaps *p, struct receive_pair *pair, unsigned n)
{
	const struct guess *g = &p->guess;
	struct heap *h = p->newest;
	struct bay_want want = { .length = g->length,
				 .items = g->items,
				 .room = g->room };
	unsigned i = 0;

	for (unsigned b = 0; b < p->row.opens; b++)
		p->row.open[b]->aimed = 0;
	p->row.ahead_aimed = 0;
	if (h && h->ranges.n)
		i = aim_newest(p, h, pair, n);
	if ((h && !h->length) || !g->room)
		return i;
	want.ranges = ranges_for(p, want.length);
	return i + aim_next(p, &want, pair, i, n);
}

const struct heaps_kind row_kind = {
	.begin = row_begin,
	.reach = row_reach,
	.items = row_items,
	.taken = row_taken,
	.finish = row_finish,
	.aim = row_aim,
	.age = row_age,
	.flush = row_flush,
	.release = row_release,
};
