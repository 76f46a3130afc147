/* SPDX-License-Identifier: MIT */
/*
 * Heaps in a row.
 *
 * A heap gets its memory when its first piece comes: behind the previous heap
 * in the newer of two open blocks, or at the beginning of a new one, with room
 * before it for the header it will have when it is stored.  So a block in which
 * everything came is already what is stored, but for the headers, which the
 * writer puts into the rooms (store/record/notes.c).
 *
 *   open[0]  | heap | heap | heap ...  | notes |     full: no heap begins here
 *   open[1]  | heap | he ..                | n |     the newest
 *
 * A full block closes when its last heap is finished; when a third block is
 * needed, the older one closes as it is, and its heaps are finished.
 *
 * Losses are estimates: the pieces missing in a heap are its holes divided by
 * the size of a piece; heaps missing altogether are counts that were left out
 * (heap_counter.h), each with as many pieces as the last complete heap.
 */
#include "flow/heaps/heaps_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "flow/heaps/heap_counter.h"
#include "flow/heaps/row_block.h"

/* ---- heaps that were finished ------------------------------------------ */

/*
 * The heaps that were finished last are remembered, so that a piece that comes
 * too late is not taken for a new heap.  Exactly the last FINISHED_MOST heaps
 * are remembered: each new heap replaces the oldest, so a counter that restarts
 * finds old heaps forgotten by the time it reaches their counts.
 */
enum { FINISHED_MOST = 256 };

struct finished_heaps {
	uint64_t count[FINISHED_MOST];
	uint32_t sender[FINISHED_MOST];
	bool complete[FINISHED_MOST];
	uint64_t most; /* largest count since finished_forget */
	unsigned n, next;
};

enum finished_answer { FINISHED_NOT, FINISHED_INCOMPLETE, FINISHED_COMPLETE };

static void
finished_forget(struct finished_heaps *r)
{
	r->n = r->next = 0;
	r->most = 0;
}

static void
finished_add(struct finished_heaps *r, uint64_t count, uint32_t sender,
	     bool complete)
{
	unsigned i = r->next;

	r->count[i] = count;
	r->sender[i] = sender;
	r->complete[i] = complete;
	r->next = (i + 1) % FINISHED_MOST;
	if (r->n < FINISHED_MOST)
		r->n++;
	if (count > r->most)
		r->most = count;
}

/* Looks a heap up.  A count above all others, as from a counter that only
 * grows, needs no search. */
static enum finished_answer
finished_find(const struct finished_heaps *r, uint64_t count, uint32_t sender)
{
	if (count > r->most)
		return FINISHED_NOT;
	for (unsigned i = 0; i < r->n; i++) {
		if (r->count[i] == count && r->sender[i] == sender)
			return r->complete[i] ? FINISHED_COMPLETE
					      : FINISHED_INCOMPLETE;
	}
	return FINISHED_NOT;
}

/* ---- blocks ------------------------------------------------------------ */

enum { ROWS_OPEN = 2 }; /* open blocks */

struct rows {
	struct heaps heaps;
	/* Memory for the open ones and the candidate's. */
	struct row_block block[ROWS_OPEN + 1];
	struct row_block *open[ROWS_OPEN];
	unsigned opens;
	struct block *ahead; /* block that was aimed at, to be opened next */
	uint64_t ahead_aimed;
	struct row_block *parked; /* the candidate's, if there is one */
	uint32_t run;		  /* number of the current run */
	struct finished_heaps finished;
	struct heap_counter counter;
	uint64_t outside; /* lost pieces that no block accounts for, as in
			     struct counts */
	/* The newest control heap that began a stream: count, sender, and
	 * steady ns of arrival. */
	uint64_t start;
	uint32_t start_sender;
	int64_t started;
	struct block *closed, **closed_end;
};

static struct rows *
rows_of(const struct heaps *p)
{
	return (struct rows *)p;
}

/* Begins an unused row block with this block. */
static struct row_block *
rows_block_new(struct heaps *p, struct block *b)
{
	struct row_block *row = rows_of(p)->block;

	while (row->b)
		row++;
	row_block_begin(row, b);
	return row;
}

/* Returns the block where the next heap goes, if it has room.  NULL: none is
 * open. */
static struct row_block *
rows_newest(const struct heaps *p)
{
	const struct rows *r = rows_of(p);

	return r->opens ? r->open[r->opens - 1] : NULL;
}

