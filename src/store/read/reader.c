/* SPDX-License-Identifier: MIT */
/*
 * A reader is what a pool knows of one recording: its folders, chunks and
 * pieces.  If pieces are in flight when the reader is closed, the disks'
 * threads own them and the reader; the last one frees it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/* ---- close --------------------------------------------------------------- */

static void
reader_free(struct reader *r)
{
	for (unsigned i = 0; r->part && i < r->pool->lanes; i++) {
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
			reader_pool_rest(pool);
		reader_pool_drop(pool);
	} else {
		pthread_mutex_unlock(&pool->lock);
		reader_pool_leave(pool);
	}
}

/* ---- open ---------------------------------------------------------------- */

static int
make_parts(struct reader *r)
{
	r->part = calloc(r->pool->lanes + 1, sizeof *r->part);
	if (!r->part)
		return -ENOMEM;
	for (unsigned i = 0; i < r->pool->lanes; i++) {
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

/* ---- state
 * ------------------------------------------------------------------- */

void
reader_watch(struct reader *r)
{
	struct reader_pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->lanes; i++)
		r->rec->part[i].hangs = reader_lane_hangs(&pool->lane[i], now);
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
	for (unsigned i = 0; i < pool->lanes; i++)
		f->hang += reader_lane_hangs(&pool->lane[i], now);
	pthread_mutex_unlock(&pool->lock);
}
