/* SPDX-License-Identifier: MIT */
/*
 * The views of an open file, and who may use them when: the recording's thread,
 * or a reader while the recording is not being exchanged.  Jobs of that thread
 * hold a reference of the file, because the thread may come back long after its
 * caller has given up.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/read/reading_priv.h"

/* ---- jobs
 * --------------------------------------------------------------------- */

struct reading_job {
	struct opened_job job;
	struct reading *rd;
	struct view_choice choice;
	struct fault fault;
	struct view_span span;
	uint64_t offset;
	size_t bytes;
	uint8_t data[];
};

static void
clear_job(struct opened_job *job)
{
	reading_drop(((struct reading_job *)job)->rd);
	free(job);
}

static struct reading_job *
make_job(struct reading *rd, int (*run)(struct opened *, struct opened_job *),
	 size_t bytes)
{
	struct reading_job *j = calloc(1, sizeof *j + bytes);

	if (!j)
		return NULL;
	j->job.run = run;
	j->job.clear = clear_job;
	j->job.refs = 1;
	j->rd = rd;
	j->bytes = bytes;
	pthread_mutex_lock(&rd->op->lock);
	rd->refs++;
	pthread_mutex_unlock(&rd->op->lock);
	return j;
}

/* ---- using the view
 * ----------------------------------------------------------------- */

/* Waits until the view is free.  `desk`: called by the recording's thread.
 * Under opened::lock.  Returns 0 or -ETIMEDOUT. */
static int
take_view(struct reading *rd, bool desk)
{
	struct opened *op = rd->op;
	int64_t until = clock_steady() + op->set->patience;
	struct timespec at = { until / NS_SECOND, until % NS_SECOND };
	int err = 0;

	while (!err && (rd->busy || (op->exchanging && !desk)))
		err = -pthread_cond_timedwait(&op->done, &op->lock, &at);
	if (err)
		return err;
	rd->busy = true;
	op->lookers += !desk;
	return 0;
}

static void
give_view(struct reading *rd, bool desk)
{
	rd->busy = false;
	rd->op->lookers -= !desk;
	pthread_cond_broadcast(&rd->op->done);
}

/* ---- making, refreshing
 * ------------------------------------------------------------ */

static int
run_make(struct opened *op, struct opened_job *job)
{
	struct reading_job *j = (struct reading_job *)job;

	return view_make(&j->rd->view, op->rec, &j->choice, &j->fault);
}

int
reading_view(struct reading *rd, const struct view_choice *choice,
	     struct fault *fault)
{
	struct reading_job *j = make_job(rd, run_make, 0);
	int err = -ENOMEM;

	if (j) {
		j->choice = *choice;
		err = opened_await(rd->op, &j->job);
	}
	if (err == -ETIMEDOUT || !j) {
		fault_set(fault, err, "io", "cannot read recording %s",
			  rd->op->name);
		fault_why(fault, j ? "a disk does not answer" : "no memory");
	} else if (err) {
		*fault = j->fault;
	}
	if (j)
		opened_job_put(rd->op, &j->job);
	return err;
}

static void
refresh_one(struct reading *rd)
{
	struct opened *op = rd->op;
	int err;

	pthread_mutex_lock(&op->lock);
	err = take_view(rd, true);
	pthread_mutex_unlock(&op->lock);
	if (err)
		return;
	err = view_refresh(rd->view);
	if (rd->filler && !err)
		err = view_refresh(rd->filler);
	pthread_mutex_lock(&op->lock);
	if (!err)
		rd->bytes = view_bytes(rd->view);
	give_view(rd, true);
	pthread_mutex_unlock(&op->lock);
}

/* Returns the next file that was not refreshed in this turn, with a reference:
 * it may be closed meanwhile. */
static struct reading *
next_of(struct opened *op, uint64_t turn)
{
	struct reading *rd;

	pthread_mutex_lock(&op->lock);
	rd = op->reading;
	while (rd && rd->turn == turn)
		rd = rd->next;
	if (rd) {
		rd->turn = turn;
		rd->refs++;
	}
	pthread_mutex_unlock(&op->lock);
	return rd;
}

void
reading_refresh(struct opened *op)
{
	uint64_t turn = ++op->turn;
	struct reading *rd;

	while ((rd = next_of(op, turn))) {
		refresh_one(rd);
		reading_drop(rd);
	}
}

/* ---- finding spans
 * ---------------------------------------------------------------- */

