/* SPDX-License-Identifier: MIT */
/*
 * A reader's memory, and how it begins and ends.
 *
 * The memory is cut into buffers of a piece, each with the caller's head
 * before it and a page behind it: pieces that do not begin with a page of
 * their file are read with all of the pages that they are in, so that they
 * can be read past the page cache, too.
 *
 *   | head | page-aligned: skew, piece, rest of its last page | head | ...
 *
 * It all belongs to those who use it, the caller and the threads of disks:
 * the last one frees it.  So who closes waits for threads no longer than for
 * a disk that is well.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/reader_priv.h"
#include "store/recording_priv.h"

#define SECOND INT64_C(1000000000)

enum { MEMORY = 64 << 20, PATIENCE_S = 10, HUGE = 2 << 20 };

/* ---- the end ----------------------------------------------------------- */

static void
lane_free(struct reader_lane *l)
{
	if (l->dir >= 0)
		close(l->dir);
	sums_clear(&l->sums);
	pthread_mutex_destroy(&l->sums_lock);
	pthread_cond_destroy(&l->work);
}

static void
reader_free(struct reader *r)
{
	for (unsigned i = 0; r->piece && i < r->pieces; i++) {
		if (r->piece[i].chunk)
			reader_chunk_put(r, r->piece[i].chunk);
	}
	for (unsigned i = 0; i < r->lanes; i++)
		lane_free(&r->lane[i]);
	if (r->memory)
		munmap(r->memory, r->memory_bytes);
	if (r->timer > 0)
		close(r->timer);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->done);
	free(r->request);
	free(r->piece);
	free(r->lane);
	free(r);
}

void
reader_leave(struct reader *r)
{
	bool last = --r->refs == 0;

	pthread_mutex_unlock(&r->lock);
	if (last)
		reader_free(r);
}

void
reader_close(struct reader *r)
{
	int64_t until = clock_steady() + SECOND / 2;
	struct timespec at = { .tv_sec = until / SECOND,
			       .tv_nsec = until % SECOND };
	int err = 0;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	for (unsigned i = 0; i < r->lanes; i++)
		pthread_cond_broadcast(&r->lane[i].work);
	while (r->threads && !err)
		err = pthread_cond_timedwait(&r->done, &r->lock, &at);
	reader_leave(r);
}

/* ---- the beginning ------------------------------------------------------ */

static void
size_pieces(struct reader *r, const struct reader_args *a)
{
	uint64_t memory = a->memory ? a->memory : MEMORY;

	r->request_bytes = READER_REQUEST;
	r->piece_bytes = reader_up(a->piece ? a->piece : 1, READER_REQUEST);
	r->head = reader_up(a->head, READER_PAGE);
	r->stride = r->head + r->piece_bytes + READER_PAGE;
	r->pieces = READER_LEAST;
	if (memory / r->stride > READER_LEAST)
		r->pieces = (unsigned)(memory / r->stride);
	r->memory_bytes = reader_up(r->stride * r->pieces, HUGE);
}

/* Pages are the kernel's until they are used: of a short recording, most. */
static int
make_memory(struct reader *r)
{
	r->memory = mmap(NULL, r->memory_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->memory == MAP_FAILED) {
		r->memory = NULL;
		return -ENOMEM;
	}
	madvise(r->memory, r->memory_bytes, MADV_HUGEPAGE);
	return 0;
}

static int
make_pieces(struct reader *r)
{
	/* One more: a piece need not begin with a page. */
	size_t each = r->piece_bytes / r->request_bytes + 1;

	r->piece = calloc(r->pieces, sizeof *r->piece);
	r->request = calloc(r->pieces * each, sizeof *r->request);
	if (!r->piece || !r->request)
		return -ENOMEM;
	for (unsigned i = r->pieces; i-- > 0;) {
		struct reader_piece *p = &r->piece[i];

		p->buffer = r->memory + i * r->stride + r->head;
		p->request = r->request + i * each;
		p->next = r->free;
		r->free = p;
	}
	return 0;
}

static void
lane_init(struct reader *r, unsigned disk)
{
	struct reader_lane *l = &r->lane[disk];

	l->reader = r;
	l->tail = &l->queue;
	l->dir = -1;
	pthread_mutex_init(&l->sums_lock, NULL);
	pthread_cond_init(&l->work, NULL);
}

static int
make_lanes(struct reader *r)
{
	uint64_t requests = r->pieces * (r->piece_bytes / r->request_bytes);
	unsigned n = r->rec->disks->n;

	r->lane = calloc(n + 1, sizeof *r->lane);
	if (!r->lane)
		return -ENOMEM;
	for (; r->lanes < n; r->lanes++) {
		struct reader_lane *l = &r->lane[r->lanes];

		lane_init(r, r->lanes);
		l->depth = READER_DEPTH;
		if (requests / (2 * n) < READER_DEPTH)
			l->depth = (unsigned)(requests / (2 * n));
		if (!l->depth)
			l->depth = 1;
	}
	return 0;
}

static void
init_locks(struct reader *r)
{
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->done, &steady);
	pthread_condattr_destroy(&steady);
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
	r->patience = a->patience ? a->patience : PATIENCE_S * SECOND;
	r->ring = reader_ring_can();
	if (a->timer > 0)
		r->timer = fcntl(a->timer, F_DUPFD_CLOEXEC, 3);
	init_locks(r);
	size_pieces(r, a);
	err = r->timer < 0 ? -errno : make_memory(r);
	if (!err)
		err = make_pieces(r);
	if (!err)
		err = make_lanes(r);
	if (err)
		reader_free(r);
	else
		*reader = r;
	return err;
}
