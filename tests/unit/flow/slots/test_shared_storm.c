/* SPDX-License-Identifier: MIT */
/*
 * Threads that share a place.  A stream is written down first, with all that
 * a network does to it; then its packets are dealt to the threads, each of
 * which brings its own in order, at its own pace.  Whatever the threads do
 * to each other, every packet has to be where it belongs, or in one drop.
 */
#include <sched.h>

#include "lib/shared_bench.h"

static struct bench bench;

static unsigned
batch_make(struct thread *t)
{
	unsigned most = 1 + dice_roll(&t->dice, RECEIVE_BATCH);
	unsigned n = 0;

	for (; t->next < bench.events && n < most; t->next++) {
		if (bench.event[t->next].thread == t->number)
			packet_make(&bench, t, n++, t->next);
	}
	return n;
}

static void *
thread_run(void *arg)
{
	struct thread *t = arg;
	struct placement *handle = bench.handle[t->number];
	struct receive_pair pair[RECEIVE_BATCH];
	struct prediction prediction = { 0 };

	pthread_barrier_wait(&bench.start);
	while (t->next < bench.events) {
		unsigned n = batch_make(t);
		int64_t now = t->next * 1000ll;

		placement_aim(handle, &prediction, pair, RECEIVE_BATCH);
		placement_batch(handle, &prediction, t->batch, n, UTC + now,
				now);
		memset(t->packet, 0xaa, sizeof t->packet);
		if (bench.ages && dice_chance(&t->dice, 5))
			placement_age(handle, now);
		if (dice_chance(&t->dice, 10))
			sched_yield();
	}
	placement_flush(handle);
	return NULL;
}

static void
threads_run(uint64_t seed)
{
	static struct thread thread[THREADS_MOST];

	ck_assert_int_eq(
	    pthread_barrier_init(&bench.start, NULL, bench.threads), 0);
	for (unsigned i = 0; i < bench.threads; i++) {
		thread[i] =
		    (struct thread){ .number = i, .dice = { seed * 7 + i } };
		ck_assert_int_eq(pthread_create(&thread[i].thread, NULL,
						thread_run, &thread[i]),
				 0);
	}
	for (unsigned i = 0; i < bench.threads; i++)
		pthread_join(thread[i].thread, NULL);
	pthread_barrier_destroy(&bench.start);
}

/* ---- weather --------------------------------------------------------- */

struct weather {
	struct dice dice;
	unsigned loss, swap, twice, garbage; /* percent */
	unsigned jump;			     /* packets between them; 0: none */
	bool back;			     /* jumps go back into the window */

	uint64_t next, sent, doubled, swapped, runs, stray;
	unsigned since; /* the last jump */
};

static void
event_add(struct weather *w, uint64_t sequence, uint32_t flags)
{
	struct event *e = &bench.event[bench.events++];

	*e = (struct event){ .sequence = sequence,
			     .flags = flags,
			     .thread = dice_roll(&w->dice, bench.threads) };
}

static void
garbage_add(struct weather *w)
{
	uint64_t any = dice_bits(&w->dice) | 1ull << 62;

	switch (dice_roll(&w->dice, 5)) {
	case 0: event_add(w, any, RECEIVE_FOREIGN); break;
	case 1: event_add(w, any, RECEIVE_CUT); break;
	case 2: event_add(w, NONE, 0); break;
	case 3: event_add(w, w->stray++, 0); break; /* another stream */
	default: event_add(w, any, 0); break;
	}
}

static void
jump(struct weather *w)
{
	w->since = 0;
	w->runs++;
	if (w->back)
		w->next -= 100;
	else
		w->next += 1 + (dice_bits(&w->dice) >> 16);
	w->next -= w->next % 2;
}

/* Whole at the ends of runs, so that all that is lost can be counted. */
static void
packets_add(struct weather *w)
{
	bool whole =
	    w->since < 100 || (w->jump && w->since + 100 > w->jump) || w->back;

	if (!whole && dice_chance(&w->dice, w->loss)) {
		w->next++;
		return;
	}
	if (!whole && dice_chance(&w->dice, w->swap)) {
		event_add(w, w->next + 1, 0);
		event_add(w, w->next, 0);
		w->next += 2;
		w->sent += 2;
		w->swapped++;
		return;
	}
	event_add(w, w->next, 0);
	w->sent++;
	if (dice_chance(&w->dice, w->twice)) {
		event_add(w, w->next, 0);
		w->doubled++;
	}
	w->next++;
}

