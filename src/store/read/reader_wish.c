/* SPDX-License-Identifier: MIT */
/*
 * reader_get(): gives what is wanted now.  If it is not in a buffer, it is
 * requested before everything that is read ahead, and waited for.  A waiting
 * call holds no buffer and keeps nothing that it saw of the recording: it looks
 * the block up again afterwards.  A call that finds no buffer joins the pool's
 * queue, and only the first of the queue may take a buffer that becomes free.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/clock.h"
#include "contract/block.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/* One call of reader_get(). */
struct wish {
	struct reader_wish place; /* queue entry; the first member */
	const struct recording_block *b;
	uint64_t number, at, bytes;
	bool jumped;
	struct reader_view *v;
	int64_t until;
};

/* ---- the queue
 * -------------------------------------------------------------------- */

static void
queue_up(struct wish *h)
{
	struct reader_wish **link = &h->place.w->reader->pool->wish;

	if (h->place.queued)
		return;
	while (*link)
		link = &(*link)->next;
	h->place.next = NULL;
	h->place.queued = true;
	*link = &h->place;
}

static void
step_out(struct wish *h)
{
	struct reader_pool *pool = h->place.w->reader->pool;
	struct reader_wish **link = &pool->wish;

	if (!h->place.queued)
		return;
	while (*link != &h->place)
		link = &(*link)->next;
	*link = h->place.next;
	h->place.queued = false;
	reader_pool_news(pool); /* there may be a buffer for the next one,
				   too */
}

/* True if a buffer is free for this call; else it joins the queue. */
static bool
find_buffer(struct wish *h)
{
	struct reader_pool *pool = h->place.w->reader->pool;

	if ((!pool->wish || pool->wish == &h->place) &&
	    (pool->free || reader_piece_miss(pool, true)))
		return true;
	queue_up(h);
	return false;
}

/* True if every buffer is held by a disk that hangs. */
static bool
is_stuck(struct reader_pool *pool, int64_t now)
{
	for (unsigned i = 0; i < pool->pieces; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (!p->reader || p->users || !p->left ||
		    !reader_lane_hangs(p->lane, now))
			return false;
	}
	return true;
}

/* ---- requesting what is wanted now
 * -------------------------------------------------- */

/* Requests a piece from its disk.  After a jump it is no longer than needed,
 * rounded to pages or, with verify, to quanta of checksums. */
static struct reader_piece *
ask_now(struct wish *h)
{
	struct reader_way *w = h->place.w;
	struct reader *r = w->reader;
	uint64_t end = reader_grid_end(r, h->b, h->at), from;
	uint64_t unit = w->told ? READER_PAGE : READER_ALIGN;
	struct reader_piece *p;

	if (r->verify)
		unit = BLOCK_QUANTUM;
	if (h->jumped && h->bytes && h->bytes < end - h->at &&
	    reader_up(h->at + h->bytes, unit) < end)
		end = reader_up(h->at + h->bytes, unit);
	from = h->jumped || r->verify ? reader_down(h->at, unit) : h->at;
	end = reader_piece_next(r, h->number, h->at, end);
	p = reader_piece_ask(r, h->b, from, end, true);
	if (!p)
		return NULL;
	p->ahead = w; /* until it is given */
	w->ahead++;
	if (w->next_number == p->number && w->next_at < end)
		w->next_at = end;
	return p;
}

/* Gives a bad stretch: up to the end of the piece, or of the block if it has no
 * disk. */
static int
give_bad(struct wish *h, int err)
{
	uint64_t end = h->b->disk < 0
			   ? h->b->record.bytes
			   : reader_grid_end(h->place.w->reader, h->b, h->at);

	*h->v = (struct reader_view){ .at = h->at,
				      .bytes = end - h->at,
				      .err = err };
	return 0;
}

static void
note_hang(struct wish *h, bool hangs)
{
	struct recording *rec = h->place.w->reader->rec;

	rec->part[h->b->disk].hangs = hangs;
}

static int
give(struct wish *h, struct reader_piece *p)
{
	struct reader *r = h->place.w->reader;
	struct reader_view *v = h->v;
	uint64_t end;

	note_hang(h, p->lane->hangs);
	*v = (struct reader_view){ .at = h->at, .piece = p };
	v->err = reader_piece_stretch(p, h->at, &end);
	v->bytes = end - h->at;
	if (h->bytes && v->bytes > h->bytes)
		v->bytes = h->bytes;
	if (!v->err)
		v->data = p->data + (h->at - p->at);
	p->users++;
	p->used = ++r->pool->turn;
	p->used_at = h->place.w->used;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
	return 0;
}

/* Gives up: the disk hangs, or all buffers are held by disks that do. */
static int
give_up(struct wish *h, struct reader_piece *p)
{
	if (p && !p->users)
		reader_piece_drop(p);
	give_bad(h, -ETIMEDOUT);
	reader_way_look(h->place.w);
	return 0;
}