static int
run_find(struct opened *op, struct opened_job *job)
{
	struct reading_job *j = (struct reading_job *)job;
	int err;

	pthread_mutex_lock(&op->lock);
	err = take_view(j->rd, true);
	pthread_mutex_unlock(&op->lock);
	if (err)
		return err;
	err = view_find(j->rd->view, j->offset, &j->span);
	pthread_mutex_lock(&op->lock);
	give_view(j->rd, true);
	pthread_mutex_unlock(&op->lock);
	return err;
}

static int
find_by_desk(struct reading *rd, uint64_t offset, struct view_span *s)
{
	struct reading_job *j = make_job(rd, run_find, 0);
	int err;

	if (!j)
		return -ENOMEM;
	j->offset = offset;
	err = opened_await(rd->op, &j->job);
	if (!err)
		*s = j->span;
	opened_job_put(rd->op, &j->job);
	return err;
}

static int
find_here(struct reading *rd, uint64_t offset, struct view_span *s)
{
	struct opened *op = rd->op;
	int err;

	pthread_mutex_lock(&op->lock);
	err = take_view(rd, false);
	pthread_mutex_unlock(&op->lock);
	if (err)
		return err;
	err = view_find(rd->view, offset, s);
	pthread_mutex_lock(&op->lock);
	give_view(rd, false);
	pthread_mutex_unlock(&op->lock);
	return err;
}

static bool
find_again(struct reading *rd, uint64_t offset, struct view_span *s)
{
	bool found;

	pthread_mutex_lock(&rd->op->lock);
	found = offset >= rd->span_at && offset - rd->span_at < rd->span.bytes;
	if (found) {
		*s = rd->span;
		view_pass(s, offset - rd->span_at);
	}
	pthread_mutex_unlock(&rd->op->lock);
	return found;
}

int
reading_find(struct reading *rd, uint64_t offset, struct view_span *s)
{
	int err;

	if (find_again(rd, offset, s))
		return 0;
	err = rd->by_desk ? find_by_desk(rd, offset, s)
			  : find_here(rd, offset, s);
	if (err)
		return err;
	pthread_mutex_lock(&rd->op->lock);
	rd->span = *s;
	rd->span_at = offset;
	pthread_mutex_unlock(&rd->op->lock);
	return 0;
}

/*
 * ---- spans ------------------------------------------------------------------
 */

/* Keeps the recording from being exchanged while a span is used.  The view
 * itself does not change. */
static void
look_begin(struct opened *op)
{
	pthread_mutex_lock(&op->lock);
	while (op->exchanging)
		pthread_cond_wait(&op->done, &op->lock);
	op->lookers++;
	pthread_mutex_unlock(&op->lock);
}

static void
look_end(struct opened *op)
{
	pthread_mutex_lock(&op->lock);
	if (!--op->lookers)
		pthread_cond_broadcast(&op->done);
	pthread_mutex_unlock(&op->lock);
}

uint64_t
reading_want(struct reading *rd, const struct view_span *s, uint64_t bytes)
{
	uint64_t want;

	look_begin(rd->op);
	want = view_want(rd->view, s, bytes);
	look_end(rd->op);
	return want;
}

int64_t
reading_check(struct reading *rd, const struct view_span *s, const void *data,
	      uint64_t n)
{
	int64_t good;

	look_begin(rd->op);
	good = view_check(rd->view, s, data, n);
	look_end(rd->op);
	return good;
}

/* ---- filling
 * ---------------------------------------------------------------------- */

static int
run_fill(struct opened *op, struct opened_job *job)
{
	struct reading_job *j = (struct reading_job *)job;
	struct reading *rd = j->rd;
	int err = 0;

	reader_watch(op->reader); /* keeps fill from being learned from disks
				     that hang */
	if (!rd->filler)
		err = view_make(&rd->filler, op->rec, view_choice(rd->view),
				&j->fault);
	if (!err)
		err = view_fill_bytes(rd->filler, &j->span, j->data, j->bytes);
	return err;
}

int
reading_fill(struct reading *rd, const struct view_span *s, void *to,
	     size_t bytes)
{
	struct reading_job *j = make_job(rd, run_fill, bytes);
	int err;

	if (!j)
		return -ENOMEM;
	j->span = *s;
	err = opened_await(rd->op, &j->job);
	if (!err)
		memcpy(to, j->data, bytes);
	opened_job_put(rd->op, &j->job);
	return err;
}
