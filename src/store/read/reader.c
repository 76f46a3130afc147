/* SPDX-License-Identifier: MIT */
/*
 * A pool of buffers and of threads for each disk, the readers that share it,
 * and reader_get().
 *
 * A reader is what a pool knows of one recording: its folders, chunks and
 * pieces.  If pieces are in flight when the reader is closed, the disks'
 * threads own them and the reader; the last one frees it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/record/block.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/* ---- the pool ------------------------------------------------------------ */

/*
 * A pool's memory and threads, and how they begin and end.
 *
 * The memory is cut into one buffer per piece, each with the caller's head
 * before it and a page behind it.  A piece that does not begin at a page of its
 * file is read with all the pages that it touches, so that it too can be read
 * past the page cache.
 *
 * | head | page-aligned: skew, piece, rest of its last page | head | ...
 *
 * The pool belongs to its maker, its readers and the disks' threads; the last
 * one frees it.  So the maker waits only briefly for threads: half a second.
 *
 * Calls that find no buffer queue up.  While any waits, nobody else gets a
 * buffer, and nothing is read ahead.  Callers give lent stretches back soon,
 * and requests in flight are bounded over all disks; so the queue moves,
 * however little memory there is.
 */

enum { MEMORY = 64 << 20, PATIENCE_S = 10, HUGE = 2 << 20 };

static void
pool_free(struct reader_pool *pool)
{
	for (unsigned i = 0; i < pool->disks; i++)
		pthread_cond_destroy(&pool->disk[i].work);
	if (pool->memory)
		munmap(pool->memory, pool->memory_bytes);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->ended);
	free(pool->request);
	free(pool->piece);
	free(pool->disk);
	free(pool);
}

void
reader_pool_drop(struct reader_pool *pool)
{
	bool last = --pool->refs == 0;

	pthread_mutex_unlock(&pool->lock);
	if (last)
		pool_free(pool);
}

/* Gives the memory back to the kernel, unless a disk still uses some of it. */
static void
pool_rest(struct reader_pool *pool)
{
	if (!pool->used)
		madvise(pool->memory, pool->memory_bytes, MADV_DONTNEED);
}

void
reader_pool_leave(struct reader_pool *pool)
{
	int64_t until = clock_steady() + NS_SECOND / 2;
	struct timespec at = { .tv_sec = until / NS_SECOND,
			       .tv_nsec = until % NS_SECOND };
	int err = 0;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	for (unsigned i = 0; i < pool->disks; i++)
		pthread_cond_broadcast(&pool->disk[i].work);
	while (pool->threads && !err)
		err = pthread_cond_timedwait(&pool->ended, &pool->lock, &at);
	reader_pool_drop(pool);
}

static void
size_pieces(struct reader_pool *pool, const struct reader_pool_args *a)
{
	uint64_t memory = a->memory ? a->memory : MEMORY;

	pool->request_bytes = READER_REQUEST;
	pool->piece_bytes = reader_up(a->piece ? a->piece : 1, READER_REQUEST);
	pool->head = reader_up(a->head, READER_PAGE);
	pool->stride = pool->head + pool->piece_bytes + READER_PAGE;
	pool->pieces = READER_LEAST;
	if (memory / pool->stride > READER_LEAST)
		pool->pieces = (unsigned)(memory / pool->stride);
	pool->memory_bytes = reader_up(pool->stride * pool->pieces, HUGE);
}

/* Maps the buffers.  The kernel supplies a page at its first use, so a short
 * recording costs little memory. */
static int
make_memory(struct reader_pool *pool)
{
	pool->memory = mmap(NULL, pool->memory_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool->memory == MAP_FAILED) {
		pool->memory = NULL;
		return -ENOMEM;
	}
	madvise(pool->memory, pool->memory_bytes, MADV_HUGEPAGE);
	return 0;
}

static int
make_pieces(struct reader_pool *pool)
{
	/* One more, as a piece need not begin at a page. */
	size_t each = pool->piece_bytes / pool->request_bytes + 1;

	pool->piece = calloc(pool->pieces, sizeof *pool->piece);
	pool->request = calloc(pool->pieces * each, sizeof *pool->request);
	if (!pool->piece || !pool->request)
		return -ENOMEM;
	for (unsigned i = pool->pieces; i-- > 0;) {
		struct reader_piece *p = &pool->piece[i];

		p->buffer = pool->memory + i * pool->stride + pool->head;
		p->request = pool->request + i * each;
		p->next = pool->free;
		pool->free = p;
	}
	return 0;
}

