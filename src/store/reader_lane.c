/* SPDX-License-Identifier: MIT */
/*
 * A disk's threads take requests from its queue: one, which has many of them
 * in flight by io_uring, or where that cannot be some, each with one.  All
 * that may wait for the disk is theirs: opening a file, too.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/reader_priv.h"
#include "store/recording_priv.h"

/* ---- the queue ------------------------------------------------------------- */

void
reader_lane_ask(struct reader_lane *l, struct reader_request *q, bool now)
{
	if (now) {
		q->next = l->queue;
		if (!l->queue)
			l->tail = &q->next;
		l->queue = q;
	} else {
		q->next = NULL;
		*l->tail = q;
		l->tail = &q->next;
	}
	pthread_cond_signal(&l->work);
}

unsigned
reader_lane_unask(struct reader_lane *l, const struct reader_piece *p)
{
	struct reader_request **link = &l->queue;
	unsigned n = 0;

	while (*link) {
		if ((*link)->piece == p) {
			*link = (*link)->next;
			n++;
		} else {
			link = &(*link)->next;
		}
	}
	l->tail = link;
	return n;
}

struct reader_request *
reader_lane_take(struct reader_lane *l)
{
	unsigned depth = l->depth;
	struct reader_request *q = l->queue;

	if (l->eased && depth > READER_EASED)
		depth = READER_EASED;
	if (!q || l->flying >= depth || l->reader->stop)
		return NULL;
	l->queue = q->next;
	if (!l->queue)
		l->tail = &l->queue;
	if (!l->flying++)
		l->beat = clock_steady();
	return q;
}

bool
reader_lane_hangs(struct reader_lane *l, int64_t now)
{
	if (l->flying && now - l->beat > l->reader->patience)
		l->hangs = true;
	return l->hangs;
}

/* ---- its threads ------------------------------------------------------------ */

static void
wake(struct reader *r)
{
	const struct itimerspec now = { .it_value = { .tv_nsec = 1 } };

	pthread_cond_signal(&r->done);
	if (r->asked && r->timer)
		timerfd_settime(r->timer, 0, &now, NULL);
	r->asked = false;
}

void
reader_request_done(struct reader_request *q, int64_t got)
{
	struct reader_piece *p = q->piece;
	struct reader_lane *l = p->lane;
	struct reader *r = l->reader;
	bool last;

	if (got < (int64_t)q->skip + q->want)
		reader_chunk_rest(q, got);
	pthread_mutex_lock(&r->lock);
	last = --p->unread == 0 && p->known;
	pthread_mutex_unlock(&r->lock);
	if (last)
		reader_sums_check(p);
	pthread_mutex_lock(&r->lock);
	l->flying--;
	l->beat = clock_steady();
	l->hangs = false;
	reader_request_end(q);
	wake(r);
	pthread_mutex_unlock(&r->lock);
}

static void
run_pread(struct reader_lane *l)
{
	struct reader *r = l->reader;
	struct reader_request *q;
	ssize_t got;
	int fd;

	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		q = reader_lane_take(l);
		if (!q) {
			pthread_cond_wait(&l->work, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		fd = reader_chunk_open(l, q->piece->chunk);
		got = fd < 0 ? 0 : pread(fd, q->to, q->bytes, (off_t)q->offset);
		reader_request_done(q, got);
		pthread_mutex_lock(&r->lock);
		/* Another may have waited for its room. */
		pthread_cond_signal(&l->work);
	}
	pthread_mutex_unlock(&r->lock);
}

static void *
run(void *arg)
{
	struct reader_lane *l = arg;
	struct reader *r = l->reader;

	ease_process();
	if (!r->ring || !reader_ring_run(l))
		run_pread(l);
	pthread_mutex_lock(&r->lock);
	r->threads--;
	pthread_cond_broadcast(&r->done);
	reader_leave(r);
	return NULL;
}

static int
start_one(struct reader_lane *l, const pthread_attr_t *how)
{
	pthread_t thread;
	int err = -pthread_create(&thread, how, run, l);

	if (err)
		return err;
	l->reader->threads++;
	l->reader->refs++;
	l->threads++;
	return 0;
}

int
reader_lane_start(struct reader_lane *l)
{
	unsigned n = l->reader->ring ? 1 : READER_THREADS;
	const struct recording *rec = l->reader->rec;
	int dir = rec->part[l - l->reader->lane].dir;
	pthread_attr_t how;
	int err = 0;

	/* Of its own: who left a thread behind may have closed the other. */
	l->dir = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (l->dir < 0)
		return -ENOENT;
	if (n > l->depth)
		n = l->depth;
	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	while (l->threads < n && !err)
		err = start_one(l, &how);
	pthread_attr_destroy(&how);
	return l->threads ? 0 : err;
}
