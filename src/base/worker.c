/* SPDX-License-Identifier: MIT */
/*
 * Pokes are counted under the lock, so that whoever waits knows which round
 * began behind his poke.  The eventfd only ends the thread's sleep: it is
 * drained before the count is read, so that a poke in between is not missed.
 */
#include "base/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { NICE = 19 };

struct worker {
	struct worker_args a;
	pthread_t thread;
	int wake; /* eventfd */

	pthread_mutex_t lock; /* over the fields below */
	pthread_cond_t ended; /* signals the end of a round, or of the thread */
	uint64_t pokes;	      /* that came */
	uint64_t served;      /* of them, before a round that has ended began */
	int64_t since;	      /* ns, begin of the round that runs; 0: none */
	bool stop, over;      /* asked to end; the thread has no round left */
};

/* Returns the kernel's steady time: tests that replace the clock of the program
 * do not make a hanging disk answer sooner. */
static int64_t
steady(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_SECOND + t.tv_nsec;
}

static int64_t
later(int64_t ns)
{
	int64_t now = steady();

	return ns < INT64_MAX - now ? now + ns : INT64_MAX;
}

/* ---- the thread ------------------------------------------------------ */

/* Sleeps until somebody pokes, `watch` has news, or it is `at`.  True: news. */
static bool
sleep_until(struct worker *w, int64_t at)
{
	const int64_t ms = NS_SECOND / 1000;
	int64_t left = (at - steady() + ms - 1) / ms;
	struct pollfd fd[] = { { w->wake, POLLIN, 0 },
			       { w->a.watch, POLLPRI, 0 } };
	eventfd_t n;

	left = left < 0 ? 0 : left < 3600000 ? left : 3600000;
	poll(fd, w->a.watch ? 2 : 1, (int)left);
	if (fd[0].revents)
		eventfd_read(w->wake, &n);
	return fd[1].revents != 0;
}

/* Waits for the next round, which has to begin at `at` at the latest.  Sets the
 * pokes that it serves.  Returns false at the end. */
static bool
round_begin(struct worker *w, int64_t at, uint64_t *pokes)
{
	bool watched = false, stop;

	for (;;) {
		pthread_mutex_lock(&w->lock);
		stop = w->stop;
		*pokes = w->pokes;
		if (stop || *pokes != w->served || watched || steady() >= at)
			break;
		pthread_mutex_unlock(&w->lock);
		watched = sleep_until(w, at);
	}
	w->since = steady();
	pthread_mutex_unlock(&w->lock);
	return !stop;
}

static void
round_end(struct worker *w, uint64_t pokes, bool over)
{
	pthread_mutex_lock(&w->lock);
	w->served = pokes;
	w->since = 0;
	w->over = over;
	pthread_cond_broadcast(&w->ended);
	pthread_mutex_unlock(&w->lock);
}

static void *
run(void *arg)
{
	struct worker *w = arg;
	int64_t at = later(w->a.first);
	uint64_t pokes, served = 0;

	pthread_setname_np(pthread_self(), w->a.name);
	if (w->a.nice)
		setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	while (round_begin(w, at, &pokes)) {
		at = later(w->a.round(w->a.arg));
		served = pokes;
		round_end(w, served, false);
	}
	if (w->a.finishes) {
		w->a.round(w->a.arg);
		served = pokes;
	}
	round_end(w, served, true);
	return NULL;
}

/* ---- the others ------------------------------------------------------ */

static void
worker_free(struct worker *w)
{
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	close(w->wake);
	free(w);
}

int
worker_start(struct worker **worker, const struct worker_args *args)
{
	struct worker *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;
	int err;

	if (!w)
		return -ENOMEM;
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake < 0) {
		err = -errno;
		free(w);
		return err;
	}
	w->a = *args;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->ended, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&w->lock, NULL);
	*worker = w; /* before the first round, which may use it */
	err = -pthread_create(&w->thread, NULL, run, w);
	if (err) {
		worker_free(w);
		*worker = NULL;
	}
	return err;
}

/* Called under the lock. */
static bool
wait_once(struct worker *w, int64_t until)
{
	const struct timespec at = { until / NS_SECOND, until % NS_SECOND };

	return !pthread_cond_timedwait(&w->ended, &w->lock, &at);
}

uint64_t
worker_poke(struct worker *w)
{
	uint64_t mine;

	pthread_mutex_lock(&w->lock);
	mine = ++w->pokes;
	eventfd_write(w->wake, 1);
	pthread_mutex_unlock(&w->lock);
	return mine;
}

bool
worker_wait(struct worker *w, uint64_t poke, int64_t patience)
{
	int64_t until = later(patience);
	bool is;

	pthread_mutex_lock(&w->lock);
	while (w->served < poke && !w->over && wait_once(w, until))
		;
	is = w->served >= poke;
	pthread_mutex_unlock(&w->lock);
	return is;
}

bool
worker_hangs(struct worker *w, int64_t patience)
{
	bool hangs;

	pthread_mutex_lock(&w->lock);
	hangs = w->since && steady() - w->since > patience;
	pthread_mutex_unlock(&w->lock);
	return hangs;
}

bool
worker_stops(struct worker *w)
{
	bool stop;

	pthread_mutex_lock(&w->lock);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

bool
worker_stop(struct worker *w, int64_t patience)
{
	int64_t until = later(patience);
	bool over;

	if (!w)
		return true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	eventfd_write(w->wake, 1);
	while (!w->over && wait_once(w, until))
		;
	over = w->over;
	pthread_mutex_unlock(&w->lock);
	if (!over) {
		pthread_detach(w->thread);
		return false;
	}
	pthread_join(w->thread, NULL);
	worker_free(w);
	return true;
}
