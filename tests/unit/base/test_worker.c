/* SPDX-License-Identifier: MIT */
/* A thread for what may hang: when its rounds begin, who waits, who is left. */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/worker.h"
#include "lib/suite.h"

#define LONG (600 * NS_SECOND)

struct work {
	atomic_uint begun, ended;
	atomic_llong next; /* what a round returns */
	atomic_bool hangs; /* a round waits for `go` */
	sem_t go;
	struct worker *worker;
};

static int64_t
work_round(void *arg)
{
	struct work *w = arg;

	atomic_fetch_add(&w->begun, 1);
	if (atomic_load(&w->hangs))
		sem_wait(&w->go);
	atomic_fetch_add(&w->ended, 1);
	return atomic_load(&w->next);
}

static struct worker_args
work_args(struct work *w)
{
	sem_init(&w->go, 0, 0);
	atomic_store(&w->next, WORKER_RESTS);
	return (struct worker_args){ .name = "test",
				     .round = work_round,
				     .arg = w,
				     .first = WORKER_RESTS };
}

static void
wait_rounds(struct work *w, unsigned n)
{
	while (atomic_load(&w->begun) < n)
		usleep(1000);
}

START_TEST(rounds_begin_behind_pokes)
{
	static struct work w;
	struct worker_args args = work_args(&w);

	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	for (unsigned i = 1; i <= 1000; i++) {
		ck_assert(worker_wait(w.worker, worker_poke(w.worker), LONG));
		ck_assert_uint_eq(atomic_load(&w.ended), i);
	}
	ck_assert(worker_stop(w.worker, LONG));
	ck_assert_uint_eq(atomic_load(&w.ended), 1000);
}
END_TEST

/* Pokes during a round make one more, which begins behind the last of them. */
START_TEST(pokes_in_a_round_make_one)
{
	static struct work w;
	struct worker_args args = work_args(&w);

	atomic_store(&w.hangs, true);
	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	worker_poke(w.worker);
	wait_rounds(&w, 1);
	for (unsigned i = 0; i < 100; i++)
		worker_poke(w.worker);
	ck_assert(worker_hangs(w.worker, -1));
	ck_assert(!worker_hangs(w.worker, LONG));
	atomic_store(&w.hangs, false);
	sem_post(&w.go);
	wait_rounds(&w, 2);
	ck_assert(worker_stop(w.worker, LONG));
	ck_assert_uint_eq(atomic_load(&w.ended), 2);
}
END_TEST

START_TEST(a_round_asks_for_the_next)
{
	static struct work w;
	struct worker_args args = work_args(&w);

	args.first = 0;
	atomic_store(&w.next, NS_SECOND / 1000);
	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	wait_rounds(&w, 5);
	ck_assert(worker_stop(w.worker, LONG));
}
END_TEST

START_TEST(a_descriptor_begins_a_round)
{
	static struct work w;
	struct worker_args args = work_args(&w);
	int fd[2];

	ck_assert_int_eq(pipe(fd), 0);
	args.watch = fd[1];
	args.first = WORKER_RESTS;
	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	close(fd[0]); /* POLLERR, as mountinfo gives with POLLPRI */
	wait_rounds(&w, 1);
	ck_assert(worker_stop(w.worker, LONG));
	close(fd[1]);
}
END_TEST

START_TEST(a_last_round_at_the_end)
{
	static struct work w;
	struct worker_args args = work_args(&w);

	args.finishes = true;
	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	ck_assert(worker_stop(w.worker, LONG));
	ck_assert_uint_eq(atomic_load(&w.ended), 1);
	ck_assert(worker_stop(NULL, 0));
}
END_TEST

/* Nobody waits longer than he said, and the thread finds its memory when it
 * comes back. */
START_TEST(one_that_hangs_is_left)
{
	static struct work w;
	struct worker_args args = work_args(&w);

	atomic_store(&w.hangs, true);
	ck_assert_int_eq(worker_start(&w.worker, &args), 0);
	ck_assert(
	    !worker_wait(w.worker, worker_poke(w.worker), NS_SECOND / 100));
	ck_assert(!worker_stops(w.worker));
	ck_assert(!worker_stop(w.worker, NS_SECOND / 100));
	wait_rounds(&w, 1);
	ck_assert_uint_eq(atomic_load(&w.ended), 0);
	ck_assert(worker_stops(w.worker));
	sem_post(&w.go);
	while (!atomic_load(&w.ended))
		usleep(1000);
}
END_TEST

SUITE_THREADS("worker", NULL, rounds_begin_behind_pokes,
	      pokes_in_a_round_make_one, a_round_asks_for_the_next,
	      a_descriptor_begins_a_round, a_last_round_at_the_end,
	      one_that_hangs_is_left)