/* Counts heaps that were lost whole in the block that is closed next. */
static void
skipped_note(struct heaps *p, struct block *b)
{
	uint64_t n =
	    heap_counter_missing(&rows_of(p)->counter) * p->guess.pieces;

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
block_out(struct heaps *p, struct row_block *row)
{
	struct block *b = row->b;
	struct rows *r = rows_of(p);

	row->b = NULL;
	if (!b->filled) {
		heaps_unused(p, b);
		return;
	}
	skipped_note(p, b);
	p->base.counts.outside = r->outside;
	b->run = r->run;
	b->base = 0;
	b->first = first_heap(b);
	b->used = (uint32_t)((row->front + b->slot_bytes - 1) / b->slot_bytes);
	block_close(b);
	b->next = NULL;
	*r->closed_end = b;
	r->closed_end = &b->next;
}

/* Finishes all heaps of a block, and closes it. */
static void
row_close(struct heaps *p, struct row_block *row)
{
	struct rows *r = rows_of(p);

	row->closing = true;
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->row.block == row)
			heaps_finish(p, h);
	}
	if (r->open[0] == row)
		r->open[0] = r->open[1];
	r->opens--;
	block_out(p, row);
}

/* Closes all open blocks. */
static void
rows_close_all(struct heaps *p)
{
	const struct rows *r = rows_of(p);

	while (r->opens)
		row_close(p, r->open[0]);
}

/* Closes a full block if all of its heaps are finished. */
static void
rows_done(struct heaps *p, struct row_block *row)
{
	if (row->full && !row->live && !row->closing)
		row_close(p, row);
}

/* Returns the block to open next, and takes it from the pool if needed.  NULL:
 * none is free. */
static struct block *
rows_ahead(struct heaps *p)
{
	struct rows *r = rows_of(p);

	if (!r->ahead) {
		r->ahead = block_pool_take(p->a.pool, p->a.sub);
		r->ahead_aimed = 0;
	}
	return r->ahead;
}

/* Opens the next block; if two are open, the older one closes.  NULL: no block
 * is free. */
static struct row_block *
rows_open(struct heaps *p)
{
	struct rows *r = rows_of(p);
	struct row_block *row;

	if (!rows_ahead(p))
		return NULL;
	if (r->opens == ROWS_OPEN)
		row_close(p, r->open[0]);
	row = rows_block_new(p, r->ahead);
	row->aimed = r->ahead_aimed;
	r->ahead = NULL;
	r->open[r->opens++] = row;
	return row;
}

/* ---- memory for heaps -------------------------------------------------- */

/*
 * Chooses the memory of a heap, and how much it gets.
 *
 * Every packet tells the heap's length.  The length of its header when stored
 * is known from its first packet; if another packet comes first, the previous
 * heap is the guide.
 *
 * A heap of unknown length has the rest of its block.  When the next heap
 * begins, it is cut to what came plus SLACK packets, for late ones.  When it
 * reaches the end of the block, and other heaps lie before it, it moves to the
 * next block (rows_move).
 */

enum { LARGE_TEXT = 64 };

enum {
	PIECE_BYTES =
	    1024,  /* bytes of a heap per range, if the size of pieces is not
			 known */
	SLACK = 4, /* packets */
	MORE_ITEMS =
	    3, /* items expected per item of a packet with little else */
	ENDLESS = 64 << 10, /* bytes assumed for a heap of unknown length */
};

/* Number of ranges that a heap of so many bytes may have. */
static uint32_t
rows_ranges(const struct heaps *p, uint64_t length)
{
	uint32_t size = PIECE_BYTES;
	uint64_t n;

	if (p->guess.datagram > p->guess.later && p->guess.later)
		size = p->guess.datagram - p->guess.later;
	n = length / size / 2 + 3;
	return n < NOTES_RANGES ? (uint32_t)n : NOTES_RANGES;
}

