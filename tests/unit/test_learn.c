/* SPDX-License-Identifier: MIT */
/*
 * A stream that learn.c watches: so many frames a second in so many threads,
 * of which a test leaves some out or holds some back.
 */
#include "flow/learn.h"

#include "suite.h"

enum { FPS = 100, THREADS = 3 };

#define BEGIN INT64_C(1795168800)

static const uint32_t threads[THREADS] = { 4, 0, 9 };
static struct learn learn;

static bool
tell(int64_t second, uint32_t frame, uint32_t thread)
{
	struct format_packet p = { .has = FORMAT_TIME | FORMAT_READABLE,
				   .second = second,
				   .frame = frame,
				   .thread = thread };

	return learn_packet(&learn, &p);
}

static void
start(uint32_t fps, uint32_t threads_n)
{
	struct format_shape shape = { .sequence = SEQUENCE_TIME,
				      .fps = fps,
				      .threads_n = threads_n,
				      .threads = threads };

	learn_start(&learn, &shape);
}

/* Frames `from` to `to` of a second, of all threads; did it learn? */
static bool
frames(int64_t second, uint32_t from, uint32_t to)
{
	bool known = false;

	for (uint32_t f = from; f < to && !known; f++) {
		for (int i = 0; i < THREADS && !known; i++)
			known = tell(second, f, threads[i]);
	}
	return known;
}

static void
check_learned(void)
{
	ck_assert_uint_eq(learn.fps, FPS);
	ck_assert_uint_eq(learn.threads, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_uint_eq(learn.thread[i], threads[i]);
}

START_TEST(needed_where_time_counts)
{
	struct format_shape s = { .sequence = SEQUENCE_LE64 };

	ck_assert(!learn_needed(&s));
	s.sequence = SEQUENCE_TIME;
	ck_assert(learn_needed(&s));
	s.fps = 5;
	ck_assert(learn_needed(&s));
	s.threads_n = 1;
	ck_assert(!learn_needed(&s));
	s.fps = 0;
	ck_assert(learn_needed(&s));
}
END_TEST

START_TEST(two_whole_seconds_teach)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 60, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(!frames(BEGIN + 2, 0, FPS));
	ck_assert(tell(BEGIN + 3, 0, threads[0]));
	check_learned();
}
END_TEST

START_TEST(one_second_teaches_the_threads)
{
	start(FPS, 0);
	ck_assert(!frames(BEGIN, 60, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(tell(BEGIN + 2, 0, threads[0]));
	check_learned();
}
END_TEST

START_TEST(known_threads_stay)
{
	start(0, THREADS);
	for (int s = 0; s < 3; s++)
		ck_assert(!frames(BEGIN + s, 0, FPS));
	ck_assert(tell(BEGIN + 3, 0, threads[0]));
	ck_assert_uint_eq(learn.fps, FPS);
	ck_assert_uint_eq(learn.threads, 0);
}
END_TEST

/* The last frame of a second is lost, in all threads. */
START_TEST(a_lost_last_frame_teaches_nothing)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 10, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(!frames(BEGIN + 2, 0, FPS - 1));
	ck_assert(!frames(BEGIN + 3, 0, FPS));
	ck_assert(!frames(BEGIN + 4, 0, FPS));
	ck_assert(tell(BEGIN + 5, 0, threads[0]));
	check_learned();
}
END_TEST

/* Thread 9 lags by five frames: its last ones come in the next second. */
START_TEST(threads_may_be_out_of_phase)
{
	bool known = false;
	uint32_t last = 0;

	start(0, 0);
	for (uint32_t n = 40; n < 5 * FPS && !known; n++) {
		uint32_t late = n - 5;

		last = n;
		known = tell(BEGIN + n / FPS, n % FPS, 4) ||
			tell(BEGIN + n / FPS, n % FPS, 0) ||
			tell(BEGIN + late / FPS, late % FPS, 9);
	}
	ck_assert(known);
	ck_assert_uint_eq(last, 3 * FPS);
	check_learned();
}
END_TEST

START_TEST(a_missing_second_is_no_whole_one)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 0, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(!frames(BEGIN + 3, 50, FPS));
	ck_assert(!frames(BEGIN + 4, 0, FPS));
	ck_assert(!frames(BEGIN + 5, 0, FPS));
	ck_assert(tell(BEGIN + 6, 0, threads[0]));
	check_learned();
}
END_TEST

START_TEST(packets_without_time_teach_nothing)
{
	struct format_packet p = { .has = FORMAT_READABLE,
				   .second = BEGIN + 9 };

	start(0, 0);
	ck_assert(!learn_packet(&learn, &p));
	ck_assert_uint_eq(learn.threads, 0);
	ck_assert(!frames(BEGIN, 0, FPS));
}
END_TEST

/* One packet of another time and thread; the stream goes on as it was. */
static void
garbage_between(int64_t second, uint32_t frame)
{
	bool known = false;
	int s;

	start(0, 0);
	ck_assert(!frames(BEGIN, 30, FPS));
	ck_assert(!frames(BEGIN + 1, 0, 50));
	ck_assert(!tell(second, frame, 77));
	ck_assert(!frames(BEGIN + 1, 50, FPS));
	for (s = 2; s < 8 && !known; s++)
		known = frames(BEGIN + s, 0, FPS);
	ck_assert_msg(known, "one packet stopped the learning");
	check_learned();
}

START_TEST(garbage_of_the_future_is_got_over)
{
	garbage_between(BEGIN + 1000000000, 20000);
	garbage_between(BEGIN + 2, 20000);
}
END_TEST

START_TEST(garbage_of_the_past_is_got_over)
{
	garbage_between(BEGIN - 1000000, 20000);
	garbage_between(1, 0);
}
END_TEST

START_TEST(a_clock_set_back_is_followed)
{
	start(0, 0);
	ck_assert(!frames(BEGIN + 50, 0, FPS));
	ck_assert(!frames(BEGIN, 10, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(!frames(BEGIN + 2, 0, FPS));
	ck_assert(tell(BEGIN + 3, 0, threads[0]));
	check_learned();
}
END_TEST

START_TEST(more_threads_than_there_can_be)
{
	start(0, 0);
	for (uint32_t i = 0; i < LEARN_THREADS + 100; i++)
		ck_assert(!tell(BEGIN, 0, i));
	ck_assert_uint_eq(learn.threads, LEARN_THREADS);
}
END_TEST

SUITE("learn", needed_where_time_counts, two_whole_seconds_teach,
      one_second_teaches_the_threads, known_threads_stay,
      a_lost_last_frame_teaches_nothing, threads_may_be_out_of_phase,
      a_missing_second_is_no_whole_one, packets_without_time_teach_nothing,
      garbage_of_the_future_is_got_over, garbage_of_the_past_is_got_over,
      a_clock_set_back_is_followed, more_threads_than_there_can_be)
