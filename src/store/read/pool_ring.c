/* SPDX-License-Identifier: MIT */
/*
 * A disk's thread with io_uring.  It takes as many requests from the queue as
 * may be in flight, submits them in one call, and in the same call waits for
 * the first that is done.  It takes no further requests while it waits.  That
 * costs nothing: either one is done soon, or the disk hangs.
 */
#include <errno.h>
#include <liburing.h>
#include <time.h>

#include "store/read/pool_priv.h"

struct disk_ring {
	struct io_uring u;
	struct pool_disk *disk;
	unsigned in_flight; /* requests that the kernel has */
};

bool
pool_ring_can(void)
{
	struct io_uring u;

	if (io_uring_queue_init(1, &u, 0))
		return false;
	io_uring_queue_exit(&u);
	return true;
}

/* Opens a ring with the best set of flags that the kernel knows. */
static int
ring_open(struct io_uring *u)
{
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};
	int err = -EINVAL;

	for (unsigned i = 0; i < 3 && err == -EINVAL; i++)
		err = io_uring_queue_init(POOL_DEPTH, u, flags[i]);
	return err;
}

/* Submits a request.  One that io_uring cannot do is read here at once. */
static void
begin(struct disk_ring *g, struct pool_request *q)
{
	int fd = pool_chunk_open(q->piece);
	struct io_uring_sqe *sqe;

	if (fd < 0) {
		pool_request_done(q, 0);
		return;
	}
	/* Never NULL: the ring has POOL_DEPTH entries, and no more are in
	 * flight. */
	sqe = io_uring_get_sqe(&g->u);
	io_uring_prep_read(sqe, fd, q->to, q->bytes, q->offset);
	io_uring_sqe_set_data(sqe, q);
	g->in_flight++;
}

/* Submits and waits until a request is done.  Sleeps 1 ms if the kernel lacks
 * memory for the moment. */
static void
collect(struct disk_ring *g)
{
	struct io_uring_cqe *cqe;
	int err = io_uring_submit_and_wait(&g->u, 1);

	if (err < 0 && err != -EINTR)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	while (!io_uring_peek_cqe(&g->u, &cqe)) {
		struct pool_request *q = io_uring_cqe_get_data(cqe);
		int got = cqe->res;

		io_uring_cqe_seen(&g->u, cqe);
		g->in_flight--;
		pool_request_done(q, got);
	}
}

/* Takes requests that may begin; waits for one if none is in flight.  Returns
 * their number; 0 with none in flight: the pool stops. */
static unsigned
take(struct disk_ring *g, struct pool_request **q)
{
	struct pool_disk *d = g->disk;
	struct pool *pool = d->pool;
	unsigned n = 0;

	pthread_mutex_lock(&pool->lock);
	while (!g->in_flight && !pool_disk_waits(d) && !pool->stop)
		pthread_cond_wait(&d->work, &pool->lock);
	while (n < POOL_DEPTH && (q[n] = pool_disk_take(d)))
		n++;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

bool
pool_ring_run(struct pool_disk *d)
{
	struct pool_request *q[POOL_DEPTH];
	struct disk_ring g = { .disk = d };
	unsigned n;

	if (ring_open(&g.u))
		return false;
	while ((n = take(&g, q)) || g.in_flight) {
		for (unsigned i = 0; i < n; i++)
			begin(&g, q[i]);
		if (g.in_flight)
			collect(&g);
	}
	io_uring_queue_exit(&g.u);
	return true;
}