/* Until an item of a heap is known, the previous heap is the guide. */
static struct row_block_want
rows_want(const struct heaps *p, const struct format_piece *piece)
{
	const struct guess *g = &p->guess;
	struct row_block_want w = { .items = piece->items };
	uint64_t length = piece->length;

	if (piece->control == PIECE_DATA &&
	    (piece->offset || piece->items == g->first_items) &&
	    g->items > w.items)
		w.items = g->items;
	if (piece->bytes < piece->header && piece->bytes < piece->length)
		w.items +=
		    MORE_ITEMS * piece->items; /* the next packet has other
						   items */
	if (w.items > NOTES_ITEMS)
		w.items = NOTES_ITEMS;
	w.room = p->a.format->wrap_bytes(piece, w.items);
	w.length = length;
	if (!length) {
		w.length = piece->offset + piece->bytes;
		length = ENDLESS;
	}
	w.ranges = rows_ranges(p, length);
	return w;
}

/* Bytes that a heap may need, with header and notes, to fit into a block. */
static uint64_t
rows_most(const struct heaps *p)
{
	return p->a.geometry->block_bytes - NOTES_PAGE -
	       sizeof(struct notes_head);
}

/* Names, for people, a `block` that is large enough, in whole MiB. */
static void
would_do(char text[LARGE_TEXT], uint64_t bytes)
{
	uint64_t mib = UINT64_C(1) << 20;

	bytes += NOTES_PAGE + sizeof(struct notes_head);
	if (bytes > UINT32_MAX)
		snprintf(text, LARGE_TEXT, "no block can be that large");
	else
		snprintf(text, LARGE_TEXT, "block = \"%lluM\" would do",
			 (unsigned long long)((bytes + mib - 1) / mib));
}

/* Logs, once per subscriber, that a heap does not fit into any block. */
static void
rows_large(struct heaps *p, const struct format_piece *piece,
	   const struct row_block_want *want)
{
	char heap[UNITS_TEXT], is[UNITS_TEXT], would[LARGE_TEXT];

	if (p->scratch->told_large)
		return;
	p->scratch->told_large = true;
	would_do(would, row_block_bytes(want));
	units_show_bytes(heap, want->length);
	units_show_bytes(is, p->a.geometry->block_bytes);
	log_line(LEVEL_ERROR, p->a.name,
		 "heap %llu has %s and does not fit in a block of %s: "
		 "packets of such heaps are dropped; %s",
		 (unsigned long long)piece->heap, heap, is, would);
}

/* Call it before notes grow by so many bytes: packets of the batch may have
 * landed there. */
static void
rows_guard(struct heaps *p, const struct row_block *row, uint64_t bytes)
{
	if (row->floor - bytes < row->aimed)
		heaps_cut(p);
}

/* Gives a heap its memory; the caller has checked that it fits. */
static void
rows_lay(struct heaps *p, struct heap *h, struct row_block *row,
	 const struct row_block_want *want, const struct format_piece *piece)
{
	struct note *note;

	rows_guard(p, row, row_block_bytes(want) - want->room - want->length);
	note = row_block_put(row, want);
	note->heap = h->count;
	note->length = h->length;
	note->flavour = h->flavour;
	note->control = h->control;
	h->row.note = note;
	h->row.block = row;
	h->at = row->b->data + note->at;
	h->keep = want->length;
	h->ranges.at = note->range;
	h->ranges.most = want->ranges;
	h->ranges.header = p->a.format->wrap_bytes(piece, 0);
	h->ranges.length = h->length;
	row->live++;
	if (!h->length)
		row->endless = h;
	if (!h->parked && h->control == PIECE_DATA && !piece->offset)
		p->guess.room = want->room;
}

/* ---- heaps without length -------------------------------------------- */

/* Ends the growth of the block's last heap, if its length is unknown: another
 * heap follows. */
static void
rows_endless_cut(struct heaps *p, struct row_block *row)
{
	struct heap *h = row->endless;
	uint64_t slack = p->guess.datagram;

	if (!h)
		return;
	if (!slack &&
	    h->pieces) /* only a first piece tells its size for sure */
		slack = h->ranges.bytes / h->pieces;
	slack *= SLACK;
	if (slack > row_block_free(row))
		slack = row_block_free(row);
	h->keep = ranges_end(&h->ranges) + slack;
	row->front += slack;
	row->endless = NULL;
}

static bool
endless_fits(const struct heap *h, uint64_t end)
{
	return end <= h->keep || end - h->keep <= row_block_free(h->row.block);
}

static void
endless_grow(struct heap *h, uint64_t end)
{
	if (end <= h->keep)
		return;
	h->row.block->front += end - h->keep;
	h->keep = end;
}

/* ---- heaps that move --------------------------------------------------- */