static int
make_disks(struct reader_pool *pool, unsigned n)
{
	uint64_t requests =
	    pool->pieces * (pool->piece_bytes / pool->request_bytes);

	pool->disk = calloc(n + 1, sizeof *pool->disk);
	if (!pool->disk)
		return -ENOMEM;
	for (; pool->disks < n; pool->disks++) {
		struct reader_disk *d = &pool->disk[pool->disks];

		d->pool = pool;
		d->now.tail = &d->now.first;
		d->soon.tail = &d->soon.first;
		pthread_cond_init(&d->work, NULL);
		d->depth = READER_DEPTH;
		if (requests / (2 * n) < READER_DEPTH)
			d->depth = (unsigned)(requests / (2 * n));
		if (!d->depth)
			d->depth = 1;
	}
	return 0;
}

int
reader_pool_make(struct reader_pool **pool, const struct reader_pool_args *a)
{
	struct reader_pool *p = calloc(1, sizeof *p);
	pthread_condattr_t steady;
	int err;

	if (!p)
		return -ENOMEM;
	p->shared = true;
	p->refs = 1;
	p->patience = a->patience ? a->patience : PATIENCE_S * NS_SECOND;
	p->ring = reader_ring_can();
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ended, &steady);
	pthread_condattr_destroy(&steady);
	size_pieces(p, a);
	err = make_memory(p);
	if (!err)
		err = make_pieces(p);
	if (!err)
		err = make_disks(p, a->disks);
	if (err)
		pool_free(p);
	else
		*pool = p;
	return err;
}

void
reader_pool_wake(struct reader_pool *pool)
{
	if (pool->call)
		pthread_cond_signal(&pool->call->news);
}

void
reader_pool_facts(struct reader_pool *pool, uint64_t *bytes, unsigned *hang)
{
	int64_t now = clock_steady();

	*hang = 0;
	pthread_mutex_lock(&pool->lock);
	*bytes = pool->used * pool->piece_bytes;
	for (unsigned i = 0; i < pool->disks; i++)
		*hang += reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

bool
reader_pool_hangs(struct reader_pool *pool, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&pool->lock);
	hangs = reader_disk_hangs(&pool->disk[disk], clock_steady());
	pthread_mutex_unlock(&pool->lock);
	return hangs;
}

/* ---- readers ------------------------------------------------------------- */

static void
reader_free(struct reader *r)
{
	for (unsigned i = 0; r->part && i < r->pool->disks; i++) {
		if (r->part[i].dir >= 0)
			close(r->part[i].dir);
		sums_clear(&r->part[i].sums);
		pthread_mutex_destroy(&r->part[i].sums_lock);
	}
	if (r->timer > 0)
		close(r->timer);
	free(r->part);
	free(r);
}

void
reader_leave(struct reader *r)
{
	if (--r->refs == 0)
		reader_free(r);
}

/* Drops all pieces, also those that the caller did not put. */
static void
drop_all(struct reader *r)
{
	for (unsigned i = 0; i < r->pool->pieces; i++) {
		struct reader_piece *p = &r->pool->piece[i];

		if (p->reader != r)
			continue;
		p->users = 0;
		reader_piece_drop(p);
	}
}

void
reader_close(struct reader *r)
{
	struct reader_pool *pool;

	if (!r)
		return;
	pool = r->pool;
	pthread_mutex_lock(&pool->lock);
	r->closed = true;
	drop_all(r);
	reader_chunk_close(r);
	reader_leave(r);
	if (pool->shared) {
		if (!--pool->readers)
			pool_rest(pool);
		reader_pool_drop(pool);
	} else {
		pthread_mutex_unlock(&pool->lock);
		reader_pool_leave(pool);
	}
}

static int
make_parts(struct reader *r)
{
	r->part = calloc(r->pool->disks + 1, sizeof *r->part);
	if (!r->part)
		return -ENOMEM;
	for (unsigned i = 0; i < r->pool->disks; i++) {
		r->part[i].dir = -1;
		pthread_mutex_init(&r->part[i].sums_lock, NULL);
	}
	return 0;
}

