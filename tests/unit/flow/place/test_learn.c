/* SPDX-License-Identifier: MIT */
/*
 * A stream that learn.c watches: so many frames a second in so many threads,
 * of which a test leaves some out or holds some back.
 */
#include "flow/place/learn.h"

#include "lib/suite.h"

enum { FPS = 125, THREADS = 3, PAYLOAD = 8032, HEADER = 32 };

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
start_with(uint32_t fps, uint32_t threads_n, uint32_t payload)
{
	struct format_shape shape = { .sequence = SEQUENCE_TIME,
				      .payload = payload,
				      .header = HEADER,
				      .parts = 1,
				      .fps = fps,
				      .threads_n = threads_n,
				      .threads = threads };

	learn_start(&learn, &shape);
}

static void
start(uint32_t fps, uint32_t threads_n)
{
	start_with(fps, threads_n, PAYLOAD);
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

/* Frames per second alone are wanted where a counter gives the sequence. */
START_TEST(wanted_for_times)
{
	struct format_shape s = { .sequence = SEQUENCE_LE64, .header = 32 };

	ck_assert(learn_wanted(&s));
	s.fps = 5;
	ck_assert(!learn_wanted(&s));
	s.fps = 0;
	s.header = 0; /* headers tell the time */
	ck_assert(!learn_wanted(&s));
	s.header = 32;
	s.sequence = SEQUENCE_TIME;
	ck_assert(!learn_wanted(&s));
}
END_TEST

START_TEST(the_end_of_a_second_teaches)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 60, FPS));
	ck_assert(frames(BEGIN + 1, 0, 10));
	check_learned();
}
END_TEST

/* A rate that is no whole number of Mb/s takes another second. */
START_TEST(an_odd_rate_takes_two)
{
	start_with(0, 0, 5000 + HEADER + 8);
	ck_assert(!frames(BEGIN, 60, FPS));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(frames(BEGIN + 2, 0, 10));
	check_learned();
}
END_TEST

/* One turn is not enough: others may be some frames behind. */
START_TEST(an_eighth_of_a_second_teaches_the_threads)
{
	start(FPS, 0);
	ck_assert(!frames(BEGIN, 60, 60 + FPS / 8 - 1));
	ck_assert(frames(BEGIN, 60 + FPS / 8 - 1, FPS));
	check_learned();
}
END_TEST

START_TEST(threads_begin_in_the_middle_of_a_turn)
{
	start(FPS, 0);
	ck_assert(!tell(BEGIN, 10, threads[1]));
	ck_assert(!tell(BEGIN, 10, threads[2]));
	ck_assert(frames(BEGIN, 11, FPS));
	check_learned();
}
END_TEST

START_TEST(known_threads_stay)
{
	start(0, THREADS);
	ck_assert(!frames(BEGIN, FPS - 5, FPS));
	ck_assert(frames(BEGIN + 1, 0, 10));
	ck_assert_uint_eq(learn.fps, FPS);
	ck_assert_uint_eq(learn.threads, 0);
}
END_TEST

/* The last frames of a second are lost, in all threads; or frame 0 is. */
START_TEST(a_lost_end_teaches_nothing)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 10, FPS - 1));
	ck_assert(!frames(BEGIN + 1, 0, FPS));
	ck_assert(!frames(BEGIN + 2, 1, FPS));
	ck_assert(frames(BEGIN + 3, 0, FPS));
	check_learned();
}
END_TEST

/* Every other frame goes to another receiver. */
START_TEST(half_of_a_stream_teaches_nothing)
{
	start(0, 1);
	for (uint32_t n = 0; n < 5 * FPS; n++) {
		if (n % FPS % 2 == 0)
			ck_assert(!tell(BEGIN + n / FPS, n % FPS, threads[0]));
	}
}
END_TEST

/* Thread 9 lags by five frames: its last ones come in the next second. */
START_TEST(threads_may_be_out_of_phase)
{
	bool known = false;
	uint32_t n;

	start(0, 0);
	for (n = 40; n < 5 * FPS && !known; n++) {
		uint32_t late = n - 5;

		known = tell(BEGIN + n / FPS, n % FPS, 4) ||
			tell(BEGIN + n / FPS, n % FPS, 0) ||
			tell(BEGIN + late / FPS, late % FPS, 9);
	}
	ck_assert(known);
	ck_assert_uint_lt(n, FPS + 20);
	ck_assert_uint_eq(learn.fps, FPS);
	ck_assert_uint_eq(learn.threads, THREADS);
}
END_TEST

START_TEST(seconds_may_be_missing)
{
	start(0, 0);
	ck_assert(!frames(BEGIN, 0, FPS));
	ck_assert(!frames(BEGIN + 3, 50, FPS));
	ck_assert(frames(BEGIN + 4, 0, FPS));
	check_learned();
}
END_TEST

START_TEST(packets_without_time_teach_nothing)
{
	struct format_packet p = { .has = FORMAT_READABLE,
				   .second = BEGIN + 9 };

	start(0, 0);
	for (int i = 0; i < 5000; i++)
		ck_assert(!learn_packet(&learn, &p));
	ck_assert_uint_eq(learn.threads, 0);
	ck_assert(learn_hopeless(&learn));
	ck_assert(!frames(BEGIN, 0, FPS));
	ck_assert(!learn_hopeless(&learn));
}
END_TEST

/* One packet of another time and thread; the stream goes on as it was. */
static void
garbage_between(int64_t second, uint32_t frame)
{
	bool known = false;
	int s;

	start(0, 0);
	ck_assert(!frames(BEGIN, 30, FPS - 20));
	ck_assert(!tell(second, frame, 77));
	known = frames(BEGIN, FPS - 20, FPS);
	for (s = 1; s < 6 && !known; s++)
		known = frames(BEGIN + s, 0, FPS);
	ck_assert_msg(known, "one packet stopped the learning");
	check_learned();
}

START_TEST(garbage_of_the_future_is_got_over)
{
	garbage_between(BEGIN + 1000000000, 20000);
	garbage_between(BEGIN + 1, 20000);
	garbage_between(BEGIN, 20000);
	garbage_between(INT64_C(1) << 40, 1 << 23);
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
	ck_assert(!frames(BEGIN + 50, 0, 100));
	ck_assert(!frames(BEGIN, 10, FPS));
	ck_assert(frames(BEGIN + 1, 0, FPS));
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

SUITE("learn", needed_where_time_counts, wanted_for_times,
      the_end_of_a_second_teaches, an_odd_rate_takes_two,
      an_eighth_of_a_second_teaches_the_threads,
      threads_begin_in_the_middle_of_a_turn, known_threads_stay,
      a_lost_end_teaches_nothing, half_of_a_stream_teaches_nothing,
      threads_may_be_out_of_phase, seconds_may_be_missing,
      packets_without_time_teach_nothing, garbage_of_the_future_is_got_over,
      garbage_of_the_past_is_got_over, a_clock_set_back_is_followed,
      more_threads_than_there_can_be)