/*
 * Moves a heap that turned out to need more room than it was given: one of
 * unknown length at the end of a block, or one with more items than its first
 * packet showed.  It is laid anew, with everything that came, in a block that
 * has room; its old note is void, and nothing of it is stored.  This costs a
 * copy, which ordinary heaps never need, and at most MOVES_MOST times per heap.
 */

enum { MOVES_MOST = 3 };

/* Memory that the heap needs now, with `more` items. */
static struct row_block_want
want_now(const struct heaps *p, const struct heap *h,
	 const struct format_piece *piece, uint32_t more)
{
	uint64_t end = piece->offset + piece->bytes;
	struct row_block_want w = { .items = h->items + more,
				    .ranges = h->ranges.most };

	w.room = p->a.format->wrap_bytes(piece, w.items) + h->ranges.beside;
	w.length = h->length;
	if (!w.length)
		w.length = h->keep > end ? h->keep : end;
	return w;
}

/* Finds another block with room, or opens one if that does not close the heap's
 * own.  NULL: there is none. */
static struct row_block *
row_elsewhere(struct heaps *p, const struct heap *h,
	      const struct row_block_want *want)
{
	struct rows *r = rows_of(p);
	struct row_block *newest = rows_newest(p);

	if (newest != h->row.block) {
		rows_endless_cut(p, newest);
		if (!newest->full && row_block_fits(newest, want))
			return newest;
	}
	if (r->opens == ROWS_OPEN && h->row.block == r->open[0])
		return NULL;
	return rows_open(p);
}

/* Takes a heap out of its block, as if it had never been there. */
static void
heap_leave(struct heap *h)
{
	struct row_block *row = h->row.block;

	if (!h->row.note->next)
		row->front = h->row.note->at - h->row.note->room;
	if (row->endless == h)
		row->endless = NULL;
	row->live--;
	row->full = true;
	row->b->filled -= h->pieces;
	h->row.note->pieces = 0;
}

static void
heap_copy(struct heap *h, const struct heap *old, const uint64_t *item)
{
	const struct range *r = old->ranges.at;

	memcpy(h->at - h->row.note->items_room * sizeof *item, item,
	       h->items * sizeof *item);
	memcpy(h->ranges.at, r, h->ranges.n * sizeof *r);
	for (uint32_t i = 0; i < h->ranges.n; i++)
		memcpy(h->at + r[i].from, old->at + r[i].from,
		       r[i].to - r[i].from);
}

/* Lays a heap elsewhere, with room for this piece and `more` items.  False:
 * there is no room, and the heap stays where it is. */
static bool
rows_move(struct heaps *p, struct heap *h, const struct format_piece *piece,
	  uint32_t more)
{
	struct row_block_want want = want_now(p, h, piece, more);
	struct heap old = *h;
	struct row_block *to;

	if (h->parked || h->row.moves == MOVES_MOST ||
	    row_block_bytes(&want) > rows_most(p) ||
	    h->items + more > NOTES_ITEMS)
		return false;
	heaps_cut(p);
	old.row.note->items = h->items;
	notes_items(old.row.block->b, old.row.note, p->scratch->kept);
	to = row_elsewhere(p, h, &want);
	if (!to)
		return false;
	h->row.moves++;
	heap_leave(h);
	rows_lay(p, h, to, &want, piece);
	heap_copy(h, &old, p->scratch->kept);
	if (heaps_fill(p, to->b, h->pieces))
		to->born = p->now;
	rows_done(p, old.row.block);
	return true;
}

/* ---- items ------------------------------------------------------------- */

/*
 * Items of a heap are kept until it is stored, when all of them go into its
 * header.  Items of the first packet fit into the room for that header, and
 * wait there; items of later packets are noted down beside the heap's note.  A
 * sender may repeat all items in every packet: repeated ones are recognized.
 */

static uint8_t *
room_of(const struct heap *h)
{
	return h->at - (uint64_t)h->row.note->items_room * sizeof(uint64_t);
}

/* True if those n items are the heap's first items already: a sender may repeat
 * them. */
static bool
items_known(struct heaps *p, const struct heap *h, const uint64_t *item,
	    uint32_t n)
{
	uint64_t bytes = n * sizeof *item;

	if (n > h->items || n > h->row.note->items_room)
		return false;
	if (h->row.items_late == p->batch)
		heaps_cut(p);
	return memcmp(room_of(h), item, bytes) == 0;
}

