/* SPDX-License-Identifier: MIT */
#include "lib/shared_bench.h"

static struct bench bench;

/*
 * One thread with all handles is never waited for: just what happens to
 * others when patience has ended, but in an order that is known.
 */
static struct thread script;
static struct prediction prediction[THREADS_MOST];

/* n packets from there on, the first of which came at `at`, in us. */
static void
pack(uint64_t first, unsigned n, unsigned at)
{
	for (unsigned i = 0; i < n; i++) {
		bench.event[at + i] = (struct event){ .sequence = first + i };
		packet_make(&bench, &script, script.next++, at + i);
	}
}

static void
hand(unsigned handle)
{
	struct receive_pair pair[RECEIVE_BATCH];
	int64_t now = 1000000;

	placement_aim(bench.handle[handle], &prediction[handle], pair,
		      RECEIVE_BATCH);
	placement_batch(bench.handle[handle], &prediction[handle], script.batch,
			script.next, UTC + now, now);
	bench.events += script.next;
	script.next = 0;
}

static void
bring(unsigned handle, uint64_t first, unsigned n, unsigned at)
{
	pack(first, n, at);
	hand(handle);
}

static void
script_begin(unsigned handles, unsigned parts)
{
	bench = (struct bench){ .stamped = true };
	bench_open(&bench, handles, 320, parts);
	memset(prediction, 0, sizeof prediction);
	for (unsigned i = 0; i < handles; i++)
		bring(i, 0, 0, 0);
}

static void
script_open(unsigned handles)
{
	script_begin(handles, 1);
}

static struct counts
script_close(void)
{
	for (unsigned i = 0; i < bench.threads; i++)
		placement_flush(bench.handle[i]);
	return bench_close(&bench);
}

/* A thread that comes late with packets of a run that is over does not make
 * another run of them. */
START_TEST(the_past_is_late)
{
	struct counts c;

	script_open(2);
	bring(0, 1000, 60, 100);
	bring(0, 1ull << 40, 60, 300);
	bring(1, 1060, 60, 200);
	bring(0, (1ull << 40) + 60, 60, 400);
	c = script_close();
	ck_assert_uint_eq(c.runs, 2);
	ck_assert_uint_eq(c.drop[DROP_LATE], 60);
	ck_assert_uint_eq(bench.of_run[0], 60);
	ck_assert_uint_eq(bench.of_run[1], 120);
}
END_TEST

/* Nor if the others are ahead of it while it waits. */
START_TEST(the_past_is_late_in_one_batch)
{
	struct counts c;

	script_open(2);
	bring(0, 1000, 60, 100);
	pack(1ull << 40, 60, 300);
	pack(1ull << 50, 31, 200);
	hand(0);
	bring(0, (1ull << 40) + 60, 60, 400);
	c = script_close();
	ck_assert_uint_eq(c.runs, 2);
	ck_assert_uint_eq(c.drop[DROP_LATE], 31);
}
END_TEST

/* Not even where the run there is now has a slot of that number. */
START_TEST(the_past_fills_no_hole)
{
	struct counts c;

	script_open(2);
	bring(0, 1000, 40, 100);
	bring(0, 1ull << 40, 40, 300);
	bring(0, 1000, 40, 500);
	bring(1, 1040, 40, 200);
	bring(0, 1040, 40, 600);
	c = script_close();
	ck_assert_uint_eq(c.runs, 3);
	ck_assert_uint_eq(c.drop[DROP_LATE], 40);
	ck_assert_uint_eq(bench.of_run[2], 80);
}
END_TEST

/* A counter that restarts where the window still is: packets that fall into
 * holes of the last pass are of the new one. */
START_TEST(an_echo_is_a_run_of_its_own)
{
	struct counts c;

	script_open(2);
	bring(0, 0, 5, 100);
	bring(0, 6, 100, 106);
	bring(0, 0, 60, 300);
	bring(1, 60, 60, 400);
	c = script_close();
	ck_assert_uint_eq(c.runs, 2);
	ck_assert_uint_eq(bench.of_run[0], 105);
	ck_assert_uint_eq(bench.of_run[1], 120);
}
END_TEST

/* And what another thread still has of the last pass does not end it. */
START_TEST(an_echo_outlives_the_past)
{
	struct counts c;

	script_open(2);
	bring(0, 0, 64, 0);
	bring(1, 64, 64, 64);
	bring(0, 128, 128, 128);
	bring(1, 0, 31, 600);
	bring(0, 256, 10, 256);
	bring(0, 266, 100, 266);
	bring(1, 31, 60, 700);
	c = script_close();
	ck_assert_uint_eq(c.runs, 2);
	ck_assert_uint_eq(bench.of_run[0], 366);
	ck_assert_uint_eq(bench.of_run[1], 91);
}
END_TEST

/* Late packets of one thread begin no run, however many come in a row, when
 * the stream goes on, on whichever thread. */
START_TEST(a_burst_of_late_packets_is_late)
{
	struct counts c;

	for (unsigned way = 0; way < 2; way++) {
		script_open(2);
		bring(0, 0, 64, 0);
		bring(1, 64, 64, 64);
		for (unsigned i = 128; i < 1280; i += 128)
			bring(i / 128 % 2, i, 128, i);
		bring(0, 0, 128, 1300);
		bring(way, 1280, 40, 1500);
		bring(!way, 1320, 40, 1600);
		bring(0, 0, 100, 1700);
		bring(!way, 1360, 40, 1900);
		c = script_close();
		ck_assert_uint_eq(c.runs, 1);
		ck_assert_uint_eq(c.placed, 1400);
		ck_assert_uint_eq(c.drop[DROP_LATE], 228);
	}
}
END_TEST