static void
weather_make(struct weather *w, unsigned threads)
{
	bench = (struct bench){ .threads = threads };
	w->next = dice_bits(&w->dice) >> 20 & ~1ull;
	w->runs = 1;
	while (bench.events + 3 < EVENTS) {
		if (dice_chance(&w->dice, w->garbage))
			garbage_add(w);
		if (w->jump && w->since == w->jump &&
		    bench.events + 500 < EVENTS)
			jump(w);
		packets_add(w);
		w->since++;
	}
}

/* The first ones are too small for a stream that restarts: packets of one
 * thread are farther apart than those that may begin a run together. */
static const uint32_t shapes[][2] = {
	/* slots, parts */
	{ 63, 1 }, { 64, 1 }, { 256, 1 }, { 258, 2 }, { 300, 1 }, { 320, 1 },
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], SMALL = 2 };

/* Where each packet says when it came, nothing depends on the threads. */
START_TEST(rough_weather_loses_nothing)
{
	for (unsigned i = 0; i < 12; i++) {
		const uint32_t *shape = shapes[SMALL + i % (SHAPES - SMALL)];
		struct weather w = { .dice = { i + 1 },
				     .loss = 3,
				     .swap = 3,
				     .twice = i % 4 == 3 ? 100 : i % 3,
				     .jump = i % 2 ? 5000 : 0 };
		struct counts c;

		weather_make(&w, 2 + i % 3);
		bench.stamped = true;
		bench_open(&bench, bench.threads, shape[0], shape[1]);
		threads_run(i);
		c = bench_close(&bench);
		ck_assert_uint_eq(c.placed, w.sent);
		ck_assert_uint_eq(c.drop[DROP_DUPLICATE], w.doubled);
		ck_assert_uint_eq(c.runs, w.runs);
		ck_assert_uint_le(c.reordered, w.swapped);
		ck_assert(shape[1] == 1 || bench.seen > 0);
	}
}
END_TEST

/* Garbage beside it throws nothing of the stream out. */
START_TEST(garbage_does_no_harm)
{
	for (unsigned i = 0; i < 6; i++) {
		const uint32_t *shape = shapes[SMALL + i % (SHAPES - SMALL)];
		struct weather w = { .dice = { i + 99 },
				     .loss = 3,
				     .garbage = 10,
				     .jump = 8000 };
		struct counts c;

		weather_make(&w, 2 + i % 3);
		bench.stamped = true;
		bench_open(&bench, bench.threads, shape[0], shape[1]);
		threads_run(i);
		c = bench_close(&bench);
		ck_assert_uint_eq(c.placed, w.sent);
		ck_assert_uint_eq(c.runs, w.runs);
		ck_assert_uint_gt(c.drop[DROP_FOREIGN], 0);
		ck_assert_uint_gt(c.drop[DROP_WRONG_SIZE], 0);
		ck_assert_uint_gt(c.drop[DROP_UNREADABLE], 0);
		ck_assert_uint_gt(c.drop[DROP_OUT_OF_WINDOW], 0);
	}
}
END_TEST

/* Nothing says when packets came, blocks age under the threads, counters go
 * back to where the window still is: still, the books are right, and no slot
 * has a byte of another packet. */
START_TEST(whatever_comes_the_books_are_right)
{
	for (unsigned i = 0; i < 16; i++) {
		const uint32_t *shape = shapes[i % SHAPES];
		struct weather w = { .dice = { i + 1000 },
				     .loss = 5,
				     .swap = 10,
				     .twice = 10,
				     .garbage = i % 3 ? 5 : 0,
				     .jump = i % 2 ? 2000 : 0,
				     .back = i % 4 == 1 };

		weather_make(&w, 2 + i % 3);
		bench.stamped = i % 4 == 3;
		bench.ages = i % 5 != 0;
		bench_open(&bench, bench.threads, shape[0], shape[1]);
		threads_run(i);
		bench_close(&bench);
	}
}
END_TEST

/* One that brings nothing is waited for, but not for ever. */
START_TEST(a_silent_thread_holds_up_nobody)
{
	struct weather w = { .dice = { 5 } };
	struct counts c;

	weather_make(&w, 1);
	bench.stamped = true;
	bench_open(&bench, 2, 64, 1);
	shared_patience(bench.handle[0], 1000000);
	bench.threads = 1;
	threads_run(1);
	bench.threads = 2;
	placement_flush(bench.handle[1]);
	c = bench_close(&bench);
	ck_assert_uint_eq(c.placed, w.sent);
}
END_TEST

SUITE_THREADS("shared_storm", NULL, rough_weather_loses_nothing,
	      garbage_does_no_harm, whatever_comes_the_books_are_right,
	      a_silent_thread_holds_up_nobody)