/* Puts items into the room: now, or, if a packet may lie there that is neither
 * in place nor copied aside, at the end of the batch. */
static void
items_room(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n,
	   bool in_place)
{
	uint8_t *to = room_of(h) + h->items * sizeof *item;
	uint32_t bytes = (uint32_t)(n * sizeof *item);
	struct relocate *s = &p->a.scratch->relocate;

	if (p->cut || (in_place && !s->n)) {
		memcpy(to, item, bytes);
		return;
	}
	relocate_add(s, relocate_aside(s, (const uint8_t *)item, bytes), to,
		     bytes);
	h->row.items_late = p->batch;
}

/* Bytes by which a header with n items outgrows its room. */
static uint64_t
outgrown(const struct heap *h, uint32_t n)
{
	uint32_t room = h->row.note->items_room;

	return n > room ? (uint64_t)(n - room) * sizeof(uint64_t) : 0;
}

static bool
items_more(struct heaps *p, struct heap *h, const uint64_t *item, uint32_t n)
{
	struct row_block *row = h->row.block;
	uint64_t owed = outgrown(h, h->items + n) - outgrown(h, h->items);

	if (h->items + n > NOTES_ITEMS ||
	    owed + row_block_more_bytes(n) > row_block_free(row))
		return false;
	rows_guard(p, row, row_block_more_bytes(n));
	row_block_more(row, h->row.note, item, n);
	row->owed += owed;
	return true;
}

/* Number of these items that fit into the room. */
static uint32_t
items_fit(const struct heap *h, uint32_t n)
{
	uint32_t fit = 0;

	if (h->items < h->row.note->items_room && !h->row.note->more)
		fit = h->row.note->items_room - h->items;
	return fit < n ? fit : n;
}

/* True if the heap began exactly where expected: then no packet that is still
 * to be looked at landed before it. */
static bool
began_in_place(const struct heaps *p, const struct heap *h,
	       const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);

	return k->prefix_bytes == piece->header && !piece->offset &&
	       k->payload == h->at;
}

/* Takes in the items of a piece, first ones or repeated ones.  False: they do
 * not fit, and the piece was counted as dropped. */
static bool
rows_items(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	bool in_place = began_in_place(p, h, piece);
	uint64_t *item = p->scratch->item;
	uint32_t n, fit;

	n = p->a.format->items(p->head, piece, item, NOTES_ITEMS);
	if (items_known(p, h, item, n))
		return true;
	fit = items_fit(h, n);
	if (n > fit && !items_more(p, h, item + fit, n - fit)) {
		if (!rows_move(p, h, piece, n)) {
			heaps_drop(p, DROP_TOO_LARGE);
			return false;
		}
		fit = n;
		in_place = false;
	}
	if (fit)
		items_room(p, h, item, fit, in_place);
	h->items += n;
	return true;
}

/* Makes room for the bytes of a piece.  False: there is none, and the piece was
 * counted as dropped. */
static bool
rows_reach(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	uint64_t end = piece->offset + piece->bytes;

	if (h->length || end <= h->keep)
		return true;
	if (h->row.block->endless != h) {
		heaps_drop(p, DROP_LATE);
		return false;
	}
	if (!endless_fits(h, end) &&
	    (end > rows_most(p) || !rows_move(p, h, piece, 0))) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	endless_grow(h, end);
	return true;
}

/* ---- where pieces should land ------------------------------------------ */

/*
 * Predicts where the next pieces of a row will land: in the rest of the newest
 * heap, and behind it in heaps like it, each at the address that it would get
 * if it came next.
 */

/* Memory where the next heaps would be laid. */
struct outlook {
	struct block *b;
	uint64_t front, floor; /* limits of the free bytes */
	bool last;	       /* no further block follows */
};

static bool
outlook_block(struct heaps *p, struct outlook *o)
{
	if (o->last || !rows_ahead(p))
		return false;
	*o = (struct outlook){ .b = rows_of(p)->ahead,
			       .floor = row_block_most(rows_of(p)->ahead),
			       .last = true };
	return true;
}

static bool
outlook_begin(struct heaps *p, struct outlook *o)
{
	const struct row_block *row = rows_newest(p);

	*o = (struct outlook){ 0 };
	if (!row || row->full)
		return outlook_block(p, o);
	o->b = row->b;
	o->front = row->front;
	o->floor = row->front + row_block_free(row);
	return true;
}

