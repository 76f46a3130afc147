/* SPDX-License-Identifier: MIT */
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
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "store/read/reader_priv.h"

enum { MEMORY = 64 << 20, PATIENCE_S = 10, HUGE = 2 << 20 };

/* ---- the end ----------------------------------------------------------- */

static void
pool_free(struct reader_pool *pool)
{
	for (unsigned i = 0; i < pool->lanes; i++)
		pthread_cond_destroy(&pool->lane[i].work);
	if (pool->memory)
		munmap(pool->memory, pool->memory_bytes);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->ended);
	free(pool->request);
	free(pool->piece);
	free(pool->lane);
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

void
reader_pool_rest(struct reader_pool *pool)
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
	for (unsigned i = 0; i < pool->lanes; i++)
		pthread_cond_broadcast(&pool->lane[i].work);
	while (pool->threads && !err)
		err = pthread_cond_timedwait(&pool->ended, &pool->lock, &at);
	reader_pool_drop(pool);
}

/* ---- the beginning ------------------------------------------------------ */

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
make_lanes(struct reader_pool *pool, unsigned n)
{
	uint64_t requests =
	    pool->pieces * (pool->piece_bytes / pool->request_bytes);

	pool->lane = calloc(n + 1, sizeof *pool->lane);
	if (!pool->lane)
		return -ENOMEM;
	for (; pool->lanes < n; pool->lanes++) {
		struct reader_lane *l = &pool->lane[pool->lanes];

		l->pool = pool;
		l->now.tail = &l->now.first;
		l->soon.tail = &l->soon.first;
		pthread_cond_init(&l->work, NULL);
		l->depth = READER_DEPTH;
		if (requests / (2 * n) < READER_DEPTH)
			l->depth = (unsigned)(requests / (2 * n));
		if (!l->depth)
			l->depth = 1;
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
		err = make_lanes(p, a->disks);
	if (err)
		pool_free(p);
	else
		*pool = p;
	return err;
}

/* ---- state
 * ------------------------------------------------------------------- */

void
reader_pool_news(struct reader_pool *pool)
{
	if (pool->wish)
		pthread_cond_signal(&pool->wish->news);
}

void
reader_pool_facts(struct reader_pool *pool, uint64_t *bytes, unsigned *hang)
{
	int64_t now = clock_steady();

	*hang = 0;
	pthread_mutex_lock(&pool->lock);
	*bytes = pool->used * pool->piece_bytes;
	for (unsigned i = 0; i < pool->lanes; i++)
		*hang += reader_lane_hangs(&pool->lane[i], now);
	pthread_mutex_unlock(&pool->lock);
}

bool
reader_pool_hangs(struct reader_pool *pool, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&pool->lock);
	hangs = reader_lane_hangs(&pool->lane[disk], clock_steady());
	pthread_mutex_unlock(&pool->lock);
	return hangs;
}