static int
find_pool(struct reader *r, const struct reader_args *a)
{
	const struct reader_pool_args own = {
		.disks = r->rec->disks->n,
		.memory = a->memory,
		.piece = a->piece,
		.head = a->head,
		.patience = a->patience,
	};
	int err;

	r->pool = a->pool;
	if (r->pool) {
		pthread_mutex_lock(&r->pool->lock);
		r->pool->refs++;
		r->pool->readers++;
		pthread_mutex_unlock(&r->pool->lock);
		return 0;
	}
	err = reader_pool_make(&r->pool, &own);
	if (!err)
		r->pool->shared = false;
	return err;
}

int
reader_open(struct reader **reader, struct recording *rec,
	    const struct reader_args *a)
{
	struct reader *r = calloc(1, sizeof *r);
	int err;

	if (!r)
		return -ENOMEM;
	r->rec = rec;
	memcpy(r->name, rec->name, sizeof r->name);
	r->refs = 1;
	r->verify = a->verify;
	err = find_pool(r, a);
	if (err) {
		free(r);
		return err;
	}
	err = make_parts(r);
	if (a->timer > 0)
		r->timer = fcntl(a->timer, F_DUPFD_CLOEXEC, 3);
	if (!err && r->timer < 0)
		err = -errno;
	if (err)
		reader_close(r);
	else
		*reader = r;
	return err;
}

void
reader_watch(struct reader *r)
{
	struct reader_pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->disks; i++)
		r->rec->part[i].hangs = reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

void
reader_exchange(struct reader *r, struct recording *fresh)
{
	pthread_mutex_lock(&r->pool->lock);
	recording_exchange(r->rec, fresh);
	pthread_mutex_unlock(&r->pool->lock);
}

void
reader_facts(struct reader *r, struct reader_facts *f)
{
	struct reader_pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	*f = (struct reader_facts){ .bytes = r->bytes };
	for (unsigned i = 0; i < pool->disks; i++)
		f->hang += reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- getting and putting ------------------------------------------------- */

/*
 * reader_get(): gives what is wanted now.  If it is not in a buffer, it is
 * requested before everything that is read ahead, and waited for.  A waiting
 * call holds no buffer and keeps nothing that it saw of the recording: it looks
 * the block up again afterwards.  A call that finds no buffer joins the pool's
 * queue, and only the first of the queue may take a buffer that becomes free.
 */

static void
queue_up(struct reader_call *h)
{
	struct reader_call **link = &h->cursor->reader->pool->call;

	if (h->queued)
		return;
	while (*link)
		link = &(*link)->next;
	h->next = NULL;
	h->queued = true;
	*link = h;
}

static void
step_out(struct reader_call *h)
{
	struct reader_pool *pool = h->cursor->reader->pool;
	struct reader_call **link = &pool->call;

	if (!h->queued)
		return;
	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	h->queued = false;
	reader_pool_wake(pool); /* there may be a buffer for the next one,
				   too */
}

/* True if a buffer is free for this call; else it joins the queue. */
static bool
find_buffer(struct reader_call *h)
{
	struct reader_pool *pool = h->cursor->reader->pool;

	if ((!pool->call || pool->call == h) &&
	    (pool->free || reader_piece_evict(pool, true)))
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
		    !reader_disk_hangs(p->disk, now))
			return false;
	}
	return true;
}

/* Requests a piece from its disk.  After a jump it is no longer than needed,
 * rounded to pages or, with verify, to quanta of checksums. */
static struct reader_piece *
ask_now(struct reader_call *h)
{
	struct reader_cursor *cursor = h->cursor;
	struct reader *r = cursor->reader;
	uint64_t end = reader_grid_end(r, h->b, h->at), from;
	uint64_t unit = cursor->managed ? READER_PAGE : READER_ALIGN;
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
	p->ahead = cursor; /* until it is given */
	cursor->ahead++;
	if (cursor->next_number == p->number && cursor->next_at < end)
		cursor->next_at = end;
	return p;
}

/* Gives a bad stretch: up to the end of the piece, or of the block if it has no
 * disk. */
static int
give_bad(struct reader_call *h, int err)
{
	uint64_t end = h->b->disk < 0
			   ? h->b->record.bytes
			   : reader_grid_end(h->cursor->reader, h->b, h->at);

	*h->v = (struct reader_view){ .at = h->at,
				      .bytes = end - h->at,
				      .err = err };
	return 0;
}

static void
note_hang(struct reader_call *h, bool hangs)
{
	struct recording *rec = h->cursor->reader->rec;

	rec->part[h->b->disk].hangs = hangs;
}