/* Remembers how far the memory given to the kernel reaches. */
static void
aimed_note(struct heaps *p, const struct outlook *o)
{
	struct row_block *row = rows_newest(p);

	if (row && row->b == o->b)
		row->aimed = o->front;
	else
		rows_of(p)->ahead_aimed = o->front;
}

/* Aims at the next heaps, each like the one before. */
static unsigned
aim_next(struct heaps *p, const struct row_block_want *want,
	 struct receive_pair *pair, unsigned i, unsigned n)
{
	uint64_t notes = row_block_bytes(want) - want->room - want->length;
	unsigned begin = i;
	struct outlook o;

	if (!want->length || !outlook_begin(p, &o))
		return 0;
	while (i < n) {
		struct spot spot = { .keep = want->length };

		if (row_block_bytes(want) > o.floor - o.front &&
		    (!outlook_block(p, &o) ||
		     row_block_bytes(want) > o.floor - o.front))
			break;
		spot.at = o.b->data + o.front + want->room;
		i += heaps_aim_at(p, &spot, 0, want->length, pair, i, n);
		o.front += want->room + want->length;
		o.floor -= notes;
		aimed_note(p, &o);
	}
	return i - begin;
}

/* Aims at the rest of the newest heap. */
static unsigned
aim_newest(struct heaps *p, const struct heap *h, struct receive_pair *pair,
	   unsigned n)
{
	uint64_t from = ranges_end(&h->ranges), length = h->length;
	struct spot spot = { .at = h->at };

	if (!length)
		length = h->row.block->endless == h
			     ? h->keep + row_block_free(h->row.block)
			     : h->keep;
	spot.keep = length;
	if (!h->length && h->row.block->aimed < h->row.note->at + length)
		h->row.block->aimed = h->row.note->at + length;
	return heaps_aim_at(p, &spot, from, length, pair, 0, n);
}

static unsigned
rows_aim(struct heaps *p, struct receive_pair *pair, unsigned n)
{
	const struct guess *g = &p->guess;
	struct rows *r = rows_of(p);
	struct heap *h = p->newest;
	struct row_block_want want = { .length = g->length,
				       .items = g->items,
				       .room = g->room };
	unsigned i = 0;

	for (unsigned b = 0; b < r->opens; b++)
		r->open[b]->aimed = 0;
	r->ahead_aimed = 0;
	if (h && h->ranges.n)
		i = aim_newest(p, h, pair, n);
	if ((h && !h->length) || !g->room)
		return i;
	want.ranges = rows_ranges(p, want.length);
	return i + aim_next(p, &want, pair, i, n);
}

/* ---- runs ------------------------------------------------------------- */

/*
 * A heap that comes again is recognized by its count and its sender, among
 * those that were finished last.  So are heaps of a sender that was restarted,
 * if its counter begins anew at counts that were used recently; counts used
 * long ago are forgotten, and taken as new heaps of the current run.  A
 * candidate (heap_candidate.c) is made of heaps that come again, of one sender.
 * Only a piece of the same sender for the current run contradicts it, and it is
 * a run, too, when its block is full and RUN_AGREE pieces came.
 *
 * The control heap that begins a stream is evidence enough for a new run,
 * unless the same one came from the same sender within max_age: then it is a
 * duplicate.  The control heap that ends a stream decides nothing: it may have
 * overtaken pieces.
 */

/* Ends the current run, and begins the next one. */
static void
run_begin(struct heaps *p)
{
	struct rows *r = rows_of(p);

	rows_close_all(p);
	r->outside += heap_counter_missing(&r->counter) * p->guess.pieces;
	p->base.counts.outside = r->outside;
	finished_forget(&r->finished);
	r->counter = (struct heap_counter){ .far = r->counter.far };
	r->run++;
	p->base.counts.runs++;
}

static bool
note_complete(const struct note *n)
{
	if (n->ranges > 1)
		return false;
	return !n->length ||
	       (n->ranges && n->range[0].to - n->range[0].from == n->length);
}

