/* SPDX-License-Identifier: MIT */
/*
 * What is wanted now goes before all that may be wanted soon.  Looking ahead
 * goes from block to block of the way as far as there are buffers, so as many
 * disks have something to do as blocks are in them; a disk that hangs gets
 * nothing more.
 *
 *   read            wanted              next
 *   ... |  passed  |  view  |  ahead  |  not asked for yet ...
 *                            <------->
 *                              window
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/clock.h"
#include "contract/block.h"
#include "store/reader_priv.h"
#include "store/recording_priv.h"

#define SECOND INT64_C(1000000000)

/* One call of reader_get(). */
struct wish {
	struct reader_way *w;
	const struct recording_block *b;
	uint64_t at, bytes;
	bool jumped;
	struct reader_view *v;
	int64_t since, until;
};

/* ---- looking ahead ---------------------------------------------------------- */

static bool
is_on_way(const struct reader_way *w, const struct recording_block *b)
{
	return b->record.kind == INDEX_BLOCK && b->disk >= 0 &&
	       (w->sub < 0 || b->record.sub == w->sub);
}

/* The block that it looks ahead to, from its next place on; NULL: the end. */
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

/* Where a piece of the grid ends. */
static uint64_t
grid_end(const struct reader *r, const struct recording_block *b, uint64_t at)
{
	uint64_t end = reader_down(at, r->piece_bytes) + r->piece_bytes;

	return end < b->record.bytes ? end : b->record.bytes;
}

static bool
ask_ahead(struct reader_way *w, const struct recording_block *b, uint64_t end)
{
	struct reader *r = w->reader;
	struct reader_piece *p =
	    reader_piece_find(r, b->record.number, w->next_at);

	if (p || reader_lane_hangs(&r->lane[b->disk], clock_steady()))
		return true;
	if (!r->free && !reader_piece_miss(r, false))
		return false;
	p = reader_piece_ask(r, b, w->next_at, end, false);
	if (!p)
		return false;
	p->ahead = w;
	w->ahead++;
	return true;
}

static unsigned
window(const struct reader_way *w)
{
	const struct reader *r = w->reader;
	unsigned most = r->pieces / (r->ways ? r->ways : 1);

	return w->sure || w->window > most ? most : w->window;
}

static void
look_ahead(struct reader_way *w)
{
	unsigned most = window(w);
	const struct recording_block *b;

	while (w->ahead < most && (b = next_block(w))) {
		uint64_t end = grid_end(w->reader, b, w->next_at);

		if (!ask_ahead(w, b, end))
			return;
		w->next_at = end;
	}
}

static void
drop_ahead(struct reader_way *w)
{
	struct reader *r = w->reader;

	for (unsigned i = 0; i < r->pieces && w->ahead; i++) {
		if (r->piece[i].known && r->piece[i].ahead == w)
			reader_piece_drop(&r->piece[i]);
	}
}

/* ---- following a way ---------------------------------------------------------- */

/* Is it what comes behind that which was read last? */
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

/* A way that is sure is waited for again and again. */
static void
follow(struct wish *h)
{
	struct reader_way *w = h->w;
	struct reader *r = w->reader;
	struct reader_piece *p =
	    reader_piece_find(r, h->b->record.number, h->at);

	h->jumped = !is_next(w, h->b->record.number, h->at);
	if (!h->jumped && !w->sure)
		w->window = w->window ? 2 * w->window : 1;
	if (h->jumped && (!p || p->ahead != w)) {
		drop_ahead(w);
		w->window = 0;
		w->next_number = h->b->record.number;
		w->next_at = h->at;
	}
	if (w->window > r->pieces)
		w->window = r->pieces;
}

/* ---- asking for what is wanted now ---------------------------------------------- */

/* Of one who jumps no more than he needs, and what it takes to check it. */
static struct reader_piece *
ask_now(struct wish *h)
{
	struct reader_way *w = h->w;
	struct reader *r = w->reader;
	uint64_t end = grid_end(r, h->b, h->at), from;
	uint64_t unit = r->verify ? BLOCK_QUANTUM : READER_ALIGN;
	struct reader_piece *p;

	if (h->jumped && !w->sure && h->bytes && h->bytes < end - h->at &&
	    reader_up(h->at + h->bytes, unit) < end)
		end = reader_up(h->at + h->bytes, unit);
	from = h->jumped || r->verify ? reader_down(h->at, unit) : h->at;
	p = reader_piece_ask(r, h->b, from, end, true);
	if (!p && reader_piece_miss(r, true))
		p = reader_piece_ask(r, h->b, from, end, true);
	if (!p)
		return NULL;
	p->ahead = w; /* until it is given */
	w->ahead++;
	if (w->next_number == p->number && w->next_at < end)
		w->next_at = end;
	return p;
}

/* All of the rest of a piece is bad. */
static void
give_bad(struct wish *h, int err, uint64_t end)
{
	*h->v = (struct reader_view){ .at = h->at,
				      .bytes = end - h->at,
				      .err = err };
}

static void
give(struct wish *h, struct reader_piece *p)
{
	struct reader *r = h->w->reader;
	struct reader_view *v = h->v;
	uint64_t end;

	r->rec->part[h->b->disk].hangs = p->lane->hangs;
	*v = (struct reader_view){ .at = h->at, .piece = p };
	v->err = reader_piece_stretch(p, h->at, &end);
	v->bytes = end - h->at;
	if (h->bytes && v->bytes > h->bytes)
		v->bytes = h->bytes;
	if (!v->err)
		v->data = p->data + (h->at - p->at);
	p->users++;
	p->used = ++r->turn;
	r->views++;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
}

