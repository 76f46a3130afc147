/* SPDX-License-Identifier: MIT */
/*
 * A disk's threads take requests from its two queues: `now` before `soon`, each
 * in order.  With io_uring it is one thread with many requests in flight;
 * without, several threads with one each.  They do everything that may wait for
 * the disk, also opening files.
 */
#include "config.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/read/reader_priv.h"

/*
 * ---- the queues ------------------------------------------------------------
 */

static void
put_in(struct reader_queue *queue, struct reader_request *q)
{
	q->next = NULL;
	*queue->tail = q;
	queue->tail = &q->next;
}

static struct reader_request *
take_from(struct reader_queue *queue)
{
	struct reader_request *q = queue->first;

	if (!q)
		return NULL;
	queue->first = q->next;
	if (!queue->first)
		queue->tail = &queue->first;
	return q;
}

void
reader_lane_ask(struct reader_lane *l, struct reader_request *q, bool now)
{
	put_in(now ? &l->now : &l->soon, q);
	pthread_cond_signal(&l->work);
}

static unsigned
take_out(struct reader_queue *queue, const struct reader_piece *p)
{
	struct reader_request **link = &queue->first;
	unsigned n = 0;

	while (*link) {
		if ((*link)->piece == p) {
			*link = (*link)->next;
			n++;
		} else {
			link = &(*link)->next;
		}
	}
	queue->tail = link;
	return n;
}

unsigned
reader_lane_unask(struct reader_lane *l, const struct reader_piece *p)
{
	return take_out(&l->now, p) + take_out(&l->soon, p);
}

bool
reader_lane_waits(const struct reader_lane *l)
{
	return l->now.first || l->soon.first;
}

struct reader_request *
reader_lane_take(struct reader_lane *l)
{
	unsigned depth = l->depth;
	struct reader_request *q;

	if (l->eased && depth > READER_EASED)
		depth = READER_EASED;
	if (l->flying >= depth || l->pool->stop)
		return NULL;
	q = take_from(&l->now);
	if (!q)
		q = take_from(&l->soon);
	if (q && !l->flying++)
		l->beat = clock_steady();
	return q;
}

/* Frees the buffers of requests that no thread has begun: other disks can use
 * them. */
static void
drop_waiting(struct reader_lane *l)
{
	struct reader_pool *pool = l->pool;

	for (unsigned i = 0; i < pool->pieces; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (p->reader && p->lane == l && p->known && p->left &&
		    !p->users)
			reader_piece_drop(p);
	}
}

bool
reader_lane_hangs(struct reader_lane *l, int64_t now)
{
	if (l->flying && now - l->beat > l->pool->patience && !l->hangs) {
		l->hangs = true;
		drop_waiting(l);
	}
	return l->hangs;
}

/*
 * ---- the threads -----------------------------------------------------------
 */

static void
wake(struct reader *r)
{
	const struct itimerspec now = { .it_value = { .tv_nsec = 1 } };

	if (r->asked && r->timer)
		timerfd_settime(r->timer, 0, &now, NULL);
	r->asked = false;
}

void
reader_request_done(struct reader_request *q, int64_t got)
{
	struct reader_piece *p = q->piece;
	struct reader_lane *l = p->lane;
	struct reader_pool *pool = l->pool;
	bool last;

	if (got < (int64_t)q->skip + q->want)
		reader_chunk_rest(q, got);
	pthread_mutex_lock(&pool->lock);
	last = --p->unread == 0 && p->known;
	pthread_mutex_unlock(&pool->lock);
	if (last)
		reader_sums_check(p);
	pthread_mutex_lock(&pool->lock);
	l->flying--;
	l->beat = clock_steady();
	l->hangs = false;
	wake(p->reader);
	reader_request_end(q); /* may free the piece and its reader */
	pthread_mutex_unlock(&pool->lock);
}

static void
run_pread(struct reader_lane *l)
{
	struct reader_pool *pool = l->pool;
	struct reader_request *q;
	ssize_t got;
	int fd;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		q = reader_lane_take(l);
		if (!q) {
			pthread_cond_wait(&l->work, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		fd = reader_chunk_open(q->piece);
		got = fd < 0 ? 0 : pread(fd, q->to, q->bytes, (off_t)q->offset);
		reader_request_done(q, got);
		pthread_mutex_lock(&pool->lock);
		/* Another thread may have waited because `flying` was at its
		 * limit. */
		pthread_cond_signal(&l->work);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *
run(void *arg)
{
	struct reader_lane *l = arg;
	struct reader_pool *pool = l->pool;

	ease_process();
	if (!pool->ring || !reader_ring_run(l))
		run_pread(l);
	pthread_mutex_lock(&pool->lock);
	pool->threads--;
	pthread_cond_broadcast(&pool->ended);
	reader_pool_drop(pool);
	return NULL;
}

static int
start_one(struct reader_lane *l, const pthread_attr_t *how)
{
	pthread_t thread;
	int err = -pthread_create(&thread, how, run, l);

	if (err)
		return err;
	l->pool->threads++;
	l->pool->refs++;
	l->threads++;
	return 0;
}

int
reader_lane_start(struct reader_lane *l)
{
	unsigned n = l->pool->ring ? 1 : READER_THREADS;
	pthread_attr_t how;
	int err = 0;

	if (n > l->depth)
		n = l->depth;
	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	while (l->threads < n && !err)
		err = start_one(l, &how);
	pthread_attr_destroy(&how);
	return l->threads ? 0 : err;
}