/* Remembers the heaps of the candidate. */
static void
finished_take(struct heaps *p, const struct block *b, uint32_t sender)
{
	const struct note *n = notes_at(b, notes_head(b)->first);
	struct rows *r = rows_of(p);

	for (; n; n = notes_at(b, n->next)) {
		heap_counter_see(&r->counter, n->heap, sender);
		if (n->pieces)
			finished_add(&r->finished, n->heap, sender,
				     note_complete(n));
	}
}

/* Makes the candidate the current run. */
static void
candidate_take(struct heaps *p)
{
	struct rows *r = rows_of(p);

	run_begin(p);
	finished_take(p, p->candidate.b, p->candidate.sender);
	heap_candidate_take(p);
	r->open[0] = r->parked;
	r->opens = 1;
}

static void
candidate_drop(struct heaps *p)
{
	rows_of(p)->parked->b = NULL;
	heap_candidate_drop(p);
}

/* Returns the candidate's block, for a heap that was finished recently and
 * comes again.  NULL: there is no memory, and the piece was counted as dropped;
 * or heaps::again is set. */
static struct row_block *
candidate_block(struct heaps *p, const struct receive_packet *k,
		const struct row_block_want *want, enum finished_answer known)
{
	struct heap_candidate *c = &p->candidate;
	struct rows *r = rows_of(p);

	if (!c->b && heap_candidate_begin(p, k->sender, r->finished.n))
		r->parked = rows_block_new(p, c->b);
	if (c->b && c->sender == k->sender) {
		rows_endless_cut(p, r->parked);
		if (row_block_fits(r->parked, want))
			return r->parked;
		/* The candidate's block is full, and nothing contradicted
		 * it. */
		if (c->pieces >= RUN_AGREE) {
			candidate_take(p);
			p->again = true;
			return NULL;
		}
	}
	heaps_drop(p, known == FINISHED_COMPLETE ? DROP_DUPLICATE : DROP_LATE);
	return NULL;
}

/* Handles the control heap that begins a stream: it begins a new run if it
 * comes again after max_age. */
static void
stream_begin(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	struct rows *r = rows_of(p);
	bool same = r->start == piece->heap && r->start_sender == sender;

	if (finished_find(&r->finished, piece->heap, sender) == FINISHED_NOT) {
		r->start = piece->heap;
		r->start_sender = sender;
		r->started = p->now;
	} else if (same && p->now - r->started >= p->a.max_age) {
		if (p->candidate.b)
			candidate_drop(p);
		run_begin(p);
		r->started = p->now;
	}
}

/* ---- heaps ----------------------------------------------------------- */

static struct row_block *
row_for(struct heaps *p, const struct row_block_want *want)
{
	struct row_block *row = rows_newest(p);

	if (row) {
		rows_endless_cut(p, row);
		if (!row->full && row_block_fits(row, want))
			return row;
		row->full = true;
		rows_done(p, row);
	}
	row = rows_open(p);
	return row;
}

/* Counts a piece without memory.  A control heap is one packet, unlike others;
 * and before the sender's step is certain, single packets are counted. */
static void
heap_unplaced(struct heaps *p, const struct format_piece *piece,
	      uint32_t sender)
{
	heaps_drop(p, DROP_NO_BUFFER);
	if (piece->control != PIECE_DATA ||
	    !heap_counter_pass(&rows_of(p)->counter, piece->heap, sender))
		rows_of(p)->outside++;
}

static struct heap *
heap_begin(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece, enum finished_answer known)
{
	struct row_block_want want = rows_want(p, piece);
	struct row_block *row;
	struct heap *h;

	row = known == FINISHED_NOT ? row_for(p, &want)
				    : candidate_block(p, k, &want, known);
	if (!row) {
		if (known == FINISHED_NOT)
			heap_unplaced(p, piece, k->sender);
		return NULL;
	}
	h = heaps_add(p, piece, k->sender);
	h->parked = h->held = known != FINISHED_NOT;
	h->why = known == FINISHED_COMPLETE ? DROP_DUPLICATE : DROP_LATE;
	rows_lay(p, h, row, &want, piece);
	if (!h->parked) {
		p->newest = h;
		heap_counter_see(&rows_of(p)->counter, piece->heap, k->sender);
	}
	return h;
}