/* If it was none, its packets are late where the window has left them. */
START_TEST(an_echo_is_left_behind)
{
	struct counts c;

	script_open(2);
	bring(0, 0, 64, 0);
	bring(1, 64, 64, 64);
	bring(1, 0, 31, 2000);
	for (unsigned i = 128; i < 1280; i += 128)
		bring(0, i, 128, i);
	bring(1, 1280, 10, 2100);
	c = script_close();
	ck_assert_uint_eq(c.runs, 1);
	ck_assert_uint_eq(c.placed, 1290);
	ck_assert_uint_eq(c.drop[DROP_LATE], 31);
}
END_TEST

/* But a packet that goes on where this thread was shows that there is none,
 * also where others are far ahead. */
START_TEST(duplicates_are_no_echo)
{
	struct counts c;

	script_open(2);
	bring(0, 0, 100, 100);
	bring(0, 150, 100, 250);
	for (unsigned i = 0; i < 20; i++) {
		bring(1, 100 + 2 * i, 2, 350 + 4 * i);
		bring(1, 100 + 2 * i, 2, 352 + 4 * i);
	}
	c = script_close();
	ck_assert_uint_eq(c.runs, 1);
	ck_assert_uint_eq(c.placed, 240);
	ck_assert_uint_eq(c.drop[DROP_DUPLICATE], 40);
}
END_TEST

START_TEST(some_streams_cannot_be_shared)
{
	struct format_shape shape = { .sequence = SEQUENCE_LE64 };
	char why[200] = "";

	ck_assert_int_eq(shared_check(&shape, 256, 4, why, sizeof why), 0);
	ck_assert_int_lt(shared_check(&shape, 255, 4, why, sizeof why), 0);
	ck_assert_ptr_nonnull(strstr(why, "block"));
	shape.sequence = SEQUENCE_ARRIVAL;
	ck_assert_int_lt(shared_check(&shape, 256, 4, why, sizeof why), 0);
	ck_assert_ptr_nonnull(strstr(why, "sequence"));
	shape.sequence = SEQUENCE_TIME;
	ck_assert_int_lt(shared_check(&shape, 256, 4, why, sizeof why), 0);
	ck_assert_ptr_nonnull(strstr(why, "fps"));
	shape.store = HEAP_ROW;
	ck_assert_int_lt(shared_check(&shape, 256, 4, why, sizeof why), 0);
	ck_assert_ptr_nonnull(strstr(why, "heaps"));
}
END_TEST

/* All came a while before `now`, by a clock that is `step` off. */
static void
bring_by(unsigned handle, uint64_t first, int64_t now, int64_t step)
{
	struct receive_pair pair[RECEIVE_BATCH];

	pack(first, 60, 0);
	for (unsigned i = 0; i < script.next; i++)
		script.batch[i].arrived = UTC + now - 100000 + i + step;
	placement_aim(bench.handle[handle], &prediction[handle], pair,
		      RECEIVE_BATCH);
	placement_batch(bench.handle[handle], &prediction[handle], script.batch,
			script.next, UTC + now + step, now);
	bench.events += script.next;
	script.next = 0;
}

/* A clock that is stepped moves no packet into the past, nor the future. */
static void
stepped_by(int64_t step)
{
	const int64_t second = 1000000000;
	uint64_t next = 1000;
	struct counts c;

	script_open(2);
	for (int64_t i = 1; i < 20; i++, next += 60) {
		/* Each thread sees it with its next pass. */
		int64_t by = i > 5 && i < 15 ? step : 0;

		bring_by((unsigned)i % 2, next, i * second, by);
	}
	c = script_close();
	ck_assert_uint_eq(c.placed, next - 1000);
	ck_assert_uint_eq(c.runs, 1);
}

START_TEST(a_stepped_clock_changes_no_order)
{
	stepped_by(3600000000000);
	stepped_by(-3600000000000);
	stepped_by(1000000000);
	stepped_by(-1000000000);
}
END_TEST

/* The halves of a frame come by two threads; which one is the first does not
 * matter.  A half that is lost keeps others from being looked at only until its
 * block leaves. */
START_TEST(halves_of_two_threads_are_a_frame)
{
	script_begin(2, 2);
	bring(0, 1000, 60, 100);
	frames_check(&bench);
	ck_assert_uint_gt(bench.seen, 0);
	for (unsigned i = 0; i < 10; i++) {
		bench.seen = 0;
		bring(i % 2, 1060 + 2 * i + i / 2 % 2, 1, 200 + 2 * i);
		frames_check(&bench);
		ck_assert_uint_eq(bench.seen, 0);
		bring(!(i % 2), 1060 + 2 * i + !(i / 2 % 2), 1, 201 + 2 * i);
		frames_check(&bench);
		ck_assert_uint_eq(bench.seen, 1);
		ck_assert_uint_eq(bench.frame[0], 1060 + 2 * i);
	}
	bring(0, 1080, 1, 300);
	bench.seen = 0;
	for (uint64_t at = 1082; at < 2000; at += 20) {
		bring(at / 20 % 2, at, 20, (unsigned)(at - 700));
		frames_check(&bench);
		ck_assert(!bench.seen || at > 1320);
	}
	ck_assert_uint_gt(bench.seen, 10);
	script_close();
}
END_TEST

SUITE("shared", some_streams_cannot_be_shared, the_past_is_late,
      the_past_is_late_in_one_batch, the_past_fills_no_hole,
      an_echo_is_a_run_of_its_own, an_echo_outlives_the_past,
      an_echo_is_left_behind, a_burst_of_late_packets_is_late,
      duplicates_are_no_echo, a_stepped_clock_changes_no_order,
      halves_of_two_threads_are_a_frame)