static int
give(struct reader_call *h, struct reader_piece *p)
{
	struct reader *r = h->cursor->reader;
	struct reader_view *v = h->v;
	uint64_t end;

	note_hang(h, p->disk->hangs);
	*v = (struct reader_view){ .at = h->at, .piece = p };
	v->err = reader_piece_stretch(p, h->at, &end);
	v->bytes = end - h->at;
	if (h->bytes && v->bytes > h->bytes)
		v->bytes = h->bytes;
	if (!v->err)
		v->data = p->data + (h->at - p->at);
	p->users++;
	p->used = ++r->pool->turn;
	p->used_at = h->cursor->used;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
	return 0;
}

/* Gives up: the disk hangs, or all buffers are held by disks that do. */
static int
give_up(struct reader_call *h, struct reader_piece *p)
{
	if (p && !p->users)
		reader_piece_drop(p);
	give_bad(h, -ETIMEDOUT);
	reader_cursor_read_ahead(h->cursor);
	return 0;
}

/* Returns 0, or -EAGAIN: not there yet. */
static int
get_piece(struct reader_call *h, int64_t now)
{
	struct reader *r = h->cursor->reader;
	struct reader_pool *pool = r->pool;
	bool hangs = reader_disk_hangs(&pool->disk[h->b->disk], now);
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
		reader_cursor_read_ahead(h->cursor);
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

/* Returns the steady time at which to look again without any news. */
static int64_t
patience_end(const struct reader_call *h)
{
	const struct reader_pool *pool = h->cursor->reader->pool;
	const struct reader_disk *d = &pool->disk[h->b->disk];

	return (d->in_flight ? d->progress_at : clock_steady()) +
	       pool->patience + 1;
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_SECOND,
				  .tv_nsec = ns % NS_SECOND };
}

static void
set_timer(const struct reader_call *h)
{
	struct reader *r = h->cursor->reader;
	const struct itimerspec at = { .it_value =
					   timespec_of(patience_end(h)) };

	r->asked = true;
	if (r->timer)
		timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Looks the block up in the recording as it is now.  Returns 0, or -ENODATA: it
 * has no such data. */
static int
find_block(struct reader_call *h)
{
	const struct recording *rec = h->cursor->reader->rec;

	if (h->number >= rec->blocks)
		return -ENODATA;
	h->b = &rec->block[h->number];
	if (h->b->record.kind != INDEX_BLOCK || h->at >= h->b->record.bytes)
		return -ENODATA;
	return 0;
}

/* Returns 0, -EAGAIN or -ENODATA. */
static int
try(struct reader_call *h, int64_t now)
{
	int err = find_block(h);

	if (err)
		return err;
	return h->b->disk < 0 ? give_bad(h, -ENOENT) : get_piece(h, now);
}

/* Waits for news of piece `p` (or of a buffer, if NULL), or until it is time to
 * look again. */
static void
wait_for(struct reader_call *h, const struct reader_piece *p)
{
	struct reader *r = h->cursor->reader;
	struct reader_call **link = &r->waiting;
	int64_t end = patience_end(h);
	struct timespec at = timespec_of(end < h->until ? end : h->until);
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&h->news, &steady);
	pthread_condattr_destroy(&steady);
	h->piece = p;
	h->next_waiting = r->waiting;
	r->waiting = h;
	pthread_cond_timedwait(&h->news, &r->pool->lock, &at);
	while (*link != h)
		link = &(*link)->next_waiting;
	*link = h->next_waiting;
	pthread_cond_destroy(&h->news);
}

static int
wait(struct reader_call *h)
{
	struct reader *r = h->cursor->reader;
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

int
reader_get(struct reader_cursor *cursor, uint64_t number, uint64_t at,
	   uint64_t bytes, struct reader_view *v, int64_t until)
{
	struct reader *r = cursor->reader;
	struct reader_call h = {
		.cursor = cursor,
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
			h.jumped = reader_cursor_follow(cursor, number, at);
		err = wait(&h);
		step_out(&h);
	}
	if (!err) {
		cursor->number = number;
		cursor->at = v->at + v->bytes;
	}
	pthread_mutex_unlock(&r->pool->lock);
	return err;
}

/* True if the piece is not needed any more.  A pool with a single cursor drops
 * a piece once all of it was given. */
static bool
is_done(const struct reader_pool *pool, const struct reader_piece *p)
{
	bool alone = !pool->cursors || !pool->cursors->next;

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
		reader_pool_wake(r->pool);
	pthread_mutex_unlock(&r->pool->lock);
	v->piece = NULL;
}
