/* SPDX-License-Identifier: MIT */
/*
 * The recording's own thread and its queue of jobs (its "desk"): everything
 * that may wait for a disk.  Callers wait no longer than `patience`.  A job
 * belongs to both, so a thread that comes back after an hour finds its memory
 * intact.  A thread that is known to be stuck gets no further jobs.
 *
 * When the recording has been idle for some seconds, the thread takes it out of
 * the set, closes it and ends.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/read/opened_priv.h"

enum { IDLE_S = 5 };

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_SECOND,
				  .tv_nsec = ns % NS_SECOND };
}

/* ---- jobs ---------------------------------------------------------------- */

void
opened_job_put(struct opened *op, struct opened_job *job)
{
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --job->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (last && job->clear)
		job->clear(job);
	else if (last)
		free(job);
}

/* Under the lock. */
static void
put_in(struct opened *op, struct opened_job *job)
{
	job->refs++;
	job->next = NULL;
	*op->tail = job;
	op->tail = &job->next;
	pthread_cond_signal(&op->work);
}

static bool
is_stuck(const struct opened *op, int64_t now)
{
	return op->busy && now - op->busy > op->set->patience;
}

int
opened_await(struct opened *op, struct opened_job *job)
{
	int64_t until = clock_steady() + op->set->patience;
	const struct timespec at = timespec_of(until);
	int err = 0;

	pthread_mutex_lock(&op->lock);
	if (is_stuck(op, clock_steady()))
		err = -ETIMEDOUT;
	else
		put_in(op, job);
	while (!err && !job->done)
		err = -pthread_cond_timedwait(&op->done, &op->lock, &at);
	if (job->done)
		err = job->err;
	pthread_mutex_unlock(&op->lock);
	return err;
}

int
opened_do(struct opened *op, struct opened_job *job)
{
	int err;

	job->refs = 1;
	err = opened_await(op, job);
	opened_job_put(op, job);
	return err;
}

/* ---- jobs of callers
 * ------------------------------------------------------------ */

struct run_job {
	struct opened_job job;
	int (*run)(void *arg, struct recording *rec);
	void (*clear)(void *arg);
	void *arg;
};

static int
run_run(struct opened *op, struct opened_job *job)
{
	struct run_job *j = (struct run_job *)job;

	return j->run(j->arg, op->rec);
}

static void
clear_run(struct opened_job *job)
{
	struct run_job *j = (struct run_job *)job;

	j->clear(j->arg);
	free(j);
}

int
opened_run(struct opened *op, int (*run)(void *arg, struct recording *rec),
	   void (*clear)(void *arg), void *arg)
{
	struct run_job *j = calloc(1, sizeof *j);

	if (!j) {
		clear(arg);
		return -ENOMEM;
	}
	j->job.run = run_run;
	j->job.clear = clear_run;
	j->run = run;
	j->clear = clear;
	j->arg = arg;
	return opened_do(op, &j->job);
}

/*
 * ---- the thread -------------------------------------------------------------
 */

enum state { HAD, IDLE, OVER };

/* Takes the recording out of the set.  Under the set's lock. */
static void
unlink_it(struct opened *op)
{
	struct opened **link = &op->set->op;

	while (*link != op)
		link = &(*link)->next;
	*link = op->next;
	op->linked = false;
	op->set->idle--;
}

/* Decides whether to close the recording.  If so (OVER), it is taken out of the
 * set. */
static enum state
state_of(struct opened *op)
{
	struct opened_set *set = op->set;
	int64_t now = clock_steady();
	enum state state = HAD;

	pthread_mutex_lock(&set->lock);
	if (!op->users)
		state = IDLE;
	if (!op->users && (set->closed || !op->linked ||
			   now - op->idle_since >= IDLE_S * NS_SECOND))
		state = OVER;
	if (state == OVER && op->linked)
		unlink_it(op);
	pthread_mutex_unlock(&set->lock);
	return state;
}

/* Takes the first job.  Under the lock. */
static struct opened_job *
take(struct opened *op)
{
	struct opened_job *job = op->job;

	if (!job)
		return NULL;
	op->job = job->next;
	if (!op->job)
		op->tail = &op->job;
	op->busy = clock_steady();
	return job;
}

static void
do_job(struct opened *op, struct opened_job *job)
{
	int err = job->run(op, job);

	pthread_mutex_lock(&op->lock);
	op->busy = 0;
	job->err = err;
	job->done = true;
	pthread_cond_broadcast(&op->done);
	pthread_mutex_unlock(&op->lock);
	opened_job_put(op, job);
}

/* Waits for the next job.  NULL: there was none for a while. */
static struct opened_job *
next_job(struct opened *op)
{
	const struct timespec at =
	    timespec_of(clock_steady() + IDLE_S * NS_SECOND);
	struct opened_job *job;
	int err = 0;

	pthread_mutex_lock(&op->lock);
	while (!op->job && !op->stir && !err)
		err = pthread_cond_timedwait(&op->work, &op->lock, &at);
	job = take(op);
	op->stir = false;
	pthread_mutex_unlock(&op->lock);
	return job;
}

static void *
run(void *arg)
{
	struct opened *op = arg;
	struct opened_job *job;
	enum state state;

	ease_process();
	do {
		while ((job = next_job(op)))
			do_job(op, job);
		state = state_of(op);
		if (state == IDLE)
			opened_leave(op);
	} while (state != OVER);
	/* Jobs still queued: their callers gave up waiting. */
	while ((job = op->job)) {
		op->job = job->next;
		opened_job_put(op, job);
	}
	opened_finish(op);
	opened_drop(op);
	return NULL;
}

int
opened_start(struct opened *op)
{
	pthread_attr_t how;
	pthread_t thread;
	int err;

	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	err = -pthread_create(&thread, &how, run, op);
	pthread_attr_destroy(&how);
	return err;
}
