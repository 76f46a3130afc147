/* SPDX-License-Identifier: MIT */
#include "flow/memory/frame_ring.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "lib/suite.h"

enum { FRAME = 1000, PLACES = 8, MANY = 200000 };

static struct frame_ring *ring;

static void
start(void)
{
	ck_assert_int_eq(frame_ring_make(&ring, FRAME, PLACES), 0);
}

static void
finish(void)
{
	frame_ring_free(ring);
}

static struct format_packet
packet(int64_t second, uint32_t frame)
{
	return (struct format_packet){ .has = FORMAT_TIME | FORMAT_READABLE,
				       .second = second,
				       .frame = frame };
}

static bool
wants(int64_t second, uint32_t frame)
{
	struct format_packet p = packet(second, frame);

	return frame_ring_wants(ring, &p);
}

START_TEST(frames_are_chosen_by_their_number)
{
	static const uint32_t every[] = { 1, 2, 3, 7, 64, 1009, 1 << 24 };
	struct format_packet p = packet(7, 0);

	start();
	for (unsigned i = 0; i < sizeof every / sizeof *every; i++) {
		frame_ring_choose(ring, every[i], 1);
		for (uint32_t n = 0; n < 10000; n++)
			ck_assert_int_eq(wants(7, n), n % every[i] == 0);
		ck_assert(wants(7, every[i] * 200));
	}
	frame_ring_choose(ring, 100, 5);
	ck_assert(wants(10, 100));
	ck_assert(!wants(10, 101));
	ck_assert(!wants(11, 100));
	p.has = FORMAT_READABLE;
	ck_assert(!frame_ring_wants(ring, &p));
	finish();
}
END_TEST

/* A consumer that does not come costs the producer nothing but frames. */
START_TEST(frames_without_a_place_are_counted)
{
	const struct frame_place *f;
	uint8_t frame[FRAME];

	start();
	for (unsigned i = 0; i < PLACES + 5; i++) {
		memset(frame, (int)i, sizeof frame);
		ck_assert_int_eq(frame_ring_put(ring, i, 100 + i, frame),
				 i < PLACES);
	}
	ck_assert_uint_eq(frame_ring_missed(ring), 5);
	for (unsigned i = 0; i < PLACES; i++) {
		f = frame_ring_get(ring);
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(f->sub, i);
		ck_assert_uint_eq(f->fps, 100 + i);
		memset(frame, (int)i, sizeof frame);
		ck_assert_mem_eq(f->data, frame, FRAME);
		frame_ring_drop(ring);
	}
	ck_assert_ptr_null(frame_ring_get(ring));
	ck_assert(frame_ring_put(ring, 0, 0, frame));
	finish();
}
END_TEST

static void *
produce(void *arg)
{
	uint8_t frame[FRAME];

	(void)arg;
	for (unsigned i = 0; i < MANY; i++) {
		memset(frame, (int)(i % 251), sizeof frame);
		frame_ring_put(ring, i, 0, frame);
		if (i % 1000 == 0)
			sched_yield();
	}
	return NULL;
}

/* Frames are whole and in order, whoever is faster. */
START_TEST(two_threads)
{
	unsigned next = 0, got = 0;
	const struct frame_place *f;
	pthread_t thread;

	start();
	ck_assert_int_eq(pthread_create(&thread, NULL, produce, NULL), 0);
	while (got < MANY - frame_ring_missed(ring)) {
		f = frame_ring_get(ring);
		if (!f) {
			sched_yield();
			continue;
		}
		ck_assert_uint_ge(f->sub, next);
		for (unsigned i = 0; i < FRAME; i++)
			ck_assert_uint_eq(f->data[i], f->sub % 251);
		next = f->sub + 1;
		frame_ring_drop(ring);
		got++;
		frame_ring_choose(ring, 1 + got % 9, 1);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(got + frame_ring_missed(ring), MANY);
	ck_assert_ptr_null(frame_ring_get(ring));
	finish();
}
END_TEST

SUITE_THREADS("frame_ring", NULL, frames_are_chosen_by_their_number,
	      frames_without_a_place_are_counted, two_threads)