static struct heap *
rows_begin(struct heaps *p, const struct receive_packet *k,
	   const struct format_piece *piece)
{
	struct row_block_want want = rows_want(p, piece);
	uint64_t most = rows_most(p);
	enum finished_answer known;

	if (want.length > most || row_block_bytes(&want) > most) {
		rows_large(p, piece, &want);
		heaps_drop(p, DROP_TOO_LARGE);
		return NULL;
	}
	if (piece->control == PIECE_START)
		stream_begin(p, piece, k->sender);
	known = finished_find(&rows_of(p)->finished, piece->heap, k->sender);
	if (!p->base.counts.runs)
		p->base.counts.runs = 1;
	return heap_begin(p, k, piece, known);
}

/* Makes room for the headers of an incomplete heap whose pieces are so small
 * and scattered that the holes cannot hold them.  False: there is none. */
static bool
rows_widen(struct heap *h)
{
	struct ranges *r = &h->ranges;

	if (r->n == r->most || row_block_free(h->row.block) < r->header)
		return false;
	h->row.block->owed += r->header;
	r->beside += r->header;
	return true;
}

static enum ranges_answer
rows_look(struct heap *h, const struct format_piece *piece)
{
	enum ranges_answer answer;

	do {
		answer = heaps_look(h, piece);
	} while (answer == RANGES_FULL && rows_widen(h));
	return answer;
}

static void
rows_take(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	struct row_block *row;
	uint32_t kept;

	if (!rows_reach(p, h, piece) || heaps_refuse(p, rows_look(h, piece)) ||
	    (piece->items && !rows_items(p, h, piece)))
		return;
	kept = heaps_take(p, h, piece);
	row = h->row.block;
	if (!h->control && piece->control)
		h->control = h->row.note->control = piece->control;
	if (heaps_fill(p, row->b, 1))
		row->born = p->now;
	if (h->parked)
		heap_candidate_piece(p, h, kept);
	else if (p->candidate.b && p->candidate.sender == h->sender)
		candidate_drop(p);
	if (h->length && h->ranges.bytes == h->length)
		heaps_finish(p, h);
	if (h->parked && heap_candidate_sure(p))
		candidate_take(p);
}

static void
note_finish(struct heaps *p, const struct heap *h)
{
	struct note *note = h->row.note;

	note->items = h->items;
	note->ranges = h->ranges.n;
	note->pieces = h->pieces;
	note->missing = heaps_missing(p, h);
}

static void
rows_finish(struct heaps *p, struct heap *h, bool complete)
{
	struct row_block *row = h->row.block;

	if (row->endless == h)
		rows_endless_cut(p, row);
	note_finish(p, h);
	row->live--;
	if (!h->pieces) {
		rows_done(p, row);
		return;
	}
	if (h->parked) {
		heap_candidate_finish(p, h, complete);
		return;
	}
	p->base.counts.heaps++;
	p->base.counts.heaps_incomplete += !complete;
	finished_add(&rows_of(p)->finished, h->count, h->sender, complete);
	rows_done(p, row);
}

static void
rows_age(struct heaps *p, int64_t since)
{
	struct rows *r = rows_of(p);

	if (heap_candidate_due(p, since)) {
		if (p->candidate.whole)
			candidate_take(p);
		else
			candidate_drop(p);
	}
	for (unsigned i = r->opens; i--;) {
		struct row_block *row = r->open[i];

		if (row->b->filled && row->born <= since) {
			row->full = true;
			rows_done(p, row);
		}
	}
	if (since == INT64_MAX)
		rows_close_all(p);
	if (!r->opens)
		p->base.counts.outside =
		    r->outside +
		    heap_counter_untold(&r->counter) * p->guess.pieces;
	if (r->ahead && !r->opens) {
		heaps_unused(p, r->ahead);
		r->ahead = NULL;
	}
}

static void
rows_release(struct heaps *p)
{
	struct rows *r = rows_of(p);
	struct block *b;

	while ((b = r->closed)) {
		r->closed = b->next;
		b->next = NULL;
		p->a.out(p->a.arg, b);
	}
	r->closed_end = &r->closed;
}

static const struct heaps_kind rows_kind = {
	.aim = rows_aim,
	.begin = rows_begin,
	.take = rows_take,
	.finish = rows_finish,
	.age = rows_age,
	.release = rows_release,
};

struct heaps *
rows_make(const struct placement_args *args)
{
	struct rows *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->heaps.kind = &rows_kind;
	r->closed_end = &r->closed;
	r->counter.far = args->max_gap / NOTES_PAGE;
	return &r->heaps;
}
