/* SPDX-License-Identifier: MIT */
/*
 * Read-ahead.  What is wanted now goes before everything read ahead.
 * Read-ahead goes from block to block along the cursor as far as buffers
 * permit, so as many disks are busy as there are blocks in the window.  A disk
 * that hangs gets no further requests.
 *
 *   read            wanted              next
 *   ... |  passed  |  view  |  ahead  |  not asked for yet ...
 *                            <------->
 *                              window
 *
 * All cursors of a pool that read ahead get the same share of its buffers.  A
 * cursor that is unused for two seconds loses its share, and what it read ahead
 * is taken first when buffers are short: an open file that nobody reads costs
 * no memory.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

enum {
	IDLE_MS = 2000,
	SHARE_MS = 50, /* a computed share is valid this long */
};

/*
 * ---- how far ----------------------------------------------------------------
 */

bool
reader_way_idles(const struct reader_way *w, int64_t now)
{
	return now - w->used > IDLE_MS * NS_MS;
}

static bool
looks_ahead(const struct reader_way *w, int64_t now)
{
	return (w->window || w->sure) && !reader_way_idles(w, now);
}

/* Returns how many pieces each cursor may read ahead. */
static unsigned
share(struct reader_pool *pool)
{
	int64_t now = clock_steady();
	unsigned n = 0;

	if (pool->share && now - pool->shared_at < SHARE_MS * NS_MS)
		return pool->share;
	for (struct reader_way *w = pool->way; w; w = w->next)
		n += looks_ahead(w, now);
	pool->share = pool->pieces / (n ? n : 1);
	pool->shared_at = now;
	return pool->share;
}

static unsigned
window(const struct reader_way *w)
{
	unsigned most = share(w->reader->pool);

	/* Keep a quarter for other threads that read the same file a little
	 * behind this one. */
	if (w->told)
		most -= most / 4;
	return w->sure || w->window > most ? most : w->window;
}

/*
 * ---- reading ahead ----------------------------------------------------------
 */

static bool
is_on_way(const struct reader_way *w, const struct recording_block *b)
{
	return b->record.kind == INDEX_BLOCK && b->disk >= 0 &&
	       (w->sub < 0 || b->record.sub == w->sub);
}

/* Moves the next place to read ahead to a block that has data there.  NULL: the
 * end. */
static const struct recording_block *
next_block(struct reader_way *w)
{
	const struct recording *rec = w->reader->rec;

	while (w->next_number < w->end && w->next_number < rec->blocks) {
		const struct recording_block *b = &rec->block[w->next_number];

		if (is_on_way(w, b) && w->next_at < b->record.bytes)
			return b;
		w->next_number++;
		w->next_at = 0;
	}
	return NULL;
}

uint64_t
reader_grid_end(const struct reader *r, const struct recording_block *b,
		uint64_t at)
{
	uint64_t piece = r->pool->piece_bytes;
	uint64_t end = reader_down(at, piece) + piece;

	return end < b->record.bytes ? end : b->record.bytes;
}

static bool
ask_ahead(struct reader_way *w, const struct recording_block *b, uint64_t *end)
{
	struct reader *r = w->reader;
	struct reader_pool *pool = r->pool;
	struct reader_piece *p =
	    reader_piece_find(r, b->record.number, w->next_at);

	if (p)
		*end = p->at + p->bytes;
	if (p || reader_lane_hangs(&pool->lane[b->disk], clock_steady()))
		return true;
	if (pool->wish || (!pool->free && !reader_piece_miss(pool, false)))
		return false;
	*end = reader_piece_next(r, b->record.number, w->next_at, *end);
	p = reader_piece_ask(r, b, w->next_at, *end, false);
	if (!p)
		return false;
	p->ahead = w;
	w->ahead++;
	return true;
}

/*
 * True if the next place is as far ahead of the caller as it may be.  A cursor
 * that closely follows another finds everything read already, and must not read
 * on beyond it.
 */