/* Is there no hope for a buffer, but from a disk that hangs? */
static bool
is_stuck(struct reader *r, int64_t now)
{
	for (unsigned i = 0; i < r->pieces; i++) {
		struct reader_piece *p = &r->piece[i];

		if (p->users || (p->left && !reader_lane_hangs(p->lane, now)))
			return false;
	}
	return !r->free;
}

/* 0; -EAGAIN: not yet. */
static int
get_piece(struct wish *h, int64_t now)
{
	struct reader *r = h->w->reader;
	struct reader_lane *l = &r->lane[h->b->disk];
	struct reader_piece *p =
	    reader_piece_find(r, h->b->record.number, h->at);
	bool hangs = reader_lane_hangs(l, now);

	if (!p && !hangs)
		p = ask_now(h);
	if (p)
		p->users++; /* what is wanted is not missed for what may be */
	if (!hangs)
		look_ahead(h->w);
	if (p)
		p->users--;
	if (p && !p->left) {
		give(h, p);
		return 0;
	}
	if (!hangs && (p || (!is_stuck(r, now) && l->threads)))
		return -EAGAIN;
	r->rec->part[h->b->disk].hangs = hangs;
	give_bad(h, l->threads ? -ETIMEDOUT : -ENOENT,
		 grid_end(r, h->b, h->at));
	if (p)
		reader_piece_drop(p);
	look_ahead(h->w);
	return 0;
}

/* When to look again by itself. */
static int64_t
patience_end(const struct wish *h)
{
	const struct reader *r = h->w->reader;
	const struct reader_lane *l = &r->lane[h->b->disk];

	return (l->flying ? l->beat : clock_steady()) + r->patience + 1;
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND,
				  .tv_nsec = ns % SECOND };
}

static void
set_timer(const struct wish *h)
{
	struct reader *r = h->w->reader;
	const struct itimerspec at = { .it_value =
					   timespec_of(patience_end(h)) };

	r->asked = true;
	if (r->timer)
		timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static int
wait(struct wish *h)
{
	struct reader *r = h->w->reader;
	int64_t now = clock_steady(), end;
	struct timespec at;

	while (get_piece(h, now)) {
		if (now >= h->until) {
			set_timer(h);
			return -ETIMEDOUT;
		}
		end = patience_end(h);
		at = timespec_of(end < h->until ? end : h->until);
		pthread_cond_timedwait(&r->done, &r->lock, &at);
		now = clock_steady();
	}
	return 0;
}

/* ---- what others call ------------------------------------------------------------ */

int
reader_get(struct reader_way *w, uint64_t number, uint64_t at, uint64_t bytes,
	   struct reader_view *v, int64_t until)
{
	struct reader *r = w->reader;
	struct wish h = { .w = w, .at = at, .bytes = bytes, .v = v };
	int err = 0;

	if (number >= r->rec->blocks)
		return -ENODATA;
	h.b = &r->rec->block[number];
	h.until = until;
	if (h.b->record.kind != INDEX_BLOCK || at >= h.b->record.bytes)
		return -ENODATA;
	pthread_mutex_lock(&r->lock);
	r->asked = false;
	if (h.b->disk < 0) {
		give_bad(&h, -ENOENT, h.b->record.bytes);
	} else {
		follow(&h);
		err = wait(&h);
	}
	if (!err) {
		w->number = number;
		w->at = v->at + v->bytes;
	}
	pthread_mutex_unlock(&r->lock);
	return err;
}

void
reader_put(struct reader *r, struct reader_view *v)
{
	struct reader_piece *p = v->piece;

	if (!p)
		return;
	pthread_mutex_lock(&r->lock);
	if (v->at + v->bytes == p->at + p->bytes)
		p->passed = true;
	r->views--;
	if (!--p->users && (p->passed || !p->known))
		reader_piece_drop(p);
	pthread_mutex_unlock(&r->lock);
	v->piece = NULL;
}

bool
reader_lost(const struct reader_view *v)
{
	return recording_lost_chunk(v->err) || v->err == -ENODATA;
}

void
reader_watch(struct reader *r)
{
	int64_t now = clock_steady();

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->lanes; i++)
		r->rec->part[i].hangs = reader_lane_hangs(&r->lane[i], now);
	pthread_mutex_unlock(&r->lock);
}

void
reader_facts(struct reader *r, struct reader_facts *f)
{
	int64_t now = clock_steady();

	pthread_mutex_lock(&r->lock);
	*f = (struct reader_facts){ .bytes = r->bytes };
	for (unsigned i = 0; i < r->lanes; i++)
		f->hang += reader_lane_hangs(&r->lane[i], now);
	pthread_mutex_unlock(&r->lock);
}

void
reader_way_begin(struct reader_way *w, struct reader *r, int sub)
{
	*w = (struct reader_way){
		.reader = r, .sub = sub, .end = UINT64_MAX, .number = UINT64_MAX
	};
	pthread_mutex_lock(&r->lock);
	r->ways++;
	pthread_mutex_unlock(&r->lock);
}

void
reader_way_end(struct reader_way *w)
{
	struct reader *r = w->reader;

	pthread_mutex_lock(&r->lock);
	drop_ahead(w);
	r->ways--;
	pthread_mutex_unlock(&r->lock);
}