/* Returns 0, or -EAGAIN: not there yet. */
static int
get_piece(struct wish *h, int64_t now)
{
	struct reader *r = h->place.w->reader;
	struct reader_pool *pool = r->pool;
	bool hangs = reader_lane_hangs(&pool->lane[h->b->disk], now);
	struct reader_piece *p = reader_piece_find(r, h->number, h->at);

	if (p)
		reader_piece_hurry(p);
	if (!p && !hangs && find_buffer(h)) {
		p = ask_now(h);
		step_out(h);
		if (!p)
			return give_bad(h, -ENOENT);
	}
	if (p)
		p->users++; /* keeps read-ahead from taking its buffer */
	if (!hangs)
		reader_way_look(h->place.w);
	if (p)
		p->users--;
	if (p && !p->left)
		return give(h, p);
	if (hangs) {
		note_hang(h, true);
		return give_up(h, p);
	}
	return p || !is_stuck(pool, now) ? -EAGAIN : give_up(h, p);
}

/* ---- waiting
 * ---------------------------------------------------------------------- */

/* Returns the steady time at which to look again without any news. */
static int64_t
patience_end(const struct wish *h)
{
	const struct reader_pool *pool = h->place.w->reader->pool;
	const struct reader_lane *l = &pool->lane[h->b->disk];

	return (l->flying ? l->beat : clock_steady()) + pool->patience + 1;
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_SECOND,
				  .tv_nsec = ns % NS_SECOND };
}

static void
set_timer(const struct wish *h)
{
	struct reader *r = h->place.w->reader;
	const struct itimerspec at = { .it_value =
					   timespec_of(patience_end(h)) };

	r->asked = true;
	if (r->timer)
		timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Looks the block up in the recording as it is now.  Returns 0, or -ENODATA: it
 * has no such data. */
static int
find_block(struct wish *h)
{
	const struct recording *rec = h->place.w->reader->rec;

	if (h->number >= rec->blocks)
		return -ENODATA;
	h->b = &rec->block[h->number];
	if (h->b->record.kind != INDEX_BLOCK || h->at >= h->b->record.bytes)
		return -ENODATA;
	return 0;
}

/* Returns 0, -EAGAIN or -ENODATA. */
static int
try(struct wish *h, int64_t now)
{
	int err = find_block(h);

	if (err)
		return err;
	return h->b->disk < 0 ? give_bad(h, -ENOENT) : get_piece(h, now);
}

/* Waits for news of piece `p` (or of a buffer, if NULL), or until it is time to
 * look again. */
static void
wait_for(struct wish *h, const struct reader_piece *p)
{
	struct reader *r = h->place.w->reader;
	struct reader_wish **link = &r->waiting;
	int64_t end = patience_end(h);
	struct timespec at = timespec_of(end < h->until ? end : h->until);
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&h->place.news, &steady);
	pthread_condattr_destroy(&steady);
	h->place.piece = p;
	h->place.next_waiting = r->waiting;
	r->waiting = &h->place;
	pthread_cond_timedwait(&h->place.news, &r->pool->lock, &at);
	while (*link != &h->place)
		link = &(*link)->next_waiting;
	*link = h->place.next_waiting;
	pthread_cond_destroy(&h->place.news);
}

static int
wait(struct wish *h)
{
	struct reader *r = h->place.w->reader;
	int64_t now = clock_steady();
	int err;

	while ((err = try(h, now)) == -EAGAIN) {
		if (now >= h->until) {
			set_timer(h);
			return -ETIMEDOUT;
		}
		wait_for(h, reader_piece_find(r, h->number, h->at));
		now = clock_steady();
	}
	return err;
}

/* ---- called from outside
 * ------------------------------------------------------------- */

int
reader_get(struct reader_way *w, uint64_t number, uint64_t at, uint64_t bytes,
	   struct reader_view *v, int64_t until)
{
	struct reader *r = w->reader;
	struct wish h = {
		.place = { .w = w },
		.number = number,
		.at = at,
		.bytes = bytes,
		.v = v,
		.until = until,
	};
	int err;

	pthread_mutex_lock(&r->pool->lock);
	r->asked = false;
	err = find_block(&h);
	if (!err) {
		if (h.b->disk >= 0)
			h.jumped = reader_way_follow(w, number, at);
		err = wait(&h);
		step_out(&h);
	}
	if (!err) {
		w->number = number;
		w->at = v->at + v->bytes;
	}
	pthread_mutex_unlock(&r->pool->lock);
	return err;
}

/* True if the piece is not needed any more.  A pool with a single cursor drops
 * a piece once all of it was given. */
static bool
is_done(const struct reader_pool *pool, const struct reader_piece *p)
{
	bool alone = !pool->way || !pool->way->next;

	return !p->known || p->bads || (alone && p->given >= p->bytes);
}

void
reader_put(struct reader *r, struct reader_view *v)
{
	struct reader_piece *p = v->piece;

	if (!p)
		return;
	pthread_mutex_lock(&r->pool->lock);
	p->given += v->bytes;
	if (--p->users)
		;
	else if (is_done(r->pool, p))
		reader_piece_drop(p);
	else
		reader_pool_news(r->pool);
	pthread_mutex_unlock(&r->pool->lock);
	v->piece = NULL;
}

bool
reader_lost(const struct reader_view *v)
{
	return recording_lost_chunk(v->err) || v->err == -ENODATA;
}