static bool
is_far(const struct reader_way *w, const struct recording_block *b,
       unsigned most)
{
	const struct recording *rec = w->reader->rec;
	uint64_t from;

	if (!w->told || w->sub < 0 || w->number >= rec->blocks)
		return false;
	from = rec->block[w->number].offset + w->at;
	return b->offset + w->next_at >
	       from + most * w->reader->pool->piece_bytes;
}

void
reader_way_look(struct reader_way *w)
{
	unsigned most = window(w);
	const struct recording_block *b;

	while (w->ahead < most && (b = next_block(w)) && !is_far(w, b, most)) {
		uint64_t end = reader_grid_end(w->reader, b, w->next_at);

		if (!ask_ahead(w, b, &end))
			return;
		w->next_at = end;
	}
}

void
reader_way_drop(struct reader_way *w)
{
	struct reader_pool *pool = w->reader->pool;

	for (unsigned i = 0; i < pool->pieces && w->ahead; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (p->reader && p->known && p->ahead == w)
			reader_piece_drop(p);
	}
}

/* ---- following a cursor
 * ----------------------------------------------------------- */

/* True if this place directly follows what was read last. */
static bool
is_next(const struct reader_way *w, uint64_t number, uint64_t at)
{
	const struct recording *rec = w->reader->rec;

	if (number == w->number)
		return at == w->at;
	if (at || w->number >= rec->blocks || number < w->number ||
	    w->at < rec->block[w->number].record.bytes)
		return false;
	for (uint64_t i = w->number + 1; i < number; i++) {
		if (is_on_way(w, &rec->block[i]))
			return false;
	}
	return true;
}

/* Has read-ahead begin at the caller's place, if it was behind that or not
 * begun. */
static bool
follow_told(struct reader_way *w, uint64_t number, uint64_t at)
{
	if (!w->window)
		return true;
	if (w->next_number == UINT64_MAX || w->next_number < number ||
	    (w->next_number == number && w->next_at < at)) {
		w->next_number = number;
		w->next_at = at;
	}
	return false;
}

bool
reader_way_follow(struct reader_way *w, uint64_t number, uint64_t at)
{
	struct reader *r = w->reader;
	struct reader_piece *p = reader_piece_find(r, number, at);
	bool jumped;

	w->used = clock_steady();
	if (w->told)
		return follow_told(w, number, at);
	/* A `sure` cursor asks again for what it waits for; that is no jump. */
	jumped = !is_next(w, number, at);
	if (!jumped && !w->sure)
		w->window = w->window ? 2 * w->window : 1;
	if (jumped && (!p || p->ahead != w)) {
		reader_way_drop(w);
		w->window = 0;
		w->next_number = number;
		w->next_at = at;
	}
	if (w->window > r->pool->pieces)
		w->window = r->pool->pieces;
	return jumped && !w->sure;
}

/* ---- called from outside
 * ------------------------------------------------------------- */

void
reader_way_begin(struct reader_way *w, struct reader *r, int sub)
{
	struct reader_pool *pool = r->pool;

	*w = (struct reader_way){
		.reader = r, .sub = sub, .end = UINT64_MAX, .number = UINT64_MAX
	};
	pthread_mutex_lock(&pool->lock);
	w->next = pool->way;
	pool->way = w;
	pthread_mutex_unlock(&pool->lock);
}

void
reader_way_end(struct reader_way *w)
{
	struct reader_pool *pool = w->reader->pool;
	struct reader_way **link = &pool->way;

	pthread_mutex_lock(&pool->lock);
	reader_way_drop(w);
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	pool->share = 0;
	pthread_mutex_unlock(&pool->lock);
}

void
reader_way_ahead(struct reader_way *w, uint64_t bytes)
{
	struct reader_pool *pool = w->reader->pool;
	uint64_t pieces = (bytes + pool->piece_bytes - 1) / pool->piece_bytes;
	bool looked;

	pthread_mutex_lock(&pool->lock);
	looked = w->window > 0;
	w->window = pieces < pool->pieces ? (unsigned)pieces : pool->pieces;
	w->used = clock_steady();
	if (!pieces)
		reader_way_drop(w);
	if (!pieces)
		w->next_number = UINT64_MAX;
	if (looked != (w->window > 0))
		pool->share = 0;
	pthread_mutex_unlock(&pool->lock);
}
